#pragma once

#include "base/pinned.hpp"
#include "chain/execution/executor.hpp"
#include "node/core/core.hpp"
#include "node/worker_pool.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

namespace node {

// Executes transactions on a published state without keeping what they did: compute_transaction
// and send_read_only_transaction.
//
// Thread: one of its own, that of its executor; run() is for any. Bounded: `queue_max` runs wait.
class DryRun : base::Pinned {
  public:
    struct Options {
        chain::ChainId chain_id;
        chain::SlotTimes times;
        std::size_t queue_max = 256;
    };
    struct Job {
        std::shared_ptr<const Published> view;
        chain::TransactionPtr transaction;
        bool read_only = false;  // Else a dry run, which may write and checks authorities.
        std::chrono::milliseconds time_max{150};
    };
    // On the thread of the runs.
    using Done = std::function<void(base::Result<chain::TransactionTrace>)>;

    // `executor` is used by the thread of this only, and outlives it.
    DryRun(const Options& options, chain::Executor& executor)
        : options_(options), executor_(executor), worker_(1) {}

    // would_block: too many wait.
    base::Result<void> run(Job job, Done done);
    void stop() { worker_.stop(); }

  private:
    [[nodiscard]] base::Result<chain::TransactionTrace> execute(const Job& job);

    const Options options_;
    chain::Executor& executor_;
    std::atomic<std::size_t> waiting_ = 0;
    WorkerPool worker_;
};

}  // namespace node
