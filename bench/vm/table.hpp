#pragma once

#include "subject.hpp"

#include <string>

namespace vm_bench {

// Every price of instructions, memory and starting with its worst uses, warm and cold, and what
// loading costs; only what has `wanted` in its name. Then the table of prices.cpp in its own form,
// in which a price stands that these figures ask for.
void print_prices(Bench& bench, const std::string& wanted);

}  // namespace vm_bench
