#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/codec/stored_records.hpp"
#include "node/bps/core/compaction.hpp"
#include "node/bps/core/epochs.hpp"
#include "node/bps/core/log_files.hpp"
#include "node/bps/core/producers.hpp"
#include "node/bps/core/records.hpp"
#include "node/bps/core/refusal.hpp"
#include "node/bps/core/segment.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bps {

// Times are milliseconds since 1970, here and below.
struct LogSettings {
    std::uint64_t segment_bytes = 128U << 20U;
    std::int64_t segment_ms = -1;       // Since its first batch; -1: without bound.
    std::int64_t retention_ms = -1;     // -1: for ever.
    std::int64_t retention_bytes = -1;  // -1: without bound.
    std::int64_t producer_expiry_ms = 86'400'000;
    bool append_time = false;  // message.timestamp.type=LogAppendTime.
    bool compacts = false;     // cleanup.policy: only the last record of each key is kept.
    std::int64_t delete_retention_ms = 86'400'000;  // Of those that say that a key is gone.
};

// The log of one partition (spec 08, "Log"): segments of batches, with their sparse indexes, the
// epochs, and the state of the idempotent producers.
//
// Appending makes nothing durable. Who answers a producer waits until durable_end() has passed the
// batch: he takes unsynced(), has these files synced, and says so with on_synced().
//
// Thread: one. After a write that failed half-way, or a sync that failed (on_sync_failed), nothing
// is known of what the disk holds: the log refuses all (kafka_storage_error) until it is opened
// anew.
//
// Invariants, checked by check_invariants():
// L1. Segments follow on one another; the last one is written to; there is always one.
// L2. start() and durable_end() are at most end().
// L3. A segment whose index is on disk is durable.
class Log : base::Pinned {
  public:
    // What open() had to do, for the log of the node.
    struct Findings {
        std::uint64_t cut_bytes = 0;  // Of a tail that was never made durable.
        std::string cut_reason;
        std::size_t indexes_rebuilt = 0;
    };
    struct Opened {
        std::unique_ptr<Log> log;
        Findings findings;
    };
    struct Appended {
        std::int64_t base_offset = 0;
        std::int64_t next_offset = 0;   // The answer waits until this is durable.
        std::int64_t append_time = -1;  // -1: the producer's times hold.
        bool is_duplicate = false;
        std::size_t bytes = 0;  // That the log is longer now.
    };
    struct SyncPoint {
        std::int64_t end = 0;
        std::vector<std::string> files;
        std::uint64_t compaction = 0;  // Whose file is among them; 0: none.
    };
    struct TimeHit {
        std::int64_t offset = 0;
        std::int64_t timestamp = 0;
        std::int32_t leader_epoch = -1;
    };

    // Reads what is there, or begins a log. `files` outlives it. corrupt: bytes that were durable
    // are damaged or gone; the text names file, place and reason.
    [[nodiscard]] static base::Result<Opened> open(LogFiles& files,
                                                   const LogSettings& settings,
                                                   std::int64_t now);

    // Begins a leader epoch above epochs().latest(), durably: before anything is appended in it.
    base::Result<void> begin_epoch(std::int32_t epoch);
    // Checks a produced batch and appends it, in place. A duplicate is not appended, and gets the
    // offsets of the first.
    [[nodiscard]] Verdict<Appended> append(std::span<std::byte> batch,
                                           const BatchRules& rules,
                                           std::int64_t now);

    // What is to be synced so that all that was appended is durable; `files` empty: it is.
    [[nodiscard]] SyncPoint unsynced() const;
    // The files of a SyncPoint are durable. unavailable: durable_end() has moved, but what belongs
    // beside a full segment could not be written; it is tried again with the next sync.
    base::Result<void> on_synced(std::int64_t end);
    base::Result<void> on_synced(const SyncPoint& point);
    void on_sync_failed() { failed_ = true; }
    [[nodiscard]] bool has_failed() const { return failed_; }
    // Notes durable_end() on disk: what lies below it and is damaged is never taken for a torn
    // tail. Done by on_synced() with each full segment, and by retain().
    base::Result<void> checkpoint();

    // Whole batches from the one with `offset` on, below `limit`, of one segment, together at most
    // `bytes_max` bytes but at least one. None: `offset` is at the limit. offset_out_of_range.
    [[nodiscard]] Verdict<StoredRecords> find(std::int64_t offset,
                                              std::int64_t limit,
                                              std::size_t bytes_max) const;
    // The first record at or after a time. Of a batch that cannot be opened: the batch.
    [[nodiscard]] Verdict<std::optional<TimeHit>> find_time(std::int64_t time,
                                                            const Decompressor& opener) const;

    // The record of the greatest time, below `limit`; of some with the same time the first.
    // Nothing: there is no record.
    [[nodiscard]] Verdict<std::optional<TimeHit>> find_latest_time(
        std::int64_t limit, const Decompressor& opener) const;

    // Gives each batch of the log, in order, with its bytes. Ends with the first error. corrupt: a
    // batch is damaged.
    using TakeBatch = std::function<base::Result<void>(const BatchHeader&, base::ByteView)>;
    base::Result<void> for_each_batch(const TakeBatch& take) const;

    enum class Retained : std::uint8_t {
        nothing,  // There was nothing to do.
        some,     // Files were written or removed, which takes the disk some time.
        more,     // So they were, and there is more to drop.
    };
    // Ends the segment that is written to, if it has had its time. Drops segments that are too old
    // or too many, of those whose records are below `limit`, a few at a time, and producers that
    // have not produced for long. Notes how much is durable.
    static constexpr std::size_t kRemovedAtOnce = 2;
    base::Result<Retained> retain(std::int64_t now, std::int64_t limit);
    // Whether as much was added since the last compaction, to full segments below `limit`, as it
    // left.
    [[nodiscard]] bool wants_compaction(std::int64_t limit) const;
    enum class Compacted : std::uint8_t {
        nothing,   // There is nothing to do.
        more,      // There is more to do.
        unsynced,  // It goes on once what is unsynced() is durable.
    };
    // A step of compaction, in bounded time and memory, which begins it if it is wanted. What
    // find() named before may lie elsewhere afterwards. corrupt, unavailable: it is given up.
    [[nodiscard]] base::Result<Compacted> compact(std::int64_t now,
                                                  std::int64_t limit,
                                                  const Decompressor& opener);
    [[nodiscard]] bool is_compacting() const { return compaction_ != nullptr; }
    // DeleteRecords: durably moves start() to `offset`, at most `limit`; -1: to `limit`.
    [[nodiscard]] Verdict<std::int64_t> delete_records(std::int64_t offset, std::int64_t limit);
    // Cuts the log at a batch that begins at `offset`, or the one that has it.
    base::Result<void> truncate(std::int64_t offset);

    // As its topic was changed; what is in the log stays as it is.
    void set_settings(const LogSettings& settings) { settings_ = settings; }

    [[nodiscard]] std::int64_t start() const { return start_; }
    [[nodiscard]] std::int64_t end() const { return segments_.back().next; }
    // Of all segments.
    [[nodiscard]] std::uint64_t bytes() const;
    [[nodiscard]] std::int64_t durable_end() const { return durable_end_; }
    // Up to where it was compacted since it was opened.
    [[nodiscard]] std::int64_t clean_end() const { return clean_end_; }
    [[nodiscard]] const Epochs& epochs() const { return epochs_; }
    [[nodiscard]] const Producers& producers() const { return producers_; }
    [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
    void check_invariants() const;

    // Where the files hold no log yet, it is going to begin with this offset: what was before is
    // deleted, and not only here.
    static base::Result<void> begin_at(LogFiles& files, std::int64_t offset);

  private:
    Log(LogFiles& files, const LogSettings& settings) : files_(files), settings_(settings) {}

    // Opening (log_open.cpp).
    base::Result<void> read_segments(std::int64_t now, Findings& findings);
    // `bases`: of all segments' files, ascending.
    base::Result<void> take_segment(const LogFiles::File& file,
                                    const std::vector<std::int64_t>& bases,
                                    std::int64_t now,
                                    Findings& findings);
    base::Result<void> read_segment(const LogFiles::File& file,
                                    std::int64_t last_base,
                                    std::int64_t now,
                                    Findings& findings);
    [[nodiscard]] base::Result<void> check_place(const BatchHeader& batch,
                                                 std::int64_t last_base) const;
    [[nodiscard]] bool is_behind_gap(const LogFiles::File& file, Findings& findings) const;
    [[nodiscard]] std::optional<Segment> trusted_index(const LogFiles::File& file) const;
    // corrupt, for this reason: the log ends below what was durable.
    [[nodiscard]] base::Result<void> check_durable(std::string_view reason) const;
    base::Result<void> cut_tail(const LogFiles::File& file,
                                const base::Error& reason,
                                Findings& findings);
    base::Result<void> read_small_files();
    base::Result<void> rebuild_epochs();
    base::Result<void> rebuild_producers();
    base::Result<void> replay_producers(std::int64_t from);

    base::Result<void> note_begin(std::int64_t now);
    // Whether the segment that is written to has had its time.
    [[nodiscard]] bool is_aged(std::int64_t now) const;
    base::Result<void> write(const Segment& segment, base::ByteView batch);
    base::Result<void> roll();
    base::Result<void> seal(Segment& segment);
    // What the batches up to the end of a segment say of producers, in a file.
    base::Result<void> keep_producers(const Segment& segment);
    base::Result<void> write_snapshot(std::int64_t next_offset, base::ByteView bytes);
    base::Result<void> remove_segment(const Segment& segment);
    base::Result<void> remove_first();
    // What of a segment is before an offset, in whole batches.
    [[nodiscard]] base::Result<Segment> first_part(const Segment& segment,
                                                   std::int64_t offset) const;
    // Compaction (log_compact.cpp).
    [[nodiscard]] std::vector<Compaction::Source> compactable(std::int64_t limit) const;
    void begin_compaction(std::int64_t now, std::int64_t limit);
    base::Result<void> put_compacted();
    void give_up_compaction();

    [[nodiscard]] bool is_spent(const Segment& segment, std::int64_t now) const;
    [[nodiscard]] const Segment& segment_of(std::int64_t offset) const;
    [[nodiscard]] base::Result<StoredRecords> range(const Segment& segment,
                                                    std::int64_t offset,
                                                    std::int64_t limit,
                                                    std::size_t bytes_max) const;
    [[nodiscard]] base::Result<std::optional<TimeHit>> find_time_in(
        const Segment& segment, std::int64_t time, const Decompressor& opener) const;
    [[nodiscard]] base::Result<std::optional<TimeHit>> latest_in(const Segment& segment,
                                                                 std::int64_t limit,
                                                                 const Decompressor& opener) const;
    [[nodiscard]] base::Result<std::optional<TimeHit>> latest_in_batch(
        const Segment& segment, const StoredBatch& batch, const Decompressor& opener) const;
    [[nodiscard]] std::optional<TimeHit> find_record(const BatchHeader& header,
                                                     base::ByteView batch,
                                                     std::int64_t time,
                                                     const Decompressor& opener) const;

    LogFiles& files_;
    LogSettings settings_;
    std::vector<Segment> segments_;
    std::int64_t begun_at_ = 0;  // When the first batch of the last segment came, if it has any.
    std::int64_t start_ = 0;
    std::int64_t durable_end_ = 0;
    std::int64_t noted_end_ = 0;  // The checkpoint on disk, or the last index that is there.
    Epochs epochs_;
    Producers producers_;
    // Snapshots of producers at the ends of full segments that are not durable yet.
    std::map<std::int64_t, base::Bytes> snapshots_;
    bool failed_ = false;
    std::unique_ptr<Compaction> compaction_;  // That is under way.
    std::uint64_t compactions_ = 0;           // Begun, with it.
    std::int64_t clean_end_ = 0;              // What is below was compacted.
};

}  // namespace bps
