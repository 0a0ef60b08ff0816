#include "node/bps/core/compaction.hpp"

#include "base/check.hpp"
#include "node/bps/core/codec/writer.hpp"
#include "node/bps/core/log_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bps {

namespace {

constexpr unsigned kCompressionBits = 7;

Writer& put_record(Writer& out, const Record& record) {
    out.varint(static_cast<std::int32_t>(record.bytes.size()));
    out.raw(record.bytes);
    return out;
}

}  // namespace

Compaction::Compaction(LogFiles& files, const Settings& settings, std::vector<Source> sources)
    : files_(files),
      settings_(settings),
      sources_(std::move(sources)),
      last_(settings.keys_max),
      clean_end_(std::max(settings.clean_end, settings.start)) {
    CHECK(!sources_.empty());
    const auto first = std::ranges::find_if(
        sources_, [this](const Source& source) { return source.next > clean_end_; });
    if (first == sources_.end()) {
        begin_group(0);
    } else {
        open_source(static_cast<std::size_t>(first - sources_.begin()));
    }
}

base::Result<void> Compaction::step(const Decompressor& opener) {
    step_bytes_ = 0;
    if (state_ == State::noting) return note_some(opener);
    if (state_ == State::looking) return look_at_some(opener);
    CHECK(state_ == State::writing);
    return write_some(opener);
}

void Compaction::open_source(std::size_t source) {
    source_ = source;
    const Segment named{.base = sources_[source].base};
    walk_.emplace(files_, named.log_name(), 0, sources_[source].bytes);
    read_to_ = named.base;
}

// The CRC is looked at: a batch that is written anew gets another, which would hide the damage. So
// are offsets, of which the CRC says nothing.
base::Result<std::optional<BatchHeader>> Compaction::read_batch() {
    const auto found = walk_->next();
    if (!found) return base::fail(found.error());
    const Source& source = sources_[source_];
    const std::string name = Segment{.base = source.base}.log_name();
    if (!*found) {
        if (read_to_ == source.next) return std::optional<BatchHeader>();
        return base::fail(base::Errc::corrupt,
                          fmt::format("{} ends with offset {}; {} follows on it",
                                      name,
                                      read_to_,
                                      Segment{.base = source.next}.log_name()));
    }
    const BatchHeader& header = (*found)->header;
    auto bytes = read_whole(files_, name, **found, read_to_);
    if (!bytes) return base::fail(bytes.error());
    batch_ = *std::move(bytes);
    step_bytes_ += header.bytes();
    read_to_ = header.next_offset();
    return std::optional(header);
}

// --- Which records are the last ---------------------------------------------------------------

base::Result<void> Compaction::note_some(const Decompressor& opener) {
    while (step_bytes_ < kStepBytes) {
        const auto header = read_batch();
        if (!header) return base::fail(header.error());
        if (*header) {
            const auto noted = note(**header, opener);
            if (!noted) return base::fail(noted.error());
            if (*noted) continue;
            begin_group(0);
            return {};
        }
        clean_end_ = std::max(clean_end_, sources_[source_].next);
        if (source_ + 1 == sources_.size()) {
            begin_group(0);
            return {};
        }
        open_source(source_ + 1);
    }
    return {};
}

base::Result<bool> Compaction::note(const BatchHeader& header, const Decompressor& opener) {
    if (header.next_offset() <= clean_end_) return true;
    base::Bytes opened;
    auto walk = open_records(batch_, header, opener, opened);
    step_bytes_ += walk ? opened.size() : kOpenedBytesMax;
    while (walk) {
        const auto record = walk->next();
        if (!record || !*record) break;
        if (!(*record)->key) continue;
        if (!last_.put(*(*record)->key, header.base_offset + (*record)->offset_delta)) return false;
    }
    clean_end_ = header.next_offset();
    return true;
}

// --- Segments anew ------------------------------------------------------------------------------

void Compaction::begin_group(std::size_t first) {
    group_begin_ = first;
    // What lies behind the records that were noted stays as it is.
    if (first == sources_.size() || sources_[first].base >= clean_end_) {
        state_ = State::finished;
        return;
    }
    std::uint64_t bytes = sources_[first].bytes;
    for (group_end_ = first + 1; group_end_ < sources_.size(); ++group_end_) {
        bytes += sources_[group_end_].bytes;
        if (bytes > settings_.segment_bytes || sources_[group_end_].base >= clean_end_) break;
    }
    open_source(first);
    state_ = State::looking;
}

base::Result<void> Compaction::look_at_some(const Decompressor& opener) {
    if (group_end_ - group_begin_ > 1) return begin_writing();
    while (step_bytes_ < kStepBytes) {
        const auto header = read_batch();
        if (!header) return base::fail(header.error());
        if (!*header) {
            begin_group(group_end_);
            return {};
        }
        // The last one of a segment may be empty already.
        const bool is_empty_end =
            (*header)->records_count == 0 && (*header)->next_offset() == sources_[source_].next;
        if (!is_empty_end && !rest_of(**header, opener).is_whole) return begin_writing();
    }
    return {};
}

base::Result<void> Compaction::begin_writing() {
    const std::int64_t base = sources_[group_begin_].base;
    output_ = {.base = base, .next = base};
    state_ = State::writing;
    open_source(group_begin_);
    return files_.replace(kCompactedFile, {});
}

base::Result<void> Compaction::write_some(const Decompressor& opener) {
    base::Bytes out;
    while (step_bytes_ < kStepBytes) {
        const auto header = read_batch();
        if (!header) return base::fail(header.error());
        if (!*header) {
            if (end_source()) break;
            continue;
        }
        const Rest rest = rest_of(**header, opener);
        const bool is_end = (*header)->next_offset() == sources_[group_end_ - 1].next;
        if (rest.is_whole || rest.header.records_count > 0 || is_end) put(rest, out);
    }
    if (out.empty()) return {};
    return files_.append(kCompactedFile, out);
}

bool Compaction::end_source() {
    output_.kept_time = std::max(output_.kept_time, sources_[source_].kept_time);
    if (source_ + 1 < group_end_) {
        open_source(source_ + 1);
        return false;
    }
    CHECK(output_.next == sources_[source_].next);
    state_ = State::written;
    return true;
}

void Compaction::put(const Rest& rest, base::Bytes& out) {
    const base::Bytes packed = rest.is_whole ? batch_ : pack_rest(rest.header, rest.records);
    const auto header = read_batch_header(packed);
    CHECK(header.has_value());
    const std::int64_t kept_time = output_.kept_time;
    output_.add(*header, kNoTime);
    output_.kept_time = kept_time;
    out.insert(out.end(), packed.begin(), packed.end());
}

// What cannot be opened stays: nobody knows what is in it.
Compaction::Rest Compaction::rest_of(const BatchHeader& header, const Decompressor& opener) {
    Rest rest{.is_whole = true, .header = header, .records = {}};
    if (header.is_control()) return rest;
    base::Bytes opened;
    auto walk = open_records(batch_, header, opener, opened);
    step_bytes_ += walk ? opened.size() : kOpenedBytesMax;
    if (!walk) return rest;
    Writer records;
    std::int32_t count = 0;
    std::int64_t max_timestamp = -1;
    while (true) {
        const auto record = walk->next();
        if (!record) return rest;
        if (!*record) break;
        if (!stays(**record, header.base_offset + (*record)->offset_delta)) continue;
        put_record(records, **record);
        max_timestamp = std::max(max_timestamp, (*record)->timestamp);
        ++count;
    }
    // One without records is there for its offsets, where another took its place.
    rest.is_whole = count == header.records_count && count > 0;
    if (rest.is_whole) return rest;
    rest.header.records_count = count;
    rest.header.max_timestamp = max_timestamp;
    rest.records = records.take();
    if (count == 0) {
        rest.header.attributes = static_cast<std::int16_t>(header.bits() & ~kCompressionBits);
    } else if (header.compression() != Compression::none) {
        rest.records = opener.compress_again(header.compression(), rest.records);
    }
    return rest;
}

bool Compaction::stays(const Record& record, std::int64_t offset) const {
    if (offset < settings_.start || !record.key) return false;
    // Behind, there may be others of its key.
    if (offset >= clean_end_) return true;
    if (last_.find(*record.key) > offset) return false;
    if (record.value) return true;
    return std::min(record.timestamp, sources_[source_].kept_time) >= settings_.removals_before;
}

}  // namespace bps
