#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "base/queue.hpp"
#include "base/result.hpp"
#include "base/storage.hpp"
#include "node/core/networked_core.hpp"
#include "node/disk/journal_file.hpp"
#include "node/key_recovery.hpp"
#include "node/logging.hpp"
#include "node/outgoing.hpp"
#include "node/plugin.hpp"
#include "node/worker_pool.hpp"
#include "transport/io_thread.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

namespace node {

// Amounts for metrics.
struct RuntimeCounters {
    std::uint64_t submitted = 0;
    std::uint64_t accepted = 0;  // Executed on the pending block.
    std::uint64_t refused = 0;
    std::size_t in_flight = 0;     // Submitted and not answered.
    std::size_t worker_queue = 0;  // Jobs.
    std::size_t disk_queue = 0;    // Writes.
    std::uint64_t disk_writes = 0;
    std::uint64_t disk_errors = 0;
    std::uint64_t disk_microseconds = 0;  // Spent in synced writes.
};

// What the machine's clock says.
[[nodiscard]] base::Timestamp system_time();
// What has passed on this machine since some moment; nobody sets it.
[[nodiscard]] base::Timestamp steady_time();

// Drives a core: one thread steps it, two write to disk, workers decode and recover keys; the
// channels of a transport's I/O thread are its peers.
//
// Threads: public functions are for any. Bounds: submissions in flight and waiting writes, above
// which submit() refuses; what a channel may hand over unread, and what p2p sends before it is
// written; the rest follows from these.
class Runtime : public transport::Host, base::Pinned {
  public:
    struct Options {
        unsigned workers = 1;
        std::size_t in_flight_max = 20'000;
        std::size_t disk_queue_max = 50'000;
    };
    // All outlive the runtime.
    struct Environment {
        base::Storage& storage;
        // Of the keys that the core signs with.
        JournalLogs& journals;
        base::Log log;
    };
    // What is refused before it reaches the core: subjective lists.
    using Admission = std::function<base::Result<void>(const chain::DecodedTransaction&)>;
    // Carries out what p2p asks of snapshots; answers come as tell_peers(). Core thread; must not
    // block.
    using Snapshots = std::function<void(p2p::Effect)>;
    // Called once, on a worker.
    using Answered = std::function<void(effect::Answer)>;

    // `core` was opened and asked for `first` effects, which are carried out by start().
    Runtime(const Options& options,
            const Environment& environment,
            const chain::ChainId& chain,
            std::unique_ptr<NetworkedCore> core,
            Effects first);
    ~Runtime() override;

    // Before start().
    void add_plugin(Plugin& plugin) { plugins_.push_back(&plugin); }
    void set_admission(Admission admission) { admission_ = std::move(admission); }
    void set_snapshots(Snapshots snapshots) { snapshots_ = std::move(snapshots); }
    // Started after this; outlives what this sends to it. Ended by its owner, after stop().
    void set_transport(transport::IoThread& transport) { transport_ = &transport; }

    void start();
    // Ends the core, writes what it asked for, syncs. Submissions under way are answered with
    // unavailable.
    void stop();

    // The latest view; never null after start().
    [[nodiscard]] std::shared_ptr<const Published> published() const;
    // The same, where pending_state has every transaction that was answered before this call:
    // asks the core to show it if need be, and waits a little. Any thread but the core's.
    [[nodiscard]] std::shared_ptr<const Published> published_with_pending();
    // Decodes, recovers keys and executes on the pending block. would_block: too much is under
    // way; `answered` is not called then. `sender`: of input::Submit.
    base::Result<void> submit(chain::PackedTransaction transaction,
                              const std::string& sender,
                              Answered answered);
    // published() says so afterwards, unless the core is busy for seconds. Any thread but the
    // core's, after start().
    void set_paused(bool paused);
    // input::AnswerRecovery: what the core says of it, once its keys have stopped durably. Null: it
    // has said nothing yet; it may all the same. Any thread but the core's.
    [[nodiscard]] std::shared_ptr<const base::Result<genesis::Recovery>> answer_recovery();
    // input::HistoryPruned.
    void set_earliest_block(chain::Height height) { post(Input(input::HistoryPruned{height})); }
    // For the conversation with peers: Dial, Hangup, ListsChanged, Stop.
    void tell_peers(p2p::Input said);
    // Who is connected, as of the last second; null: there is no network.
    [[nodiscard]] std::shared_ptr<const p2p::Status> peers() const;

    [[nodiscard]] RuntimeCounters counters() const;

    // --- Of the transport, on its thread ---
    // Whoever proves a key may speak: p2p says who may stay, with a reason.
    [[nodiscard]] transport::Verdict admit(const transport::PeerKey& peer, bool outbound) override;
    void on_events(std::vector<transport::Event>& events) override;

  private:
    struct TakeWritten {};  // Outgoing has something.
    using Item = std::variant<Input, p2p::Input, transport::Event, TakeWritten>;

    void run_core();
    void step(Item& item);
    void step(transport::Event& event, Effects& effects);
    [[nodiscard]] static bool is_bulk(const Item& item);
    [[nodiscard]] base::Timestamp core_time() const;
    // Tells the core when the clock was set.
    void look_at_clock();
    void wake_at(base::Timestamp time);
    void carry_out(const effect::ToTransport& asked);
    void carry_out(effect::ReadBlocks read);
    void carry_out(effect::CheckStored check);
    void run_disk();
    void carry_out(Effects& effects);
    void carry_out(effect::Write& write);
    void carry_out(effect::Answer& answer);
    void carry_out(const effect::Publish& publish);
    void carry_out(effect::Recover recover);
    [[nodiscard]] base::Result<std::vector<chain::PooledTransaction>> recover_all(
        const effect::Recover& recover);
    [[nodiscard]] base::Result<void> write(effect::Write& write);
    // Those that replace their journal, or the others.
    [[nodiscard]] base::Result<void> write_pages(const effect::Write& write, bool replacing);
    void post(Item item);
    void prepare(Ticket ticket, chain::PackedTransaction packed, const std::string& sender);
    void refuse(Ticket ticket, base::Error error);
    [[nodiscard]] std::optional<Answered> take_answered(Ticket ticket);

    const Options options_;
    const Environment environment_;
    std::unique_ptr<NetworkedCore> core_;
    Effects first_;
    std::vector<Plugin*> plugins_;
    Admission admission_;
    Snapshots snapshots_ = [](const p2p::Effect&) {};
    KeyRecovery recovery_;
    WorkerPool workers_;
    WorkerPool journal_{1};  // Writes the disk thread's pages beside its rows.

    // Inputs of the core thread.
    std::mutex input_mutex_;
    std::condition_variable input_ready_;
    base::Queue<Item> urgent_;
    std::deque<Item> bulk_;  // Transactions and ranges: after all that is urgent.
    bool stopping_ = false;
    transport::IoThread* transport_ = nullptr;
    std::shared_ptr<Outgoing> outgoing_;

    // The core thread's; their memory is kept from step to step.
    std::vector<base::Timestamp> wake_times_;  // Ascending, each once.
    Effects effects_;                          // Of one step.
    Outgoing::Counts written_;
    std::vector<transport::Command> commands_;  // Of one step.
    base::Bytes scratch_;                       // A message in one run.

    // Writes of the disk thread.
    mutable std::mutex disk_mutex_;
    std::condition_variable disk_ready_;
    std::deque<effect::Write> writes_;
    bool disk_stopping_ = false;
    RepeatGuard disk_complaints_;  // Disk thread only.

    mutable std::mutex view_mutex_;
    std::shared_ptr<const Published> view_;
    std::shared_ptr<const p2p::Status> peers_;

    mutable std::mutex answer_mutex_;
    std::map<Ticket, Answered> answered_;
    Ticket last_ticket_ = 0;
    // Of each journal the last page that was written; the disk thread's.
    std::map<consensus::KeyTag, base::Bytes> last_pages_;
    // The core thread's: its time goes on evenly from what the clock showed at the start.
    base::Timestamp began_at_;      // By the clock,
    base::Timestamp began_steady_;  // and by what nobody sets.
    base::Duration clock_ahead_{};  // What the core knows of the clock being set.
    std::atomic<bool> closed_ = false;

    std::atomic<std::uint64_t> executed_ = 0;           // effect::Pending so far.
    std::atomic<std::uint64_t> executed_answered_ = 0;  // When the last of ours was answered.
    std::atomic<bool> pending_asked_ = false;           // An input::ShowPending is on its way.
    std::condition_variable view_ready_;
    std::atomic<std::uint64_t> submitted_ = 0;
    std::atomic<std::uint64_t> accepted_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;
    std::atomic<std::uint64_t> disk_writes_ = 0;
    std::atomic<std::uint64_t> disk_errors_ = 0;
    std::atomic<std::uint64_t> disk_microseconds_ = 0;

    std::thread disk_thread_;
    std::thread core_thread_;
};

}  // namespace node
