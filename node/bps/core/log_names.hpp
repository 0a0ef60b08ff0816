#pragma once

#include "base/bytes.hpp"
#include "base/crc32c.hpp"
#include "base/result.hpp"
#include "node/bps/core/codec/reader.hpp"
#include "node/bps/core/codec/writer.hpp"

#include <cstdint>
#include <string_view>

// The small files of a log's directory, beside its segments.
namespace bps {

inline constexpr std::string_view kStartFile = "start";      // An offset: the records from it on.
inline constexpr std::string_view kDurableFile = "durable";  // An offset: all before it is durable.
inline constexpr std::string_view kEpochsFile = "epochs";
inline constexpr std::string_view kCompactedFile = "compacted";    // Will replace segments.
inline constexpr std::string_view kSnapshotPrefix = "producers.";  // And the offset behind it.

[[nodiscard]] inline base::Bytes pack_offset(std::int64_t offset) {
    Writer out;
    out.integer(offset);
    out.integer(base::crc32c(out.view()));
    return out.take();
}

// corrupt: not what pack_offset() made.
[[nodiscard]] inline base::Result<std::int64_t> read_offset(base::ByteView bytes) {
    Reader in(bytes);
    const auto offset = in.integer<std::int64_t>("offset");
    const std::size_t content = in.offset();
    if (in.ok() && offset < 0) in.set_error("offset", "negative");
    const auto crc = in.integer<std::uint32_t>("crc");
    if (in.ok() && crc != base::crc32c(bytes.first(content))) in.set_error("crc", "wrong");
    if (const auto done = in.finish(); !done) {
        return base::fail(base::Errc::corrupt, done.error().detail);
    }
    return offset;
}

}  // namespace bps
