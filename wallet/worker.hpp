#pragma once

#include "base/pinned.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace wallet {

// Runs jobs one after the other on a thread of its own, and in between `tick` about once a
// second. The one who touches the keyring.
//
// Thread: post() any; the rest the owner.
class Worker : base::Pinned {
  public:
    using Job = std::function<void()>;

    Worker(std::size_t jobs_max, Job tick);
    // Finishes the jobs accepted.
    ~Worker();

    // False: `jobs_max` are waiting already, or it is ending.
    [[nodiscard]] bool post(Job job);

  private:
    void run();

    const std::size_t jobs_max_;
    const Job tick_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;  // Guarded by mutex_, like ending_.
    bool ending_ = false;
    std::thread thread_;  // Last: it uses the rest.
};

}  // namespace wallet
