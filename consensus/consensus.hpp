#pragma once

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "chain/types/block.hpp"
#include "chain/types/evidence.hpp"
#include "chain/types/schedule_reset.hpp"
#include "chain/types/schedule_state.hpp"
#include "consensus/block_tree.hpp"
#include "consensus/certificate.hpp"
#include "consensus/clocks.hpp"
#include "consensus/header_rules.hpp"
#include "consensus/safety_journal.hpp"
#include "consensus/vote_history.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace consensus {

// What can happen to the state machine.
namespace input {
struct Tick {};  // Time passed; nothing else happened.
// A block was executed and found valid, or made here; its parent was adopted before. The caller
// checked its header and witness with check() and verify(), and its signature.
struct BlockAdopted {
    chain::BlockPtr block;
    bool own = false;  // Made here, in answer to effect::Produce.
    // It is below a certified block, and its signature and witness were not checked (trust =
    // certified): nothing is learned from them, and nothing is signed above it until a block above
    // it is final.
    bool spared = false;
};
// The caller checked the signature. The block may not be here yet.
struct VoteReceived {
    chain::Vote vote;
};
// The caller checked it with verify() under schedules_of() its data. The block may not be here
// yet: then it is the caller's to fetch.
struct CertificateReceived {
    chain::Certificate certificate;
};
// A header whose signature was checked, adopted or not: only looked at for evidence.
struct HeaderSeen {
    chain::SignedHeader header;
};
// From a peer's answer to hello: the newest vote that it has seen of a key of ours. The caller
// checked the signature. One that the journal does not know shows that the journal is lost.
struct OwnVoteSeen {
    chain::Vote vote;
};
// A peer proved that it has these vote keys, and answered our hello: each OwnVoteSeen of its came
// before.
struct ValidatorHeard {
    std::vector<base::crypto::PublicKey> vote_keys;
};
// What the clock of a validator shows now, as it has signed.
struct ClockHeard {
    base::crypto::PublicKey key;  // That it votes with.
    base::Timestamp shown{};
};
// This machine's clock was set: it shows so much more than the time that step() is told. Nothing
// before the first.
struct ClockSet {
    base::Duration ahead{};
};
// Another machine proved that it uses this key of ours, and started earlier: ours stops.
struct TwinSeen {
    base::crypto::PublicKey key;
};
// A validator says that another machine uses these keys of ours and started earlier. It may lie:
// more than f of them stop a key.
struct TwinTold {
    std::vector<base::crypto::PublicKey> keys;
    std::vector<base::crypto::PublicKey> said_by;  // The keys that it votes with.
};
// The operator answers a recovery: our keys that serve sign nothing more, now and after any
// restart.
struct StopSigning {};
// Everything up to this final block is durable here: effect::Finalize was carried out.
struct FinalDurable {
    chain::Slot slot = 0;
};
}  // namespace input
using Input = std::variant<input::Tick,
                           input::BlockAdopted,
                           input::VoteReceived,
                           input::CertificateReceived,
                           input::HeaderSeen,
                           input::OwnVoteSeen,
                           input::ValidatorHeard,
                           input::ClockHeard,
                           input::ClockSet,
                           input::TwinSeen,
                           input::TwinTold,
                           input::StopSigning,
                           input::FinalDurable>;

// What the state machine asks of its runtime, in this order.
namespace effect {
// A barrier: all of it, and all earlier Persists, are durable before any later effect is carried
// out. Parts may be made durable side by side. Without `wait` it need only be written in order.
struct Persist {
    std::vector<JournalPage> pages;                 // Each also to be stored beside.
    std::optional<chain::BlockId> block;            // With its witness.
    std::optional<chain::Certificate> certificate;  // Keep the newest of each kind.
    bool wait = true;
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
    bool again = false;  // Nothing becomes final: send even to those who have it.
};
// Close the block of this slot now, on this parent, and give it back as input::BlockAdopted.
struct Produce {
    chain::ScheduleEntry producer;
    chain::Slot slot = 0;
    chain::BlockId parent;
    std::optional<chain::Certificate> justify;    // Absent: as in the parent's header.
    std::optional<chain::Certificate> finalized;  // Absent: as in the parent's header.
    std::uint32_t schedule_version = 0;
    bool may_propose = false;  // Propose the schedule of the parent's state, if it differs.
    bool empty = false;        // No transactions, as so long nothing is final.
};
// The block and its ancestors are final; say so once all of it is durable. A barrier. `base` is
// stored with it: what Consensus is made from after a restart.
struct Finalize {
    chain::BlockId block;
    std::optional<chain::Certificate> certificate;  // Absent: a recovery begins from the block.
    TreeBase base;
};
// What input::StopSigning wants is durable.
struct StoppedSigning {};
struct WakeAt {
    base::Timestamp time;
};
// Somebody broke a rule: send `reportbad` with it.
struct Accuse {
    chain::Evidence evidence;
};
// Tell the operator.
struct Alarm {
    enum class Kind : std::uint8_t {
        twin_key,
        journal_lost,
        lock_given_up,  // By the operator's word, which goes on chain.
        goes_on,        // By the same word: without all that it has promised.
        votes_again
    };
    Kind kind = Kind::twin_key;
    base::crypto::PublicKey key;
};
// This block is not kept any more: it conflicts with the final block, or too many are held.
struct Forget {
    chain::BlockId block;
};
}  // namespace effect
using Effect = std::variant<effect::Persist,
                            effect::Announce,
                            effect::CastVote,
                            effect::PassOn,
                            effect::Produce,
                            effect::Finalize,
                            effect::StoppedSigning,
                            effect::WakeAt,
                            effect::Accuse,
                            effect::Alarm,
                            effect::Forget>;
using Effects = std::vector<Effect>;

// How one of our keys stands; for `doctor` and the API.
struct KeyStatus {
    base::crypto::PublicKey key;
    chain::Slot last_notarize = 0;
    chain::Slot lock = 0;
    bool lost = false;        // Its journal is lost: it does not vote yet.
    bool twin = false;        // Another machine uses it: it neither votes nor produces.
    bool waits = false;       // Nor before enough validators and clocks were heard.
    bool stopped = false;     // It has answered a recovery: it signs nothing more.
    bool lacks_lock = false;  // Its lock is on a block that is not here: peers are asked for it.
    // It votes again when a block of a slot above this is final; kLostSlot: that is not known yet.
    std::optional<chain::Slot> silent_until = std::nullopt;
};

// The clocks that decide whether something may be signed; for `doctor` and the API.
struct ClockStatus {
    base::Timestamp ours{};
    // What was signed before the start is of slots up to this; absent: not enough were heard.
    std::optional<chain::Slot> floor{};
    std::size_t quorum = 0;
    std::vector<std::pair<chain::Name, base::Timestamp>> shown{};  // Ours too, if it counts.
};

// Decides when we produce, on which block, and which block is final (spec 04: slots, R1 to R5).
//
// Pure: the same sequence of steps produces the same effects on every machine. Owns no thread,
// clock, socket or file. Not thread-safe; one owner calls step().
// Invariants: (1) the final block is an ancestor of every block kept above it; (2) a vote or
// header is only asked for after a Persist of the record that allows it; (3) journal rules of
// SafetyJournal.
class Consensus {
  public:
    struct Options {
        base::Hash256 chain_id;
        chain::SlotTimes times;
        std::uint32_t repetitions = 1;                  // Slots in a row for each producer.
        std::uint64_t schedule_period = 120;            // Slots.
        std::size_t reversible_max = 3'600;             // Blocks kept above the final one.
        std::vector<base::crypto::PublicKey> own_keys;  // Vote or sign with these.
        base::Timestamp started{};                      // Now.
        base::Duration clock_bound{};                   // How far right clocks may differ.
        std::size_t journal_blocks_max = 16 * 1024;     // Then it is compacted.
        // The operator accepts that lost journals vote at once, and that a lock is given up whose
        // block no peer has sent for ten seconds.
        bool accept_amnesia = false;
        std::optional<chain::ScheduleReset> reset{};  // That the operator knows of.
        // For so long after the start it signs nothing until a quorum, with us, was heard
        // (input::ValidatorHeard). A validator may be connected to fewer.
        base::Duration asks_around_for{};
    };

    // From the last TreeBase that was stored, or the genesis block. The journal of a key that has
    // none there counts as lost (spec 04, "Safety journal").
    Consensus(Options options, TreeBase base, Journals journals);
    Consensus(Consensus&&) = default;
    Consensus& operator=(Consensus&&) = delete;
    Consensus(const Consensus&) = delete;
    Consensus& operator=(const Consensus&) = delete;

    // --- After a restart, before the first step(), without voting again ---
    // Every certificate, those of witnesses and of locks whose blocks are here included, was
    // checked by the caller with verify() under schedules_of() its data.
    // A block that was adopted, parents first: those between the base and the final one too.
    void restore(const chain::BlockPtr& block);
    // One up to the final block whose witness was not checked: nothing that it says is believed.
    void restore_spared(const chain::BlockPtr& block);
    // A certificate that was kept: the newest NOTARIZE, and the COMMIT of the final block.
    void restore(const chain::Certificate& certificate);
    // The final block that was stored: where a recovery begins, none of its certificates is COMMIT.
    void restore_final(const chain::BlockId& id);
    // After the last restore(): takes the certificates of the locks from the journals, where the
    // storage may have lost them. Returns the locks whose blocks it has lost, too: nothing is
    // voted for before they are here again, since they may become final elsewhere.
    [[nodiscard]] std::vector<chain::VoteData> restore_locks();
    // The certificate of a lock that restore_locks() took from a journal, of this block that was
    // not here: the caller checks it with verify() before the block is adopted, and takes it away
    // if it is not good. Null: there is none.
    [[nodiscard]] const chain::Certificate* unverified(const chain::BlockId& block) const;
    void distrust(const chain::BlockId& block);

    // Applies one input and appends to `out` what must now be done, in the order in which it
    // must be done. `now` goes on evenly, whatever is done to the clock (input::ClockSet): it
    // never decreases between calls.
    void step(base::Timestamp now, const Input& input, Effects& out);

    // --- What callers ask before they give an input ---
    // Whether a block may be adopted, by its header and the form of its witness. The witness'
    // certificates are the caller's to verify(), under the schedules named with them.
    [[nodiscard]] HeaderVerdict check(base::Timestamp now, const chain::Block& block) const;
    // Whether nothing of this slot may come yet, as clocks differ.
    [[nodiscard]] bool is_too_early(base::Timestamp now, chain::Slot slot) const {
        return slot > latest_slot(now);
    }
    // Whether a certificate was seen that names this block, which is not here.
    [[nodiscard]] bool is_certified(const chain::BlockId& block) const;
    // The schedules under which votes and certificates with this data count; null: unknown.
    // If the block is not here, those of the head, when the version is the same.
    [[nodiscard]] const chain::ScheduleState* schedules_of(const chain::VoteData& data) const;

    // --- What is shown and sent to peers ---
    // The block to build on (R4): the branch with the highest NOTARIZE certificate, then the
    // highest slot, then the lowest id.
    [[nodiscard]] const chain::BlockId& head() const { return tree_.head().id(); }
    [[nodiscard]] chain::BlockRef finalized() const { return tree_.finalized().ref(); }
    [[nodiscard]] bool holds(const chain::BlockId& id) const { return tree_.find(id) != nullptr; }
    // To send after hello. Null: none yet.
    [[nodiscard]] const chain::Certificate* highest_notarize() const;
    [[nodiscard]] const chain::Certificate* final_certificate() const;
    // That of the highest slot of all that are here, those of journals and of blocks that are not
    // here included; null: none.
    [[nodiscard]] const chain::Certificate* highest_certificate() const;
    // The blocks above the final one on which keys are locked, and that are not here: each peer is
    // asked for them. Where nobody else has the certificate of one, nothing else brings it.
    [[nodiscard]] std::vector<chain::BlockId> missing_locks() const;
    // The newest votes seen of a key, at most one of each kind: the answer to hello.
    [[nodiscard]] std::vector<chain::Vote> newest_votes(const base::crypto::PublicKey& key) const {
        return history_.newest(key);
    }
    // Whose block this slot would be on our head.
    [[nodiscard]] chain::ScheduleEntry producer_at(chain::Slot slot) const;
    // The schedules of a block that is built on our head.
    [[nodiscard]] chain::ScheduleState next_schedules() const;
    [[nodiscard]] std::vector<KeyStatus> keys() const;
    // Whether this vote says that an own key has promised more than is known here. One that does
    // not binds nobody: its signature need not be looked at for that.
    [[nodiscard]] bool is_bound_by(const chain::Vote& vote) const;
    // Whether this key was found to be lost, maybe after it has promised a vote: that stays here.
    [[nodiscard]] bool is_lost(const base::crypto::PublicKey& key) const;
    [[nodiscard]] ClockStatus clocks(base::Timestamp now) const;
    // Whether this key votes or signs headers on our head, or will once its change is in force.
    [[nodiscard]] bool serves(const base::crypto::PublicKey& key) const;
    // Whether this key votes, or will once what is final here is in force.
    [[nodiscard]] bool is_validator(const base::crypto::PublicKey& key) const;
    [[nodiscard]] const Journals& journals() const { return journals_; }

    // One page that replaces the journal of this key; see SafetyJournal::compacted().
    [[nodiscard]] JournalPage compact_journal(KeyTag key) {
        return journals_.at(key).compacted(durable_final_slot_);
    }
    // While paused it makes no blocks; it votes all the same.
    void set_paused(bool paused) { paused_ = paused; }
    [[nodiscard]] bool paused() const { return paused_; }
    // How long messages take: the measured 99th percentile, one way. Sets G of rule R2.
    void set_delay(base::Duration delay_p99);

    // For model checkers: the blocks and what is known of them.
    [[nodiscard]] const BlockTree& tree() const { return tree_; }

  private:
    struct OwnKey {
        base::crypto::PublicKey key;
        KeyTag tag = 0;
        bool twin = false;
        std::set<KeyTag> twin_told_by{};  // Vote keys of those who say that it is used elsewhere.
        // The journal of this key is lost: it signs only in slots above this; kLostSlot: which
        // that is only clocks will tell.
        std::optional<chain::Slot> lost_until = std::nullopt;
        // Of a key that is lost: it may have signed up to this, whatever clocks tell of the start.
        chain::Slot signed_until = 0;
    };
    // What one step binds us to: the records, and the messages that they allow.
    struct Promise {
        KeyTag key = 0;
        SafetyRecord record;
    };
    struct Promises {
        std::vector<Promise> records;
        BlockNode* lock = nullptr;  // Of the COMMIT, if there is one.
        std::vector<effect::CastVote> votes;
    };
    struct EarlyCertificate {
        chain::Certificate certificate;
        // Under which it was verified. None: the lock of a key of ours, from its journal.
        std::optional<chain::ScheduleState> schedules;
        base::Timestamp since{};  // When it was first seen.
    };

    struct SeenHeader {
        KeyTag key = 0;  // Its signer's.
        chain::SignedHeader header;
    };

    void on_tick(base::Timestamp now, Effects& out);
    void on_block(base::Timestamp now, const input::BlockAdopted& adopted, Effects& out);
    void on_vote(base::Timestamp now, const chain::Vote& vote, Effects& out);
    void on_certificate(base::Timestamp now, const chain::Certificate& certificate, Effects& out);
    void on_header(const chain::SignedHeader& header, Effects& out);
    [[nodiscard]] std::optional<KeyTag> signer_of(const chain::BlockHeader& header) const;
    void on_heard(base::Timestamp now, const input::ValidatorHeard& heard);
    void look_around(base::Timestamp now);
    void on_own_vote_seen(base::Timestamp now, const chain::Vote& vote, Effects& out);
    void on_twin(const base::crypto::PublicKey& key, Effects& out);
    void on_twin_told(const input::TwinTold& told, Effects& out);
    void on_final_durable(chain::Slot slot);
    void stop_signing(Effects& out);
    // The block from which the recovery begins is final as soon as it is here.
    void follow_reset(base::Timestamp now, Effects& out);
    void learn_witness(base::Timestamp now, const chain::Witness& witness, Effects& out);
    void bound_tree(BlockNode& newest, Effects& out);
    // Whether blocks above the final one were adopted unchecked.
    [[nodiscard]] bool has_spared() const { return spared_to_ > tree_.finalized().height(); }
    // `block`: the one that the certificate must be of; null: none may be there.
    [[nodiscard]] base::Result<void> check_witness(
        const std::optional<chain::Certificate>& certificate,
        const BlockNode* block,
        chain::VoteKind kind,
        std::vector<ToVerify>& to_verify) const;
    // The schedules of a child of this block, before what it proposes.
    [[nodiscard]] chain::ScheduleState schedules_below(const BlockNode& parent) const;
    // R5: the schedules whose quorums make a certificate of this block.
    [[nodiscard]] const chain::ScheduleState& voters(const BlockNode& block) const;
    [[nodiscard]] chain::Slot latest_slot(base::Timestamp now) const;

    // --- Production (production.cpp) ---
    [[nodiscard]] bool in_recovery(base::Timestamp now) const;
    [[nodiscard]] const BlockNode& recovery_parent() const;
    void try_produce(base::Timestamp now, chain::Slot slot, Effects& out);
    [[nodiscard]] bool may_sign_header(const OwnKey& own, chain::Slot slot) const;
    void promise_header(const chain::Block& block, Promises& promises);
    void note_seen(const chain::BlockHeader& header, bool own);
    void resend(base::Timestamp now, chain::Slot slot, Effects& out);

    // --- Votes and evidence (voting.cpp) ---
    void count(base::Timestamp now, const chain::Vote& vote, BlockNode& block, Effects& out);
    void count_early(base::Timestamp now, BlockNode& block, Effects& out);
    void count_early(base::Timestamp now,
                     std::optional<EarlyCertificate>& early,
                     const BlockNode& block,
                     Effects& out);
    void apply_notarize(base::Timestamp now,
                        const chain::Certificate& certificate,
                        BlockNode& block,
                        Effects& out);
    void finalize(base::Timestamp now, const chain::Certificate& certificate, Effects& out);
    static void pass_on(const chain::Certificate& commit, BlockNode& block, Effects& out);
    void make_final(base::Timestamp now, BlockNode& block);
    void note_vote(const chain::Vote& vote, Effects& out);
    void note_signers(const chain::Certificate& certificate,
                      const chain::ScheduleState& schedules,
                      Effects& out);
    [[nodiscard]] bool complete(chain::Evidence& evidence) const;
    void accuse(KeyTag key, chain::Evidence evidence, Effects& out);
    void promise_votes(base::Timestamp now, BlockNode& block, Promises& promises);
    // R1, all of it that journals decide.
    [[nodiscard]] bool may_notarize(const BlockNode& block, const KeySafety& safety) const;
    // R2, all of it.
    [[nodiscard]] bool may_commit(const BlockNode& block, const KeySafety& safety) const;
    // R2: no own NOTARIZE of a V with slot(V) > slot(A), justify_slot(V) < slot(A) and V not
    // extending A.
    [[nodiscard]] bool past_votes_allow(const BlockNode& block, const KeySafety& safety) const;
    // Whether a COMMIT for a block of this slot may still go out by itself (R2, guard).
    [[nodiscard]] bool in_time(base::Timestamp now, chain::Slot slot) const;
    // Whether a block of this slot may still be voted for (R1).
    [[nodiscard]] bool is_recent(base::Timestamp now, chain::Slot slot) const;
    // A certificate was seen of a block that is not here, so that a vote might be against it, as
    // the first vote of a key that has forgotten what it signed (R1). One that nobody gives us does
    // not keep us from voting for ever: a power cut of all may have lost the block.
    [[nodiscard]] bool is_syncing(base::Timestamp now) const;
    [[nodiscard]] static bool is_member(const BlockNode& block, const OwnKey& own);
    static void promise_notarize(const BlockNode& block,
                                 const OwnKey& own,
                                 const KeySafety& safety,
                                 Promises& promises);
    static void promise_commit(BlockNode& block, const OwnKey& own, Promises& promises);

    // --- Clocks (clocks.cpp) ---
    void on_clock(base::Timestamp now, const input::ClockHeard& heard, Effects& out);
    void on_clock_set(base::Timestamp now, const input::ClockSet& set, Effects& out);
    void look_at_clocks(base::Timestamp now, Effects& out);
    void vote_late(base::Timestamp now, Effects& out);
    // Of what a clock shows.
    [[nodiscard]] chain::Slot slot_shown(base::Timestamp clock) const;
    // When a slot begins by our clock, in the time of step().
    [[nodiscard]] base::Timestamp begin_of(chain::Slot slot) const;
    // What the clocks of these members show, and ours, the highest first.
    [[nodiscard]] std::vector<base::Timestamp> clocks_of(const chain::Schedule& schedule,
                                                         base::Timestamp now) const;
    // Whether a quorum of clocks, and ours, has come to this slot, so that it may be signed for.
    [[nodiscard]] bool is_time(base::Timestamp now,
                               chain::Slot slot,
                               const chain::Schedule& schedule) const;
    [[nodiscard]] std::optional<base::Timestamp> time_of_clocks(
        base::Timestamp now, chain::Slot slot, const chain::Schedule& schedule) const;
    // Whether no earlier life of this node can have signed for this slot.
    [[nodiscard]] bool is_above_floor(chain::Slot slot) const;
    // The last slot for which a key of ours may have signed before now (W of spec 04); empty: too
    // few clocks were heard.
    [[nodiscard]] std::optional<chain::Slot> latest_signed(base::Timestamp now) const;
    [[nodiscard]] chain::Slot lost_at(base::Timestamp now, chain::Slot theirs) const;
    static void note_signed(OwnKey& own, chain::Slot slot);
    void note_signed_with_lost(chain::Slot slot);
    void note_certified_ahead(base::Timestamp now);
    void lose(base::Timestamp now, OwnKey& own, effect::Persist& persist, Effects& alarms);

    // --- Our keys (own_keys.cpp) ---
    // Null: this key must not vote.
    [[nodiscard]] const KeySafety* voting_safety(const OwnKey& own) const;
    [[nodiscard]] const OwnKey* find_own(const base::crypto::PublicKey& key) const;
    [[nodiscard]] OwnKey* find_own(const base::crypto::PublicKey& key);
    void tell_lost_keys(Effects& out);
    void regain(base::Timestamp now, Effects& out);
    // Makes what is promised durable with `persist`; before it, the block of a COMMIT.
    void persist_promises(Promises& promises, effect::Persist persist, Effects& out);
    // The records of one key; `lock` is the certificate of the lock that they set.
    void write_journal(KeyTag key,
                       std::span<const SafetyRecord> records,
                       const CertificatePtr& lock,
                       effect::Persist& persist);
    // The operator's word for keys that are lost.
    void accept_amnesia(Effects& out);
    void give_up_missing_locks(base::Timestamp now, Effects& out);
    [[nodiscard]] bool is_lock_missing(const OwnKey& own) const;
    template <class Ready>
    void remember(Ready ready, Effects& out);

    Options options_;
    Journals journals_;  // Of each own key.
    std::vector<OwnKey> own_;
    BlockTree tree_;
    VoteHistory history_;
    std::optional<chain::Certificate> final_certificate_;
    std::array<std::optional<EarlyCertificate>, 2> early_;  // By kind: their block is not here.

    std::vector<SeenHeader> headers_;  // The last ones, in a ring.
    std::size_t next_header_ = 0;
    std::set<KeyTag> accused_;
    std::set<KeyTag> heard_;      // Vote keys, since the start.
    bool is_acquainted_ = false;  // A quorum was heard, or waited for in vain.

    Clocks clocks_;                          // Of others.
    base::Duration ahead_{};                 // Our clock, before the time of step().
    std::optional<chain::Slot> floor_;       // Nothing is signed for slots up to this.
    base::Timestamp floor_at_{};             // The moment whose clocks tell it.
    std::optional<chain::Slot> lost_floor_;  // And lost keys sign nothing up to this.
    bool is_late_ = false;  // The head was adopted before enough clocks had come to its slot.

    chain::Slot asked_slot_ = 0;        // Of the last Produce.
    chain::Slot resent_slot_ = 0;       // In which certificates were sent again.
    chain::Height spared_to_ = 0;       // The highest block whose witness was not checked.
    chain::Slot newest_slot_ = 0;       // Of the blocks that count for the wait of recovery.
    std::vector<chain::Name> counted_;  // Producers whose block restarted that wait already.
    base::Timestamp final_at_;          // When the last block became final here.
    chain::Slot durable_final_slot_ = 0;
    base::Duration guard_{};  // G of R2.
    bool begun_ = false;      // The first step was made.
    bool paused_ = false;
};

}  // namespace consensus
