#pragma once

#include "subject.hpp"

#include <cstdint>
#include <string>

namespace vm_bench {

struct HuntOptions {
    std::uint64_t minutes = 10;
    std::uint64_t seed = 1;
    std::string out;  // Folder for the worst modules, as text; empty: none is written.
};

// Looks for modules that take more time than they pay for. From random loops and from the worst
// known cases, by changes that are kept when time beside price rises. Prints the worst of each
// start, scaled to the reference machine.
void hunt(Bench& bench, const HuntOptions& options);

}  // namespace vm_bench
