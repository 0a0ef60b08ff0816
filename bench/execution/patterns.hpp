#pragma once

#include "bench/price/clock.hpp"

#include <string>
#include <vector>

namespace patterns {

// Transactions of every shape: their execution, the digest of what they changed and the record
// of their trace. Adds those whose names have `wanted` in them.
void measure_transactions(const std::string& wanted, std::vector<price::Result>& results);

}  // namespace patterns
