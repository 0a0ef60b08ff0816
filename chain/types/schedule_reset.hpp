#pragma once

#include "chain/types/schedule.hpp"
#include "chain/types/transaction.hpp"

#include <optional>

namespace chain {

// A new first schedule below a block, which it makes final, because more than f of the validators
// before are lost for ever (spec 04, `bor-cli recover`). Who knows of it and who does not are on
// different chains from there on, so every operator says so.
struct ScheduleReset {
    BlockId from{};       // Its child is the first under the schedule.
    Schedule schedule{};  // Its version is above all that were proposed before.
    // Too few validators have answered: what was shown as final above `from` may be given up.
    bool gives_up_final = false;
    // What the operators confirmed and the members signed, as it is passed on with the schedules
    // (genesis::Recovery); opaque here. Empty: it is not at hand.
    base::Bytes record{};

    friend bool operator==(const ScheduleReset&, const ScheduleReset&) = default;
};

// The reset that concerns the children of `parent`; null: none.
[[nodiscard]] inline const ScheduleReset* reset_below(const std::optional<ScheduleReset>& reset,
                                                      const BlockId& parent) {
    return reset && reset->from == parent ? &*reset : nullptr;
}

}  // namespace chain
