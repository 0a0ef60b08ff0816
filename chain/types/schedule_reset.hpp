#pragma once

#include "chain/types/schedule.hpp"
#include "chain/types/transaction.hpp"

#include <optional>

namespace chain {

// A new first schedule below a final block, because more than f of the validators before are lost
// for ever (spec 04, `bor-cli recover`). Who knows of it and who does not are on different chains
// from there on, so every operator says so.
struct ScheduleReset {
    BlockId from;       // The final block whose child is the first under it.
    Schedule schedule;  // Its version is above all that were proposed before.

    friend bool operator==(const ScheduleReset&, const ScheduleReset&) = default;
};

// The reset that concerns the children of `parent`; null: none.
[[nodiscard]] inline const ScheduleReset* reset_below(const std::optional<ScheduleReset>& reset,
                                                      const BlockId& parent) {
    return reset && reset->from == parent ? &*reset : nullptr;
}

}  // namespace chain
