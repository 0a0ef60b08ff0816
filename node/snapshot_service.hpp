#pragma once

#include "base/log.hpp"
#include "chain/types/time.hpp"
#include "node/logging.hpp"
#include "node/plugin.hpp"
#include "node/snapshot_schedule.hpp"
#include "node/snapshots/snapshot_writer.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace node {

// Makes snapshots while the node works (spec 05, "Snapshots"): at multiples of the chain's
// parameter snapshot_period, at heights that the operator scheduled, and now. One at a time, in a
// thread that yields to all others. A multiple that comes meanwhile is skipped and counted; a
// height that somebody asked for waits, with the storage snapshot that it is made of, while less
// than kWaitingMax do. One for which none was made is dropped with a line in the log that names its
// request.
//
// Threads: on_finalized() on the core thread, which hands over what is immutable; the rest on any.
class SnapshotService final : public Plugin {
  public:
    static constexpr std::size_t kWaitingMax = 8;

    struct Options {
        std::filesystem::path directory;  // Of the snapshots.
        chain::ChainId chain_id;
        chain::SlotTimes times;
        std::uint32_t every = 1;             // Of those multiples, each or fewer.
        std::size_t keep = 2;                // Of those that nobody asked for; 0: none is made.
        std::uint64_t bytes_per_second = 0;  // 0: no limit.
    };
    struct Counters {
        std::uint64_t made = 0;
        std::uint64_t failed = 0;
        std::uint64_t skipped_busy = 0;     // One was being made, or too many waited,
        std::uint64_t skipped_syncing = 0;  // or the node was behind.
        // Age of the oldest storage snapshot that one is made of, or waits for that; 0: none is.
        std::uint64_t making_ms = 0;
    };
    using Answered = std::function<void(base::Result<SnapshotStore::Listed>)>;

    // `storage` outlives this.
    [[nodiscard]] static base::Result<std::unique_ptr<SnapshotService>> open(
        const Options& options, const base::Storage& storage, const base::Log& log);
    ~SnapshotService() override;

    void start();
    // What is being made is given up.
    void stop();

    // Of the newest final block, as soon as what is under way is done; who asks meanwhile gets the
    // same. `answered` is called once, on the service's thread.
    void create(Answered answered);
    [[nodiscard]] SnapshotStore& store() const { return *store_; }
    [[nodiscard]] SnapshotSchedule& schedule() const { return *schedule_; }
    [[nodiscard]] Counters counters() const;
    // The height of the newest snapshot; nothing: there is none, or one is being made or about to
    // be, which reads blocks.
    [[nodiscard]] std::optional<chain::Height> newest_at_rest() const;

    void on_finalized(const effect::Finalized& finalized) override;

  private:
    // What the thread does next.
    struct Job {
        std::optional<StateCapture> capture;  // Nothing: of the newest final block.
        bool keep = false;
        std::vector<Answered> answered;
        std::chrono::steady_clock::time_point since;  // Of the capture.
    };

    SnapshotService(const Options& options, const base::Storage& storage, const base::Log& log)
        : options_(options), storage_(storage), log_(log) {}
    [[nodiscard]] bool is_wanted(const chain::ExecutedBlock& block, bool& keep) const;
    void begin(const chain::BlockPtr& block, bool keep);
    // Under the lock.
    void say_skipped(chain::Height height);
    void forget_passed();
    void run();
    void carry_out(Job job);
    [[nodiscard]] base::Result<SnapshotStore::Listed> make(Job& job);

    const Options options_;
    const base::Storage& storage_;
    const base::Log log_;
    std::unique_ptr<SnapshotStore> store_;
    std::unique_ptr<SnapshotSchedule> schedule_;

    // The core thread's: the blocks that became final together, up to now.
    std::shared_ptr<const base::StorageView> before_;
    std::vector<std::shared_ptr<const chain::ChangeSet>> since_;
    RepeatGuard skips_;

    mutable std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<Job> scheduled_;      // Of heights, ascending.
    std::vector<Answered> waiting_;  // For one of now.
    bool has_begun_ = false;         // A block became final for the first time.
    bool busy_ = false;
    std::chrono::steady_clock::time_point began_;
    Counters counters_;
    std::atomic<bool> stopping_ = false;
    std::atomic<chain::Height> told_ = 0;  // The last one of on_finalized().
    std::thread thread_;
};

}  // namespace node
