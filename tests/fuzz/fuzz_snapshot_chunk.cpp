// Chunks come from strangers who made hash and manifest fit. Whatever the bytes, a chunk that is
// accepted has rows of one table in strict order, and is what the cutter makes of them.
#include "base/check.hpp"
#include "base/crypto/hash.hpp"
#include "genesis/snapshot_chunk.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    // The number of rows that the manifest says, then the chunk.
    const base::ByteView bytes = std::as_bytes(std::span(data, size)).subspan(1);
    genesis::ChunkInfo info;
    info.entries = data[0];
    info.bytes = static_cast<std::uint32_t>(bytes.size());
    info.sha256 = base::crypto::sha256(bytes);
    const auto rows = genesis::chunk_rows(bytes, info.entries);
    if (!rows) {
        CHECK(!genesis::check_chunk(bytes, info).has_value());
        return 0;
    }
    genesis::ChunkCutter cutter;
    for (const genesis::ChunkRow& row : *rows) {
        const auto added = cutter.add(row.key, row.value);
        CHECK(added.has_value() && !added->has_value());
    }
    const auto chunk = cutter.finish();
    CHECK(chunk.has_value() == !rows->empty());
    if (!chunk) return 0;
    CHECK(chunk->bytes == base::to_bytes(bytes));
    CHECK(!genesis::check_chunk(bytes, info).has_value());  // Its lanes are not nothing.
    info.lanes = chunk->info.lanes;
    CHECK(genesis::check_chunk(bytes, info).has_value());
    return 0;
}
