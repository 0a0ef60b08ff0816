#pragma once

#include "p2p/network.hpp"
#include "p2p/seen.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace p2p {

// Fetches final blocks by height from several peers at once and hands them over in order.
//
// Where proofs are asked for, an answer may begin with one of its last block. What it covers is
// handed over as a whole, once all of it is here; whether it holds the ledger says.
//
// A range is what one peer is asked for at a time: its measured rate times its latency and a
// quarter of a second. Memory is bounded: so many bytes are asked for or held, and so many are with
// the ledger, whatever peers send. What is late or missing is asked of another, and so is what is
// held of a peer that goes: nobody would answer for it.
//
// That a block is final is the word of its sender alone, until the final block of the ledger rises.
// Where two peers contradict each other one alone is asked. One whose blocks lead to nothing final
// within its time, do not come meanwhile, or are early, is in doubt: it is asked only for what no
// other has.
// Invariants: (1) ranges do not overlap, and every height from next_ to cursor_ - 1 is in a
// range or in a hole; (2) blocks are handed over by height, each the child of the one before.
class SyncManager {
  public:
    // A peer that can be asked.
    struct Source {
        PeerSlot slot = 0;
        chain::Height first = 1;  // What it has.
        chain::Height last = 0;
        base::Duration round_trip{};
    };
    struct Ask {
        PeerSlot slot = 0;
        std::uint64_t correlation = 0;
        SyncRequest request;
    };
    struct Fault {
        PeerSlot slot = 0;
        int points = 0;  // 0: is proved, costs the connection.
        Reason reason = Reason::unlinkable;
        std::string text;
        chain::Height lacks = 0;  // It was asked for this block and sent nothing; 0: it did.
    };
    // One block; or, with a proof, all that it is of, up to the block that it proves.
    struct Delivery {
        PeerSlot slot = 0;
        std::vector<chain::BlockPtr> blocks;
        std::optional<RangeProof> proof{};
    };

    explicit SyncManager(std::optional<Checkpoint> checkpoint) : checkpoint_(checkpoint) {}

    // Ranges are asked for with a proof from the schedule of this version on.
    void trust(std::uint32_t schedule_version) { trusted_ = schedule_version; }

    // Begins behind a block that is final here, or again after what came was not good.
    void start(base::Timestamp now, const BlockPoint& after);
    void stop();
    // Where there is no checkpoint, this is one for the blocks of slots up to `at`, in which it was
    // named.
    void bind(const BlockPoint& block, chain::Slot at) {
        bound_ = block;
        bound_at_ = at;
    }
    // Why this block is not on our chain: a checkpoint names another one. Nothing: it may be.
    [[nodiscard]] std::optional<std::string> contradiction(const chain::Block& block) const;
    // The ledger's final block: what was told last leads somewhere. Where it is above what is asked
    // for, sync goes on from there: peers may have pruned what is below.
    void on_final(base::Timestamp now, const BlockPoint& final);
    // A block of this peer is dated ahead of our clock: another may have what follows.
    void on_early(base::Timestamp now, PeerSlot slot, const BlockPoint& after);
    // What was told last has led to nothing final for too long: start() again. Not where a peer
    // does not send what comes next: then that one is in doubt.
    [[nodiscard]] bool is_astray(base::Timestamp now);
    [[nodiscard]] bool is_active() const { return is_active_; }

    // What to ask of whom now, up to `target`.
    [[nodiscard]] std::vector<Ask> plan(base::Timestamp now,
                                        const std::vector<Source>& sources,
                                        chain::Height target);
    // Whether this answers a question of ours; what is late does so no more.
    [[nodiscard]] bool is_asked(PeerSlot slot, std::uint64_t correlation) const;
    // The proof that an answer begins with, for a question for which is_asked().
    [[nodiscard]] std::optional<Fault> on_proof(PeerSlot slot,
                                                const Envelope& envelope,
                                                RangeProof proof);
    // Blocks that came, for a question for which is_asked().
    [[nodiscard]] std::optional<Fault> on_blocks(base::Timestamp now,
                                                 PeerSlot slot,
                                                 const Envelope& envelope,
                                                 const Blocks& blocks);
    // What the ledger may have now; a fault ends the round (start() again).
    struct Taken {
        std::vector<Delivery> deliveries;
        std::optional<Fault> fault;
        bool must_restart = false;
    };
    [[nodiscard]] Taken take();
    // The ledger has another copy of this block, which take() gave: that one is what is judged.
    void note_other_copy(const chain::BlockId& id);
    struct Answered {
        bool is_of_round = false;  // Handed over since the last start: start() again if not good.
        bool is_other_copy = false;
    };
    // The ledger's answer.
    Answered on_judged(const chain::BlockId& id);
    // Whether it was handed over and is not judged.
    [[nodiscard]] bool is_judging(const chain::BlockId& id) const { return judging_.contains(id); }
    // Gives late ranges to others; says whose they were.
    [[nodiscard]] std::vector<Fault> on_time(base::Timestamp now);
    void forget(PeerSlot slot);

    [[nodiscard]] std::uint32_t ranges_in_flight() const;
    [[nodiscard]] std::uint64_t bytes_waiting() const;
    [[nodiscard]] std::uint64_t bytes_received() const { return bytes_received_; }

  private:
    struct Held {
        chain::BlockPtr block;
        std::uint64_t bytes = 0;  // Packed; of those of one message the mean.
    };
    struct Range {
        PeerSlot slot = 0;
        std::uint64_t correlation = 0;
        chain::Height to = 0;
        chain::Height next = 0;  // Expected.
        chain::BlockId last_id;
        std::deque<Held> blocks;  // Up to next - 1, not handed over.
        std::uint64_t bytes = 0;  // Received.
        base::Timestamp asked_at{};
        base::Timestamp first_at{};  // When its first blocks came; zero: none did.
        base::Timestamp deadline{};
        bool is_done = false;
        bool may_prove = false;  // Was asked with a proof, and nothing of the answer came.
        std::optional<RangeProof> proof{};  // Of block `to`.
    };
    struct Hole {
        chain::Height to = 0;
        std::optional<PeerSlot> avoid;
    };
    struct Judging {
        std::uint64_t bytes = 0;
        std::uint64_t round = 0;
        bool is_other_copy = false;
    };
    struct Speed {
        std::uint64_t bytes_per_second = 1U << 20U;  // Until it is measured; smoothed.
        base::Duration latency{};                    // From asking to the first blocks; smoothed.
        base::Timestamp rests_until{};               // It was late, or had nothing.
    };

    [[nodiscard]] const Source* choose(base::Timestamp now,
                                       const std::vector<Source>& sources,
                                       chain::Height from,
                                       std::optional<PeerSlot> avoid) const;
    [[nodiscard]] std::vector<const Source*> believed(const std::vector<Source>& sources,
                                                      chain::Height from) const;
    [[nodiscard]] std::size_t ranges_of(PeerSlot slot) const;
    [[nodiscard]] std::uint64_t bytes_claimed() const;
    [[nodiscard]] Ask ask(base::Timestamp now,
                          const Source& source,
                          chain::Height from,
                          chain::Height to);
    // The rest of a range that will not come goes to a hole.
    void cut(std::map<chain::Height, Range>::iterator at, std::optional<PeerSlot> avoid);
    // And with it the blocks that are held of it.
    void drop(std::map<chain::Height, Range>::iterator at, std::optional<PeerSlot> avoid);
    void finish(base::Timestamp now, Range& range);
    // Whether the first range has something that take() may give.
    [[nodiscard]] bool has_next(const Range& range) const;
    [[nodiscard]] Delivery take_next(Range& range);
    void doubt(PeerSlot slot);
    [[nodiscard]] std::optional<PeerSlot> awaited(base::Timestamp now) const;
    // How often; whoever is asked for a block is in doubt no more than any other who has it.
    [[nodiscard]] std::uint32_t doubts_of(PeerSlot slot) const;
    [[nodiscard]] std::optional<Fault> check(const Range& range, const chain::Block& block) const;

    std::optional<Checkpoint> checkpoint_;
    std::optional<BlockPoint> bound_;
    chain::Slot bound_at_ = 0;
    std::optional<std::uint32_t> trusted_;
    bool is_active_ = false;
    std::uint64_t round_ = 0;  // Counts start().
    base::Timestamp not_before_{};
    chain::Height first_ = 0;                // Of this round.
    chain::Height next_ = 0;                 // To be handed over next.
    chain::Height cursor_ = 0;               // First height never asked for in this round.
    BlockPoint tail_;                        // Handed over last, or where we began.
    std::optional<PeerSlot> tail_slot_;      // Absent: it is ours, or who sent it is gone.
    std::map<chain::Height, Range> ranges_;  // By first height.
    std::map<chain::Height, Hole> holes_;    // By first height.
    std::map<chain::BlockId, Judging> judging_;
    std::uint64_t judging_bytes_ = 0;
    std::map<PeerSlot, Speed> speeds_;
    std::uint64_t block_bytes_ = 1024;  // Of one, smoothed.
    std::uint64_t bytes_received_ = 0;
    std::uint64_t next_correlation_ = 1;
    // After two peers contradicted each other, one alone is asked.
    std::optional<PeerSlot> only_;
    std::map<PeerSlot, std::uint32_t> doubts_;
    chain::Height final_ = 0;        // Of the ledger.
    base::Timestamp trial_until_{};  // Until then it must rise.
    base::Duration trial_{};         // Longer each time, for a chain that has nothing final.
    base::Duration early_pause_{};   // Longer each time, for a clock of ours that is wrong.
};

}  // namespace p2p
