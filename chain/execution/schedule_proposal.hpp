#pragma once

#include "chain/types/schedule.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace chain {

class ApplyContext;

// Proposes the validators of setprods or of the contract on eosio, with the version after
// that in force; replaces an earlier proposal that no block has announced yet. With no entry
// the proposal is withdrawn and elections decide again. -1: the same as what is proposed or
// in force already. Nothing: the context has the failure (nodeos' texts).
[[nodiscard]] std::optional<std::int64_t> propose_schedule(ApplyContext& context,
                                                           std::vector<ScheduleEntry> entries);

}  // namespace chain
