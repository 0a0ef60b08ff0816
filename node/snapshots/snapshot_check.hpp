#pragma once

#include "node/snapshots/snapshot_folder.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace node {

// What a snapshot is checked against.
struct SnapshotTrust {
    genesis::Trust chain;
    std::uint32_t repetitions = 1;  // The genesis file's.
    std::optional<genesis::Checkpoint> checkpoint;
};
[[nodiscard]] SnapshotTrust trust_in(const genesis::Genesis& genesis);

// All of a snapshot but its chunks, as it was found good.
struct CheckedSnapshot {
    genesis::SnapshotProof proof;
    genesis::CheckedAgreement agreement;
    // The checkpoint is below the block: the rows of a state know the last 65,536 blocks.
    std::optional<genesis::Checkpoint> checkpoint;
    std::vector<base::Hash256> link_parts;  // SHA-256 of what was followed.
};
// Links, proof, agreement part and manifest, in this order; the sum of the chunks' lanes must be
// the digest. No chunk is read. Errors name the file, and what does not hold.
[[nodiscard]] base::Result<CheckedSnapshot> check_parts(const SnapshotFolder& folder,
                                                        const SnapshotTrust& trust,
                                                        const IsStopped& is_stopped = {});

struct ChunkProgress {
    std::size_t chunks = 0;  // Done, of
    std::size_t chunks_all = 0;
    std::uint64_t bytes = 0;  // Unpacked, of
    std::uint64_t bytes_all = 0;
    std::chrono::milliseconds passed{0};
};
using ShowProgress = std::function<void(const ChunkProgress&)>;

// Where the rows of some consecutive chunks go, in their order.
using TakeRow = std::function<base::Result<void>(base::ByteView key, base::ByteView value)>;
using EndGroup = std::function<base::Result<void>()>;
struct RowSink {
    TakeRow take;
    EndGroup end;
};
// Of the group with this number, in a thread of its own.
using OpenGroup = std::function<base::Result<RowSink>(std::size_t group)>;

// Reads all chunks on `workers` threads, a group of them at a time, and checks each: bytes,
// SHA-256, form, order, lanes, and that its first row comes after the last of the chunk before.
// `open`: where rows go; empty: nowhere. `show` is called once a second and at the end;
// `is_stopped` is asked before each chunk, on any thread. Returns the number of groups. Errors name
// the file of the chunk.
[[nodiscard]] base::Result<std::size_t> check_chunks(const SnapshotFolder& folder,
                                                     unsigned workers,
                                                     const OpenGroup& open,
                                                     const ShowProgress& show,
                                                     const IsStopped& is_stopped = {});

}  // namespace node
