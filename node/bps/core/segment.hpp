#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/log_files.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

// A file of consecutive batches of a log, named by the offset of the first, and what is known of it
// without reading it.
struct Segment {
    // Where a batch lies, about one every 64 KiB.
    struct Mark {
        std::int64_t offset = 0;  // Of the batch.
        std::uint64_t position = 0;
        std::int64_t max_time_before = kNoTime;  // Greatest time of records before it.

        friend bool operator==(const Mark&, const Mark&) = default;
    };
    static constexpr std::uint64_t kMarkBytes = 64U << 10U;

    std::int64_t base = 0;
    std::int64_t next = 0;  // The offset behind its last record.
    std::uint64_t bytes = 0;
    std::int64_t max_time = kNoTime;   // Of its records.
    std::int64_t kept_time = kNoTime;  // Greatest min(time of records, time of appending).
    std::vector<Mark> marks = {};
    bool is_sealed = false;  // Full, durable, and its index is on disk.

    [[nodiscard]] std::string log_name() const;
    [[nodiscard]] std::string index_name() const;
    // Takes a batch that was appended at this time.
    void add(const BatchHeader& placed, std::int64_t now);
    // The last mark at or before an offset; the start if there is none.
    [[nodiscard]] Mark mark_at(std::int64_t offset) const;
    // Where to begin to look for the first record at or after a time.
    [[nodiscard]] Mark mark_before(std::int64_t time) const;

    friend bool operator==(const Segment&, const Segment&) = default;
};

// An offset as names of files have it: 20 digits. Nothing: not such a text.
[[nodiscard]] std::optional<std::int64_t> offset_of(std::string_view digits);
// The base offset that the name of a segment's file says; nothing: not such a name.
[[nodiscard]] std::optional<std::int64_t> base_of(std::string_view log_name);

// All of a segment but its batches, for the file beside it that is written once it is full and
// durable.
[[nodiscard]] base::Bytes pack_index(const Segment& segment);
// corrupt: not what pack_index() made, or of another segment.
[[nodiscard]] base::Result<Segment> read_index(base::ByteView bytes, std::int64_t base);

// A batch where it lies.
struct StoredBatch {
    BatchHeader header;
    std::uint64_t position = 0;

    [[nodiscard]] std::uint64_t end() const { return position + header.bytes(); }
};

// The bytes of a batch. corrupt: its CRC is wrong, or it is of offsets below this one.
[[nodiscard]] base::Result<base::Bytes> read_whole(const LogFiles& files,
                                                   const std::string& name,
                                                   const StoredBatch& batch,
                                                   std::int64_t offset);

// Goes over the batches of a segment in order, by their headers.
class BatchWalk {
  public:
    // From the batch at `position` to the byte `end`.
    BatchWalk(const LogFiles& files, std::string name, std::uint64_t position, std::uint64_t end)
        : files_(&files), name_(std::move(name)), position_(position), end_(end) {}

    // The next; nothing: the end. corrupt: no batch lies there; the text says where. A CRC is
    // looked at by next_checked() only, which also wants offsets from `offset` on.
    [[nodiscard]] base::Result<std::optional<StoredBatch>> next();
    [[nodiscard]] base::Result<std::optional<StoredBatch>> next_checked(std::int64_t offset);
    // Where the next one begins.
    [[nodiscard]] std::uint64_t position() const { return position_; }

  private:
    // The bytes from position_ on, at least `bytes` of them unless the end comes first.
    [[nodiscard]] base::Result<base::ByteView> at_least(std::size_t bytes);
    [[nodiscard]] std::optional<StoredBatch> pass(const BatchHeader& header);

    const LogFiles* files_;
    std::string name_;
    std::uint64_t position_;
    std::uint64_t end_;
    base::Bytes chunk_;
    std::uint64_t chunk_position_ = 0;
    // Of the next read. A look-up wants a header or two, a walk through the log wants more and
    // more.
    std::size_t chunk_bytes_ = 4U << 10U;
};

}  // namespace bps
