#pragma once

#include "chain/types/schedule.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace chain {

class ApplyContext;

// Fixes the validators, for setprods or the contract on eosio: the first block of a period in
// which all of them are in the schedule or ready proposes them, and elections stop. With no
// entry elections decide again. Returns the version that they would get; -1: they are in force,
// proposed or fixed already. Nothing: the context has the failure (nodeos' texts).
[[nodiscard]] std::optional<std::int64_t> propose_schedule(ApplyContext& context,
                                                           std::vector<ScheduleEntry> entries);

}  // namespace chain
