#pragma once

#include "chain/execution/schedule_rows.hpp"
#include "chain/execution/transaction_context.hpp"
#include "chain/types/schedule_reset.hpp"

#include <optional>

namespace chain {

// What a block's header says of schedules; it follows from its parent's header and state alone.
struct BlockSchedule {
    std::uint32_t version = 0;       // In force for this block.
    std::optional<Schedule> change;  // What it proposes.
};

// Brings the schedules of `state`, which is the parent's, to this block: what becomes pending or
// active, what the first block of a period proposes (computed from the parent's state), and who
// missed slots between the parent and this block (spec 04, "Schedule").
[[nodiscard]] base::Result<BlockSchedule> begin_schedule(StateDelta& state,
                                                         const BlockContext& block,
                                                         const BorParameters& parameters);

// Puts a new first schedule in force, before begin_schedule() of its first block: its members are
// registered with its keys, and its version is recorded in the state, and whether blocks that were
// shown as final may be given up with it (spec 04, `recover`).
[[nodiscard]] base::Result<void> reset_schedule(StateDelta& state,
                                                const ScheduleReset& reset,
                                                TimePoint now);

// Counts the slots between parent and block as missed: at most one for each producer, and none
// for the block's own. `misses` and the result are by name.
[[nodiscard]] std::vector<Misses> count_misses(std::vector<Misses> misses,
                                               const Schedule& active,
                                               const BlockContext& block,
                                               std::uint32_t repetitions);

}  // namespace chain
