#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/codec/data_messages.hpp"
#include "node/bps/core/log.hpp"
#include "node/bps/core/partition_id.hpp"
#include "node/bps/core/records.hpp"
#include "node/bps/core/refusal.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace bps {

// What the rows of a topic and of its partition say of how it is served.
struct PartitionSettings {
    LogSettings log;
    BatchRules batches;
    std::int32_t insync_min = 1;  // min.insync.replicas, but not more than there are replicas.
    bool deletes_records = true;  // A topic that is only compacted keeps the last of each key.
    std::optional<Compression> stored_as = {};  // Nothing: as the producer compressed it.
    chain::Name owner = {};                     // Of the topic.
};

// What this broker answers for one partition (spec 08): what is taken, what is seen, and whether
// it may say so at all. One that it does not lead, it refuses.
//
// Answers that wait, for a disk or for records, are the business of Produces and Fetches.
//
// Thread: that of its log.
//
// Invariants, checked by check_invariants():
// A1. A reader sees nothing at or above high_watermark(), which is durable and never falls.
class Partition : base::Pinned {
  public:
    // `files` of the log outlive it.
    Partition(PartitionId id, std::unique_ptr<Log> log, const PartitionSettings& settings);

    [[nodiscard]] PartitionId id() const { return id_; }
    [[nodiscard]] chain::Name owner() const { return settings_.owner; }
    [[nodiscard]] Log& log() { return *log_; }
    [[nodiscard]] const Log& log() const { return *log_; }

    // The final rows say that this broker leads it in this epoch, with as many members in sync.
    // Begins the epoch in the log where it is new. unavailable: the disk; it is not led.
    base::Result<void> lead(std::int32_t epoch, std::int32_t insync);
    // They say that another one does, or nobody.
    void stop_leading() { leads_ = false; }
    [[nodiscard]] bool leads() const { return leads_; }
    void configure(const PartitionSettings& settings);

    static constexpr std::int16_t kAcksAll = -1;  // Every replica that is in sync.
    // What one partition of a Produce request asks. The batch is changed in place.
    struct Produce {
        std::span<std::byte> batch;
        std::int16_t acks = 0;
        std::int16_t version = 0;                   // Of the request.
        std::optional<std::uint32_t> id_space = 0;  // See BatchRules, for both.
        std::optional<Refusal> full = std::nullopt;
    };
    [[nodiscard]] Verdict<Log::Appended> produce(const Produce& request,
                                                 const Decompressor& opener,
                                                 std::int64_t now);

    // Whole batches for a consumer, at most `bytes_max` bytes but at least one; none: it is at the
    // high watermark. unsupported_compression_type: this version knows no zstd.
    [[nodiscard]] Verdict<StoredRecords> read(const FetchRequest::Partition& request,
                                              std::int16_t version,
                                              std::size_t bytes_max) const;
    // By time, or -1: the high watermark; -2: the start; -3: the record of the greatest time.
    [[nodiscard]] Verdict<Log::TimeHit> list_offset(const ListOffsetsRequest::Partition& request,
                                                    std::int16_t version,
                                                    const Decompressor& opener) const;
    // Where an epoch, or the last before it, ended; epoch -1: none of them is known.
    [[nodiscard]] Verdict<Epochs::Entry> epoch_end(
        const OffsetForLeaderEpochRequest::Partition& request) const;
    // Up to which offset the records may be deleted for this request; the chain says when.
    [[nodiscard]] Verdict<std::int64_t> deletable(std::int64_t offset) const;
    // The row says that the records below are deleted.
    base::Result<void> set_log_start(std::int64_t offset);
    // More of the log is durable: what of it is deleted is not seen. unavailable: the disk.
    base::Result<void> follow_log_start();
    // Retention.
    base::Result<Log::Retained> expire(std::int64_t now);
    // Compaction, of what is seen.
    [[nodiscard]] bool wants_compaction() const { return log_->wants_compaction(high_watermark()); }
    [[nodiscard]] base::Result<Log::Compacted> compact(std::int64_t now,
                                                       const Decompressor& opener) {
        return log_->compact(now, high_watermark(), opener);
    }

    // One broker: what is durable here, is seen.
    [[nodiscard]] std::int64_t high_watermark() const { return log_->durable_end(); }
    void check_invariants() const;

  private:
    [[nodiscard]] Verdict<void> check_leads(std::int32_t epoch_of_client) const;

    PartitionId id_;
    std::unique_ptr<Log> log_;
    PartitionSettings settings_;
    bool leads_ = false;
    std::int32_t insync_ = 0;
    // Where the log ended when this broker began to lead: records below may have been seen under
    // the leader before, so the high watermark is not told until it is here (spec 08, Replication).
    std::int64_t epoch_start_ = 0;
    std::int64_t log_start_of_row_ = 0;
};

}  // namespace bps
