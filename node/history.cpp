#include "node/history.hpp"

#include "chain/state/block_store.hpp"

#include <algorithm>

namespace node {

History::History(const base::Storage& storage) : storage_(storage) {
    // A storage that cannot be read stops the node elsewhere.
    const auto earliest = chain::BlockReader(storage).earliest();
    if (earliest) earliest_ = earliest->value_or(1);
}

base::Result<chain::BlockPtr> History::find_block(const Published& view,
                                                  chain::Height height) const {
    if (height == view.finalized->header.height) return view.finalized;
    for (const chain::ExecutedBlockPtr& each : view.reversible) {
        if (each->block->header.height == height) return each->block;
    }
    if (height > view.finalized->header.height) return chain::BlockPtr();
    return chain::BlockReader(storage_).at(height);
}

base::Result<chain::BlockPtr> History::find_block(const Published& view,
                                                  const chain::BlockId& id) const {
    for (const chain::ExecutedBlockPtr& each : view.reversible) {
        if (each->block->id == id) return each->block;
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
