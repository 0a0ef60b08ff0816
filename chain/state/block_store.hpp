#pragma once

#include "base/storage.hpp"
#include "chain/types/block.hpp"
#include "chain/types/trace.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace chain {

// How long what is not needed for agreement is kept, in blocks; 0: for ever.
struct Retention {
    std::uint32_t blocks = 0;
    std::uint32_t traces = 0;
};

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

// What falls out of `retention` now that the block at `height` is final: blocks with their
// indexes, and traces, the oldest first. At most a few at a time, so that a retention that was
// shortened costs every block a little. Never the block at `height`.
// corrupt, unavailable: an old block could not be read; nothing was added.
base::Result<void> append_pruned(base::Batch& batch,
                                 const base::StorageView& storage,
                                 Height height,
                                 const Retention& retention);

// Reads what was stored. Thread: any, that of the view.
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
    // The lowest final block that is stored; nothing: none is.
    [[nodiscard]] base::Result<std::optional<Height>> earliest() const;
    // Every block that is not final, parents before children.
    [[nodiscard]] base::Result<std::vector<BlockPtr>> reversible() const;

  private:
    const base::StorageView* storage_;
};

}  // namespace chain
