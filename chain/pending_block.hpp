#pragma once

#include "base/pinned.hpp"
#include "chain/execution/executor.hpp"
#include "chain/pool.hpp"
#include "chain/state/digest.hpp"
#include "chain/state/state_manager.hpp"
#include "chain/types/block.hpp"
#include "chain/types/schedule_state.hpp"
#include "chain/types/trace.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace chain {

// A block that was executed here, with what came out of it. Immutable; any thread.
struct ExecutedBlock {
    BlockPtr block;
    std::vector<TransactionTrace> traces;      // In the order of the block's receipts.
    std::shared_ptr<const ChangeSet> changes;  // What it did to its parent's state.
    ScheduleState schedules;                   // That it is under, with what it proposes.
    std::uint64_t snapshot_period = 0;         // The parameter, as it is after this block.
};
using ExecutedBlockPtr = std::shared_ptr<const ExecutedBlock>;

// A block being filled: transactions run one by one on a delta above the parent's state.
//
// The same object makes new blocks and checks those of others: both run the same steps.
// Thread: that of the executor.
class PendingBlock : base::Pinned {
  public:
    struct Parent {
        BlockHeader header;
        BlockId id;
        std::unique_ptr<StateDelta> delta;  // Empty, on top of its state.
        // Absent: the digest will be taken on trust.
        std::optional<StateManager::KnownLanes> lanes;
    };
    struct Place {
        Slot slot = 0;
        Name producer;
        SlotTimes times;
        ChainId chain_id;
        bool keep_traces = true;  // False: take() gives none.
    };

    // `executor` outlives this. corrupt: the parent's state lacks what a state must have.
    [[nodiscard]] static base::Result<std::unique_ptr<PendingBlock>> begin(Executor& executor,
                                                                           Parent parent,
                                                                           const Place& place);

    // Runs a transaction. If its trace has no `except` it is part of the block from now on;
    // else nothing of it remains.
    [[nodiscard]] TransactionTrace push(const PooledTransaction& transaction,
                                        const ExecutionOptions& options);
    // Of the last push(): how far it came.
    [[nodiscard]] const RunFacts& facts() const { return facts_; }

    // What the header says besides the contents; absent: as in the parent's header.
    struct Progress {
        std::optional<Certificate> justify;
        std::optional<Certificate> finalized;
        // The state's digest, taken on trust: below a certified block it is checked only at the
        // end of a range of blocks (spec 03). Absent: it is computed.
        std::optional<Digest> trusted_digest = {};
    };
    // Ends the block: everything of its header follows from its contents and `progress`.
    // Call it once; nothing can be pushed afterwards. corrupt: as begin().
    [[nodiscard]] base::Result<BlockHeader> close(const Progress& progress);

    // What was executed, once the block has its signature.
    struct Taken {
        std::vector<TransactionTrace> traces;
        ChangeSet changes;
        std::optional<StateLanes> lanes;  // Absent after a trusted digest.
        std::uint64_t snapshot_period = 0;
    };
    // After close(), once. `id` is of the header that close() returned.
    [[nodiscard]] Taken take(const BlockId& id);

    [[nodiscard]] const BlockContext& context() const { return context_; }
    [[nodiscard]] const BlockId& parent() const { return parent_.id; }
    [[nodiscard]] const std::vector<TransactionReceipt>& receipts() const { return receipts_; }
    // What was done to the parent's state so far, as copies that stay. Each layer is at least twice
    // as large as the one before it: so few are read, and few times is a change copied.
    [[nodiscard]] const LayeredView::Layers& copy_changes();
    // Reads on through another view of the parent's state.
    void read_through(std::shared_ptr<const StateView> state);
    // The state as it is after what was pushed.
    [[nodiscard]] const StateView& state() const { return *parent_.delta; }

  private:
    PendingBlock(Executor& executor, Parent parent, const Place& place);
    // Extends the mountain range of final ids and returns its root.
    [[nodiscard]] base::Result<Digest> advance_finality(Height final_height);
    [[nodiscard]] StateLanes lanes_after() const;
    [[nodiscard]] StateDelta& delta() { return *parent_.delta; }

    Executor& executor_;
    Parent parent_;
    BlockContext context_;
    BlockSchedule schedule_;
    BlockRun run_;  // As it is after what was pushed.
    std::vector<TransactionReceipt> receipts_;
    std::vector<TransactionTrace> traces_;
    std::vector<Digest> action_digests_;
    std::size_t packed_bytes_ = 0;  // Of the receipts.
    bool keep_traces_;
    std::optional<StateLanes> lanes_;
    RunFacts facts_;
    LayeredView::Layers copies_;
};

}  // namespace chain
