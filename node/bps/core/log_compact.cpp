#include "base/check.hpp"
#include "node/bps/core/log.hpp"
#include "node/bps/core/log_names.hpp"
#include "node/bps/core/rule.hpp"

#include <algorithm>
#include <utility>

namespace bps {

std::vector<Compaction::Source> Log::compactable(std::int64_t limit) const {
    std::vector<Compaction::Source> sources;
    for (const Segment& segment : segments_) {
        if (!segment.is_sealed || segment.next > limit || segment.bytes == 0) break;
        sources.push_back({.base = segment.base,
                           .next = segment.next,
                           .bytes = segment.bytes,
                           .kept_time = segment.kept_time});
    }
    return sources;
}

bool Log::wants_compaction(std::int64_t limit) const {
    if (failed_ || !settings_.compacts) return false;
    std::uint64_t all = 0;
    std::uint64_t added = 0;
    for (const Compaction::Source& source : compactable(limit)) {
        all += source.bytes;
        if (source.next > clean_end_) added += source.bytes;
    }
    return added > 0 && 2 * added >= all;
}

base::Result<Log::Compacted> Log::compact(std::int64_t now,
                                          std::int64_t limit,
                                          const Decompressor& opener) {
    using State = Compaction::State;
    if (failed_ || !settings_.compacts) give_up_compaction();
    if (compaction_ == nullptr) {
        if (!wants_compaction(limit)) return Compacted::nothing;
        begin_compaction(now, limit);
    }
    if (compaction_->state() == State::written) {
        if (!is_left_out(Rule::rewrite_synced)) return Compacted::unsynced;
        compaction_->on_synced();
    }
    base::Result<void> done;
    if (compaction_->state() == State::durable) {
        done = put_compacted();
    } else if (compaction_->state() != State::finished) {
        done = compaction_->step(opener);
    }
    if (!done) {
        give_up_compaction();
        return base::fail(done.error());
    }
    if (compaction_->state() != State::finished) return Compacted::more;
    clean_end_ = std::max(clean_end_, compaction_->clean_end());
    compaction_.reset();
    return Compacted::nothing;
}

void Log::begin_compaction(std::int64_t now, std::int64_t limit) {
    ++compactions_;
    const Compaction::Settings settings{
        .segment_bytes = settings_.segment_bytes,
        .clean_end = clean_end_,
        .start = start_,
        .removals_before = now - std::min(now, settings_.delete_retention_ms)};
    compaction_ = std::make_unique<Compaction>(files_, settings, compactable(limit));
}

// The old index goes first: it must never be found beside the new segment. Once that has the name
// of the first of those that it replaces, the others are seen to be in it, and removed, also by
// who opens the log then. Whether a name was changed, nobody knows after a failure.
base::Result<void> Log::put_compacted() {
    const Segment& made = compaction_->output();
    const auto first = std::ranges::find(segments_, made.base, &Segment::base);
    const auto behind = std::ranges::find_if(
        first, segments_.end(), [&](const Segment& each) { return each.base >= made.next; });
    CHECK(first != segments_.end() && std::prev(behind)->next == made.next);
    first->is_sealed = false;
    if (auto gone = files_.remove(first->index_name()); !gone) return gone;
    if (auto renamed = files_.rename(kCompactedFile, made.log_name()); !renamed) {
        failed_ = true;
        return renamed;
    }
    const std::vector<Segment> replaced(std::next(first), behind);
    *first = made;
    Segment& placed = *first;
    segments_.erase(std::next(first), behind);
    for (const Segment& each : replaced) {
        if (auto gone = remove_segment(each); !gone) {
            failed_ = true;
            return gone;
        }
    }
    compaction_->on_replaced();
    // Where that fails, it is tried again with the next sync.
    placed.is_sealed = files_.replace(placed.index_name(), pack_index(placed)).has_value();
    return {};
}

// Its file goes with the next one, or when the log is opened.
void Log::give_up_compaction() {
    if (compaction_ == nullptr) return;
    compaction_.reset();
    (void)files_.remove(kCompactedFile);
}

}  // namespace bps
