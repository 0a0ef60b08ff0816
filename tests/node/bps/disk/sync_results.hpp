#pragma once

#include "node/bps/disk/log_syncer.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace support {

// What a LogSyncer reports, for one that waits for it. Outlives it.
class SyncResults {
  public:
    [[nodiscard]] bps::LogSyncer::Done done() {
        return [this](bps::LogSyncer::Failed failed) {
            const std::scoped_lock lock(mutex_);
            results_.push_back(std::move(failed));
            ++count_;
            changed_.notify_all();
        };
    }
    // The oldest that was not taken yet; waits for it.
    [[nodiscard]] bps::LogSyncer::Failed take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !results_.empty(); });
        auto oldest = std::move(results_.front());
        results_.pop_front();
        return oldest;
    }
    // In all.
    [[nodiscard]] int count() {
        const std::scoped_lock lock(mutex_);
        return count_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<bps::LogSyncer::Failed> results_;
    int count_ = 0;
};

}  // namespace support
