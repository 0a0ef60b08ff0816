#pragma once

#include "base/storage.hpp"
#include "chain/types/block.hpp"

#include <vector>

namespace chain {

// From where on the past is stored (spec 03, "State"). Pruning raises it, durably, and what is
// below counts as gone from then on, whatever the tables still hold: rows vanish from them later.
struct HistoryFloor {
    Height blocks = 0;           // The lowest final block with its index; 0: nothing was pruned.
    Height traces = 0;           // The lowest block with traces.
    Height swept = 0;            // The index has no rows of blocks below it.
    std::vector<Height> kept{};  // Blocks that stay below `blocks`, ascending.

    friend bool operator==(const HistoryFloor&, const HistoryFloor&) = default;
    [[nodiscard]] bool has_block(Height height) const;
    // Whether a row of this family is below the floor. Of blocks and traces the key is enough.
    [[nodiscard]] bool is_past(base::Family family, base::ByteView key, base::ByteView value) const;
};

inline constexpr std::size_t kKeptMax = 4'096;  // Blocks below the floor.

// corrupt, unavailable: it cannot be read.
[[nodiscard]] base::Result<HistoryFloor> read_floor(const base::StorageView& storage);
void append_floor(base::Batch& batch, const HistoryFloor& floor);
// After blocks from `blocks` up to the floor came back with their index, without traces.
[[nodiscard]] HistoryFloor lowered(HistoryFloor floor, Height blocks);

// The key of a block, and of its traces: big-endian, so that the order of keys is that of heights.
[[nodiscard]] base::Bytes height_key(Height height);
// Of a key, or of an index row's value, of at least four bytes.
[[nodiscard]] Height height_from(base::ByteView bytes);

// Rows of the index that lead to a final block: by its id, and by that of a transaction. The index
// has other rows beside them.
inline constexpr char kIndexedBlock = 'b';
inline constexpr char kIndexedTransaction = 't';

}  // namespace chain
