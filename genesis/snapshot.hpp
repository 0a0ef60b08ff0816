#pragma once

#include "base/bytes.hpp"
#include "chain/state/digest.hpp"
#include "chain/types/block.hpp"

#include <cstdint>
#include <vector>

namespace genesis {

// A snapshot is the state after one final block with all that a node needs to go on from there
// (spec 05, "Snapshots"). Its manifest says what the chunks are that hold the rows
// (snapshot_chunk). It is equal on all honest nodes, byte for byte. What differs between them lies
// beside it: the links and the proof of the block (snapshot_proof) and the agreement part
// (snapshot_agreement).
//
// Everything here is pure; any thread. Decoding is strict. malformed: names the field. invalid:
// names what does not fit together.

inline constexpr std::uint32_t kSnapshotFormat = 1;
inline constexpr std::size_t kChunkBytesMax = std::size_t{4} * 1024 * 1024;  // Unpacked.
inline constexpr std::size_t kChunkBytesMin = std::size_t{1} * 1024 * 1024;  // From here it is cut.
inline constexpr std::size_t kChunksMax = std::size_t{1} << 20U;
inline constexpr std::size_t kManifestPageBytesMax = std::size_t{4} * 1024 * 1024;

struct SnapshotHead {
    std::uint32_t format = kSnapshotFormat;
    chain::ChainId chain_id{};
    std::uint32_t rules_version = 0;  // In force after the block.
    chain::Height height = 0;         // Of the final block whose state this is; above genesis.
    chain::BlockId block{};
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;  // Of all chunks, unpacked.

    friend bool operator==(const SnapshotHead&, const SnapshotHead&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.format,
              self.chain_id,
              self.rules_version,
              self.height,
              self.block,
              self.rows,
              self.bytes);
    }
};

struct ChunkInfo {
    std::uint32_t entries = 0;  // Rows.
    std::uint32_t bytes = 0;    // Unpacked.
    base::Hash256 sha256{};     // Of the unpacked bytes. Names the chunk's file.
    chain::StateLanes lanes{};  // What its rows add to those of the state.

    friend bool operator==(const ChunkInfo&, const ChunkInfo&) = default;
};

struct Manifest {
    SnapshotHead head;
    std::vector<ChunkInfo> chunks;  // In the order of their rows; at least one.

    friend bool operator==(const Manifest&, const Manifest&) = default;
};

// The head's fields as integers, little-endian, and hashes, in their order; the number of chunks
// u32; and for each chunk entries u32, bytes u32, SHA-256 and the 2,048 bytes of the lanes.
[[nodiscard]] base::Bytes encode_manifest(const Manifest& manifest);
// Checks limits and sums: the chunks have the rows and bytes that the head says, none is larger
// than a chunk may be, and no more of them are smaller than 1 MiB than there are tables.
[[nodiscard]] base::Result<Manifest> decode_manifest(base::ByteView bytes);
// SHA-256 of encode_manifest().
[[nodiscard]] base::Hash256 manifest_id(const Manifest& manifest);

// A manifest is passed on in pages: its bytes, cut every 4 MiB. The first says how many there are.
struct ManifestStart {
    SnapshotHead head;
    std::uint32_t chunks = 0;
    std::uint64_t manifest_bytes = 0;
};
[[nodiscard]] base::Result<ManifestStart> decode_manifest_start(base::ByteView first_page);
[[nodiscard]] std::size_t manifest_pages(std::uint64_t manifest_bytes);
// `index` < manifest_pages(); borrowed from `manifest`.
[[nodiscard]] base::ByteView manifest_page(base::ByteView manifest, std::size_t index);

// The lanes of all chunks together: those of the state.
[[nodiscard]] chain::StateLanes lanes_of(const Manifest& manifest);

// Whether the manifest is of this chain and of this header's block, which was proved, and its lanes
// give that header's state_digest. Before a chunk is asked for. invalid: says which does not.
[[nodiscard]] base::Result<void> check_manifest(const Manifest& manifest,
                                                const chain::ChainId& chain_id,
                                                const chain::BlockHeader& header);

}  // namespace genesis
