// Manifests come from strangers, and say how much memory and disk is to be spent. What decodes must
// encode to the same bytes, say no more than its limits, and come apart into pages as a whole.
#include "base/check.hpp"
#include "genesis/snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    const auto start = genesis::decode_manifest_start(bytes);
    const auto manifest = genesis::decode_manifest(bytes);
    if (!manifest) return 0;
    CHECK(start.has_value() && start->manifest_bytes == size);
    CHECK(genesis::encode_manifest(*manifest) == base::to_bytes(bytes));
    CHECK(manifest->chunks.size() <= genesis::kChunksMax);
    std::uint64_t rows = 0;
    for (const genesis::ChunkInfo& chunk : manifest->chunks) {
        CHECK(chunk.bytes <= genesis::kChunkBytesMax);
        rows += chunk.entries;
    }
    CHECK(rows == manifest->head.rows);
    std::size_t paged = 0;
    for (std::size_t i = 0; i < genesis::manifest_pages(size); ++i) {
        paged += genesis::manifest_page(bytes, i).size();
    }
    CHECK(paged == size);
    // A header that nobody proved fits none.
    CHECK(!genesis::check_manifest(*manifest, manifest->head.chain_id, {}).has_value());
    return 0;
}
