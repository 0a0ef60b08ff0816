#pragma once

#include "chain/types/block.hpp"
#include "chain/types/schedule_state.hpp"
#include "consensus/certificate.hpp"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace consensus {

// Where a tree begins: a final block, with what follows from the headers before it. The block
// that is `finalized` in the header of the last final block: certificates that a later header
// brings are of that block or above.
struct TreeBase {
    chain::BlockPtr block;
    chain::ScheduleState schedules;
};

// Whether a key may have signed for a block of a storage with this base and these blocks above it:
// the storage has a block above genesis, and a schedule with the key.
[[nodiscard]] bool may_have_signed(const base::crypto::PublicKey& key,
                                   const TreeBase& base,
                                   std::span<const chain::BlockPtr> above);

// A block of the tree. Owned by the tree; addresses are stable while it is held.
struct BlockNode {
    BlockNode(chain::BlockPtr block_in, chain::ScheduleState schedules_in);

    chain::BlockPtr block;
    chain::ScheduleState schedules;
    BlockNode* parent = nullptr;  // Null: the base.
    std::vector<BlockNode*> children;
    std::optional<chain::Certificate> notarized;
    // The newest block up to this one that has a NOTARIZE certificate; null: none is known.
    const BlockNode* justified = nullptr;
    std::array<Tally, 2> tallies;  // Votes for it, by kind.
    bool is_spared = false;        // Its signature and witness were not checked.
    bool is_durable = false;       // It and its ancestors: by a write that is waited for.
    bool is_passed_on = false;     // A COMMIT certificate of it.

    [[nodiscard]] const chain::BlockHeader& header() const { return block->header; }
    [[nodiscard]] const chain::BlockId& id() const { return block->id; }
    [[nodiscard]] chain::Slot slot() const { return block->header.slot; }
    [[nodiscard]] chain::Height height() const { return block->header.height; }
    [[nodiscard]] chain::BlockRef ref() const { return {slot(), id()}; }
    [[nodiscard]] Tally& tally(chain::VoteKind kind) { return tallies[index_of(kind)]; }
    // What a vote of this kind for it says.
    [[nodiscard]] chain::VoteData vote_data(chain::VoteKind kind) const;
};

// The blocks that a node knows: the final one, its ancestors down to the base, and what builds
// on it. Keeps the best head (R4).
//
// Costs: insert and certify O(log n) and what is above the block; finalize O(n).
// Invariants: (1) every block above the final one extends it; (2) `head` has the best rank.
class BlockTree {
  public:
    BlockTree(TreeBase base, std::size_t reversible_max);

    [[nodiscard]] BlockNode* find(const chain::BlockId& id);
    [[nodiscard]] const BlockNode* find(const chain::BlockId& id) const;
    [[nodiscard]] const BlockNode& head() const { return *head_; }
    [[nodiscard]] const BlockNode& finalized() const { return *final_; }
    // With the highest NOTARIZE certificate of all; null: none.
    [[nodiscard]] const BlockNode* highest_notarized() const { return highest_; }
    [[nodiscard]] static bool extends(const BlockNode& block, const BlockNode& ancestor);
    // The ancestor of `block`, or itself, with this id; null: none is held.
    [[nodiscard]] static const BlockNode* ancestor(const BlockNode& block,
                                                   const chain::BlockRef& ref);

    // Adds a block whose parent is held and which extends the final block (or is an ancestor
    // of it that is restored).
    BlockNode& insert(chain::BlockPtr block, chain::ScheduleState schedules);
    // Notes a NOTARIZE certificate of a held block.
    void certify(BlockNode& block, chain::Certificate certificate);
    // Makes a held block final. Appends to `dropped` what conflicts with it.
    void finalize(BlockNode& block, std::vector<chain::BlockId>& dropped);
    // While too many blocks are held, drops leaves: those without a certificate first, of the
    // producer of whom most blocks are held, and of these the one of the lowest rank. Never the
    // head, what was spared, or the block that came just now: a certificate may wait for it. The
    // new block goes only where nothing else can, and more than `reversible_max` blocks in a row
    // lead to it without a certificate. Where it, or a later block, `is_certified`, which may stand
    // on it, twice as many may: others had a certificate of one of them that no header names.
    // Time O(n).
    void bound(BlockNode& newest, bool is_certified, std::vector<chain::BlockId>& dropped);
    // What must be stored with the final block.
    [[nodiscard]] TreeBase base() const;

  private:
    // R4: slot of the highest NOTARIZE certificate on the branch, slot, lowest id.
    [[nodiscard]] static bool better(const BlockNode& a, const BlockNode& b);
    [[nodiscard]] BlockNode* find_worst(const BlockNode& newest);
    [[nodiscard]] bool is_far_from_certified(const BlockNode& newest, std::size_t far) const;
    void move_base(const BlockNode& to);
    void drop_branch(BlockNode& block, std::vector<chain::BlockId>& dropped);
    void erase(BlockNode& leaf);
    void choose_head();

    std::map<chain::BlockId, BlockNode> nodes_;
    BlockNode* base_ = nullptr;
    BlockNode* final_ = nullptr;
    BlockNode* head_ = nullptr;
    const BlockNode* highest_ = nullptr;
    std::size_t below_final_ = 0;  // Ancestors of the final block that are kept.
    std::size_t reversible_max_;
};

}  // namespace consensus
