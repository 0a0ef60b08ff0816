#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "base/storage.hpp"
#include "base/time.hpp"
#include "chain/chain_manager.hpp"
#include "chain/types/trace.hpp"
#include "consensus/consensus.hpp"
#include "genesis/recovery.hpp"
#include "node/core/run_timer.hpp"
#include "node/core/unchecked.hpp"
#include "p2p/network.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace node {

// Names an input's answer; chosen by the runtime, never 0.
using Ticket = std::uint64_t;

// What can happen to a node.
namespace input {
struct Tick {};  // Time passed; nothing else happened.
// A transaction whose form was checked and whose signatures were recovered by a worker.
struct Submit {
    Ticket ticket = 0;
    chain::TransactionPtr transaction;
    std::vector<base::crypto::PublicKey> keys;  // Of its signatures, in their order.
    // Who is answerable for it until its authorization is found good: an address. Empty: nobody
    // is, as many share a loopback address.
    std::string sender = {};
};
// An effect::Write with a ticket was carried out, or failed as a whole.
struct Written {
    Ticket ticket = 0;
    base::Result<void> outcome;
};
struct SetPaused {
    bool paused = false;
};
// The operator answers a recovery with what this validator knows: its keys sign nothing more. The
// answer is Published::answer.
struct AnswerRecovery {};
// Somebody wants to read what was executed since the last block: publish it.
struct ShowPending {};
// What the conversation with peers asks of the ledger: things that arrived, blocks to read.
struct FromPeers {
    p2p::Effect asked;
};
// The machine's clock was set: it shows so much more than the time that step() is told.
struct ClockSet {
    base::Duration ahead{};
};
// How long messages take, one way: the measured 99th percentile (rule R2's guard).
struct SetDelay {
    base::Duration delay{};
};
// Blocks below this height are not stored any more: peers are told so.
struct HistoryPruned {
    chain::Height earliest = 0;
};
// An effect::Recover was carried out: the transactions in their order, or what is wrong with the
// first that is wrong.
struct Recovered {
    Ticket ticket = 0;
    base::Result<std::vector<chain::PooledTransaction>> transactions;
};
// An effect::CheckStored was carried out: what is wrong. corrupt: the storage is damaged.
struct StoredChecked {
    Ticket ticket = 0;
    base::Result<std::vector<WrongCopy>> wrong;
};
}  // namespace input
using Input = std::variant<input::Tick,
                           input::Submit,
                           input::Written,
                           input::SetPaused,
                           input::AnswerRecovery,
                           input::ShowPending,
                           input::FromPeers,
                           input::ClockSet,
                           input::SetDelay,
                           input::HistoryPruned,
                           input::Recovered,
                           input::StoredChecked>;

// What reading threads see: one consistent moment. Immutable; replaced as a whole.
struct Published {
    chain::BlockPtr head;
    chain::BlockPtr finalized;                        // The last block that is final, durably.
    std::optional<chain::Certificate> certificate;    // Of `finalized`; absent for genesis, and
                                                      // where a recovery begins.
    std::vector<chain::ExecutedBlockPtr> reversible;  // Above `finalized`, up to head, ascending.
    // Of these, the signatures of those up to this height are not checked.
    chain::Height unchecked_to = 0;
    // Stored blocks of which that is so, and those of them that were found wrong.
    chain::Height unchecked_blocks = 0;
    chain::Height wrong_blocks = 0;
    std::shared_ptr<const chain::StateView> head_state;
    std::shared_ptr<const chain::StateView> final_state;
    // Of the block being made, as of the `pending_count`-th effect::Pending: who was answered
    // reads what he did. The head's, unless input::ShowPending asked for it.
    std::shared_ptr<const chain::StateView> pending_state;
    std::uint64_t pending_count = 0;
    std::size_t pool_transactions = 0;
    std::size_t pool_bytes = 0;
    bool paused = false;
    std::string trouble;  // Why the node cannot go on, in a sentence; empty: it can.
    std::vector<consensus::KeyStatus> keys;  // Those of this node.
    // To input::AnswerRecovery: a recovery without a new schedule, or why there is none. Null:
    // nobody asked since the start.
    std::shared_ptr<const base::Result<genesis::Recovery>> answer;
    consensus::ClockStatus clocks;
    std::vector<chain::Vote> votes;  // The newest seen of each validator and kind.
};

// What a node asks of its runtime, in this order.
namespace effect {
// Carry out on the disk thread, in order. The batch and the pages are written side by side, but a
// page that replaces its journal after the batch; answered with input::Written once both are
// durable. Ticket 0: not waited for, no sync.
struct Write {
    Ticket ticket = 0;
    base::Batch batch;
    // Rows of blocks that became final: the disk thread appends them to the batch.
    std::shared_ptr<const chain::FinalState> final_state;
    std::vector<consensus::JournalPage> pages;
};
// To who submitted the transaction: its trace on the pending block, or why it is refused.
// A failed execution is an error here; the trace of it is in `failed`.
struct Answer {
    Ticket ticket = 0;
    base::Result<std::shared_ptr<const chain::TransactionTrace>> outcome;
    std::shared_ptr<const chain::TransactionTrace> failed;
};
struct Publish {
    std::shared_ptr<const Published> view;
};
struct WakeAt {
    base::Timestamp time;
};
// Decode what travels packed and recover the keys of the signatures, on a worker; answered with
// input::Recovered. Of all transactions of the block, or of the one transaction.
struct Recover {
    Ticket ticket = 0;
    chain::BlockPtr block;
    std::shared_ptr<const chain::PackedTransaction> transaction;  // If there is no block.
    base::crypto::PublicKey peer = {};                            // Who sent the transaction.
};
// Read stored blocks for a peer, on a thread that may wait for the disk, and answer the
// conversation with p2p::input::BlocksRead.
struct ReadBlocks {
    p2p::effect::ReadBlocks wanted;
    std::vector<p2p::SharedBytes> held{};  // Found in memory: they follow what is read.
};
// Check the signatures and witnesses of stored blocks (check_stretch), on a worker with nothing
// more urgent to do; answered with input::StoredChecked.
struct CheckStored {
    Ticket ticket = 0;
    Stretch stretch;
    BranchWalk::Rules rules;
    chain::BlockPtr copy;  // If set: of this one, in the place of the stored one.
};
// For the conversation with peers.
struct ToPeers {
    p2p::Input said;
};
// For the transport: Send, Close or Connect.
struct ToTransport {
    p2p::Effect asked;
};
// Of snapshots of peers and for peers: ReadSnapshot, KeepSnapshot, CheckSnapshot or LoadSnapshot.
struct ToSnapshots {
    p2p::Effect asked;
};
// Who is connected, and how far the sync is; at most once a second.
struct PublishPeers {
    std::shared_ptr<const p2p::Status> status;
};
// Somebody broke a rule of the agreement and this proves it: `reportbad` puts it on chain.
struct Accused {
    chain::Evidence evidence;
};
// For plugins (indexers, metrics, stream, status): what happened.
struct Pending {  // Executed on the pending block.
    chain::TransactionPtr transaction;
    std::shared_ptr<const chain::TransactionTrace> trace;
};
struct Accepted {  // The head is now this block.
    chain::ExecutedBlockPtr block;
};
struct Finalized {  // Durable; published before. Ancestors come first, each once.
    chain::ExecutedBlockPtr block;
    std::optional<chain::Certificate> certificate;  // Of this very block, if it has one.
    // The storage before the write that made it final: with the changes of the blocks since, which
    // became final with it, the state after any of them (a snapshot's).
    std::shared_ptr<const base::StorageView> before;
};
struct Dropped {  // A transaction that was taken, or was stopped, will not be in a block.
    chain::TransactionId id;
    chain::TimePointSec expiration;
    base::Error reason;
};
}  // namespace effect
using Effect = std::variant<effect::Write,
                            effect::Answer,
                            effect::Publish,
                            effect::WakeAt,
                            effect::Recover,
                            effect::ReadBlocks,
                            effect::CheckStored,
                            effect::ToPeers,
                            effect::ToTransport,
                            effect::ToSnapshots,
                            effect::PublishPeers,
                            effect::Accused,
                            effect::Pending,
                            effect::Accepted,
                            effect::Finalized,
                            effect::Dropped>;
using Effects = std::vector<Effect>;

// Signs with the keys of this node. Implemented by node over key files and wallets.
//
// Thread: core only. unavailable: the key is not at hand (a locked wallet); retried next slot.
class Signer : base::Pinned {
  public:
    virtual ~Signer() = default;
    [[nodiscard]] virtual std::vector<base::crypto::PublicKey> keys() const = 0;
    [[nodiscard]] virtual base::Result<base::crypto::Signature> sign(
        const base::crypto::PublicKey& key, const base::Hash256& digest) = 0;
    // Headers and votes: a wallet keeps a journal of its own of them, for which it must see them.
    [[nodiscard]] virtual base::Result<base::crypto::Signature> sign_header(
        const base::crypto::PublicKey& key,
        const chain::BlockHeader& header,
        const chain::ChainId& chain_id) {
        return sign(key, header.signing_digest(chain_id));
    }
    [[nodiscard]] virtual base::Result<base::crypto::Signature> sign_vote(
        const base::crypto::PublicKey& key,
        const chain::VoteData& vote,
        const chain::ChainId& chain_id) {
        return sign(key, vote.digest(chain_id));
    }
    // What this node says by itself (Duties), and that it is here; a wallet looks at them, too.
    [[nodiscard]] virtual base::Result<base::crypto::Signature> sign_transaction(
        const base::crypto::PublicKey& key,
        const chain::Transaction& transaction,
        const chain::ChainId& chain_id) {
        return sign(key, transaction.signing_digest(chain_id, {}));
    }
    [[nodiscard]] virtual base::Result<base::crypto::Signature> sign_statement(
        const base::crypto::PublicKey& key,
        const p2p::VoteKeyStatement& statement,
        const p2p::StatementContext& context) {
        return sign(key, p2p::statement_digest(statement, context));
    }
    [[nodiscard]] virtual base::Result<base::crypto::Signature> sign_clock(
        const base::crypto::PublicKey& key,
        const p2p::ClockStatement& statement,
        const chain::ChainId& chain_id) {
        return sign(key, p2p::clock_digest(statement, chain_id));
    }
    [[nodiscard]] virtual base::Result<base::crypto::Signature> sign_answer(
        const base::crypto::PublicKey& key,
        const genesis::RecoveryAnswer& answer,
        const chain::ChainId& chain_id) {
        return sign(key, genesis::answer_digest(answer, chain_id));
    }
};

// Decodes a transaction and recovers the keys of its signatures: what effect::Recover asks for.
// Pure; any thread. malformed, invalid: as of the two.
[[nodiscard]] base::Result<chain::PooledTransaction> recover_keys(
    const chain::PackedTransaction& packed, const chain::ChainId& chain_id);

// Whether the body is whole and the one that the header names. If not, whoever sent it changed it,
// and another copy of the same block may be good: its id must not be marked. Pure; any thread.
[[nodiscard]] bool has_its_body(const chain::Block& block);

[[nodiscard]] chain::ChainIdentity identity_of(const genesis::Genesis& genesis);

// Joins the ledger and the agreement: routes inputs to them and orders what they ask for. What
// peers say comes as input::FromPeers, and what they are to know goes as effect::ToPeers.
//
// Pure but for the Storage it reads while opening: no thread, no OS call, no clock; a simulator
// links it as it is. Thread: one owner calls step().
class Core : base::Pinned {
  public:
    struct Options {
        genesis::Genesis genesis;
        std::size_t pool_bytes_max = 64 * 1024 * 1024;
        bool produce = true;
        // What a new transaction may take by this machine's clock; zero or less: no limit.
        base::Duration max_transaction_time = std::chrono::milliseconds(150);
        // What failing transactions may take a minute, by payer; zero: no limit.
        std::chrono::milliseconds failures_per_minute{200};
        base::Timestamp started{};                                    // Now.
        base::Duration clock_bound = std::chrono::milliseconds(100);  // How far clocks may differ.
        bool has_peers = false;  // Somebody carries effect::ToPeers out.
        // How long validators are waited for at most before it signs.
        base::Duration asks_around_for = std::chrono::seconds(10);
        // The operator accepts that keys whose safety journal is lost vote at once.
        bool accept_amnesia = false;
        std::optional<chain::ScheduleReset> reset{};  // That the operator knows of.
        std::vector<chain::Name> producers{};         // Whose node this is, as the operator says.
    };
    // All outlive the core.
    struct Environment {
        const base::Storage& storage;
        chain::Executor& executor;
        Signer& signer;
        // How a new transaction is executed: the producer's own limits.
        chain::ExecutionOptions limits;
        chain::StateManager::Options state;
        base::Log log;
        // Makes the agreement; empty: as it is. The simulator keeps an eye on it.
        std::function<std::unique_ptr<consensus::Consensus>(
            consensus::Consensus::Options, consensus::TreeBase, consensus::Journals)>
            make_consensus = {};
        // Limits and measures the runs of new transactions; null: nobody does.
        RunTimer* timer = nullptr;
    };

    // Opens what the storage holds and executes again the blocks that were not final. `journals`
    // are those of the signer's keys, as they were read; one that is not among them, or is behind
    // what the storage has seen, counts as lost. `out` gets the first writes, the first Publish and
    // a WakeAt. corrupt, invalid: the message says what to do.
    [[nodiscard]] static base::Result<std::unique_ptr<Core>> open(const Options& options,
                                                                  const Environment& environment,
                                                                  consensus::Journals journals,
                                                                  Effects& out);
    ~Core();

    // The state of the final or a held block; null: it is not here.
    [[nodiscard]] std::shared_ptr<const chain::StateView> state_of(const chain::BlockId& id) const;

    // What to commit to an empty storage before the first open().
    [[nodiscard]] static base::Result<base::Batch> first_batch(const genesis::Genesis& genesis);

    // Applies one input and appends to `out` what must now be done, in this order. `now` is what
    // the clock showed at the start and what has passed since: it goes on evenly.
    void step(base::Timestamp now, const Input& input, Effects& out);

  private:
    class Impl;
    explicit Core(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace node
