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
// Thread: any. corrupt: the storage holds what does not decode. unavailable: the block came with
// signatures that are not checked yet, or are wrong (trust = certified).
class History : base::Pinned {
  public:
    // The storage has a chain.
    History(const base::Storage& storage, const BranchWalk::Rules& rules);

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
    [[nodiscard]] base::Result<void> check_stored(chain::Height height) const;

    const base::Storage& storage_;
    const BranchWalk::Rules rules_;
    std::atomic<chain::Height> earliest_ = 1;
};

}  // namespace node
