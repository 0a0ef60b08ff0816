#pragma once

#include "base/pinned.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

namespace rocksdb {
class Env;
}

namespace sim {

// What RocksDB gives to threads of its own, of one machine: one job after the other, in the order
// in which they were given. Before anything else happens, a simulation waits until none is left;
// else the system's scheduler would decide what a power cut finds, and no run could be repeated.
// Thread: any.
class BackgroundJobs : base::Pinned {
  public:
    void wait_for_all();

    // The environment, but with its jobs in this order.
    [[nodiscard]] static std::shared_ptr<rocksdb::Env> order(
        const std::shared_ptr<rocksdb::Env>& environment, std::shared_ptr<BackgroundJobs> jobs);

  private:
    class Ordered;
    struct Job;
    std::uint64_t add();
    void wait_for_turn(std::uint64_t number);
    void remove(std::uint64_t number);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t last_ = 0;
    std::set<std::uint64_t> open_;
};

}  // namespace sim
