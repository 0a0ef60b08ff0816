#include "chain/chain_manager.hpp"
#include "chain/execution/schedule_rows.hpp"

#include <fmt/format.h>

#include <utility>

namespace chain {

using base::Errc;
using base::fail;

namespace {

// Takes the ids of the final blocks that the index has not, up to `count` blocks.
base::Result<void> append_ids(const StateView& state,
                              std::uint64_t count,
                              ProofIndex& proofs,
                              base::Batch& batch) {
    while (proofs.range().count() < count) {
        const auto height = static_cast<Height>(proofs.range().count() + 1);
        const Value id =
            state.find(Table::block_id, block_id_key(static_cast<std::uint16_t>(height)));
        if (id == nullptr || id->size() != sizeof(BlockId)) {
            return fail(Errc::corrupt, fmt::format("the state has no id of block {}", height));
        }
        proofs.append(base::to_hash<32>(*id).value(), batch);
    }
    return {};
}

// The final block of this height: one of `blocks`, which are in order, or one that is stored.
base::Result<BlockPtr> final_block(const std::vector<ExecutedBlockPtr>& blocks,
                                   Height height,
                                   const base::Storage& storage) {
    const Height first = blocks.front()->block->header.height;
    if (height >= first && height - first < blocks.size()) return blocks[height - first]->block;
    return BlockReader(storage).at(height);
}

// The link to the schedule whose change this certificate proves, if it is the first to do so. Its
// block is final.
base::Result<void> add_link(const Certificate& certificate,
                            const std::vector<ExecutedBlockPtr>& blocks,
                            const base::Storage& storage,
                            ProofIndex& proofs,
                            base::Batch& batch) {
    if (!proofs.wants(certificate)) return {};
    auto block = final_block(blocks, certificate.data.height, storage);
    if (!block) return fail(std::move(block).error());
    if (*block == nullptr) {
        return fail(Errc::corrupt,
                    fmt::format("final block {}, which has a certificate, is not stored",
                                certificate.data.height));
    }
    return proofs.certify(certificate, (*block)->header, storage, batch);
}

}  // namespace

// The index goes as far as the final block's state knows of final blocks.
base::Result<void> ChainManager::open_proofs() {
    const auto state = state_->view(final_->id);
    auto range = load_final_range(*state);
    if (!range) return fail(std::move(range).error());
    auto schedules = load_schedules(*state);
    if (!schedules) return fail(std::move(schedules).error());
    std::optional<BlockHeader> change;
    auto linked = schedules->proposed == nullptr
                      ? base::Result<bool>(true)
                      : has_link(environment_.storage, schedules->proposed->version);
    if (!linked) return fail(std::move(linked).error());
    if (!*linked) {
        auto block = BlockReader(environment_.storage).at(schedules->proposed_at);
        if (!block) return fail(std::move(block).error());
        if (*block == nullptr) {
            return fail(Errc::corrupt,
                        fmt::format("block {}, which proposes schedule {}, is not stored",
                                    schedules->proposed_at,
                                    schedules->proposed->version));
        }
        change = (*block)->header;
    }
    proofs_.emplace(*std::move(range), std::move(change));
    if (!identity_.reset || identity_.reset->record.empty()) return {};
    linked = has_link(environment_.storage, identity_.reset->schedule.version);
    if (!linked) return fail(std::move(linked).error());
    recovery_is_due_ = !*linked;
    return {};
}

// The link to the schedule of a recovery. A block under it is among `blocks`, which became final.
base::Result<void> ChainManager::index_recovery(const std::vector<ExecutedBlockPtr>& blocks,
                                                base::Batch& batch) {
    const Height from = height_of(identity_.reset->from);
    auto block = final_block(blocks, from, environment_.storage);
    if (!block) return fail(std::move(block).error());
    if (*block == nullptr) return {};  // Pruned: who asks for links is told that this is missing.
    proofs_->recover({(*block)->header, *identity_.reset}, batch);
    recovery_is_due_ = false;
    return {};
}

// Writes what proofs need of blocks that became final, which are in order.
base::Result<void> ChainManager::index_proofs(const std::vector<ExecutedBlockPtr>& blocks,
                                              const Certificate* certificate,
                                              base::Batch& batch) {
    const auto state = state_->view(blocks.back()->block->id);
    auto range = load_final_range(*state);
    if (!range) return fail(std::move(range).error());
    proofs_->begin_batch();
    if (auto done = append_ids(*state, range->count(), *proofs_, batch); !done) return done;
    const auto certify = [&](const Certificate& each) {
        return add_link(each, blocks, environment_.storage, *proofs_, batch);
    };
    for (const ExecutedBlockPtr& each : blocks) {
        const Block& block = *each->block;
        // Not earlier: the blocks below may prove the change to the schedule that it replaces.
        if (recovery_is_due_ && block.header.height > height_of(identity_.reset->from)) {
            if (auto done = index_recovery(blocks, batch); !done) return done;
        }
        if (block.witness.finalized) {
            if (auto done = certify(*block.witness.finalized); !done) return done;
        }
        if (block.header.schedule_change) proofs_->propose(block.header);
    }
    return certificate == nullptr ? base::Result<void>() : certify(*certificate);
}

}  // namespace chain
