#include "chain/chain_manager.hpp"

#include "base/check.hpp"
#include "chain/execution/block_schedule.hpp"
#include "chain/meta_keys.hpp"
#include "chain/state/merkle.hpp"
#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::Family;

// Names the first field of two headers that differs.
std::string difference(const BlockHeader& made, const BlockHeader& given) {
    struct Field {
        std::string_view name;
        Digest BlockHeader::*digest;
    };
    for (const auto& [name, digest] : {Field{"transaction_root", &BlockHeader::transaction_root},
                                       Field{"action_root", &BlockHeader::action_root},
                                       Field{"state_digest", &BlockHeader::state_digest},
                                       Field{"finality_root", &BlockHeader::finality_root}}) {
        if (made.*digest == given.*digest) continue;
        return fmt::format("{} is {}, the block says {}",
                           name,
                           base::to_hex((made.*digest).bytes),
                           base::to_hex((given.*digest).bytes));
    }
    return "schedule, height or progress differ";
}

void append_schedules(base::Batch& batch,
                      const ScheduleState& schedules,
                      const AgreementBase& base) {
    base::Writer out;
    encode(out, schedules);
    out.u32(base.block->header.height);
    encode(out, base.schedules);
    batch.put(Family::meta, meta_key(kMetaSchedules), out.take());
}

void leave_pool(base::Batch& batch, const ExecutedBlock& block) {
    for (const TransactionTrace& trace : block.traces)
        batch.erase(Family::pool, base::to_bytes(trace.id.view()));
}

BlockPtr genesis_block(const ChainIdentity& identity, const StateLanes& lanes) {
    BlockHeader header;
    header.height = 1;
    header.producer = identity.schedule.entries.front().producer;
    header.schedule_version = identity.schedule.version;
    header.state_digest = lanes.digest();
    // It is its own justify and final; the id cannot be in what it covers.
    return make_block({header, {}}, {}, {});
}

}  // namespace

ChainManager::ChainManager(const ChainIdentity& identity, const Environment& environment)
    : identity_(identity), environment_(environment) {}

base::Batch ChainManager::make_genesis(const ChainIdentity& identity, StateDelta& state) {
    const StateLanes lanes = lanes_moved(net_changes(state.changes(), state.parent()));
    const BlockPtr block = genesis_block(identity, lanes);
    base::Batch batch;
    batch.put(Family::meta, meta_key(kMetaChain), base::to_bytes(identity.chain_id.view()));
    append_final(batch, *block, {});
    auto changes = std::make_shared<const ChangeSet>(state.take());
    FinalState({block->header.height, block->id}, lanes, {std::move(changes)}).append_to(batch);
    return batch;
}

base::Batch ChainManager::make_loaded(const Loaded& loaded) {
    base::Batch batch;
    append_peaks(batch, loaded.range);
    append_without_traces(batch, *loaded.base.block);
    for (const BlockPtr& block : loaded.above) {
        append_without_traces(batch, *block);
    }
    // Whether the base's witness is whole cannot be told without its parent. Nobody gets that block
    // by its height, so that nobody is charged for it.
    const Height base = loaded.base.block->header.height;
    if (base > 1) append_floor(batch, {base + 1, 0, base + 1, {base}});
    const Block& last = loaded.above.empty() ? *loaded.base.block : *loaded.above.back();
    append_state_block(batch, {last.header.height, last.id}, loaded.lanes);
    append_schedules(batch, loaded.schedules, loaded.base);
    if (loaded.certificate) {
        batch.put(Family::meta, meta_key(kMetaFinalCertificate), pack(*loaded.certificate));
    }
    batch.put(Family::meta, meta_key(kMetaChain), base::to_bytes(loaded.chain_id.view()));
    return batch;
}

base::Result<bool> ChainManager::holds_chain(const base::StorageView& storage,
                                             const ChainId& expected) {
    auto id = storage.get(Family::meta, meta_key(kMetaChain));
    if (!id) return fail(std::move(id).error());
    if (!id->has_value()) {
        // A chain is the last that a load writes.
        auto row = storage.at_or_after(Family::state, {});
        if (!row) return fail(std::move(row).error());
        if (!row->has_value()) return false;
        return fail(Errc::corrupt,
                    "the data directory has rows of a state but no chain: a load was cut; remove "
                    "its state directory and load again");
    }
    if (!base::equal(**id, expected.view())) {
        return fail(Errc::invalid,
                    fmt::format("the data directory holds chain {}, the genesis file makes chain "
                                "{}; use another data directory or the right genesis file",
                                base::to_hex(**id),
                                base::to_hex(expected.bytes)));
    }
    return true;
}

base::Result<std::unique_ptr<PendingBlock>> ChainManager::begin(const BlockId& parent,
                                                                Slot slot,
                                                                Name producer) {
    return begin_on(parent, slot, producer, StateDigest::computed);
}

// The lanes are looked for, over all blocks whose digests were trusted, only where they are needed.
base::Result<std::unique_ptr<PendingBlock>> ChainManager::begin_on(const BlockId& parent,
                                                                   Slot slot,
                                                                   Name producer,
                                                                   StateDigest digest) {
    const BlockHeader* header = find_header(parent);
    std::optional<StateManager::KnownLanes> lanes;
    if (digest == StateDigest::computed) lanes = state_->known_lanes(parent);
    CHECK(header != nullptr && (lanes || digest == StateDigest::trusted));
    auto delta = state_->child(parent);
    if (const ScheduleReset* reset = reset_below(identity_.reset, parent)) {
        auto done = reset_schedule(*delta, *reset, identity_.times.time_of(slot));
        if (!done) return fail(std::move(done).error());
    }
    return PendingBlock::begin(
        environment_.executor,
        {*header, parent, std::move(delta), std::move(lanes)},
        {slot, producer, identity_.times, identity_.chain_id, environment_.store_blocks});
}

const BlockHeader* ChainManager::find_header(const BlockId& id) const {
    if (id == final_->id) return &final_->header;
    const auto found = blocks_.find(id);
    return found == blocks_.end() ? nullptr : &found->second->block->header;
}

std::optional<ScheduleState> ChainManager::schedules_below(const BlockId& parent) const {
    if (const ScheduleReset* reset = reset_below(identity_.reset, parent)) {
        return first_schedules(reset->schedule);
    }
    if (parent == final_->id) return chain::schedules_below(final_schedules_, final_->header);
    const auto found = blocks_.find(parent);
    if (found == blocks_.end()) return std::nullopt;
    return chain::schedules_below(found->second->schedules, found->second->block->header);
}

base::Result<ExecutedBlockPtr> ChainManager::execute(
    const BlockPtr& block, const std::vector<PooledTransaction>& transactions) {
    const BlockHeader& header = block->header;
    auto pending = begin(header.previous, header.slot, header.producer);
    if (!pending) return fail(std::move(pending).error());
    if (transactions.size() != block->transactions.size()) {
        return fail(Errc::invalid, "a receipt has no transaction");
    }
    for (std::size_t i = 0; i < transactions.size(); ++i) {
        ExecutionOptions options;
        options.expected_cpu_us = block->transactions[i].cpu_usage_us;
        const TransactionTrace trace = (*pending)->push(transactions[i], options);
        if (trace.except) return fail(trace.except->to_error());
    }
    return finish(**pending, block, StateDigest::computed);
}

base::Result<ExecutedBlockPtr> ChainManager::replay(const BlockPtr& block, StateDigest digest) {
    const BlockHeader& header = block->header;
    auto pending = begin_on(header.previous, header.slot, header.producer, digest);
    if (!pending) return fail(std::move(pending).error());
    for (const TransactionReceipt& receipt : block->transactions) {
        const auto* packed = std::get_if<PackedTransaction>(&receipt.transaction);
        if (packed == nullptr) return fail(Errc::invalid, "a receipt has no transaction");
        auto transaction = decode_transaction(*packed);
        if (!transaction) return fail(std::move(transaction).error());
        ExecutionOptions options;
        options.expected_cpu_us = receipt.cpu_usage_us;
        options.skip_authorization = true;
        const TransactionTrace trace = (*pending)->push({*transaction, {}}, options);
        if (trace.except) return fail(trace.except->to_error());
    }
    return finish(**pending, block, digest);
}

base::Result<ExecutedBlockPtr> ChainManager::finish(PendingBlock& pending,
                                                    const BlockPtr& block,
                                                    StateDigest digest) {
    PendingBlock::Progress progress{block->witness.justify, block->witness.finalized};
    if (digest == StateDigest::trusted) progress.trusted_digest = block->header.state_digest;
    auto made = pending.close(progress);
    if (!made) return fail(std::move(made).error());
    if (!is_left_out(Rule::state_digest) && *made != block->header) {
        return fail(Errc::invalid, difference(*made, block->header));
    }
    return adopt(block, pending.take(block->id));
}

ExecutedBlockPtr ChainManager::adopt(BlockPtr block, PendingBlock::Taken taken) {
    const BlockAt at{block->header.height, block->id};
    const BlockId& parent = block->header.previous;
    const auto below = schedules_below(parent);
    CHECK(below.has_value());
    ScheduleState schedules = with_proposal(*below, block->header);
    const auto adopted = state_->adopt({at, parent, std::move(taken.changes), taken.lanes});
    CHECK(adopted.has_value());
    auto executed = std::make_shared<const ExecutedBlock>(ExecutedBlock{std::move(block),
                                                                        std::move(taken.traces),
                                                                        state_->changes(at.id),
                                                                        std::move(schedules),
                                                                        taken.snapshot_period});
    blocks_.emplace(at.id, executed);
    return executed;
}

void ChainManager::store(const ExecutedBlock& block, base::Batch& batch) const {
    append_reversible(batch, *block.block);
}

void ChainManager::store(const Certificate& certificate, base::Batch& batch) const {
    const bool commit = certificate.data.kind == VoteKind::commit;
    batch.put(
        Family::meta, meta_key(commit ? kMetaFinalCertificate : kMetaNotarize), pack(certificate));
}

void ChainManager::store(const JournalMark& mark, base::Batch& batch) const {
    base::Writer key;
    key.raw(meta_key(kMetaJournal));
    key.u64(mark.key);
    base::Writer out;
    out.u64(mark.key);
    out.u64(mark.sequence);
    out.u8(mark.replaces ? 1 : 0);
    const auto last = std::ranges::find_if(
        mark.page.rbegin(), mark.page.rend(), [](std::byte byte) { return byte != std::byte{}; });
    out.raw(base::ByteView(mark.page).first(static_cast<std::size_t>(mark.page.rend() - last)));
    batch.put(Family::meta, key.take(), out.take());
}

ChainManager::BecameFinal ChainManager::finalize(const Certificate& certificate,
                                                 const AgreementBase& base,
                                                 base::Batch& batch) {
    store(certificate, batch);
    final_certificate_ = certificate;
    return make_final(certificate.data.block_id, &certificate, base, batch);
}

ChainManager::BecameFinal ChainManager::finalize(const BlockId& id,
                                                 const AgreementBase& base,
                                                 base::Batch& batch) {
    return make_final(id, nullptr, base, batch);
}

ChainManager::BecameFinal ChainManager::make_final(const BlockId& id,
                                                   const Certificate* certificate,
                                                   const AgreementBase& base,
                                                   base::Batch& batch) {
    BecameFinal became;
    became.blocks = branch(id);
    CHECK(!became.blocks.empty() && became.blocks.back()->block->id == id);
    became.state = std::make_shared<const FinalState>(state_->finalize(id));
    for (const ExecutedBlockPtr& block : became.blocks)
        leave_pool(batch, *block);
    if (environment_.store_blocks) {
        for (const ExecutedBlockPtr& block : became.blocks) {
            append_final(batch, *block->block, block->traces);
        }
        if (auto indexed = index_proofs(became.blocks, certificate, batch); !indexed) {
            environment_.state.on_fault(indexed.error());
        }
    }
    final_ = became.blocks.back()->block;
    final_schedules_ = became.blocks.back()->schedules;
    append_schedules(batch, final_schedules_, base);
    std::erase_if(blocks_, [&](const auto& entry) {
        const Block& block = *entry.second->block;
        const bool gone = !state_->has(block.id) || block.header.height <= final_->header.height;
        // Final ones were erased above with append_final; these lost.
        if (gone && !state_->has(block.id)) erase_reversible(batch, block.header, block.id);
        return gone;
    });
    return became;
}

base::Result<void> ChainManager::committed() {
    return state_->committed(environment_.storage.snapshot());
}

void ChainManager::refresh(PendingBlock& pending) const {
    if (auto state = state_->view(pending.parent())) pending.read_through(std::move(state));
}

void ChainManager::forget(const BlockId& id, base::Batch& batch) {
    if (!blocks_.contains(id)) return;
    state_->forget(id);
    std::erase_if(blocks_, [&](const auto& entry) {
        const Block& block = *entry.second->block;
        if (state_->has(block.id)) return false;
        erase_reversible(batch, block.header, block.id);
        return true;
    });
}

ExecutedBlockPtr ChainManager::find(const BlockId& id) const {
    const auto found = blocks_.find(id);
    return found == blocks_.end() ? nullptr : found->second;
}

std::shared_ptr<const StateView> ChainManager::shared_state_of(const BlockId& id) const {
    return state_->shared_view(id);
}

std::vector<ExecutedBlockPtr> ChainManager::branch(const BlockId& tip) const {
    std::vector<ExecutedBlockPtr> blocks;
    for (ExecutedBlockPtr block = find(tip); block != nullptr;
         block = find(block->block->header.previous)) {
        blocks.push_back(block);
    }
    std::ranges::reverse(blocks);
    return blocks;
}

std::vector<ExecutedBlockPtr> ChainManager::held() const {
    std::vector<ExecutedBlockPtr> blocks;
    blocks.reserve(blocks_.size());
    for (const auto& [id, block] : blocks_) {
        blocks.push_back(block);
    }
    std::ranges::stable_sort(
        blocks, {}, [](const ExecutedBlockPtr& block) { return block->block->header.height; });
    return blocks;
}

}  // namespace chain
