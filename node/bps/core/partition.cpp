#include "node/bps/core/partition.hpp"

#include "base/check.hpp"
#include "node/bps/core/recompress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bps {

namespace {

constexpr std::int16_t kZstdSince = 7;          // Of Produce.
constexpr std::int16_t kZstdFetchedSince = 10;  // Of Fetch.
constexpr std::int64_t kLatest = -1;
constexpr std::int64_t kEarliest = -2;
constexpr std::int64_t kGreatestTime = -3;
// Of ListOffsets.
constexpr std::int16_t kNotAvailableSince = 5;
constexpr std::int16_t kGreatestTimeSince = 7;

constexpr Log::TimeHit kNothing{.offset = -1, .timestamp = -1, .leader_epoch = -1};

}  // namespace

Partition::Partition(PartitionId id, std::unique_ptr<Log> log, const PartitionSettings& settings)
    : id_(id), log_(std::move(log)), settings_(settings) {
    CHECK(log_ != nullptr);
    log_->set_settings(settings_.log);
}

base::Result<void> Partition::lead(std::int32_t epoch, std::int32_t insync) {
    insync_ = insync;
    if (leads_ && epoch == log_->epochs().latest()) return {};
    leads_ = false;
    if (epoch < log_->epochs().latest()) {
        return base::fail(base::Errc::corrupt,
                          fmt::format("the rows say epoch {}, but the log has {}: it is not the "
                                      "log of this partition",
                                      epoch,
                                      log_->epochs().latest()));
    }
    if (log_->end() < log_start_of_row_) {
        // What it takes would be deleted as soon as it is acknowledged.
        return base::fail(
            base::Errc::corrupt,
            fmt::format("the log ends with offset {}, and what is before offset {} was "
                        "deleted: it is an older copy, all of whose records are "
                        "deleted; put the newer one back, or, to go on without it, "
                        "make the directory empty",
                        log_->end(),
                        log_start_of_row_));
    }
    if (epoch > log_->epochs().latest()) {
        if (auto begun = log_->begin_epoch(epoch); !begun) return begun;
    }
    epoch_start_ = log_->end();
    leads_ = true;
    return {};
}

void Partition::configure(const PartitionSettings& settings) {
    settings_ = settings;
    log_->set_settings(settings.log);
}

Verdict<void> Partition::check_leads(std::int32_t epoch_of_client) const {
    if (!leads_) return refuse(ErrorCode::not_leader_or_follower, "another broker leads it");
    const std::int32_t own = log_->epochs().latest();
    if (epoch_of_client < 0 || epoch_of_client == own) return {};
    return refuse(
        epoch_of_client < own ? ErrorCode::fenced_leader_epoch : ErrorCode::unknown_leader_epoch,
        fmt::format("leader epoch {}; here it is {}", epoch_of_client, own));
}

Verdict<Log::Appended> Partition::produce(const Produce& request,
                                          const Decompressor& opener,
                                          std::int64_t now) {
    if (const auto leads = check_leads(-1); !leads) return refuse(leads.error());
    if (request.acks == kAcksAll && insync_ < settings_.insync_min) {
        return refuse(
            ErrorCode::not_enough_replicas,
            fmt::format(
                "{} replicas are in sync; acks=all needs {}", insync_, settings_.insync_min));
    }
    BatchRules rules = settings_.batches;
    rules.allows_zstd = request.version >= kZstdSince;
    rules.id_space = request.id_space;
    rules.full = request.full;
    if (!settings_.stored_as || rules.full) return log_->append(request.batch, rules, now);
    const auto header = read_batch_header(request.batch);
    if (!header || header->compression() == *settings_.stored_as) {
        return log_->append(request.batch, rules, now);
    }
    auto stored = recompress(request.batch, rules, *settings_.stored_as, opener);
    // More than a request may cost stays as it came. A refusal that asks to send it again would let
    // what the producer has sent behind it come before it.
    if (!stored && stored.error().code == ErrorCode::request_timed_out) {
        return log_->append(request.batch, rules, now);
    }
    if (!stored) return refuse(stored.error());
    rules.allows_zstd = true;
    return log_->append(*stored, rules, now);
}

Verdict<StoredRecords> Partition::read(const FetchRequest::Partition& request,
                                       std::int16_t version,
                                       std::size_t bytes_max) const {
    if (const auto leads = check_leads(request.current_leader_epoch); !leads) {
        return refuse(leads.error());
    }
    if (settings_.stored_as == Compression::zstd && version < kZstdFetchedSince) {
        return refuse(
            ErrorCode::unsupported_compression_type,
            fmt::format(
                "Fetch {}; records of zstd need version {} or later", version, kZstdFetchedSince));
    }
    auto found = log_->find(request.fetch_offset, high_watermark(), bytes_max);
    if (found) found->log = id_.log();
    return found;
}

Verdict<Log::TimeHit> Partition::list_offset(const ListOffsetsRequest::Partition& request,
                                             std::int16_t version,
                                             const Decompressor& opener) const {
    if (const auto leads = check_leads(request.current_leader_epoch); !leads) {
        return refuse(leads.error());
    }
    if (request.timestamp == kLatest) {
        if (high_watermark() < epoch_start_) {
            return refuse(version < kNotAvailableSince ? ErrorCode::leader_not_available
                                                       : ErrorCode::offset_not_available,
                          "the end of the log is not durable yet");
        }
        return Log::TimeHit{
            .offset = high_watermark(), .timestamp = -1, .leader_epoch = log_->epochs().latest()};
    }
    if (request.timestamp == kEarliest) {
        const auto epoch = log_->epochs().epoch_at(log_->start());
        return Log::TimeHit{.offset = log_->start(), .timestamp = -1, .leader_epoch = epoch};
    }
    const bool is_greatest = request.timestamp == kGreatestTime && version >= kGreatestTimeSince;
    if (request.timestamp < 0 && !is_greatest) {
        return refuse(ErrorCode::unsupported_version,
                      fmt::format("time {} in version {}", request.timestamp, version));
    }
    const auto hit = is_greatest ? log_->find_latest_time(high_watermark(), opener)
                                 : log_->find_time(request.timestamp, opener);
    if (!hit) return refuse(hit.error());
    return *hit && (*hit)->offset < high_watermark() ? **hit : kNothing;
}

Verdict<Epochs::Entry> Partition::epoch_end(
    const OffsetForLeaderEpochRequest::Partition& request) const {
    if (const auto leads = check_leads(request.current_leader_epoch); !leads) {
        return refuse(leads.error());
    }
    return log_->epochs()
        .end_of(request.leader_epoch, log_->end())
        .value_or(Epochs::Entry{.epoch = -1, .start = -1});
}

Verdict<std::int64_t> Partition::deletable(std::int64_t offset) const {
    if (const auto leads = check_leads(-1); !leads) return refuse(leads.error());
    if (!settings_.deletes_records) {
        return refuse(ErrorCode::policy_violation,
                      "a topic with cleanup.policy=compact keeps the last record of each key: set "
                      "compact,delete first");
    }
    const std::int64_t to = offset == -1 ? high_watermark() : offset;
    if (to < 0 || to > high_watermark()) {
        return refuse(
            ErrorCode::offset_out_of_range,
            fmt::format("offset {}; records below {} can be deleted", to, high_watermark()));
    }
    return std::max(to, log_->start());
}

base::Result<void> Partition::set_log_start(std::int64_t offset) {
    log_start_of_row_ = std::max(log_start_of_row_, offset);
    const auto moved =
        log_->delete_records(std::min(log_start_of_row_, high_watermark()), high_watermark());
    if (!moved) return base::fail(base::Errc::unavailable, moved.error().reason);
    return {};
}

base::Result<void> Partition::follow_log_start() {
    if (log_->start() >= std::min(log_start_of_row_, high_watermark())) return {};
    return set_log_start(log_start_of_row_);
}

base::Result<Log::Retained> Partition::expire(std::int64_t now) {
    // What was deleted when the disk failed.
    if (auto moved = follow_log_start(); !moved) return base::fail(moved.error());
    return log_->retain(now, high_watermark());
}

void Partition::check_invariants() const {
    log_->check_invariants();
    CHECK(high_watermark() <= log_->durable_end());
}

}  // namespace bps
