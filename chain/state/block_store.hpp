#pragma once

#include "base/storage.hpp"
#include "chain/state/history_floor.hpp"
#include "chain/types/block.hpp"
#include "chain/types/trace.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace chain {

// Where blocks, their traces and their indexes lie in the storage (spec 03, "State"). Pure: it
// adds to batches and reads views; the caller commits.
//
// Final blocks lie by height in Family::blocks, others in Family::reversible. Family::index
// finds the height of a final block by its id, and of a transaction by its.

// A block that is not final, to be executed again after a restart.
void append_reversible(base::Batch& batch, const Block& block);
void erase_reversible(base::Batch& batch, const BlockHeader& header, const BlockId& id);

// A block that became final: its bytes, traces and indexes; it is reversible no longer.
void append_final(base::Batch& batch,
                  const Block& block,
                  const std::vector<TransactionTrace>& traces);

// A final block that comes with a loaded state: as append_final(), but nothing is known of what its
// transactions did.
void append_without_traces(base::Batch& batch, const Block& block);

// Reads what was stored and not pruned, as of the HistoryFloor of its first call: one for each
// question. Thread: any, one at a time.
class BlockReader {
  public:
    // `storage` outlives this.
    explicit BlockReader(const base::StorageView& storage) : storage_(&storage) {}

    // Nothing: never stored, or pruned. corrupt: it does not decode, or is another block.
    [[nodiscard]] base::Result<BlockPtr> at(Height height) const;
    // As it lies there: encode_block() of it. Nothing: as above.
    [[nodiscard]] base::Result<std::optional<base::Bytes>> packed_at(Height height) const;
    [[nodiscard]] base::Result<std::optional<Height>> height_of(const BlockId& id) const;
    [[nodiscard]] base::Result<std::optional<Height>> height_of_transaction(
        const TransactionId& id) const;
    // Of the block at this height, in the order of its receipts; nothing as above.
    [[nodiscard]] base::Result<std::optional<std::vector<TransactionTrace>>> traces(
        Height height) const;
    // The lowest final block from which on all are stored; nothing: none is.
    [[nodiscard]] base::Result<std::optional<Height>> earliest() const;
    // The lowest block whose traces are stored; nothing: none is.
    [[nodiscard]] base::Result<std::optional<Height>> earliest_traces() const;
    // Every block that is not final, parents before children.
    [[nodiscard]] base::Result<std::vector<BlockPtr>> reversible() const;

  private:
    [[nodiscard]] base::Result<const HistoryFloor*> floor() const;
    [[nodiscard]] base::Result<std::optional<Height>> height_at(char kind,
                                                                const base::Hash256& id) const;

    const base::StorageView* storage_;
    mutable std::optional<HistoryFloor> floor_;
};

}  // namespace chain
