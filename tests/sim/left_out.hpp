#pragma once

#include "chain/types/rule.hpp"

#include <span>
#include <string_view>

namespace sim {

// The rule that this run leaves out. bor-mutants and bor-model-mutants can leave one out
// (left_out.cpp); bor-sim and bor-model have production as it is shipped (all_rules.cpp).

// Of the rules, in their order; empty: this program has all of them.
[[nodiscard]] std::span<const std::string_view> rule_names();
// Before anything runs. False: there is no such rule, or it cannot be left out here.
[[nodiscard]] bool leave_out(std::string_view name);
[[nodiscard]] chain::Rule left_out();

}  // namespace sim
