#pragma once

#include "base/pinned.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace node {

// As `top -H` and profilers show it; at most 15 letters.
void name_this_thread(const char* name);

// Threads that run jobs in the order they were posted, the urgent ones before the others.
//
// Thread: any may post. Jobs do not throw. stop() runs what is queued, then joins.
class WorkerPool : base::Pinned {
  public:
    explicit WorkerPool(unsigned threads);
    ~WorkerPool();

    void post(std::function<void()> job);
    // Blocks must not stand behind transactions, nor behind blocks that came later.
    void post_urgent(std::function<void()> job);
    [[nodiscard]] std::size_t queued() const;
    void stop();

  private:
    using Jobs = std::deque<std::function<void()>>;

    void post(Jobs& jobs, std::function<void()> job);
    void run();

    mutable std::mutex mutex_;
    std::condition_variable ready_;
    Jobs urgent_;
    Jobs jobs_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace node
