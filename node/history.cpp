#include "node/history.hpp"

#include "chain/state/block_store.hpp"
#include "node/core/unchecked.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace node {

namespace {

base::Result<chain::BlockPtr> checked(const Published& view, const chain::BlockPtr& block) {
    if (block->header.height > view.unchecked_to) return block;
    return base::fail(base::Errc::unavailable,
                      fmt::format("block {} is being synced, and its signatures are not checked "
                                  "yet; try again soon",
                                  block->header.height));
}

}  // namespace

History::History(const base::Storage& storage, const BranchWalk::Rules& rules)
    : storage_(storage), rules_(rules) {
    // A storage that cannot be read stops the node elsewhere.
    const auto earliest = chain::BlockReader(storage).earliest();
    if (earliest) earliest_ = earliest->value_or(1);
}

base::Result<chain::BlockPtr> History::find_block(const Published& view,
                                                  chain::Height height) const {
    if (height == view.finalized->header.height) return view.finalized;
    for (const chain::ExecutedBlockPtr& each : view.reversible) {
        if (each->block->header.height == height) return checked(view, each->block);
    }
    if (height > view.finalized->header.height) return chain::BlockPtr();
    if (height <= view.unchecked_to) {
        if (auto good = check_stored(height); !good) return base::fail(std::move(good).error());
    }
    return chain::BlockReader(storage_).at(height);
}

// Looked at before the block is read: what has no stretch any more is good.
base::Result<void> History::check_stored(chain::Height height) const {
    auto stretch = stretch_of(storage_, height);
    if (!stretch) return base::fail(std::move(stretch).error());
    if (!*stretch) return {};
    const auto snapshot = storage_.snapshot();
    Stretch one = **stretch;
    one.from = one.to = height;
    auto wrong = check_stretch(*snapshot, one, rules_);
    if (!wrong) return base::fail(std::move(wrong).error());
    if (wrong->empty()) return {};
    return base::fail(base::Errc::unavailable,
                      fmt::format("block {}: {}; another copy is asked of peers, try again later",
                                  height,
                                  wrong->front().text));
}

base::Result<chain::BlockPtr> History::find_block(const Published& view,
                                                  const chain::BlockId& id) const {
    for (const chain::ExecutedBlockPtr& each : view.reversible) {
        if (each->block->id == id) return checked(view, each->block);
    }
    auto height = chain::BlockReader(storage_).height_of(id);
    if (!height) return base::fail(height.error());
    // What the storage has and the view does not know yet is not final to its reader.
    if (!*height || **height > view.finalized->header.height) return chain::BlockPtr();
    return find_block(view, **height);
}

base::Result<std::optional<std::vector<chain::TransactionTrace>>> History::find_traces(
    const Published& view, chain::Height height) const {
    for (const chain::ExecutedBlockPtr& each : view.reversible) {
        if (each->block->header.height == height) return std::optional(each->traces);
    }
    if (height > view.finalized->header.height) {
        return std::optional<std::vector<chain::TransactionTrace>>();
    }
    return chain::BlockReader(storage_).traces(height);
}

base::Result<std::optional<chain::Height>> History::find_transaction(
    const Published& view, const chain::TransactionId& id) const {
    for (const chain::ExecutedBlockPtr& each : view.reversible) {
        const bool has = std::ranges::any_of(
            each->traces, [&](const chain::TransactionTrace& trace) { return trace.id == id; });
        if (has) return std::optional(each->block->header.height);
    }
    auto height = chain::BlockReader(storage_).height_of_transaction(id);
    if (!height) return base::fail(height.error());
    if (*height && **height > view.finalized->header.height) return std::optional<chain::Height>();
    return height;
}

}  // namespace node
