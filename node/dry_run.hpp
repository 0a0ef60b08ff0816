#pragma once

#include "base/pinned.hpp"
#include "chain/execution/executor.hpp"
#include "node/core/core.hpp"
#include "node/fair_workers.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace node {

// Executes transactions on a published state without keeping what they did: compute_transaction
// and send_read_only_transaction.
//
// Threads: one of its own for each executor; run() is for any. Bounds: of a client one run at a
// time, and few wait (FairWorkers); of a run the time.
class DryRun : base::Pinned {
  public:
    struct Options {
        chain::ChainId chain_id;
        chain::SlotTimes times;
    };
    // What one thread works with.
    struct Lane {
        chain::Executor& executor;
        RunTimer& timer;  // Of the machine of the executor's engine.
    };
    struct Job {
        std::string client;  // Its address.
        std::shared_ptr<const Published> view;
        chain::TransactionPtr transaction;
        bool read_only = false;  // Else a dry run, which may write and checks authorities.
        std::chrono::milliseconds time_max{150};
    };
    // On the thread of the run.
    using Done = std::function<void(base::Result<chain::TransactionTrace>)>;

    // The executors and timers are used by the threads of this only, and outlive it.
    DryRun(const Options& options, std::vector<Lane> lanes)
        : options_(options),
          lanes_(std::move(lanes)),
          workers_({.threads = static_cast<unsigned>(lanes_.size())}) {}

    // would_block: too many wait.
    base::Result<void> run(Job job, Done done);
    // Work for an executor in a turn of `client`; dropped when too many wait.
    void run_on(const std::string& client, std::function<void(chain::Executor&)> work);
    // Who still waits gets no answer from here.
    void stop() { workers_.stop(); }

  private:
    [[nodiscard]] base::Result<chain::TransactionTrace> execute(const Lane& lane, const Job& job);

    const Options options_;
    const std::vector<Lane> lanes_;
    FairWorkers workers_;
};

}  // namespace node
