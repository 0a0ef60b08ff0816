#pragma once

#include "base/storage.hpp"
#include "chain/state/proof.hpp"
#include "genesis/recovery.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace genesis {

// How a node that knows the genesis file alone knows that the block of a snapshot is final (spec
// 05, "Snapshots"): every link of the schedules from genesis on, then the block's header with a
// certified header at or above it. Links come in parts of at most 4 MiB, as many as there are.
//
// Everything here is pure; any thread. A certificate takes about 28 us a signature. malformed: does
// not decode. invalid: names the step that does not hold, and what the operator can do.

inline constexpr std::size_t kLinksBytesMax = std::size_t{4} * 1024 * 1024;  // Of a part.

// What a joining node believes without proof.
struct Trust {
    chain::ChainId chain_id{};
    chain::Schedule schedule{};               // The genesis file's.
    std::vector<base::Hash256> recoveries{};  // recover-from: those with a new first schedule.
    // From the file of a recovery, as in the genesis times. One that is a link has its own.
    std::vector<chain::Retime> retimes{};
};

// Puts links into parts as they come, in their order: each a list of links one after the other. A
// link goes into the last part if that has room. It holds one part. Where links are cut is part of
// the format: the snapshots of all nodes are equal.
class LinkPacker {
  public:
    // The part before, if this link begins another.
    [[nodiscard]] std::optional<base::Bytes> add(const chain::Link& link);
    // The last part; nothing: no link came.
    [[nodiscard]] std::optional<base::Bytes> finish();

  private:
    base::Bytes part_;
};
// The same of links in memory. None: no part.
[[nodiscard]] std::vector<base::Bytes> pack_links(const std::vector<chain::Link>& links);
[[nodiscard]] base::Result<std::vector<chain::Link>> unpack_links(base::ByteView part);

// Follows the schedules from the genesis file's on, link by link; each is checked by the votes of
// the one before. It keeps the last few schedules, so that links cost no memory.
class LinkWalk {
  public:
    static constexpr std::size_t kKept = 8;

    explicit LinkWalk(Trust trust);

    // invalid: the link does not lead on from last(), or is of a recovery that the operator does
    // not confirm; nothing changed.
    [[nodiscard]] base::Result<void> take(const chain::Link& link);

    [[nodiscard]] const Trust& trust() const { return trust_; }
    [[nodiscard]] const chain::Schedule& last() const { return schedules_.back(); }
    // One of the last kKept that came, in the order of versions; null: none of this version.
    [[nodiscard]] const chain::Schedule* find(std::uint32_t version) const;
    // The header that proposed this schedule, one of the last kKept; null: a recovery made it.
    [[nodiscard]] const chain::BlockHeader* find_proposing(std::uint32_t version) const;
    // Those that the chain went through, in their order.
    [[nodiscard]] const std::vector<Recovery>& recoveries() const { return recoveries_; }
    // invalid: a recovery that the operator confirms is not among the links. Such a chain goes on
    // without it, or has not come there.
    [[nodiscard]] base::Result<void> check_complete() const;

  private:
    [[nodiscard]] base::Result<void> take_recovery(const chain::RecoveryLink& link);
    void keep(const chain::Schedule& schedule, std::optional<chain::BlockHeader> proposing);

    Trust trust_;
    std::deque<chain::Schedule> schedules_;
    std::deque<std::optional<chain::BlockHeader>> proposing_;  // Of each of these.
    std::vector<Recovery> recoveries_;                         // At most those that are trusted.
};

// That a block is final, for who has followed the links.
struct SnapshotProof {
    chain::BlockHeader header;
    chain::FinalityProof finality;

    friend bool operator==(const SnapshotProof&, const SnapshotProof&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.header, self.finality); }
};
// Whether the block stands there by its own certificate, with no certified header above.
[[nodiscard]] inline bool is_alone(const SnapshotProof& proof) {
    return !proof.finality.ancestor && proof.header == proof.finality.certified;
}

// A chain whose final slot is that far behind the clock is stale (spec 05, "Who may connect").
inline constexpr std::chrono::minutes kStaleAfter{10};

// How what a proof shows to be final lies to a clock (spec 05, "Join").
struct Freshness {
    chain::TimePoint time;            // Of the certified block: the newest that it proves.
    std::int64_t behind_seconds = 0;  // Below 0: it is dated ahead of the clock.

    [[nodiscard]] bool is_stale() const {
        return behind_seconds > std::chrono::seconds(kStaleAfter).count();
    }
    // The clock is wrong, or the chain's was.
    [[nodiscard]] bool is_ahead() const {
        return behind_seconds < -std::chrono::seconds(kStaleAfter).count();
    }
};
// `times`: with those that the operator knows of.
[[nodiscard]] Freshness freshness_of(const SnapshotProof& proof,
                                     const chain::SlotTimes& times,
                                     base::Timestamp now);

// From what a node stores, as a storage snapshot has it. would_block: no certificate is above the
// block yet, nor its own enough, ask again after the next final one; not_found: something is not
// stored here.
[[nodiscard]] base::Result<SnapshotProof> make_proof(const base::StorageView& storage,
                                                     chain::Height height);
// The links to a proof that was made from this storage, also the one to the next schedule, where
// that is proved already: part by part, so that any number of them needs the memory of one. Ends
// with an error of `take`; not_found: one is not stored here.
using TakeLinksPart = std::function<base::Result<void>(std::size_t part, base::ByteView bytes)>;
[[nodiscard]] base::Result<void> make_links(const base::StorageView& storage,
                                            const SnapshotProof& proof,
                                            const TakeLinksPart& take);

// Whether the block is final, if the links led here; all of them came. If it is_alone() it is good,
// and final only if no change is pending there: then check_agreement() has the last word.
[[nodiscard]] base::Result<void> check_proof(const LinkWalk& walk, const SnapshotProof& proof);

// A block that the operator says is in the history: `checkpoint = HEIGHT:ID`.
struct Checkpoint {
    chain::Height height = 0;
    chain::BlockId block{};
};
// The path of a block below that of a snapshot, in the finality_root of a proof's certified header.
[[nodiscard]] base::Result<chain::MerkleProof> make_path(const base::StorageView& storage,
                                                         chain::Height height,
                                                         const chain::BlockHeader& certified);
// Whether the proved history has the checkpoint's block: at the block by its id, below it by
// `path`. would_block: it is above; compare it before the node serves. invalid: it has another
// block there, or the path is missing or wrong.
[[nodiscard]] base::Result<void> check_checkpoint(const Checkpoint& checkpoint,
                                                  const SnapshotProof& proof,
                                                  const std::optional<chain::MerkleProof>& path);

}  // namespace genesis
