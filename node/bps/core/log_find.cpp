#include "node/bps/core/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace bps {

namespace {

// Whether a batch has a record of a greater time than this one; that one is nothing at first.
bool is_later(const BatchHeader& header, const std::optional<StoredBatch>& than) {
    return !than || header.max_timestamp > than->header.max_timestamp;
}

}  // namespace

const Segment& Log::segment_of(std::int64_t offset) const {
    const auto above = std::ranges::upper_bound(segments_, offset, {}, &Segment::base);
    return above == segments_.begin() ? segments_.front() : *std::prev(above);
}

Verdict<StoredRecords> Log::find(std::int64_t offset,
                                 std::int64_t limit,
                                 std::size_t bytes_max) const {
    if (failed_) return refuse(ErrorCode::kafka_storage_error, "the log failed");
    if (offset < start_ || offset > end()) {
        return refuse(ErrorCode::offset_out_of_range,
                      fmt::format("offset {}; the log has {} to {}", offset, start_, end()));
    }
    if (offset >= std::min(limit, end())) return StoredRecords{};
    const auto found = range(segment_of(offset), offset, limit, bytes_max);
    if (!found) return refuse(ErrorCode::kafka_storage_error, found.error().detail);
    return *found;
}

base::Result<StoredRecords> Log::range(const Segment& segment,
                                       std::int64_t offset,
                                       std::int64_t limit,
                                       std::size_t bytes_max) const {
    const std::string name = segment.log_name();
    BatchWalk walk(files_, name, segment.mark_at(offset).position, segment.bytes);
    std::optional<StoredBatch> first;
    do {
        const auto batch = walk.next();
        if (!batch) return base::fail(batch.error());
        if (!*batch) return StoredRecords{};
        first = **batch;
    } while (first->header.next_offset() <= offset);
    if (first->header.next_offset() > limit) return StoredRecords{};
    std::uint64_t end = first->end();
    const std::uint64_t most = first->position + bytes_max;
    // From the last mark within both bounds on, batches are looked at one by one.
    const auto above = std::ranges::partition_point(segment.marks, [&](const Segment::Mark& mark) {
        return mark.position <= most && mark.offset <= limit;
    });
    if (above != segment.marks.begin()) end = std::max(end, std::prev(above)->position);
    BatchWalk rest(files_, name, end, segment.bytes);
    while (true) {
        const auto batch = rest.next();
        if (!batch) return base::fail(batch.error());
        if (!*batch || (*batch)->end() > most || (*batch)->header.next_offset() > limit) break;
        end = (*batch)->end();
    }
    return StoredRecords{.log = 0,
                         .segment = static_cast<std::uint64_t>(segment.base),
                         .position = first->position,
                         .bytes = static_cast<std::uint32_t>(end - first->position)};
}

base::Result<void> Log::for_each_batch(const TakeBatch& take) const {
    for (const Segment& segment : segments_) {
        const std::string name = segment.log_name();
        BatchWalk walk(files_, name, 0, segment.bytes);
        while (true) {
            const auto batch = walk.next();
            if (!batch) return base::fail(batch.error());
            if (!*batch) break;
            const BatchHeader& header = (*batch)->header;
            if (header.next_offset() <= start_) continue;
            const auto bytes = read_whole(files_, name, **batch, segment.base);
            if (!bytes) return base::fail(bytes.error());
            if (auto taken = take(header, *bytes); !taken) return taken;
        }
    }
    return {};
}

Verdict<std::optional<Log::TimeHit>> Log::find_time(std::int64_t time,
                                                    const Decompressor& opener) const {
    if (failed_) return refuse(ErrorCode::kafka_storage_error, "the log failed");
    for (const Segment& segment : segments_) {
        if (segment.max_time < time || segment.next <= start_) continue;
        const auto hit = find_time_in(segment, time, opener);
        if (!hit) return refuse(ErrorCode::kafka_storage_error, hit.error().detail);
        if (*hit) return *hit;
    }
    return std::optional<TimeHit>();
}

base::Result<std::optional<Log::TimeHit>> Log::find_time_in(const Segment& segment,
                                                            std::int64_t time,
                                                            const Decompressor& opener) const {
    const std::string name = segment.log_name();
    // Deleted records may be many.
    const std::uint64_t from =
        std::max(segment.mark_before(time).position, segment.mark_at(start_).position);
    BatchWalk walk(files_, name, from, segment.bytes);
    while (true) {
        const auto batch = walk.next();
        if (!batch) return base::fail(batch.error());
        if (!*batch) return std::optional<TimeHit>();
        const BatchHeader& header = (*batch)->header;
        if (header.max_timestamp < time || header.next_offset() <= start_) continue;
        const auto bytes = files_.read(name, (*batch)->position, header.bytes());
        if (!bytes) return base::fail(bytes.error());
        if (const auto hit = find_record(header, *bytes, time, opener)) return hit;
    }
}

Verdict<std::optional<Log::TimeHit>> Log::find_latest_time(std::int64_t limit,
                                                           const Decompressor& opener) const {
    if (failed_) return refuse(ErrorCode::kafka_storage_error, "the log failed");
    // The latest first: times that ascend would have each segment read.
    std::vector<const Segment*> latest;
    latest.reserve(segments_.size());
    for (const Segment& segment : segments_) {
        if (segment.next > start_ && segment.base < limit) latest.push_back(&segment);
    }
    std::ranges::stable_sort(latest, std::greater(), &Segment::max_time);
    std::optional<TimeHit> best;
    for (const Segment* const segment : latest) {
        if (best && segment->max_time <= best->timestamp) break;
        const auto hit = latest_in(*segment, limit, opener);
        if (!hit) return refuse(ErrorCode::kafka_storage_error, hit.error().detail);
        if (*hit && (!best || (*hit)->timestamp > best->timestamp)) best = *hit;
    }
    return best;
}

base::Result<std::optional<Log::TimeHit>> Log::latest_in(const Segment& segment,
                                                         std::int64_t limit,
                                                         const Decompressor& opener) const {
    // The index leads there; but that record may be deleted, or not be visible yet.
    auto hit = find_time_in(segment, segment.max_time, opener);
    if (!hit || (*hit && (*hit)->offset < limit)) return hit;
    std::optional<StoredBatch> greatest;  // Of the batches that are whole.
    std::optional<TimeHit> cut;           // Of the one of which a part is deleted.
    BatchWalk walk(files_, segment.log_name(), segment.mark_at(start_).position, segment.bytes);
    while (true) {
        const auto batch = walk.next();
        if (!batch) return base::fail(batch.error());
        if (!*batch || (*batch)->header.next_offset() > limit) break;
        const BatchHeader& header = (*batch)->header;
        if (header.next_offset() <= start_) continue;
        if (header.base_offset < start_) {
            auto part = latest_in_batch(segment, **batch, opener);
            if (!part) return part;
            cut = *part;
        } else if (is_later(header, greatest)) {
            greatest = **batch;
        }
    }
    if (!greatest || (cut && cut->timestamp >= greatest->header.max_timestamp)) return cut;
    return latest_in_batch(segment, *greatest, opener);
}

base::Result<std::optional<Log::TimeHit>> Log::latest_in_batch(const Segment& segment,
                                                               const StoredBatch& batch,
                                                               const Decompressor& opener) const {
    const BatchHeader& header = batch.header;
    const auto bytes = files_.read(segment.log_name(), batch.position, header.bytes());
    if (!bytes) return base::fail(bytes.error());
    const std::optional<TimeHit> whole = TimeHit{.offset = std::max(header.base_offset, start_),
                                                 .timestamp = header.max_timestamp,
                                                 .leader_epoch = header.leader_epoch};
    base::Bytes opened;
    auto walk = open_records(*bytes, header, opener, opened);
    if (!walk) return whole;
    std::optional<TimeHit> best;
    while (true) {
        const auto record = walk->next();
        if (!record) return whole;
        if (!*record) return best;
        const std::int64_t offset = header.base_offset + (*record)->offset_delta;
        if (offset < start_ || (best && (*record)->timestamp <= best->timestamp)) continue;
        best = TimeHit{offset, (*record)->timestamp, header.leader_epoch};
    }
}

std::optional<Log::TimeHit> Log::find_record(const BatchHeader& header,
                                             base::ByteView batch,
                                             std::int64_t time,
                                             const Decompressor& opener) const {
    const TimeHit whole{.offset = std::max(header.base_offset, start_),
                        .timestamp = header.max_timestamp,
                        .leader_epoch = header.leader_epoch};
    base::Bytes opened;
    auto walk = open_records(batch, header, opener, opened);
    if (!walk) return whole;
    while (true) {
        const auto record = walk->next();
        if (!record) return whole;
        // The record is deleted, or the producer has told a time that no record has: then every
        // look-up would go on behind it, to the end of the log.
        if (!*record) return header.base_offset < start_ ? std::nullopt : std::optional(whole);
        const std::int64_t offset = header.base_offset + (*record)->offset_delta;
        if ((*record)->timestamp >= time && offset >= start_) {
            return TimeHit{offset, (*record)->timestamp, header.leader_epoch};
        }
    }
}

}  // namespace bps
