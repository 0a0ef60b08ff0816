#pragma once

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "chain/types/block.hpp"
#include "consensus/certificate.hpp"
#include "consensus/safety_journal.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

namespace consensus {

// What can happen to the state machine.
namespace input {
struct Tick {};  // Time passed; nothing else happened.
// A block was executed and found valid, or made here; its parent was adopted before.
struct BlockAdopted {
    chain::BlockHeader header;
    chain::BlockId id;
    bool own = false;  // Made here, in answer to effect::Produce.
};
struct VoteReceived {
    chain::Vote vote;  // The caller checked the signature.
};
struct CertificateReceived {
    chain::Certificate certificate;  // The caller checked it with verify().
};
}  // namespace input
using Input =
    std::variant<input::Tick, input::BlockAdopted, input::VoteReceived, input::CertificateReceived>;

// What the state machine asks of its runtime, in this order.
namespace effect {
// A barrier: all of it is durable before any later effect is carried out. Parts may be made
// durable side by side.
struct Persist {
    base::Bytes journal_page;                       // Empty: none.
    std::optional<chain::BlockId> block;            // With its ancestors and their witnesses.
    std::optional<chain::Certificate> certificate;  // Keep the newest of each kind.
};
// Send this block, made here, to everyone.
struct Announce {
    chain::BlockId block;
};
// Sign, send to everyone, and give back as input::VoteReceived.
struct CastVote {
    chain::VoteData data;
    base::crypto::PublicKey key;
};
// Send to everyone.
struct PassOn {
    chain::Certificate certificate;
};
// Close the block of this slot now, on this parent, and give it back as input::BlockAdopted.
struct Produce {
    chain::ScheduleEntry producer;
    chain::Slot slot = 0;
    chain::BlockId parent;
    std::optional<chain::Certificate> justify;    // Absent: as in the parent's header.
    std::optional<chain::Certificate> finalized;  // Absent: as in the parent's header.
};
// The block and its ancestors are final; say so once all of it is durable.
struct Finalize {
    chain::Certificate certificate;
};
struct WakeAt {
    base::Timestamp time;
};
}  // namespace effect
using Effect = std::variant<effect::Persist,
                            effect::Announce,
                            effect::CastVote,
                            effect::PassOn,
                            effect::Produce,
                            effect::Finalize,
                            effect::WakeAt>;
using Effects = std::vector<Effect>;

// Decides when we produce, on which block, and which block is final (spec 04: slots, R1 to R4).
//
// Pure: the same sequence of steps produces the same effects on every machine. Owns no thread,
// clock, socket or file. Not thread-safe; one owner calls step().
// Invariants: (1) `final_` is an ancestor of every block kept; (2) a vote or header is only asked
// for after a Persist of the record that allows it; (3) journal rules of SafetyJournal.
class Consensus {
  public:
    struct Options {
        base::Hash256 chain_id;
        chain::SlotTimes times;
        chain::Schedule schedule;                       // In force; a member of it may be ours.
        std::uint32_t repetitions = 1;                  // Slots in a row for each producer.
        std::vector<base::crypto::PublicKey> own_keys;  // Vote or sign with these.
    };
    // Where we start: the last final block.
    struct Root {
        chain::BlockHeader header;
        chain::BlockId id;
        std::optional<chain::Certificate> certificate;  // Its COMMIT; absent for genesis.
    };

    Consensus(Options options, Root root, SafetyJournal journal);

    // Tells of a block that was adopted before a restart, parents first, without voting again.
    void restore(const chain::BlockHeader& header, const chain::BlockId& id);
    // Tells of a certificate that was kept over a restart.
    void restore(const chain::Certificate& certificate);

    // Applies one input and appends to `out` what must now be done, in the order in which it
    // must be done. `now` never decreases between calls.
    void step(base::Timestamp now, const Input& input, Effects& out);

    // The block to build on (R4): the branch with the highest NOTARIZE certificate, then the
    // highest slot, then the lowest id.
    [[nodiscard]] const chain::BlockId& head() const { return head_; }
    [[nodiscard]] chain::BlockRef finalized() const { return {final_slot_, final_}; }
    [[nodiscard]] const SafetyJournal& journal() const { return journal_; }
    // One page that replaces the whole journal; see SafetyJournal::compacted().
    [[nodiscard]] base::Result<base::Bytes> compact_journal() {
        return journal_.compacted(final_slot_);
    }
    // While paused it makes no blocks; it votes all the same.
    void set_paused(bool paused) { paused_ = paused; }
    [[nodiscard]] bool paused() const { return paused_; }

  private:
    struct Node {
        chain::BlockId id;
        chain::BlockId previous;
        chain::Height height = 0;
        chain::Slot slot = 0;
        chain::BlockRef justify;
        chain::BlockRef finalized;
        std::optional<chain::Certificate> notarized;
    };

    // What one step binds us to: the records, and the messages that they allow.
    struct Promises {
        std::vector<SafetyRecord> records;
        std::vector<effect::CastVote> votes;
        bool announce = false;
    };

    void on_tick(base::Timestamp now, Effects& out);
    void on_block(base::Timestamp now, const input::BlockAdopted& block, Effects& out);
    void on_certificate(base::Timestamp now, const chain::Certificate& certificate, Effects& out);

    void produce(chain::Slot slot, const chain::ScheduleEntry& entry, Effects& out) const;
    void finalize(const chain::Certificate& certificate, Effects& out);
    [[nodiscard]] bool may_notarize(const Node& block, const KeySafety& safety) const;
    [[nodiscard]] bool may_commit(const Node& block, const KeySafety& safety) const;
    // Whether a COMMIT for a block of this slot may still go out by itself (R2, guard).
    [[nodiscard]] bool in_time(base::Timestamp now, chain::Slot slot) const;
    // Whether a block of this slot may still be voted for (R1).
    [[nodiscard]] bool is_recent(base::Timestamp now, chain::Slot slot) const;
    [[nodiscard]] chain::VoteData vote_data(chain::VoteKind kind, const Node& block) const;
    void promise_header(const input::BlockAdopted& block, Promises& promises) const;
    void promise_notarize(const Node& block,
                          const base::crypto::PublicKey& key,
                          Promises& promises) const;
    void promise_commit(const Node& block,
                        const base::crypto::PublicKey& key,
                        Promises& promises) const;
    void carry_out(Promises promises,
                   std::optional<chain::BlockId> block,
                   std::optional<chain::Certificate> certificate,
                   Effects& out);

    void insert(const chain::BlockHeader& header, const chain::BlockId& id);
    void choose_head();
    [[nodiscard]] const Node* find(const chain::BlockId& id) const;
    [[nodiscard]] bool extends(const Node& block, const chain::BlockId& ancestor) const;
    // The newest block of the branch that ends in `tip` which has a NOTARIZE certificate.
    [[nodiscard]] const Node* highest_notarized(const chain::BlockId& tip) const;
    [[nodiscard]] bool owns(const base::crypto::PublicKey& key) const;

    Options options_;
    SafetyJournal journal_;
    std::map<chain::BlockId, Node> nodes_;  // The final block and what builds on it.
    VoteCollector votes_;
    chain::BlockId head_;
    chain::BlockId final_;
    chain::Slot final_slot_ = 0;
    std::optional<chain::Certificate> final_certificate_;
    chain::Slot asked_slot_ = 0;  // Of the last Produce.
    bool paused_ = false;
};

}  // namespace consensus
