#include "chain/pending_block.hpp"

#include "base/check.hpp"
#include "chain/execution/schedule_rows.hpp"
#include "chain/state/merkle.hpp"
#include "chain/state/transaction_root.hpp"
#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <utility>

namespace chain {

namespace {

// What a receipt adds to a packed transaction, at most.
constexpr std::size_t kReceiptBytes = 32;

}  // namespace

PendingBlock::PendingBlock(Executor& executor, Parent parent, const Place& place)
    : executor_(executor),
      parent_(std::move(parent)),
      context_{.height = parent_.header.height + 1,
               .slot = place.slot,
               .time = place.times.time_of(place.slot),
               .producer = place.producer,
               .previous = parent_.id,
               .chain_id = place.chain_id,
               .interval_milliseconds = place.times.interval_milliseconds,
               .parent_slot = parent_.header.slot,
               .parent_final = parent_.header.finalized.id},
      keep_traces_(place.keep_traces) {}

base::Result<std::unique_ptr<PendingBlock>> PendingBlock::begin(Executor& executor,
                                                                Parent parent,
                                                                const Place& place) {
    CHECK(place.slot > parent.header.slot);
    const Retime* retime = place.times.retime_of(place.slot);
    if (retime != nullptr && retime->first > parent.header.slot) {
        put_retimes(*parent.delta, place.times, place.slot, parent.header.height);
    }
    std::unique_ptr<PendingBlock> block(new PendingBlock(executor, std::move(parent), place));
    auto begun = executor.begin_block(block->delta(), block->context_);
    if (!begun) return base::fail(std::move(begun).error());
    block->schedule_ = *std::move(begun);
    block->run_.rules = executor.rules(block->delta());
    auto retimes = load_retimes(block->delta());
    if (!retimes) return base::fail(std::move(retimes).error());
    block->context_.refers_from = retimes->refers_from;
    return block;
}

TransactionTrace PendingBlock::push(const PooledTransaction& transaction,
                                    const ExecutionOptions& options) {
    facts_ = {};
    const DecodedTransaction& decoded = *transaction.transaction;
    const std::size_t bytes = packed_bytes(decoded.packed) + kReceiptBytes;
    const std::size_t limit = run_.rules.parameters.max_block_bytes;
    if (packed_bytes_ + bytes > limit) {
        TransactionTrace trace;
        trace.id = decoded.id;
        trace.except = TraceException::from_error(make_error(
            Exception::block_net_usage_exceeded,
            fmt::format(
                "the block has {} bytes, at most {} are allowed", packed_bytes_ + bytes, limit)));
        return trace;
    }
    TransactionResult result =
        executor_.execute({decoded, transaction.keys}, delta(), context_, options, run_);
    facts_ = result.facts;
    if (!result.succeeded()) return std::move(result.trace);
    CHECK(result.trace.receipt.has_value());
    TransactionReceipt& receipt = receipts_.emplace_back();
    static_cast<TransactionReceiptHeader&>(receipt) = *result.trace.receipt;
    receipt.transaction = decoded.packed;
    packed_bytes_ += bytes;
    action_digests_.insert(
        action_digests_.end(), result.action_digests.begin(), result.action_digests.end());
    if (keep_traces_) traces_.push_back(result.trace);
    return std::move(result.trace);
}

base::Result<BlockHeader> PendingBlock::close(const Progress& progress) {
    if (auto finished = executor_.finish_block(delta(), context_, receipts_.size()); !finished) {
        return base::fail(std::move(finished).error());
    }
    BlockHeader header;
    header.slot = context_.slot;
    header.height = context_.height;
    header.producer = context_.producer;
    header.previous = parent_.id;
    header.schedule_version = schedule_.version;
    header.schedule_change = schedule_.change;
    header.justify = progress.justify ? progress.justify->data.block() : parent_.header.justify;
    header.finalized =
        progress.finalized ? progress.finalized->data.block() : parent_.header.finalized;
    auto root = advance_finality(progress.finalized ? progress.finalized->data.height : Height{0});
    if (!root) return base::fail(std::move(root).error());
    header.finality_root = *root;

    const auto transactions = transaction_root(receipts_);
    CHECK(transactions.has_value());
    header.transaction_root = *transactions;
    header.action_root = merkle_root(action_digests_);

    if (progress.trusted_digest) {
        header.state_digest = *progress.trusted_digest;
    } else {
        lanes_ = lanes_after();
        header.state_digest = lanes_->digest();
    }
    return header;
}

// Over the net change since the last block whose lanes are known, which is the parent but for
// those that were taken on trust.
StateLanes PendingBlock::lanes_after() const {
    CHECK(parent_.lanes.has_value());
    const ChangeSet& own = parent_.delta->changes();
    const StateManager::KnownLanes& known = *parent_.lanes;
    StateLanes lanes = known.lanes;
    if (known.since.empty()) {
        lanes += lanes_moved(net_changes(own, parent_.delta->parent()));
        return lanes;
    }
    ChangeSet all;
    for (const auto& changes : known.since) {
        all.merge(*changes);
    }
    all.merge(own);
    lanes += lanes_moved(net_changes(all, *known.state));
    return lanes;
}

base::Result<Digest> PendingBlock::advance_finality(Height final_height) {
    auto range = load_final_range(delta());
    if (!range) return base::fail(std::move(range).error());
    if (final_height <= range->count()) return range->root();
    for (auto height = static_cast<Height>(range->count()) + 1; height <= final_height; ++height) {
        const Value id =
            delta().find(Table::block_id, block_id_key(static_cast<std::uint16_t>(height)));
        if (id == nullptr || id->size() != sizeof(BlockId)) {
            return base::fail(base::Errc::corrupt,
                              fmt::format("the state has no id of block {}", height));
        }
        range->append(base::to_hash<32>(*id).value());
    }
    put_final_range(delta(), *range);
    return range->root();
}

const LayeredView::Layers& PendingBlock::copy_changes() {
    auto newest = std::make_shared<ChangeSet>();
    newest->merge(run_.recent ? *run_.recent : parent_.delta->changes());
    run_.recent.emplace();
    if (newest->size() == 0) return copies_;
    while (!copies_.empty() && copies_.front()->size() < 2 * newest->size()) {
        auto both = std::make_shared<ChangeSet>();
        both->merge(*copies_.front());
        both->merge(std::move(*newest));
        newest = std::move(both);
        copies_.erase(copies_.begin());
    }
    copies_.insert(copies_.begin(), std::move(newest));
    return copies_;
}

void PendingBlock::read_through(std::shared_ptr<const StateView> state) {
    if (parent_.lanes && parent_.lanes->since.empty()) parent_.lanes->state = state;
    delta().read_through(std::move(state));
}

PendingBlock::Taken PendingBlock::take(const BlockId& id) {
    for (TransactionTrace& trace : traces_) {
        trace.producer_block_id = id;
    }
    return {std::move(traces_), delta().take(), lanes_, run_.rules.parameters.snapshot_period};
}

}  // namespace chain
