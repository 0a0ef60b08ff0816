#pragma once

#include "base/log.hpp"
#include "node/pruning/pruning.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace node {

// Prunes while the node works: looks every few seconds whether something may go, in a thread that
// yields to all others and rests as long as it works.
//
// Threads: its own, between start() and stop(); counters() for any.
class PruningService : base::Pinned {
  public:
    struct Counters {
        std::uint64_t passes = 0;  // In which bytes were given back.
        std::uint64_t failed = 0;
        chain::Height earliest = 0;         // Block; 0: nothing was pruned.
        chain::Height earliest_traces = 0;  // The same of traces.
    };
    // What it asks of others, on its thread.
    struct Environment {
        // The newest complete snapshot of this node, unless one is being made: what that needs must
        // stay. Nothing: none, or just now.
        std::function<std::optional<chain::Height>()> snapshot;
        // That blocks below this height go with the next pass: peers hear of it before.
        std::function<void(chain::Height earliest)> on_planned;
        // That they count as gone.
        std::function<void(chain::Height earliest)> on_pruned;
    };

    // `storage` outlives this.
    [[nodiscard]] static base::Result<std::unique_ptr<PruningService>> open(
        RocksDbStorage& storage,
        const chain::PruningRules& rules,
        Environment environment,
        const base::Log& log);
    ~PruningService() { stop(); }

    void start();
    // What is under way is ended after its piece; a later start goes on.
    void stop();
    [[nodiscard]] Counters counters() const;

  private:
    PruningService(std::unique_ptr<Pruning> pruning, Environment environment, const base::Log& log)
        : pruning_(std::move(pruning)), environment_(std::move(environment)), log_(log) {}
    void run();
    [[nodiscard]] base::Result<bool> pass();
    // False: stopped meanwhile.
    [[nodiscard]] bool rest(std::chrono::steady_clock::duration time);

    const std::unique_ptr<Pruning> pruning_;
    const Environment environment_;
    chain::HistoryFloor planned_;  // By the last pass.
    const base::Log log_;
    mutable std::mutex mutex_;
    std::condition_variable woken_;
    bool stopping_ = false;
    Counters counters_;
    std::thread thread_;
};

}  // namespace node
