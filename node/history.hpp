#pragma once

#include "base/pinned.hpp"
#include "base/storage.hpp"
#include "node/core/core.hpp"

#include <atomic>
#include <optional>
#include <vector>

namespace node {

// Blocks, traces and transactions by height and id: those of a view that are not final yet, and
// those in the storage.
//
// Thread: any. corrupt: the storage holds what does not decode.
class History : base::Pinned {
  public:
    // The storage has a chain.
    explicit History(const base::Storage& storage);

    // Null: no such block in the view's chain.
    [[nodiscard]] base::Result<chain::BlockPtr> find_block(const Published& view,
                                                           chain::Height height) const;
    [[nodiscard]] base::Result<chain::BlockPtr> find_block(const Published& view,
                                                           const chain::BlockId& id) const;
    // In the order of the block's receipts; nothing: no such block, or its traces were dropped.
    [[nodiscard]] base::Result<std::optional<std::vector<chain::TransactionTrace>>> find_traces(
        const Published& view, chain::Height height) const;
    // The block that holds a transaction.
    [[nodiscard]] base::Result<std::optional<chain::Height>> find_transaction(
        const Published& view, const chain::TransactionId& id) const;

    [[nodiscard]] const base::Storage& storage() const { return storage_; }
    // The lowest final block that is stored: a data directory may begin with a snapshot, and what
    // is old may be pruned.
    [[nodiscard]] chain::Height earliest_block() const { return earliest_; }
    void set_earliest_block(chain::Height height) { earliest_ = height; }

  private:
    const base::Storage& storage_;
    std::atomic<chain::Height> earliest_ = 1;
};

}  // namespace node
