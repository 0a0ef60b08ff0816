#pragma once

#include "base/time.hpp"

#include <algorithm>
#include <cstdint>

namespace sim {

// What one machine's clock shows: skewed, drifting, and stepped by somebody. Never goes back,
// as the runtime's does not.
class SimClock {
  public:
    SimClock() = default;
    SimClock(base::Duration offset, std::int64_t drift_ppm)
        : offset_(offset), drift_ppm_(drift_ppm) {}

    [[nodiscard]] base::Timestamp read(base::Timestamp now) {
        shown_ = std::max(shown_, raw(now));
        return shown_;
    }
    // When it will show `local`, roughly: for wake-ups.
    [[nodiscard]] base::Timestamp when(base::Timestamp local, base::Timestamp now) const {
        return std::max(now, now + (local - raw(now)));
    }
    // The process starts anew: what it was shown before does not bind it.
    void restart() { shown_ = {}; }
    void step(base::Duration by) { offset_ += by; }
    void set(base::Duration offset, std::int64_t drift_ppm) {
        offset_ = offset;
        drift_ppm_ = drift_ppm;
    }

  private:
    [[nodiscard]] base::Timestamp raw(base::Timestamp now) const {
        constexpr std::int64_t kPart = 1'000'000;
        // Against its start, so that a long run does not overflow.
        const base::Duration run = now.time_since_epoch() % std::chrono::hours(1);
        return now + offset_ + base::Duration(run.count() / kPart * drift_ppm_);
    }
    base::Duration offset_{};
    std::int64_t drift_ppm_ = 0;
    base::Timestamp shown_{};
};

}  // namespace sim
