#pragma once

#include "base/pinned.hpp"
#include "base/storage.hpp"
#include "chain/pending_block.hpp"
#include "chain/state/block_store.hpp"
#include "chain/state/proof_store.hpp"
#include "chain/state/state_manager.hpp"
#include "chain/types/schedule_reset.hpp"
#include "chain/types/schedule_state.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chain {

// What a chain is, from its genesis file.
struct ChainIdentity {
    ChainId chain_id;
    SlotTimes times;
    Schedule schedule;
    std::optional<ScheduleReset> reset{};  // That the operator knows of.
};

// A final block with the schedules that it is under: where the agreement begins to look at
// headers after a restart (spec 04, "Changes").
struct AgreementBase {
    BlockPtr block;
    ScheduleState schedules;
};

// How far the safety journal was when rows were written: the sequence of its last record, with
// the page that is written beside them, if one is. What the page says is the agreement's matter.
struct JournalMark {
    std::uint64_t key = 0;  // Names its key.
    std::uint64_t sequence = 0;
    bool replaces = false;  // The page is the whole journal.
    base::Bytes page;       // Stored without the zeros at its end.
};

// Sequences the managers of state, blocks and producers; it has no rule of its own (spec 02).
// Holds the final block and the tree of executed blocks above it.
//
// Makes batches and does no I/O but reading; the caller commits them in the order in which
// they were made. Thread: core only; what it hands out is immutable.
// Invariant: every block held extends the final one and has its parent here.
class ChainManager : base::Pinned {
  public:
    struct Environment {
        const base::Storage& storage;  // Outlives this.
        Executor& executor;            // Outlives this.
        StateManager::Options state;
        // False: of what becomes final the state alone is stored, for who executes blocks that
        // are stored elsewhere. Such a storage can't be opened again.
        bool store_blocks = true;
    };

    // The batch that makes a chain: the first state, the genesis block, which is final, and its
    // digest. `state` has the rows of the genesis state.
    [[nodiscard]] static base::Batch make_genesis(const ChainIdentity& identity, StateDelta& state);

    // What a load writes beside the rows of a state that it checked (spec 05, "Snapshots").
    struct Loaded {
        ChainId chain_id;
        AgreementBase base;
        std::vector<BlockPtr> above;  // Of the base, up to the block of the state.
        ScheduleState schedules;      // Of that block, with what it proposes.
        MountainRange range;          // As the state has it.
        StateLanes lanes;
        std::optional<Certificate> certificate;  // COMMIT of that block, with all its bitmaps.
    };
    // The batch that makes a chain of a loaded state. With it the storage holds one, so it is
    // committed after the rows and the links (append_link).
    [[nodiscard]] static base::Batch make_loaded(const Loaded& loaded);

    // The schedules that lie in the storage. Nothing: no block above genesis was final.
    struct StoredSchedules {
        ScheduleState final_block;
        Height base_height = 0;
        ScheduleState base;  // Of the block of that height.
    };
    [[nodiscard]] static base::Result<std::optional<StoredSchedules>> stored_schedules(
        const base::StorageView& storage);

    // Whether the storage holds a chain. invalid: that of another genesis; names both ids.
    // corrupt: there are rows of a state, but no chain: a load was cut.
    [[nodiscard]] static base::Result<bool> holds_chain(const base::StorageView& storage,
                                                        const ChainId& expected);

    // Opens the chain in the storage at its final block, and executes again the blocks above
    // it that were stored. corrupt: says what is missing.
    [[nodiscard]] static base::Result<std::unique_ptr<ChainManager>> open(
        const ChainIdentity& identity, const Environment& environment);

    // Begins a block on a held one.
    [[nodiscard]] base::Result<std::unique_ptr<PendingBlock>> begin(const BlockId& parent,
                                                                    Slot slot,
                                                                    Name producer);
    // Executes a block on its parent, which is held or final, and holds it. `transactions` are
    // those of its receipts, in their order, with the keys of their signatures, which must
    // satisfy what they authorize. invalid: names what does not follow.
    [[nodiscard]] base::Result<ExecutedBlockPtr> execute(
        const BlockPtr& block, const std::vector<PooledTransaction>& transactions);
    // The same for a block that was checked before: signatures are not checked again.
    // `digest`: of the state. One that was trusted is checked with the next that is computed;
    // finalize() wants a block whose digest was computed.
    enum class StateDigest : std::uint8_t { computed, trusted };
    [[nodiscard]] base::Result<ExecutedBlockPtr> replay(const BlockPtr& block,
                                                        StateDigest digest = StateDigest::computed);
    // Of the held blocks up to this one whose digests were taken on trust: computes each, and names
    // the first that differs, with rows that it changed.
    [[nodiscard]] std::string explain_digest(const BlockId& tip);
    // Holds a block that was made here on begin() and close().
    ExecutedBlockPtr adopt(BlockPtr block, PendingBlock::Taken taken);

    // --- What must be stored ---
    // A held block that is not final. Its transactions stay among the pool's rows until it is:
    // another branch may win.
    void store(const ExecutedBlock& block, base::Batch& batch) const;
    // The newest certificate of its kind.
    void store(const Certificate& certificate, base::Batch& batch) const;
    // So that a journal that was put back is found out (spec 04).
    void store(const JournalMark& mark, base::Batch& batch) const;

    // What became final together, ancestors first, and the rows to append to the batch.
    struct BecameFinal {
        std::vector<ExecutedBlockPtr> blocks;
        std::shared_ptr<const FinalState> state;
    };
    // Makes a held block final, with its ancestors; what does not build on it is forgotten.
    // `batch`, with the rows, must be committed at once, before the next call.
    // `base` is stored with it, for after a restart. What is final leaves the pool's rows.
    [[nodiscard]] BecameFinal finalize(const Certificate& certificate,
                                       const AgreementBase& base,
                                       base::Batch& batch);
    // The same of a block from which a recovery begins: it may have no COMMIT certificate.
    [[nodiscard]] BecameFinal finalize(const BlockId& id,
                                       const AgreementBase& base,
                                       base::Batch& batch);
    // The batch of finalize() was committed: reads move to the storage as it is now.
    base::Result<void> committed();
    // After committed(), for a block that is being made: it reads on through the rows that are
    // known of the new final state. Its own view is of an earlier one, which passes by them.
    void refresh(PendingBlock& pending) const;
    // Drops a held block and what builds on it; does nothing if it is not held.
    void forget(const BlockId& id, base::Batch& batch);

    // --- What is held ---
    [[nodiscard]] ExecutedBlockPtr find(const BlockId& id) const;
    // The header of a held or the final block; null: neither. Valid until the next change.
    [[nodiscard]] const BlockHeader* find_header(const BlockId& id) const;
    // The schedules that a child of a held or the final block is under; nothing: neither.
    [[nodiscard]] std::optional<ScheduleState> schedules_below(const BlockId& parent) const;
    // The state after a held or the final block, for any thread; null: neither.
    [[nodiscard]] std::shared_ptr<const StateView> shared_state_of(const BlockId& id) const;
    // The storage at the last committed() or, before that, at open(): what the state is read from.
    [[nodiscard]] std::shared_ptr<const base::StorageView> stored_state() const {
        return state_->stored();
    }
    [[nodiscard]] const BlockPtr& finalized() const { return final_; }
    // The newest COMMIT certificate: of the final block, but where a recovery begins.
    [[nodiscard]] const std::optional<Certificate>& final_certificate() const {
        return final_certificate_;
    }
    // The newest NOTARIZE certificate that was stored, as found on open().
    [[nodiscard]] const std::optional<Certificate>& stored_notarize() const {
        return stored_notarize_;
    }
    // By their key.
    [[nodiscard]] const std::map<std::uint64_t, JournalMark>& stored_journal_marks() const {
        return journal_marks_;
    }
    // The held blocks from the first above the final one up to `tip`.
    [[nodiscard]] std::vector<ExecutedBlockPtr> branch(const BlockId& tip) const;
    // All held blocks, parents before children.
    [[nodiscard]] std::vector<ExecutedBlockPtr> held() const;
    [[nodiscard]] const ChainIdentity& identity() const { return identity_; }
    // As found on open(): where the agreement begins, and the final blocks above that.
    [[nodiscard]] const AgreementBase& stored_base() const { return stored_base_; }
    [[nodiscard]] const std::vector<BlockPtr>& above_base() const { return above_base_; }

  private:
    ChainManager(const ChainIdentity& identity, const Environment& environment);
    [[nodiscard]] base::Result<void> open_final();
    [[nodiscard]] base::Result<void> open_base();
    [[nodiscard]] base::Result<void> open_schedules(Height& base_height);
    [[nodiscard]] base::Result<std::unique_ptr<PendingBlock>> begin_on(const BlockId& parent,
                                                                       Slot slot,
                                                                       Name producer,
                                                                       StateDigest digest);
    [[nodiscard]] base::Result<ExecutedBlockPtr> finish(PendingBlock& pending,
                                                        const BlockPtr& block,
                                                        StateDigest digest);
    [[nodiscard]] base::Result<BlockPtr> get_final(Height height) const;
    // Null: it has no COMMIT certificate.
    [[nodiscard]] BecameFinal make_final(const BlockId& id,
                                         const Certificate* certificate,
                                         const AgreementBase& base,
                                         base::Batch& batch);
    [[nodiscard]] base::Result<void> check_reset() const;
    [[nodiscard]] base::Result<void> check_reset_keys() const;
    [[nodiscard]] base::Result<void> check_loaded_reset() const;
    [[nodiscard]] base::Result<BlockId> id_of_final(Height height) const;
    [[nodiscard]] base::Result<void> check_retimes() const;
    [[nodiscard]] base::Result<void> open_reversible();
    [[nodiscard]] bool is_retimed(const BlockHeader& header) const;
    [[nodiscard]] base::Result<void> open_certificates();
    [[nodiscard]] base::Result<void> open_journal_marks();
    [[nodiscard]] base::Result<void> open_proofs();
    [[nodiscard]] base::Result<void> index_recovery(const std::vector<ExecutedBlockPtr>& blocks,
                                                    base::Batch& batch);
    [[nodiscard]] base::Result<void> index_proofs(const std::vector<ExecutedBlockPtr>& blocks,
                                                  const Certificate* certificate,
                                                  base::Batch& batch);

    ChainIdentity identity_;
    Environment environment_;
    std::unique_ptr<StateManager> state_;
    std::optional<ProofIndex> proofs_;
    bool recovery_is_due_ = false;  // Its link is not stored yet.
    BlockPtr final_;
    ScheduleState final_schedules_;
    AgreementBase stored_base_;
    std::vector<BlockPtr> above_base_;
    std::optional<Certificate> final_certificate_;
    std::optional<Certificate> stored_notarize_;
    std::map<std::uint64_t, JournalMark> journal_marks_;
    std::map<BlockId, ExecutedBlockPtr> blocks_;  // Above the final block.
};

}  // namespace chain
