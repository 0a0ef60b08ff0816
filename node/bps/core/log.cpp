#include "node/bps/core/log.hpp"

#include "base/check.hpp"
#include "node/bps/core/log_names.hpp"
#include "node/bps/core/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace bps {

namespace {

constexpr std::size_t kSnapshotsKept = 2;

std::string snapshot_name(std::int64_t next_offset) {
    return fmt::format("{}{:020}", kSnapshotPrefix, next_offset);
}

tl::unexpected<Refusal> storage_error(std::string reason) {
    return refuse(ErrorCode::kafka_storage_error, std::move(reason));
}

}  // namespace

base::Result<void> Log::begin_epoch(std::int32_t epoch) {
    Epochs next = epochs_;
    next.begin(epoch, end());
    if (auto written = files_.replace(kEpochsFile, next.pack()); !written) return written;
    epochs_ = std::move(next);
    return {};
}

Verdict<Log::Appended> Log::append(std::span<std::byte> batch,
                                   const BatchRules& rules,
                                   std::int64_t now) {
    CHECK(epochs_.latest() >= 0);
    if (failed_) return storage_error("a write or a sync of this log failed before");
    const auto checked = check_produced(batch, rules);
    if (!checked) return refuse(checked.error());
    const auto known = producers_.check(*checked);
    if (!known) return refuse(known.error());
    if (*known) {
        const bool waits = !is_left_out(Rule::duplicate_waits);
        return Appended{.base_offset = (*known)->base_offset,
                        .next_offset = waits ? (*known)->next_offset : 0,
                        .append_time = settings_.append_time ? (*known)->max_timestamp : -1,
                        .is_duplicate = true};
    }
    if (rules.full) return refuse(*rules.full);
    if (end() > std::numeric_limits<std::int64_t>::max() / 2)
        return storage_error("no offset left");
    const bool is_full = segments_.back().bytes + batch.size() > settings_.segment_bytes;
    if (is_full && segments_.back().bytes > 0) {
        if (const auto rolled = roll(); !rolled) return storage_error(rolled.error().detail);
    }
    set_place(batch, end(), epochs_.latest());
    if (settings_.append_time) set_append_time(batch, now);
    const auto placed = read_batch_header(batch);
    CHECK(placed.has_value());
    if (const auto written = write(segments_.back(), batch); !written) {
        return storage_error(written.error().detail);
    }
    if (segments_.back().bytes == 0) begun_at_ = now;
    segments_.back().add(*placed, now);
    producers_.add(*placed);
    producers_.note_use(placed->producer_id, now);
    return Appended{.base_offset = placed->base_offset,
                    .next_offset = placed->next_offset(),
                    .append_time = settings_.append_time ? now : -1,
                    .bytes = batch.size()};
}

base::Result<void> Log::write(const Segment& segment, base::ByteView batch) {
    auto written = files_.append(segment.log_name(), batch);
    if (written) return written;
    // A first part may be there, and nothing may follow on it.
    if (!files_.truncate(segment.log_name(), segment.bytes)) failed_ = true;
    return written;
}

// By the time of appending: times that producers choose would end a segment with each batch. Ended
// by retain() alone, since one request may name hundreds of partitions, and each waits for the
// disk.
bool Log::is_aged(std::int64_t now) const {
    return settings_.segment_ms >= 0 && segments_.back().bytes > 0 &&
           now - begun_at_ >= settings_.segment_ms;
}

base::Result<void> Log::roll() {
    Segment& full = segments_.back();
    const Segment next{.base = full.next, .next = full.next};
    if (auto made = files_.replace(next.log_name(), {}); !made) return made;
    if (full.bytes > 0) snapshots_[full.next] = producers_.snapshot(full.next);
    segments_.push_back(next);
    return {};
}

Log::SyncPoint Log::unsynced() const {
    SyncPoint point{.end = end(), .files = {}};
    if (compaction_ != nullptr && compaction_->state() == Compaction::State::written) {
        point.files.emplace_back(kCompactedFile);
        point.compaction = compactions_;
    }
    for (const Segment& segment : segments_) {
        if (segment.next > durable_end_) point.files.push_back(segment.log_name());
    }
    return point;
}

base::Result<void> Log::on_synced(std::int64_t synced_end) {
    durable_end_ = std::max(durable_end_, std::min(synced_end, end()));
    if (failed_) return {};
    for (std::size_t i = 0; i + 1 < segments_.size(); ++i) {
        Segment& segment = segments_[i];
        if (segment.is_sealed || segment.next > durable_end_) continue;
        if (auto sealed = seal(segment); !sealed) return sealed;
    }
    return {};
}

base::Result<void> Log::on_synced(const SyncPoint& point) {
    const bool is_current = compaction_ != nullptr && point.compaction == compactions_ &&
                            compaction_->state() == Compaction::State::written;
    if (is_current) compaction_->on_synced();
    return on_synced(point.end);
}

// The checkpoint first: once an index is trusted, damage in its segment is no torn tail.
base::Result<void> Log::seal(Segment& segment) {
    if (auto kept = keep_producers(segment); !kept) return kept;
    if (auto written = files_.replace(segment.index_name(), pack_index(segment)); !written) {
        return written;
    }
    segment.is_sealed = true;
    return {};
}

base::Result<void> Log::keep_producers(const Segment& segment) {
    if (auto noted = checkpoint(); !noted) return noted;
    const auto at = snapshots_.find(segment.next);
    if (at == snapshots_.end()) return {};
    if (auto written = write_snapshot(at->first, at->second); !written) return written;
    snapshots_.erase(at);
    return {};
}

base::Result<void> Log::write_snapshot(std::int64_t next_offset, base::ByteView bytes) {
    if (auto written = files_.replace(snapshot_name(next_offset), bytes); !written) return written;
    auto list = files_.list();
    if (!list) return base::fail(list.error());
    std::erase_if(*list, [](const auto& file) { return !file.name.starts_with(kSnapshotPrefix); });
    for (std::size_t i = 0; i + kSnapshotsKept < list->size(); ++i) {
        if (auto gone = files_.remove((*list)[i].name); !gone) return gone;
    }
    return {};
}

base::Result<void> Log::checkpoint() {
    if (failed_ || noted_end_ == durable_end_) return {};
    if (auto written = files_.replace(kDurableFile, pack_offset(durable_end_)); !written) {
        return written;
    }
    noted_end_ = durable_end_;
    return {};
}

bool Log::is_spent(const Segment& segment, std::int64_t now) const {
    if (segment.bytes == 0) return false;
    if (segment.next <= start_) return true;
    const bool is_old = settings_.retention_ms >= 0 && now >= settings_.retention_ms &&
                        segment.kept_time < now - settings_.retention_ms;
    if (is_old) return true;
    // The last one is written to; its size alone is no reason.
    return settings_.retention_bytes >= 0 && segment.base != segments_.back().base &&
           bytes() - segment.bytes >= static_cast<std::uint64_t>(settings_.retention_bytes);
}

base::Result<Log::Retained> Log::retain(std::int64_t now, std::int64_t limit) {
    if (failed_) return Retained::nothing;
    producers_.expire(now - std::min(now, settings_.producer_expiry_ms));
    const bool ends_segment = is_aged(now);
    if (ends_segment) {
        if (auto rolled = roll(); !rolled) return base::fail(rolled.error());
        // What is durable already, no sync is going to seal.
        if (auto sealed = on_synced(durable_end_); !sealed) return base::fail(sealed.error());
    }
    const std::int64_t removable = std::min(limit, durable_end_);
    std::size_t removed = 0;
    for (; segments_.front().next <= removable && is_spent(segments_.front(), now); ++removed) {
        if (removed == kRemovedAtOnce) return Retained::more;
        if (auto gone = remove_first(); !gone) return base::fail(gone.error());
    }
    const bool is_noted = noted_end_ == durable_end_;
    if (auto noted = checkpoint(); !noted) return base::fail(noted.error());
    return ends_segment || removed > 0 || !is_noted ? Retained::some : Retained::nothing;
}

base::Result<void> Log::remove_first() {
    if (segments_.size() == 1) {
        if (auto rolled = roll(); !rolled) return rolled;
    }
    give_up_compaction();
    // What its batches say of producers is to stay known.
    const Segment& first = segments_.front();
    if (auto kept = first.is_sealed ? base::Result<void>() : keep_producers(first); !kept) {
        return kept;
    }
    if (auto gone = remove_segment(first); !gone) return gone;
    segments_.erase(segments_.begin());
    start_ = std::max(start_, segments_.front().base);
    return {};
}

// The index first: an index must never be found beside another segment of the same name.
base::Result<void> Log::remove_segment(const Segment& segment) {
    if (auto gone = files_.remove(segment.index_name()); !gone) return gone;
    return files_.remove(segment.log_name());
}

Verdict<std::int64_t> Log::delete_records(std::int64_t offset, std::int64_t limit) {
    if (failed_) return storage_error("a write or a sync of this log failed before");
    const std::int64_t to = offset == -1 ? limit : offset;
    if (to < 0 || to > limit) {
        return refuse(ErrorCode::offset_out_of_range,
                      fmt::format("offset {}; records up to {} can be deleted", to, limit));
    }
    if (to <= start_) return start_;
    if (const auto written = files_.replace(kStartFile, pack_offset(to)); !written) {
        return storage_error(written.error().detail);
    }
    start_ = to;
    return start_;
}

// The checkpoint first, then from the end: after each step the log is whole, and only shorter.
base::Result<void> Log::truncate(std::int64_t offset) {
    CHECK(offset >= start_);
    if (offset >= end()) return {};
    const bool may_have_gaps = segment_of(offset).is_sealed;
    const auto kept = first_part(segment_of(offset), offset);
    if (!kept) return base::fail(kept.error());
    give_up_compaction();
    clean_end_ = std::min(clean_end_, kept->next);
    durable_end_ = std::min(durable_end_, kept->next);
    if (auto noted = noted_end_ > durable_end_ ? checkpoint() : base::Result<void>(); !noted) {
        return noted;
    }
    while (segments_.back().base > kept->base) {
        if (auto gone = remove_segment(segments_.back()); !gone) return gone;
        segments_.pop_back();
    }
    if (!is_left_out(Rule::index_goes_with_cut)) {
        if (auto gone = files_.remove(kept->index_name()); !gone) return gone;
    }
    if (auto cut = files_.truncate(kept->log_name(), kept->bytes); !cut) return cut;
    segments_.back() = *kept;
    begun_at_ = std::min(begun_at_, kept->kept_time);
    snapshots_.clear();
    epochs_.cut(end());
    if (auto written = files_.replace(kEpochsFile, epochs_.pack()); !written) return written;
    if (auto rebuilt = rebuild_producers(); !rebuilt) return rebuilt;
    // It may be compacted, as the last segment never is (check_place).
    return may_have_gaps && kept->bytes > 0 ? roll() : base::Result<void>();
}

base::Result<Segment> Log::first_part(const Segment& segment, std::int64_t offset) const {
    Segment kept{.base = segment.base, .next = segment.base};
    BatchWalk walk(files_, segment.log_name(), 0, segment.bytes);
    while (true) {
        const auto batch = walk.next();
        if (!batch) return base::fail(batch.error());
        if (!*batch || (*batch)->header.next_offset() > offset) return kept;
        kept.add((*batch)->header, segment.kept_time);
    }
}

std::uint64_t Log::bytes() const {
    std::uint64_t all = 0;
    for (const Segment& segment : segments_)
        all += segment.bytes;
    return all;
}

void Log::check_invariants() const {
    CHECK(!segments_.empty());
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        CHECK(segments_[i].base <= segments_[i].next);
        if (i > 0) CHECK(segments_[i].base == segments_[i - 1].next);
        if (segments_[i].is_sealed) CHECK(segments_[i].next <= durable_end_);
    }
    CHECK(!segments_.back().is_sealed);
    CHECK(durable_end_ <= end() && noted_end_ <= durable_end_ && start_ <= end());
    producers_.check_invariants();
}

}  // namespace bps
