#pragma once

#include "base/pinned.hpp"
#include "base/storage.hpp"
#include "chain/state/digest.hpp"
#include "chain/state/state.hpp"
#include "chain/state/views.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace chain {

// A block that a state belongs to. All zero: before genesis, the empty state.
struct BlockAt {
    std::uint32_t height = 0;
    base::Hash256 id;

    friend auto operator<=>(const BlockAt&, const BlockAt&) = default;
};

// What must be stored when blocks become final. Immutable; any thread, so the copying is done
// by the disk thread.
class FinalState {
  public:
    FinalState(BlockAt block, StateLanes lanes, std::vector<std::shared_ptr<const ChangeSet>> sets)
        : block_(block), lanes_(lanes), sets_(std::move(sets)) {}

    [[nodiscard]] const BlockAt& block() const { return block_; }
    // Adds the rows' changes, and to what block the state now belongs.
    void append_to(base::Batch& batch) const;

  private:
    BlockAt block_;
    StateLanes lanes_;
    std::vector<std::shared_ptr<const ChangeSet>> sets_;  // The oldest first.
};

// For who fills an empty storage (snapshots): a row; and, last, whose state the rows are.
void append_state_row(base::Batch& batch, Table table, base::ByteView key, base::Bytes value);
void append_state_block(base::Batch& batch, const BlockAt& block, const StateLanes& lanes);
// The final block, whose state the stored rows are; all zero: there is none.
[[nodiscard]] base::Result<BlockAt> stored_final(const base::StorageView& storage);

// The state at every block that can still matter: the final state, which lies in storage, and
// a tree of the changes of each block above it (spec 02 and 03, "State"). Changing forks is
// asking for the view of another block.
//
// Invariants: 1. Every block but the base has its parent here. 2. The base is the block that
// `snapshot` says, and the cache has only rows of that moment. 3. Blocks handed out as final
// are one path up from the base. 4. The lanes of the base are known.
// Thread: one owner. Views for other threads: shared_view().
class StateManager : base::Pinned {
  public:
    struct Options {
        std::size_t cache_bytes = 64 * 1024 * 1024;
        std::uint64_t cache_seed = 0;  // Any number that others cannot guess.
        FaultSink on_fault;            // Required; may be called on any thread that reads.
    };

    // The final state that `snapshot` holds; an empty one belongs to BlockAt{}.
    // corrupt: the record of it does not decode.
    [[nodiscard]] static base::Result<std::unique_ptr<StateManager>> open(
        std::shared_ptr<const base::StorageView> snapshot, Options options);

    // The last final block whose state is in storage.
    [[nodiscard]] const BlockAt& base() const { return base_.block; }
    // The moment of the storage that has it; any thread may read it.
    [[nodiscard]] std::shared_ptr<const base::StorageView> stored() const { return base_.storage; }
    [[nodiscard]] bool has(const base::Hash256& block) const;
    // The state after this block; null when it is unknown, or behind the base. For the owner
    // alone; stays right for as long as it is held, whatever becomes final meanwhile.
    [[nodiscard]] std::shared_ptr<const StateView> view(const base::Hash256& block);
    // The same for any thread: it does not read through the cache.
    [[nodiscard]] std::shared_ptr<const StateView> shared_view(const base::Hash256& block) const;
    // The nearest of this block and its ancestors whose lanes are known, and what was done since.
    struct KnownLanes {
        StateLanes lanes;
        std::shared_ptr<const StateView> state;               // After that block, as by view().
        std::vector<std::shared_ptr<const ChangeSet>> since;  // The oldest first.
    };
    // Nothing: the block is unknown, or behind the base.
    [[nodiscard]] std::optional<KnownLanes> known_lanes(const base::Hash256& block);
    // Empty changes on top of this block; null as above.
    [[nodiscard]] std::unique_ptr<StateDelta> child(const base::Hash256& parent);

    // Takes over what `block` did to the state of `parent`; twice is once. not_found: the parent
    // is not here. invalid: the height is not the next, or it forks off below a final block.
    struct Executed {
        BlockAt block;
        base::Hash256 parent;
        ChangeSet changes;
        std::optional<StateLanes> lanes;  // After the block; absent: not computed.
    };
    base::Result<void> adopt(Executed executed);
    // What `block` changed; null when it is not here or not above the base.
    [[nodiscard]] std::shared_ptr<const ChangeSet> changes(const base::Hash256& block) const;

    // `block` became final: what to store for it and all before it that was not handed out.
    // Blocks that neither lead to it nor follow it are forgotten. Reads still see the rows here.
    // CHECKs that the block is here, with its lanes, and above what became final before.
    [[nodiscard]] FinalState finalize(const base::Hash256& block);
    // Storage has committed what finalize() gave: `snapshot` was taken after. The base moves to
    // the block that it names. corrupt: that block was not handed out.
    base::Result<void> committed(std::shared_ptr<const base::StorageView> snapshot);
    // Drops a block and all that follow it. CHECKs that it is not final.
    void forget(const base::Hash256& block);

    [[nodiscard]] std::size_t block_count() const { return nodes_.size(); }
    void check_invariants() const;

  private:
    struct Node {
        BlockAt block;
        base::Hash256 parent;
        std::shared_ptr<const ChangeSet> changes;
        std::optional<StateLanes> lanes;
        bool final = false;  // Handed out.
        // The changes of the last 16 or 256 blocks up to here as one, where the height is a
        // multiple of that and finality is so far behind that reads would pass too many layers.
        std::shared_ptr<const ChangeSet> run;
        std::uint32_t run_blocks = 0;
        base::Hash256 below_run;  // The block below the lowest of them; may be behind the base.
        std::shared_ptr<const StateView> view;  // Made when first asked for.
    };
    struct Base {
        BlockAt block;
        StateLanes lanes;
        std::shared_ptr<const base::StorageView> storage;
        std::shared_ptr<const StateView> view;
    };

    StateManager(Options options, BlockAt block, StateLanes lanes);
    void read_from(std::shared_ptr<const base::StorageView> storage);
    [[nodiscard]] const Node* find(const base::Hash256& block) const;
    [[nodiscard]] LayeredView::Layers layers(const Node& top) const;
    [[nodiscard]] std::shared_ptr<const ChangeSet> gather(const Node& top,
                                                          std::uint32_t blocks,
                                                          base::Hash256& below) const;
    void make_run(Node& node) const;
    [[nodiscard]] std::set<base::Hash256> branch(const base::Hash256& root) const;
    void absorb(const Node& node);

    Options options_;
    std::shared_ptr<FinalRows> cache_;
    Base base_;
    BlockAt handed_out_;  // The last block given to finalize().
    std::map<base::Hash256, Node> nodes_;
};

}  // namespace chain
