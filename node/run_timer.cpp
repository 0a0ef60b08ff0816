#include "node/run_timer.hpp"

#include "node/worker_pool.hpp"

#include <ctime>

namespace node {

namespace {

// Longer limits are none.
constexpr auto kLongest = std::chrono::hours(24);

}  // namespace

ThreadRunTimer::ThreadRunTimer(chain::vm::Machine& machine)
    : machine_(machine), thread_([this] { watch(); }) {}

ThreadRunTimer::~ThreadRunTimer() {
    {
        const std::scoped_lock lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void ThreadRunTimer::arm(base::Duration limit) {
    bool must_wake = false;
    {
        const std::scoped_lock lock(mutex_);
        end_ = limit > kLongest ? Clock::time_point::max() : Clock::now() + limit;
        must_wake = end_ < wakes_at_;
    }
    if (must_wake) changed_.notify_one();
}

void ThreadRunTimer::disarm() {
    const std::scoped_lock lock(mutex_);
    end_ = Clock::time_point::max();
    if (has_fired_.exchange(false)) machine_.clear_stop();
}

base::Duration ThreadRunTimer::reading() const {
    return std::chrono::duration_cast<base::Duration>(Clock::now().time_since_epoch());
}

base::Duration ThreadRunTimer::worked() const {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void ThreadRunTimer::watch() {
    name_this_thread("bor-run-timer");
    std::unique_lock lock(mutex_);
    while (!is_ending_) {
        if (Clock::now() >= end_) {
            end_ = Clock::time_point::max();
            has_fired_ = true;
            machine_.stop();
        }
        wakes_at_ = end_;
        // Until then, or until a run ends earlier; a later end is found when it wakes.
        if (wakes_at_ == Clock::time_point::max()) {
            changed_.wait(lock);
        } else {
            changed_.wait_until(lock, wakes_at_);
        }
    }
}

}  // namespace node
