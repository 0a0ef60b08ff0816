#pragma once

#include "base/time.hpp"

#include <algorithm>
#include <cstdint>

namespace sim {

// One machine's clock: skewed, drifting, and set by somebody. A process counts its time evenly
// from what the clock showed when it began, and knows how far the clock was set since.
class SimClock {
  public:
    SimClock() = default;
    SimClock(base::Duration offset, std::int64_t drift_ppm)
        : offset_(offset), began_with_(offset), drift_ppm_(drift_ppm) {}

    // The process' time: goes on whatever is done to the clock.
    [[nodiscard]] base::Timestamp read(base::Timestamp now) {
        read_ = std::max(read_, raw(now));
        return read_;
    }
    // What the clock shows, less that.
    [[nodiscard]] base::Duration ahead() const { return offset_ - began_with_; }
    // When read() will be `local`, roughly: for wake-ups.
    [[nodiscard]] base::Timestamp when(base::Timestamp local, base::Timestamp now) const {
        return std::max(now, now + (local - raw(now)));
    }
    // The process starts anew.
    void restart() {
        began_with_ = offset_;
        read_ = {};
    }
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
        return now + began_with_ + base::Duration(run.count() / kPart * drift_ppm_);
    }
    base::Duration offset_{};      // Before true time.
    base::Duration began_with_{};  // When the process began.
    std::int64_t drift_ppm_ = 0;
    base::Timestamp read_{};
};

}  // namespace sim
