#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/rng.hpp"
#include "chain/types/transaction.hpp"
#include "node/bps/core/broker.hpp"
#include "node/bps/disk/codecs.hpp"
#include "node/bps/disk/log_syncer.hpp"
#include "node/bps/disk/open_files.hpp"
#include "node/bps/ledger/chain_calls.hpp"
#include "node/bps/ledger/final_rows.hpp"
#include "node/bps/server/kafka_listener.hpp"
#include "node/bps/service/broker_start.hpp"
#include "node/bps/service/figures.hpp"
#include "node/bps/service/gateway.hpp"
#include "node/bps/service/local_partitions.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace bps {

// A broker in a node (spec 08): its rules and its clients' sockets on a thread of their own, the
// disk on some more, and the chain, which the node is.
//
// Threads: start() and stop() are the owner's; on_final() any, in the order of the blocks.
class Service : base::Pinned {
  public:
    struct Options {
        std::string directory;  // Of the logs: bps/ in the data directory.
        ListenerOptions listener;
        Gateway::Settings gateway;
        Rights::Settings rights;
        GroupSettings groups;
        ChainCalls::Settings chain;
        base::crypto::PrivateKey key;  // Of the broker's account.
        base::crypto::PublicKey node_key;
        std::vector<rows::Listener> listeners;  // Where others find this broker.
        std::string cluster_id;
    };
    // The node. All of it outlives this.
    struct Node {
        // Calls back once, from any thread: executed on the pending block, or why not.
        std::function<base::Result<void>(chain::PackedTransaction,
                                         std::function<void(base::Result<void>)>)>
            submit;
        // The contract's rows after the last durable final block.
        std::function<FinalRows()> all_rows;
        const PermissionCheck& permissions;
    };

    // unavailable: the directory; the text names what.
    [[nodiscard]] static base::Result<std::unique_ptr<Service>> open(Options options,
                                                                     Node node,
                                                                     base::Log log);
    // NOLINTNEXTLINE(bugprone-exception-escape): no memory to stop ends the process.
    ~Service();

    // Binds the addresses, then serves.
    base::Result<void> start();
    // Answers what is under way, within a second, and ends the threads. The node still runs.
    void stop();
    // A block is final, durably.
    void on_final(FinalRows rows);
    // Any thread.
    [[nodiscard]] Figures figures();
    [[nodiscard]] const std::vector<std::string>& addresses() const {
        return listener_->addresses();
    }

  private:
    struct Ahead {
        std::chrono::steady_clock::time_point since;
        std::int64_t from = 0;
    };
    struct Synced {
        LogSyncer::Failed failed;
    };
    struct Refused {
        std::uint64_t ticket = 0;
        base::Error reason;
    };
    using Input = std::variant<FinalRows, Synced, Refused>;

    Service(Options options, Node node, base::Log log);

    void post(Input input);
    void wake();
    void run();
    // Reads and writes what clients' sockets have and take; waits for that, for inputs, and until
    // something is due, where nothing is at hand.
    void go_on_with_sockets(bool has_more);
    [[nodiscard]] std::vector<Input> take_inputs();
    // The broker is to stop, and the last answers have left.
    [[nodiscard]] bool has_ended();
    [[nodiscard]] std::int64_t now();
    void take(Input& input, Effects& out);
    void take(FinalRows& rows, Effects& out);
    void take(Synced& synced, Effects& out);
    void take(const Refused& refused, Effects& out);
    base::Result<void> feed(const RowId& id, std::optional<base::ByteView> value);
    void apply(const FinalRows& rows, std::set<PartitionId>& changed, Effects& out);
    void add_topic(std::uint32_t topic, std::set<PartitionId>& changed) const;
    void step_start(std::set<PartitionId>& changed);
    void on_time(Effects& out);
    // Retention and compaction. True: there is more to do at once.
    [[nodiscard]] bool tidy(Effects& out);
    void carry_out(Effects& out);
    void publish_figures();
    // Why it serves nobody; empty: it does.
    [[nodiscard]] std::string trouble();
    void push(std::uint64_t ticket, chain::Name action, base::Bytes data, Effects& out);
    void tell(const ChainCalls::Outcome& outcome, Effects& out);

    const Options options_;
    const Node node_;
    base::Log log_;
    base::Rng rng_;
    Codecs codecs_;
    Quotas quotas_;
    Rights rights_;
    Directory directory_;
    Broker broker_;
    ChainCalls calls_;
    TokenJudge judge_;
    std::unique_ptr<BrokerStart> start_;
    OpenFiles files_{OpenFiles::allowed()};
    boost::asio::io_context context_{1};  // Run by one thread.
    std::unique_ptr<LogSyncer> syncer_;
    std::unique_ptr<LocalPartitions> partitions_;
    std::unique_ptr<KafkaListener> listener_;
    std::unique_ptr<Gateway> gateway_;

    // Of the broker's thread.
    std::set<PartitionId> known_;  // Every partition that has a row.
    std::uint32_t height_ = 0;     // Of the rows.
    std::int64_t now_ = 0;
    std::optional<Ahead> ahead_;  // Of the system's clock.
    std::int64_t expire_at_ = 0;
    std::chrono::steady_clock::time_point expire_rests_until_;
    std::int64_t looked_at_ = 0;
    bool has_unread_rows_ = false;  // Rows of a newer contract were passed over.
    Figures counted_;
    std::chrono::steady_clock::time_point sync_began_;

    bool has_stopped_listening_ = false;
    bool is_stale_ = false;  // Since the last final block topics are served to nobody.

    std::mutex mutex_;  // Guards the four below.
    Figures published_;
    std::vector<Input> inputs_;
    bool is_woken_ = false;
    bool is_stopping_ = false;
    std::thread thread_;
};

}  // namespace bps
