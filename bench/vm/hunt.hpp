#pragma once

#include "subject.hpp"

#include <cstdint>
#include <string>

namespace vm_bench {

struct HuntOptions {
    std::uint64_t minutes = 10;
    std::uint64_t seed = 1;
    std::string out;       // Folder for the worst modules, as text; empty: none is written.
    bool loading = false;  // What loading costs beside its price, not running.
};

// Looks for modules that take more time than they pay for: begins with loops made by chance, and
// keeps a change when time beside price rises. Prints the worst of the starts, scaled to the
// reference machine. What it finds depends on the seed and on how fast the machine is.
void hunt(Bench& bench, const HuntOptions& options);

}  // namespace vm_bench
