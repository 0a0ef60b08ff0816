#pragma once

#include "base/storage.hpp"
#include "chain/state/proof.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace chain {

// What proofs are made of lies in Family::index: every node of the mountain range of final ids, and
// a link for each schedule. 64 bytes a block; kept when blocks are pruned.

// Family::meta: the newest COMMIT certificate, as its block became final.
inline constexpr std::string_view kMetaFinalCertificate = "final_certificate";

// Follows what becomes final and writes what proofs need. One owner: ChainManager.
class ProofIndex {
  public:
    // `range` is that of the final block's state; `change` the header of the proposed schedule that
    // is not in force there, if any.
    ProofIndex(MountainRange range, std::optional<BlockHeader> change)
        : range_(std::move(range)), change_(std::move(change)) {}

    // Whether certify() has something to do with this certificate.
    [[nodiscard]] bool wants(const Certificate& certificate) const {
        return change_ &&
               certificate.data.schedule_version + 1 == change_->schedule_change->version;
    }
    // What was written so far is in the storage now.
    void begin_batch() { fresh_.clear(); }
    // The id of the next block that headers call final: that of height range().count() + 1.
    void append(const BlockId& id, base::Batch& batch);
    // A block that became final and proposes a schedule.
    void propose(const BlockHeader& header) { change_ = header; }
    // A recovery's first block became final: what was proposed before is void.
    void recover(const RecoveryLink& link, base::Batch& batch);
    // A COMMIT certificate with its block's header, in the order of the chain. If it proves a
    // schedule change that has no link yet, adds the link. `storage` has the nodes that earlier
    // batches wrote.
    [[nodiscard]] base::Result<void> certify(const Certificate& certificate,
                                             const BlockHeader& header,
                                             const base::StorageView& storage,
                                             base::Batch& batch);

    [[nodiscard]] const MountainRange& range() const { return range_; }

  private:
    MountainRange range_;
    std::optional<BlockHeader> change_;
    // Of batches that may not be committed yet.
    std::map<std::pair<std::uint8_t, std::uint64_t>, base::Hash256> fresh_;
};

// For who fills an empty storage (snapshots): a link, and the peaks of the range as its nodes, so
// that proofs of later blocks can be made.
void append_link(base::Batch& batch, const Link& link);
void append_peaks(base::Batch& batch, const MountainRange& range);
// For who fills a history downwards: makes the nodes of the range over older ids, and compares them
// with those that are stored. One owner.
class OlderIds {
  public:
    // `storage` outlives this and shows what was committed.
    explicit OlderIds(const base::StorageView& storage) : storage_(&storage) {}

    // What was added so far is in the storage now.
    void begin_batch() { fresh_.clear(); }
    // The next id downwards; the one of the block above was added or is stored. corrupt: another
    // one has its place.
    base::Result<void> add(const BlockId& id, base::Batch& batch);

  private:
    // Nothing: it is not stored.
    [[nodiscard]] base::Result<std::optional<base::Hash256>> find(std::uint8_t level,
                                                                  std::uint64_t position) const;

    const base::StorageView* storage_;
    std::map<std::pair<std::uint8_t, std::uint64_t>, base::Hash256> fresh_;
};

// The link to the schedule of this version; nothing: none is stored, as of one of a recovery.
[[nodiscard]] base::Result<std::optional<ScheduleLink>> stored_link(
    const base::StorageView& storage, std::uint32_t version);
// Whether the link to this schedule is stored.
[[nodiscard]] base::Result<bool> has_link(const base::StorageView& storage, std::uint32_t version);
// The recoveries that the stored chain went through, in the order of their schedules' versions.
[[nodiscard]] base::Result<std::vector<RecoveryLink>> stored_recoveries(
    const base::StorageView& storage);

// Makes proofs for those who trust the schedule of version `trusted` (0: the genesis file's).
// Pure reads of one view; any thread. not_found: the block, transaction or action is not stored;
// would_block: it is not covered by a certificate yet, ask again after the next final block.
class ProofMaker {
  public:
    // `storage` outlives this; it should be a snapshot.
    explicit ProofMaker(const base::StorageView& storage) : storage_(&storage) {}

    [[nodiscard]] base::Result<Proof> of_block(Height height, std::uint32_t trusted) const;
    [[nodiscard]] base::Result<Proof> of_transaction(const TransactionId& id,
                                                     std::uint32_t trusted) const;
    // The action with this number among those of the transaction, as in its trace: from 1 on.
    // not_found also where the traces of its block are pruned.
    [[nodiscard]] base::Result<Proof> of_action(const TransactionId& id,
                                                std::uint32_t ordinal,
                                                std::uint32_t trusted) const;
    // The links from the schedule after `trusted` on, up to `last`. invalid: more than a proof may
    // hold, or one of them is of a recovery.
    [[nodiscard]] base::Result<std::vector<ScheduleLink>> links(std::uint32_t trusted,
                                                                std::uint32_t last) const;
    // The first of those that lead on from `trusted` to the schedule of the newest certificate,
    // also over recoveries, up to kLinksPartBytes; at least one. None: `trusted` is that schedule.
    [[nodiscard]] base::Result<std::vector<Link>> next_links(std::uint32_t trusted) const;
    // Shows all of these up to `last` in their order, however many they are, and the one to the
    // schedule after it, if that is proved already. One is in memory at a time. Ends with an error
    // of `take`.
    using TakeLink = std::function<base::Result<void>(const Link& link)>;
    [[nodiscard]] base::Result<void> all_links(std::uint32_t trusted,
                                               std::uint32_t last,
                                               const TakeLink& take) const;
    // That this block is final, by the newest certificate, which is of a block above.
    [[nodiscard]] base::Result<FinalityProof> finality_of(const BlockHeader& header) const;
    // The newest block with a certificate, and no path yet: of what it calls final.
    [[nodiscard]] base::Result<FinalityProof> newest_certified() const;
    // That this block, the newest with a certificate, is final: for who sees all schedules that it
    // is under, as with a snapshot. would_block: another is the newest, or a change is pending
    // there.
    [[nodiscard]] base::Result<FinalityProof> certified_alone(const BlockHeader& header) const;
    // The path of the block of this height in the finality_root of a header.
    [[nodiscard]] base::Result<MerkleProof> path_of(Height height,
                                                    const BlockHeader& certified) const;

  private:
    struct Certified {
        BlockHeader header;
        Certificate certificate;
    };
    [[nodiscard]] base::Result<Certified> newest() const;
    // The link from the schedule of this version; nothing: it is `last`, and no other is proved.
    [[nodiscard]] base::Result<std::optional<Link>> link_from(
        std::uint32_t version,
        std::uint32_t last,
        const std::vector<RecoveryLink>& recoveries) const;
    // Calls take(link) up to the schedule `last`, and as long as that says so.
    template <class Take>
    [[nodiscard]] base::Result<void> each_link(std::uint32_t trusted,
                                               std::uint32_t last,
                                               const Take& take) const;
    [[nodiscard]] base::Result<Proof> of_header(const BlockHeader& header,
                                                std::uint32_t trusted) const;
    [[nodiscard]] base::Result<BlockPtr> block_of(const TransactionId& id) const;

    const base::StorageView* storage_;
};

}  // namespace chain
