#pragma once

#include "base/pinned.hpp"
#include "node/snapshots/snapshot_check.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

namespace node {

// Threads that do something to the chunks of a snapshot, in numbered jobs, until all jobs are done
// or one has failed.
//
// Threads: run() is for one, and returns when its threads have ended; count() and has_failed() are
// for the jobs.
class ChunkWorkers : base::Pinned {
  public:
    using Job = std::function<base::Result<void>(std::size_t number)>;

    // The folder outlives this.
    explicit ChunkWorkers(const SnapshotFolder& folder) : folder_(folder) {}

    // Does the jobs 0 to `jobs` - 1, in this order, on at least one thread. `show` is called once a
    // second, and at the end if all are done. Returns the first error.
    base::Result<void> run(unsigned workers,
                           std::size_t jobs,
                           const Job& job,
                           const ShowProgress& show);
    // One more chunk is done.
    void count(const genesis::ChunkInfo& chunk);
    // Another job has: what takes long ends.
    [[nodiscard]] bool has_failed() const { return failed_; }

  private:
    void work(std::size_t jobs, const Job& job);
    void watch(const ShowProgress& show);

    const SnapshotFolder& folder_;
    std::atomic<std::size_t> next_ = 0;
    std::atomic<std::size_t> chunks_ = 0;
    std::atomic<std::uint64_t> bytes_ = 0;
    std::atomic<bool> failed_ = false;
    std::mutex mutex_;
    std::condition_variable ended_;
    unsigned running_ = 0;
    base::Result<void> outcome_;
};

}  // namespace node
