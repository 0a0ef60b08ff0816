#pragma once

#include "base/pinned.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace node {

// Threads that run jobs for clients: of each client one at a time, and of those who wait one after
// the other in turn, so that nobody waits longer because somebody else asks for more.
//
// Thread: any may post. Jobs do not throw.
class FairWorkers : base::Pinned {
  public:
    struct Options {
        unsigned threads = 1;
        std::size_t waiting_max = 256;       // Jobs of all clients,
        std::size_t waiting_by_client = 16;  // and of one.
    };
    // With the number of the thread that runs it, from 0 on.
    using Job = std::function<void(std::size_t thread)>;

    explicit FairWorkers(const Options& options);
    ~FairWorkers();

    // False: too many wait already; the job is dropped.
    [[nodiscard]] bool post(const std::string& client, Job job);
    // Ends after the jobs that run; those that wait are dropped.
    void stop();

  private:
    struct Client {
        std::deque<Job> jobs;
        bool is_running = false;
    };

    void run(std::size_t thread);

    const Options options_;
    std::mutex mutex_;
    std::condition_variable ready_;
    std::map<std::string, Client> clients_;  // Who has a job that waits or runs.
    std::deque<std::string> turns_;          // Who has one that waits and none that runs.
    std::size_t waiting_ = 0;
    bool is_stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace node
