#pragma once

#include "chain/types/time.hpp"

namespace consensus {

// The first slot that a NOTARIZE may be for while the clock shows slot `current` (spec 04, R1).
[[nodiscard]] chain::Slot recent_from(const chain::SlotTimes& times, chain::Slot current);

}  // namespace consensus
