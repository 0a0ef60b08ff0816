#pragma once

#include "node/core/run_timer.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>

namespace support {

// The timer of runs without a clock: how long each run takes is said beforehand. One that takes
// its limit or longer is stopped at it.
class SimulatedTimer final : public node::RunTimer {
  public:
    void arm(base::Duration limit) override {
        ++runs;
        limits.push_back(limit);
        base::Duration time = usual;
        if (!takes.empty()) {
            time = takes.front();
            takes.pop_front();
        }
        has_fired_ = time >= limit;
        reading_ += std::min(time, limit);
        if (!is_machine_busy) worked_ += std::min(time, limit);
    }
    [[nodiscard]] bool has_fired() const override { return has_fired_; }
    void disarm() override { has_fired_ = false; }
    [[nodiscard]] base::Duration reading() const override { return reading_; }
    [[nodiscard]] base::Duration worked() const override { return worked_; }

    std::deque<base::Duration> takes;   // Of the next runs, in their order;
    base::Duration usual{};             // of those after them.
    std::deque<base::Duration> limits;  // That were set.
    std::uint64_t runs = 0;
    bool is_machine_busy = false;  // With others: the time passes, and none of it is the run's.

  private:
    base::Duration reading_{};
    base::Duration worked_{};
    bool has_fired_ = false;
};

}  // namespace support
