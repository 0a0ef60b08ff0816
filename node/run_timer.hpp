#pragma once

#include "chain/vm/machine.hpp"
#include "node/core/run_timer.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace node {

// The timer of the runs on one machine: a thread that stops the machine when the limit of a run
// has passed. It sleeps through runs that end in time: no run wakes it, but the first after a
// pause.
//
// Thread: that of the machine's engine; has_fired() is for any.
class ThreadRunTimer final : public RunTimer {
  public:
    // `machine` outlives this.
    explicit ThreadRunTimer(chain::vm::Machine& machine);
    ~ThreadRunTimer() override;

    void arm(base::Duration limit) override;
    [[nodiscard]] bool has_fired() const override { return has_fired_; }
    // After it the machine is not stopped, and nobody stops it before the next arm().
    void disarm() override;
    [[nodiscard]] base::Duration reading() const override;
    [[nodiscard]] base::Duration worked() const override;

  private:
    using Clock = std::chrono::steady_clock;

    void watch();

    chain::vm::Machine& machine_;
    std::atomic<bool> has_fired_ = false;

    std::mutex mutex_;  // Also over stop() and clear_stop(), so that no stop comes late.
    std::condition_variable changed_;
    Clock::time_point end_ = Clock::time_point::max();       // Of the run; max: there is none.
    Clock::time_point wakes_at_ = Clock::time_point::max();  // The thread, by itself.
    bool is_ending_ = false;

    std::thread thread_;  // Last: it uses the others.
};

}  // namespace node
