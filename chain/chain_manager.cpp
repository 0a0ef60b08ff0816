#include "chain/chain_manager.hpp"

#include "base/check.hpp"
#include "chain/state/merkle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::Family;

constexpr std::string_view kMetaChain = "chain_id";
constexpr std::string_view kMetaNotarize = "notarize_certificate";
constexpr std::string_view kMetaJournal = "journal_sequence";

base::Bytes meta_key(std::string_view name) {
    return base::to_bytes(base::as_bytes(name));
}

// Names the first field of two headers that differs.
std::string difference(const BlockHeader& made, const BlockHeader& given) {
    const auto named = [&](std::string_view field, const Digest& mine, const Digest& theirs) {
        return fmt::format("{} is {}, the block says {}",
                           field,
                           base::to_hex(mine.bytes),
                           base::to_hex(theirs.bytes));
    };
    if (made.transaction_root != given.transaction_root) {
        return named("transaction_root", made.transaction_root, given.transaction_root);
    }
    if (made.action_root != given.action_root) {
        return named("action_root", made.action_root, given.action_root);
    }
    if (made.state_digest != given.state_digest) {
        return named("state_digest", made.state_digest, given.state_digest);
    }
    if (made.finality_root != given.finality_root) {
        return named("finality_root", made.finality_root, given.finality_root);
    }
    return "schedule, height or progress differ";
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

base::Result<bool> ChainManager::holds_chain(const base::StorageView& storage,
                                             const ChainId& expected) {
    auto id = storage.get(Family::meta, meta_key(kMetaChain));
    if (!id) return fail(std::move(id).error());
    if (!id->has_value()) return false;
    if (!base::equal(**id, expected.view())) {
        return fail(Errc::invalid,
                    fmt::format("the data directory holds chain {}, the genesis file makes chain "
                                "{}; use another data directory or the right genesis file",
                                base::to_hex(**id),
                                base::to_hex(expected.bytes)));
    }
    return true;
}

base::Result<std::unique_ptr<ChainManager>> ChainManager::open(const ChainIdentity& identity,
                                                               const Environment& environment) {
    auto holds = holds_chain(environment.storage, identity.chain_id);
    if (!holds) return fail(std::move(holds).error());
    if (!*holds) return fail(Errc::not_found, "the data directory holds no chain yet");
    std::unique_ptr<ChainManager> chain(new ChainManager(identity, environment));
    if (auto opened = chain->open_final(); !opened) return fail(std::move(opened).error());
    if (auto read = chain->open_certificates(); !read) return fail(std::move(read).error());
    if (auto opened = chain->open_proofs(); !opened) return fail(std::move(opened).error());
    if (auto opened = chain->open_reversible(); !opened) return fail(std::move(opened).error());
    return chain;
}

base::Result<void> ChainManager::open_final() {
    auto state = StateManager::open(environment_.storage.snapshot(), environment_.state);
    if (!state) return fail(std::move(state).error());
    state_ = *std::move(state);
    auto block = BlockReader(environment_.storage).at(state_->base().height);
    if (!block) return fail(std::move(block).error());
    if (*block == nullptr || (*block)->id != state_->base().id) {
        return fail(Errc::corrupt,
                    fmt::format("the state belongs to block {}, which is not stored",
                                state_->base().height));
    }
    final_ = *std::move(block);
    return {};
}

base::Result<void> ChainManager::open_certificates() {
    const auto read = [&](std::string_view name,
                          std::optional<Certificate>& certificate) -> base::Result<void> {
        auto bytes = environment_.storage.get(Family::meta, meta_key(name));
        if (!bytes) return fail(std::move(bytes).error());
        if (!bytes->has_value()) return {};
        auto decoded = unpack<Certificate>(**bytes, name);
        if (!decoded) return fail(Errc::corrupt, decoded.error().detail);
        certificate = *std::move(decoded);
        return {};
    };
    if (auto done = read(kMetaFinalCertificate, final_certificate_); !done) return done;
    if (auto done = read(kMetaNotarize, stored_notarize_); !done) return done;
    auto sequence = environment_.storage.get(Family::meta, meta_key(kMetaJournal));
    if (!sequence) return fail(std::move(sequence).error());
    if (sequence->has_value()) {
        base::Reader in(**sequence);
        journal_sequence_ = in.u64(kMetaJournal);
        if (auto done = in.finish(); !done) return fail(Errc::corrupt, done.error().detail);
    }
    return {};
}

// The node had executed and stored these blocks; their state is made again.
base::Result<void> ChainManager::open_reversible() {
    auto blocks = BlockReader(environment_.storage).reversible();
    if (!blocks) return fail(std::move(blocks).error());
    for (const BlockPtr& block : *blocks) {
        // What does not build on the final block lost; it is overwritten in time.
        if (!state_->has(block->header.previous)) continue;
        if (block->header.height <= final_->header.height) continue;
        auto executed = execute(block);
        if (!executed) {
            return fail(Errc::corrupt,
                        fmt::format("stored block {} cannot be executed again: {}",
                                    block->header.height,
                                    executed.error().detail));
        }
    }
    return {};
}

base::Result<std::unique_ptr<PendingBlock>> ChainManager::begin(const BlockId& parent,
                                                                Slot slot,
                                                                Name producer) {
    const ExecutedBlockPtr held = find(parent);
    CHECK(held != nullptr || parent == final_->id);
    const BlockHeader& header = held != nullptr ? held->block->header : final_->header;
    const StateLanes* lanes = state_->lanes(parent);
    CHECK(lanes != nullptr);
    return PendingBlock::begin(environment_.executor,
                               {header, parent, state_->child(parent), *lanes},
                               {slot, producer, identity_.times, identity_.chain_id});
}

base::Result<ExecutedBlockPtr> ChainManager::execute(const BlockPtr& block) {
    const BlockHeader& header = block->header;
    auto pending = begin(header.previous, header.slot, header.producer);
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
    auto made = (*pending)->close({block->witness.justify, block->witness.finalized});
    if (!made) return fail(std::move(made).error());
    if (*made != header) return fail(Errc::invalid, difference(*made, header));
    return adopt(block, (*pending)->take(block->id));
}

ExecutedBlockPtr ChainManager::adopt(BlockPtr block, PendingBlock::Taken taken) {
    const BlockAt at{block->header.height, block->id};
    const auto adopted =
        state_->adopt({at, block->header.previous, std::move(taken.changes), taken.lanes});
    CHECK(adopted.has_value());
    auto executed = std::make_shared<const ExecutedBlock>(
        ExecutedBlock{block, std::move(taken.traces), state_->changes(block->id)});
    blocks_.emplace(block->id, executed);
    return executed;
}

void ChainManager::store(const ExecutedBlock& block, base::Batch& batch) const {
    append_reversible(batch, *block.block);
    for (const TransactionTrace& trace : block.traces) {
        batch.erase(Family::pool, base::to_bytes(trace.id.view()));
    }
}

void ChainManager::store(const Certificate& certificate, base::Batch& batch) const {
    const bool commit = certificate.data.kind == VoteKind::commit;
    batch.put(
        Family::meta, meta_key(commit ? kMetaFinalCertificate : kMetaNotarize), pack(certificate));
}

void ChainManager::store_journal_sequence(std::uint64_t sequence, base::Batch& batch) const {
    base::Writer out;
    out.u64(sequence);
    batch.put(Family::meta, meta_key(kMetaJournal), out.take());
}

ChainManager::BecameFinal ChainManager::finalize(const Certificate& certificate,
                                                 base::Batch& batch) {
    const BlockId& id = certificate.data.block_id;
    BecameFinal became;
    became.blocks = branch(id);
    CHECK(!became.blocks.empty() && became.blocks.back()->block->id == id);
    became.state = std::make_shared<const FinalState>(state_->finalize(id));
    for (const ExecutedBlockPtr& block : became.blocks) {
        append_final(batch, *block->block, block->traces);
    }
    store(certificate, batch);
    if (auto indexed = index_proofs(became.blocks, certificate, batch); !indexed) {
        environment_.state.on_fault(indexed.error());
    }
    const base::Result<void> pruned =
        append_pruned(batch, environment_.storage, certificate.data.height, environment_.retention);
    if (!pruned) environment_.state.on_fault(pruned.error());
    final_ = became.blocks.back()->block;
    final_certificate_ = certificate;
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
