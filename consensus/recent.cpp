#include "consensus/recent.hpp"

#include <algorithm>

namespace consensus {

namespace {
// Votes are for recent blocks only: at most this far behind the clock.
constexpr std::uint32_t kRecentMilliseconds = 2'000;
}  // namespace

chain::Slot recent_from(const chain::SlotTimes& times, chain::Slot current) {
    const chain::Slot behind =
        std::max<chain::Slot>(2, kRecentMilliseconds / times.interval_milliseconds);
    return current - std::min(current, behind);
}

}  // namespace consensus
