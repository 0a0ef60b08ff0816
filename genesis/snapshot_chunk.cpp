#include "genesis/snapshot_chunk.hpp"

#include "base/codec.hpp"
#include "base/crc32c.hpp"
#include "base/crypto/hash.hpp"
#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <utility>

namespace genesis {

namespace {

using base::ByteView;
using base::Errc;
using base::fail;
using base::Result;

constexpr std::size_t kTableBytes = 2;
constexpr std::uint32_t kCutMask = (1U << 14U) - 1;

// 0: none of ours.
std::uint16_t table_of(ByteView key) {
    if (key.size() < kTableBytes) return 0;
    const unsigned number =
        std::to_integer<unsigned>(key[0]) << 8U | std::to_integer<unsigned>(key[1]);
    return number <= chain::kTables ? static_cast<std::uint16_t>(number) : std::uint16_t{0};
}

std::size_t length_bytes(std::size_t length) {
    std::size_t bytes = 1;
    while (length >= 0x80) {
        length >>= 7U;
        ++bytes;
    }
    return bytes;
}

void append_length(base::Bytes& out, std::size_t length) {
    while (length >= 0x80) {
        out.push_back(static_cast<std::byte>((length & 0x7FU) | 0x80U));
        length >>= 7U;
    }
    out.push_back(static_cast<std::byte>(length));
}

void append(base::Bytes& out, ByteView bytes) {
    append_length(out, bytes.size());
    out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

bool ChunkCutter::ends_before(ByteView key, std::size_t row_bytes) const {
    const std::size_t bytes = chunk_.bytes.size();
    if (bytes == 0) return false;
    if (table_of(key) != table_of(last_)) return true;
    if (bytes + row_bytes > kChunkBytesMax) return true;
    return bytes >= kChunkBytesMin && (base::crc32c(key.subspan(kTableBytes)) & kCutMask) == 0;
}

Result<std::optional<Chunk>> ChunkCutter::add(ByteView key, ByteView value) {
    const std::uint16_t table = table_of(key);
    if (table == 0) {
        return fail(Errc::corrupt, "state: row " + base::to_hex(key) + " is of no known table");
    }
    if (!last_.empty() && base::compare(key, last_) <= 0) {
        return fail(Errc::corrupt,
                    fmt::format("state: row {} does not come after row {}",
                                base::to_hex(key),
                                base::to_hex(last_)));
    }
    const std::size_t row_bytes =
        length_bytes(key.size()) + key.size() + length_bytes(value.size()) + value.size();
    if (row_bytes > kChunkBytesMax) {
        return fail(Errc::corrupt,
                    fmt::format("state: row {} has {} bytes, a chunk has at most {}",
                                base::to_hex(key.first(kTableBytes)),
                                row_bytes,
                                kChunkBytesMax));
    }
    std::optional<Chunk> ended;
    if (ends_before(key, row_bytes)) ended = finish();
    append(chunk_.bytes, key);
    append(chunk_.bytes, value);
    ++chunk_.info.entries;
    chunk_.info.lanes.add(static_cast<chain::Table>(table), key.subspan(kTableBytes), value);
    last_.assign(key.begin(), key.end());
    return ended;
}

std::optional<Chunk> ChunkCutter::finish() {
    last_.clear();
    if (chunk_.bytes.empty()) return std::nullopt;
    chunk_.info.bytes = static_cast<std::uint32_t>(chunk_.bytes.size());
    chunk_.info.sha256 = base::crypto::sha256(chunk_.bytes);
    return std::exchange(chunk_, {});
}

Result<std::vector<ChunkRow>> chunk_rows(ByteView bytes, std::uint32_t entries) {
    base::Reader in(bytes);
    std::vector<ChunkRow> rows;
    // A row takes four bytes at least, so that a wrong number costs no memory.
    rows.reserve(std::min<std::size_t>(entries, bytes.size() / 4));
    while (in.ok() && in.left() != 0 && rows.size() < entries) {
        ChunkRow row;
        row.key = in.bytes("key", kChunkBytesMax);
        row.value = in.bytes("value", kChunkBytesMax);
        if (!in.ok()) break;
        if (table_of(row.key) == 0) {
            in.set_error("key", "is of no known table");
        } else if (!rows.empty() && table_of(row.key) != table_of(rows.back().key)) {
            in.set_error("key", "is of another table than the row before");
        } else if (!rows.empty() && base::compare(row.key, rows.back().key) <= 0) {
            in.set_error("key", "does not come after that of the row before");
        }
        rows.push_back(row);
    }
    if (in.ok() && rows.size() != entries) {
        in.set_error("rows", fmt::format("are {}, the manifest says {}", rows.size(), entries));
    }
    if (auto read = in.finish(); !read) {
        return fail(Errc::invalid, "chunk: " + read.error().detail);
    }
    return rows;
}

Result<std::vector<ChunkRow>> check_chunk(ByteView bytes, const ChunkInfo& info) {
    if (bytes.size() != info.bytes) {
        return fail(
            Errc::malformed,
            fmt::format("chunk: it has {} bytes, the manifest says {}", bytes.size(), info.bytes));
    }
    if (base::crypto::sha256(bytes) != info.sha256) {
        return fail(
            Errc::malformed,
            "chunk: its SHA-256 is not that of the manifest, " + base::to_hex(info.sha256.view()));
    }
    auto rows = chunk_rows(bytes, info.entries);
    if (!rows) return rows;
    if (rows->empty()) return fail(Errc::invalid, "chunk: it has no rows");
    const auto table = static_cast<chain::Table>(table_of(rows->front().key));
    chain::StateLanes lanes;
    for (const ChunkRow& row : *rows) {
        lanes.add(table, row.key.subspan(kTableBytes), row.value);
    }
    const bool is_checked = !chain::is_left_out(chain::Rule::snapshot_chunk_lanes);
    if (!is_checked || lanes == info.lanes) return rows;
    return fail(Errc::invalid,
                "chunk " + base::to_hex(info.sha256.view()) +
                    ": its rows do not add up to the lanes of the manifest");
}

Result<void> check_border(ByteView last_key, ByteView first_key, std::size_t index) {
    if (base::compare(first_key, last_key) > 0) return {};
    return fail(Errc::invalid,
                fmt::format("chunk {}: its first row does not come after the last one of chunk {}",
                            index,
                            index - 1));
}

}  // namespace genesis
