#include "base/check.hpp"
#include "node/bps/core/log.hpp"
#include "node/bps/core/log_names.hpp"
#include "node/bps/core/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace bps {

namespace {

constexpr std::size_t kSmallFileBytesMax = 64U << 20U;

// The contents of a small file; empty where there is none.
base::Result<base::Bytes> read_small(const LogFiles& files, std::string_view name) {
    auto bytes = files.read(name, 0, kSmallFileBytesMax);
    if (!bytes && bytes.error().code == base::Errc::not_found) return base::Bytes();
    return bytes;
}

}  // namespace

base::Result<void> Log::begin_at(LogFiles& files, std::int64_t offset) {
    if (offset <= 0) return {};
    const auto list = files.list();
    if (!list) return base::fail(list.error());
    const bool is_begun = std::ranges::any_of(
        *list, [](const LogFiles::File& file) { return base_of(file.name).has_value(); });
    if (is_begun) return {};
    return files.replace(kStartFile, pack_offset(offset));
}

base::Result<Log::Opened> Log::open(LogFiles& files,
                                    const LogSettings& settings,
                                    std::int64_t now) {
    Opened opened{.log = std::unique_ptr<Log>(new Log(files, settings)), .findings = {}};
    Log& log = *opened.log;
    if (const auto read = log.read_small_files(); !read) return base::fail(read.error());
    if (const auto read = log.read_segments(now, opened.findings); !read) {
        return base::fail(read.error());
    }
    if (const auto noted = log.note_begin(now); !noted) return base::fail(noted.error());
    if (const auto rebuilt = log.rebuild_epochs(); !rebuilt) return base::fail(rebuilt.error());
    if (const auto rebuilt = log.rebuild_producers(); !rebuilt) return base::fail(rebuilt.error());
    log.producers_.note_use_of_all(now);
    log.check_invariants();
    return opened;
}

base::Result<void> Log::read_small_files() {
    auto start = read_small(files_, kStartFile);
    if (!start) return base::fail(start.error());
    if (!start->empty()) {
        const auto offset = read_offset(*start);
        // Without it, records that were deleted would be back.
        if (!offset) {
            return base::fail(base::Errc::corrupt,
                              "file start: " + offset.error().detail +
                                  "; once it is removed, deleted records may be served again");
        }
        start_ = *offset;
    }
    auto durable = read_small(files_, kDurableFile);
    if (!durable) return base::fail(durable.error());
    if (!durable->empty()) noted_end_ = read_offset(*durable).value_or(0);
    return {};
}

base::Result<void> Log::read_segments(std::int64_t now, Findings& findings) {
    // What a compaction had not finished.
    if (auto gone = files_.remove(kCompactedFile); !gone) return gone;
    auto list = files_.list();
    if (!list) return base::fail(list.error());
    std::erase_if(*list, [](const LogFiles::File& file) { return !base_of(file.name); });
    if (list->empty()) {
        const Segment first{.base = start_, .next = start_};
        if (auto made = files_.replace(first.log_name(), {}); !made) return made;
        list->push_back({first.log_name(), 0});
    }
    // A segment has an index once all up to its end is durable.
    for (const LogFiles::File& file : *list) {
        if (const auto indexed = trusted_index(file)) {
            noted_end_ = std::max(noted_end_, indexed->next);
        }
    }
    std::vector<std::int64_t> bases;
    for (const LogFiles::File& file : *list)
        bases.push_back(*base_of(file.name));
    for (const LogFiles::File& file : *list) {
        if (auto taken = take_segment(file, bases, now, findings); !taken) return taken;
    }
    if (end() < noted_end_) {
        return base::fail(base::Errc::corrupt,
                          fmt::format("{} ends with offset {}, but all up to {} was durable",
                                      segments_.back().log_name(),
                                      end(),
                                      noted_end_));
    }
    start_ = std::max(start_, segments_.front().base);
    if (start_ > end()) {
        return base::fail(
            base::Errc::corrupt,
            fmt::format("records up to {} were deleted, but the log ends with {}", start_, end()));
    }
    durable_end_ = std::max(noted_end_, segments_.front().base);
    // A full segment that has an index is followed by one that is written to.
    return segments_.back().is_sealed ? roll() : base::Result<void>();
}

base::Result<void> Log::take_segment(const LogFiles::File& file,
                                     const std::vector<std::int64_t>& bases,
                                     std::int64_t now,
                                     Findings& findings) {
    const Segment named{.base = *base_of(file.name)};
    if (!segments_.empty() && named.base < end()) {
        // Its records are in the segment before, which took the place of several; another one
        // follows on them.
        if (std::ranges::binary_search(bases, end())) return remove_segment(named);
        return base::fail(base::Errc::corrupt,
                          fmt::format("{} says that it ends with offset {}, within {}",
                                      segments_.back().log_name(),
                                      end(),
                                      file.name));
    }
    if (findings.cut_reason.empty() && !is_behind_gap(file, findings)) {
        return read_segment(file, bases.back(), now, findings);
    }
    // What was written behind a tail that was lost; nothing goes of what was durable.
    if (auto durable = check_durable(findings.cut_reason); !durable) return durable;
    findings.cut_bytes += file.bytes;
    return remove_segment(named);
}

// A full segment may have lost a tail at the border of a batch.
bool Log::is_behind_gap(const LogFiles::File& file, Findings& findings) const {
    if (segments_.empty() || *base_of(file.name) == end()) return false;
    findings.cut_reason = fmt::format("{} follows on offset {}", file.name, end());
    return true;
}

std::optional<Segment> Log::trusted_index(const LogFiles::File& file) const {
    const std::int64_t base = *base_of(file.name);
    const auto bytes = read_small(files_, Segment{.base = base}.index_name());
    if (!bytes || bytes->empty()) return std::nullopt;
    auto segment = read_index(*bytes, base);
    if (!segment) return std::nullopt;
    const bool fits = segment->bytes == file.bytes || is_left_out(Rule::index_goes_with_cut);
    if (!fits) return std::nullopt;
    segment->is_sealed = true;
    return *std::move(segment);
}

// A CRC does not cover where a batch says that it is. Offsets are missing where a segment was
// compacted, which the last one never is; up to that one at most.
base::Result<void> Log::check_place(const BatchHeader& batch, std::int64_t last_base) const {
    const bool is_last = segments_.back().base == last_base;
    const bool fits = is_last ? batch.base_offset == end() : batch.next_offset() <= last_base;
    if (fits) return {};
    return base::fail(base::Errc::corrupt,
                      fmt::format("{} at byte {}: a batch says that it has offsets {} to {}; {}",
                                  segments_.back().log_name(),
                                  segments_.back().bytes,
                                  batch.base_offset,
                                  batch.next_offset(),
                                  is_last ? fmt::format("{} is the next", end())
                                          : fmt::format("another file has {}", last_base)));
}

base::Result<void> Log::read_segment(const LogFiles::File& file,
                                     std::int64_t last_base,
                                     std::int64_t now,
                                     Findings& findings) {
    const std::int64_t base = *base_of(file.name);
    if (auto indexed = trusted_index(file)) {
        segments_.push_back(*std::move(indexed));
        return {};
    }
    segments_.push_back({.base = base, .next = base});
    BatchWalk walk(files_, file.name, 0, file.bytes);
    while (true) {
        const auto batch = walk.next_checked(end());
        if (!batch && batch.error().code != base::Errc::corrupt) return base::fail(batch.error());
        if (!batch) return cut_tail(file, batch.error(), findings);
        if (!*batch) break;
        if (const auto placed = check_place((*batch)->header, last_base); !placed) {
            return cut_tail(file, placed.error(), findings);
        }
        segments_.back().add((*batch)->header, now);
    }
    findings.indexes_rebuilt += 1;
    return {};
}

base::Result<void> Log::check_durable(std::string_view reason) const {
    if (end() >= noted_end_) return {};
    return base::fail(
        base::Errc::corrupt,
        fmt::format(
            "{}; offset {} of the log, which was durable up to {}", reason, end(), noted_end_));
}

base::Result<void> Log::cut_tail(const LogFiles::File& file,
                                 const base::Error& reason,
                                 Findings& findings) {
    if (auto durable = check_durable(reason.detail); !durable) return durable;
    if (is_left_out(Rule::tail_cut_at_damage)) {
        auto shorter = first_part(segments_.back(), end() - 1);
        if (!shorter) return base::fail(shorter.error());
        segments_.back() = *std::move(shorter);
    }
    findings.cut_bytes = file.bytes - segments_.back().bytes;
    findings.cut_reason = reason.detail;
    return files_.truncate(file.name, segments_.back().bytes);
}

// Where nobody saw it come, the time of its records says it.
base::Result<void> Log::note_begin(std::int64_t now) {
    const Segment& last = segments_.back();
    const auto first = BatchWalk(files_, last.log_name(), 0, last.bytes).next();
    if (!first) return base::fail(first.error());
    begun_at_ = *first ? std::min((*first)->header.max_timestamp, now) : now;
    return {};
}

base::Result<void> Log::rebuild_epochs() {
    auto bytes = read_small(files_, kEpochsFile);
    if (!bytes) return base::fail(bytes.error());
    if (auto read = Epochs::read(*bytes)) {
        epochs_ = *std::move(read);
        epochs_.cut(end() + 1);  // One that began behind a tail that was lost.
        return {};
    }
    for (const Segment& segment : segments_) {
        BatchWalk walk(files_, segment.log_name(), 0, segment.bytes);
        while (true) {
            const auto batch = walk.next();
            if (!batch) return base::fail(batch.error());
            if (!*batch) break;
            const BatchHeader& header = (*batch)->header;
            if (header.leader_epoch > epochs_.latest()) {
                epochs_.begin(header.leader_epoch, header.base_offset);
            }
        }
    }
    return {};
}

base::Result<void> Log::rebuild_producers() {
    producers_ = {};
    if (is_left_out(Rule::producers_rebuilt)) return {};
    auto list = files_.list();
    if (!list) return base::fail(list.error());
    for (const LogFiles::File& file : std::views::reverse(*list)) {
        if (!file.name.starts_with(kSnapshotPrefix)) continue;
        const auto offset = offset_of(std::string_view(file.name).substr(kSnapshotPrefix.size()));
        // One above the end is of records that were cut; others will have these offsets.
        if (!offset || *offset > end()) {
            if (auto gone = files_.remove(file.name); !gone) return gone;
            continue;
        }
        const auto bytes = files_.read(file.name, 0, kSmallFileBytesMax);
        if (!bytes) return base::fail(bytes.error());
        auto read = Producers::read_snapshot(*bytes, *offset);
        if (!read) continue;
        producers_ = *std::move(read);
        return replay_producers(*offset);
    }
    return replay_producers(0);
}

base::Result<void> Log::replay_producers(std::int64_t from) {
    for (const Segment& segment : segments_) {
        if (segment.next <= from) continue;
        BatchWalk walk(files_, segment.log_name(), segment.mark_at(from).position, segment.bytes);
        while (true) {
            const auto batch = walk.next();
            if (!batch) return base::fail(batch.error());
            if (!*batch) break;
            if ((*batch)->header.base_offset >= from) producers_.add((*batch)->header);
        }
        // The process that filled it died before its snapshot was written.
        const bool is_full = segment.next < end() && !segment.is_sealed;
        if (is_full) snapshots_[segment.next] = producers_.snapshot(segment.next);
    }
    return {};
}

}  // namespace bps
