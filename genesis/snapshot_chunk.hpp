#pragma once

#include "genesis/snapshot.hpp"

#include <optional>
#include <vector>

namespace genesis {

// The chunks of a snapshot (spec 05, "Snapshots"): the rows of the state as they lie in
// base::Family::state, in the strict order of their keys. All rows of all tables are in some chunk,
// those of one table in each. Packed: for each row the length of its key as varuint32, the key, the
// length of its value as varuint32, the value. A key is chain::stored_key(): the table, two bytes
// big-endian, and the row's key.
//
// Everything here is pure; one thread for each object.

// A row of a chunk, borrowed from its bytes.
struct ChunkRow {
    base::ByteView key;  // With its table.
    base::ByteView value;
};

struct Chunk {
    ChunkInfo info;
    base::Bytes bytes;
};

// Cuts the rows of a state into chunks, the same on every node. A chunk ends before a row of
// another table, before a row that would bring it above 4 MiB, and, from 1 MiB on, before a row
// whose key, without its table, has a CRC32C with 14 low zero bits: so a row that is inserted
// changes one chunk, and equal chunks of two snapshots are equal files. About 0.8 us a row, of the
// digest.
class ChunkCutter {
  public:
    // Takes the next row, with its table in the key, and returns the chunk that ended before it, if
    // one did. corrupt: its key is not above the last one, has no table of ours, or the row is too
    // large for a chunk; nothing was taken.
    [[nodiscard]] base::Result<std::optional<Chunk>> add(base::ByteView key, base::ByteView value);
    // The last chunk; nothing: no row came. The cutter is as new.
    [[nodiscard]] std::optional<Chunk> finish();

  private:
    [[nodiscard]] bool ends_before(base::ByteView key, std::size_t row_bytes) const;

    Chunk chunk_;
    base::Bytes last_;  // Key of the last row.
};

// Whether a chunk is what its manifest says: length, SHA-256, form, keys of one known table in
// strict order, number of rows, and lanes, which are computed. Returns its rows, which borrow from
// `bytes`; at least one. malformed: length or SHA-256, the fault of the sender. invalid: the rest,
// the fault of everyone who named the manifest. About 0.8 us a row.
[[nodiscard]] base::Result<std::vector<ChunkRow>> check_chunk(base::ByteView bytes,
                                                              const ChunkInfo& info);

// The rows of a chunk that was checked, without the digest.
[[nodiscard]] base::Result<std::vector<ChunkRow>> chunk_rows(base::ByteView bytes,
                                                             std::uint32_t entries);

// Between two chunks: the lanes do not see a row that comes 65,536 times. invalid: the first key of
// a chunk is not above the last of the one before; `index` is that of the later chunk.
[[nodiscard]] base::Result<void> check_border(base::ByteView last_key,
                                              base::ByteView first_key,
                                              std::size_t index);

}  // namespace genesis
