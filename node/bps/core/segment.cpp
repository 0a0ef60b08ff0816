#include "node/bps/core/segment.hpp"

#include "base/crc32c.hpp"
#include "node/bps/core/codec/reader.hpp"
#include "node/bps/core/codec/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace bps {

namespace {

constexpr std::size_t kNameDigits = 20;
constexpr std::string_view kLogSuffix = ".log";
constexpr std::int8_t kIndexFormat = 1;
constexpr std::size_t kChunkBytesMax = 64U << 10U;

std::string name_of(std::int64_t base, std::string_view suffix) {
    return fmt::format("{:020}{}", base, suffix);
}

tl::unexpected<base::Error> corrupt(const std::string& name,
                                    std::uint64_t position,
                                    const std::string& why) {
    return base::fail(base::Errc::corrupt, fmt::format("{} at byte {}: {}", name, position, why));
}

}  // namespace

std::string Segment::log_name() const {
    return name_of(base, kLogSuffix);
}

std::string Segment::index_name() const {
    return name_of(base, ".index");
}

void Segment::add(const BatchHeader& placed, std::int64_t now) {
    if (marks.empty() || bytes - marks.back().position >= kMarkBytes) {
        marks.push_back(
            {.offset = placed.base_offset, .position = bytes, .max_time_before = max_time});
    }
    next = placed.next_offset();
    bytes += placed.bytes();
    max_time = std::max(max_time, placed.max_timestamp);
    // Records may have no time (-1).
    const std::int64_t time = placed.max_timestamp < 0 ? now : placed.max_timestamp;
    kept_time = std::max(kept_time, std::min(time, now));
}

Segment::Mark Segment::mark_at(std::int64_t offset) const {
    const auto above = std::ranges::upper_bound(marks, offset, {}, &Mark::offset);
    return above == marks.begin() ? Mark{.offset = base} : *std::prev(above);
}

Segment::Mark Segment::mark_before(std::int64_t time) const {
    const auto above = std::ranges::lower_bound(marks, time, {}, &Mark::max_time_before);
    return above == marks.begin() ? Mark{.offset = base} : *std::prev(above);
}

std::optional<std::int64_t> offset_of(std::string_view digits) {
    if (digits.size() != kNameDigits) return std::nullopt;
    std::int64_t offset = 0;
    const char* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, offset);
    if (read.ec != std::errc() || read.ptr != end || offset < 0) return std::nullopt;
    return offset;
}

std::optional<std::int64_t> base_of(std::string_view log_name) {
    if (!log_name.ends_with(kLogSuffix)) return std::nullopt;
    return offset_of(log_name.substr(0, log_name.size() - kLogSuffix.size()));
}

base::Bytes pack_index(const Segment& segment) {
    Writer out;
    out.integer(kIndexFormat);
    out.integer(segment.base);
    out.integer(segment.next);
    out.integer(segment.bytes);
    out.integer(segment.max_time);
    out.integer(segment.kept_time);
    out.integer(static_cast<std::uint32_t>(segment.marks.size()));
    for (const Segment::Mark& mark : segment.marks) {
        out.integer(mark.offset);
        out.integer(mark.position);
        out.integer(mark.max_time_before);
    }
    out.integer(base::crc32c(out.view()));
    return out.take();
}

base::Result<Segment> read_index(base::ByteView bytes, std::int64_t base) {
    Reader in(bytes);
    Segment segment;
    if (in.integer<std::int8_t>("format") != kIndexFormat) in.set_error("format", "unknown");
    segment.base = in.integer<std::int64_t>("base offset");
    if (segment.base != base) in.set_error("base offset", "of another segment");
    segment.next = in.integer<std::int64_t>("next offset");
    segment.bytes = in.integer<std::uint64_t>("bytes");
    segment.max_time = in.integer<std::int64_t>("greatest time");
    segment.kept_time = in.integer<std::int64_t>("time of retention");
    const auto count = in.integer<std::uint32_t>("marks");
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        Segment::Mark mark;
        mark.offset = in.integer<std::int64_t>("offset");
        mark.position = in.integer<std::uint64_t>("position");
        mark.max_time_before = in.integer<std::int64_t>("time before");
        segment.marks.push_back(mark);
    }
    const std::size_t content = in.offset();
    const auto crc = in.integer<std::uint32_t>("crc");
    if (in.ok() && crc != base::crc32c(bytes.first(content))) in.set_error("crc", "wrong");
    if (const auto done = in.finish(); !done) {
        return base::fail(base::Errc::corrupt, "index: " + done.error().detail);
    }
    return segment;
}

base::Result<base::Bytes> read_whole(const LogFiles& files,
                                     const std::string& name,
                                     const StoredBatch& batch,
                                     std::int64_t offset) {
    auto bytes = files.read(name, batch.position, batch.header.bytes());
    if (!bytes) return bytes;
    const auto whole = read_stored_batch(*bytes, offset);
    return whole ? std::move(bytes) : corrupt(name, batch.position, whole.error().detail);
}

base::Result<base::ByteView> BatchWalk::at_least(std::size_t bytes) {
    const auto left = static_cast<std::size_t>(end_ - position_);
    const std::size_t wanted = std::min(bytes, left);
    const bool is_here =
        position_ >= chunk_position_ && position_ + wanted <= chunk_position_ + chunk_.size();
    if (!is_here) {
        auto read = files_->read(name_, position_, std::min(left, std::max(wanted, chunk_bytes_)));
        if (!read) return base::fail(read.error());
        chunk_ = *std::move(read);
        chunk_position_ = position_;
        chunk_bytes_ = std::min(2 * chunk_bytes_, kChunkBytesMax);
    }
    return base::ByteView(chunk_).subspan(static_cast<std::size_t>(position_ - chunk_position_));
}

std::optional<StoredBatch> BatchWalk::pass(const BatchHeader& header) {
    const StoredBatch batch{.header = header, .position = position_};
    position_ = batch.end();
    return batch;
}

base::Result<std::optional<StoredBatch>> BatchWalk::next() {
    if (position_ >= end_) return std::optional<StoredBatch>();
    const auto bytes = at_least(kBatchHeaderBytes);
    if (!bytes) return base::fail(bytes.error());
    const auto header = read_batch_header(*bytes);
    if (!header) return corrupt(name_, position_, header.error().detail);
    if (header->bytes() > end_ - position_) {
        return corrupt(
            name_, position_, fmt::format("a batch of {} bytes is cut", header->bytes()));
    }
    return pass(*header);
}

base::Result<std::optional<StoredBatch>> BatchWalk::next_checked(std::int64_t offset) {
    if (position_ >= end_) return std::optional<StoredBatch>();
    auto bytes = at_least(kBatchHeaderBytes);
    if (!bytes) return base::fail(bytes.error());
    const auto header = read_batch_header(*bytes);
    if (!header) return corrupt(name_, position_, header.error().detail);
    bytes = at_least(header->bytes());
    if (!bytes) return base::fail(bytes.error());
    const auto whole = read_stored_batch(*bytes, offset);
    if (!whole) return corrupt(name_, position_, whole.error().detail);
    return pass(*whole);
}

}  // namespace bps
