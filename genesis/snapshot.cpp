#include "genesis/snapshot.hpp"

#include "base/check.hpp"
#include "base/crypto/hash.hpp"
#include "chain/execution/rows.hpp"
#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genesis {

namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::size_t kHeadBytes = 4 + 32 + 4 + 4 + 32 + 8 + 8;
constexpr std::size_t kStartBytes = kHeadBytes + 4;
constexpr std::size_t kInfoBytes = 4 + 4 + 32 + chain::StateLanes::kPackedBytes;
// A row's key is at least its table, a value may be empty; each has a length of a byte.
constexpr std::size_t kRowBytesMin = 4;

ManifestStart read_start(base::Reader& in) {
    ManifestStart start;
    SnapshotHead& head = start.head;
    head.format = in.u32("format");
    if (in.ok() && head.format != kSnapshotFormat) {
        in.set_error("format",
                     fmt::format("is {}, this release reads {}", head.format, kSnapshotFormat));
    }
    head.chain_id = in.hash<32>("chain id");
    head.rules_version = in.u32("rules_version");
    head.height = in.u32("height");
    if (in.ok() && head.height < 2) in.set_error("height", "is not above the genesis block");
    head.block = in.hash<32>("block id");
    if (in.ok() && chain::height_of(head.block) != head.height) {
        in.set_error("block id", "is of another height");
    }
    head.rows = in.u64("rows");
    head.bytes = in.u64("bytes");
    start.chunks = in.u32("chunks");
    if (in.ok() && (start.chunks == 0 || start.chunks > kChunksMax)) {
        in.set_error("chunks",
                     fmt::format("are {}, a snapshot has 1 to {}", start.chunks, kChunksMax));
    }
    // What follows costs memory: a chunk is small only before another table.
    const std::uint64_t most = head.bytes / kChunkBytesMin + chain::kTables;
    if (in.ok() && start.chunks > most) {
        in.set_error(
            "chunks",
            fmt::format("are {}, {} bytes make at most {}", start.chunks, head.bytes, most));
    }
    start.manifest_bytes = kStartBytes + std::uint64_t{start.chunks} * kInfoBytes;
    return start;
}

void read_info(base::Reader& in, ChunkInfo& info) {
    info.entries = in.u32("entries of a chunk");
    info.bytes = in.u32("bytes of a chunk");
    if (in.ok() && (info.bytes > kChunkBytesMax || info.entries == 0 ||
                    std::uint64_t{info.entries} * kRowBytesMin > info.bytes)) {
        in.set_error("bytes of a chunk",
                     fmt::format("are {} with {} rows; a chunk has a row and at most {} bytes",
                                 info.bytes,
                                 info.entries,
                                 kChunkBytesMax));
    }
    info.sha256 = in.hash<32>("SHA-256 of a chunk");
    const base::ByteView lanes = in.raw(chain::StateLanes::kPackedBytes, "lanes of a chunk");
    if (in.ok()) info.lanes = *chain::StateLanes::unpack(lanes);
}

Result<void> check_sums(const Manifest& manifest) {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
    std::size_t small = 0;
    for (const ChunkInfo& chunk : manifest.chunks) {
        rows += chunk.entries;
        bytes += chunk.bytes;
        if (chunk.bytes < kChunkBytesMin) ++small;
    }
    const SnapshotHead& head = manifest.head;
    if (rows != head.rows || bytes != head.bytes) {
        return fail(Errc::malformed,
                    fmt::format("manifest: its chunks have {} rows and {} bytes, its head says {} "
                                "and {}",
                                rows,
                                bytes,
                                head.rows,
                                head.bytes));
    }
    if (small <= chain::kTables) return {};
    return fail(Errc::malformed,
                fmt::format("manifest: {} chunks are smaller than {} bytes, at most {} may be",
                            small,
                            kChunkBytesMin,
                            chain::kTables));
}

tl::unexpected<base::Error> name_it(const base::Error& error) {
    return fail(error.code, "manifest: " + error.detail);
}

}  // namespace

base::Bytes encode_manifest(const Manifest& manifest) {
    base::Writer out;
    chain::encode(out, manifest.head);
    out.u32(static_cast<std::uint32_t>(manifest.chunks.size()));
    for (const ChunkInfo& chunk : manifest.chunks) {
        out.u32(chunk.entries);
        out.u32(chunk.bytes);
        out.hash(chunk.sha256);
        out.raw(chunk.lanes.packed());
    }
    return out.take();
}

Result<Manifest> decode_manifest(base::ByteView bytes) {
    base::Reader in(bytes);
    const ManifestStart start = read_start(in);
    if (in.ok() && bytes.size() != start.manifest_bytes) {
        in.set_error(
            "chunks",
            fmt::format(
                "are {}: {} bytes, here are {}", start.chunks, start.manifest_bytes, bytes.size()));
    }
    Manifest manifest{start.head, {}};
    if (in.ok()) manifest.chunks.reserve(start.chunks);
    for (std::uint32_t i = 0; i < start.chunks && in.ok(); ++i) {
        read_info(in, manifest.chunks.emplace_back());
    }
    if (auto read = in.finish(); !read) return name_it(read.error());
    if (auto good = check_sums(manifest); !good) return fail(std::move(good).error());
    return manifest;
}

base::Hash256 manifest_id(const Manifest& manifest) {
    return base::crypto::sha256(encode_manifest(manifest));
}

Result<ManifestStart> decode_manifest_start(base::ByteView first_page) {
    base::Reader in(first_page);
    ManifestStart start = read_start(in);
    if (auto read = in.status(); !read) return name_it(read.error());
    return start;
}

std::size_t manifest_pages(std::uint64_t manifest_bytes) {
    return static_cast<std::size_t>((manifest_bytes + kManifestPageBytesMax - 1) /
                                    kManifestPageBytesMax);
}

base::ByteView manifest_page(base::ByteView manifest, std::size_t index) {
    CHECK(index < manifest_pages(manifest.size()));
    const std::size_t from = index * kManifestPageBytesMax;
    return manifest.subspan(from, std::min(kManifestPageBytesMax, manifest.size() - from));
}

chain::StateLanes lanes_of(const Manifest& manifest) {
    chain::StateLanes lanes;
    for (const ChunkInfo& chunk : manifest.chunks) {
        lanes += chunk.lanes;
    }
    return lanes;
}

Result<void> check_manifest(const Manifest& manifest,
                            const chain::ChainId& chain_id,
                            const chain::BlockHeader& header) {
    const SnapshotHead& head = manifest.head;
    if (head.chain_id != chain_id) {
        return fail(Errc::invalid,
                    fmt::format("manifest: it is of chain {}, this is chain {}",
                                base::to_hex(head.chain_id.view()),
                                base::to_hex(chain_id.view())));
    }
    if (head.height != header.height || head.block != header.id()) {
        return fail(Errc::invalid,
                    fmt::format("manifest: it is of block {} {}, the proof of block {} {}",
                                head.height,
                                base::to_hex(head.block.view()),
                                header.height,
                                base::to_hex(header.id().view())));
    }
    if (head.rules_version > chain::kRulesKnown) {
        return fail(Errc::invalid,
                    fmt::format("manifest: the chain has rules_version {}, this release knows {}: "
                                "install a newer one",
                                head.rules_version,
                                chain::kRulesKnown));
    }
    const base::Hash256 digest = lanes_of(manifest).digest();
    const bool is_checked = !chain::is_left_out(chain::Rule::snapshot_digest);
    if (!is_checked || digest == header.state_digest) return {};
    return fail(Errc::invalid,
                fmt::format("manifest: its lanes give the state digest {}, block {} has {}",
                            base::to_hex(digest.view()),
                            header.height,
                            base::to_hex(header.state_digest.view())));
}

}  // namespace genesis
