#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/last_offsets.hpp"
#include "node/bps/core/log_files.hpp"
#include "node/bps/core/records.hpp"
#include "node/bps/core/segment.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bps {

// One compaction of a log (cleanup.policy=compact): of full segments it leaves the last record of
// each key. First it notes where the last records of the part are that no compaction has seen, up
// to the end or as many keys as fit; then it writes segments anew, the oldest first, small
// neighbours together. Offsets stay: a batch keeps its first and last one, and goes once it has no
// record, but for the last of a segment. A record without a key goes, as with Kafka: it is of the
// time before its topic was compacted.
//
// Each step is bounded; between them the log goes on. What it writes is a file beside the segments,
// which their log puts in place once it is durable.
//
// Thread: that of the log.
class Compaction : base::Pinned {
  public:
    struct Source {
        std::int64_t base = 0;
        std::int64_t next = 0;
        std::uint64_t bytes = 0;
        std::int64_t kept_time = 0;
    };
    struct Settings {
        std::uint64_t segment_bytes = 0;
        std::int64_t clean_end = 0;  // What is below was compacted before.
        std::int64_t start = 0;      // Records below are deleted.
        // Records that say that their key is gone go, too, if they are older.
        std::int64_t removals_before = 0;
        std::size_t keys_max = kKeysMax;
    };
    enum class State : std::uint8_t {
        noting,   // Where the last records are.
        looking,  // Whether a segment has any that goes.
        writing,
        written,   // The file is to be made durable.
        durable,   // It may be put in place.
        finished,  // Nothing is left to do.
    };
    static constexpr std::size_t kKeysMax = 393'216;  // 12 MiB, and half of it while they grow.
    static constexpr std::uint64_t kStepBytes = 256U << 10U;

    // Full, durable segments that follow on one another; at least one. `files` outlives this.
    Compaction(LogFiles& files, const Settings& settings, std::vector<Source> sources);

    // Not in `written`, `durable` or `finished`. corrupt: what it reads is damaged. unavailable:
    // the disk. After an error it is of no use.
    base::Result<void> step(const Decompressor& opener);
    [[nodiscard]] State state() const { return state_; }
    void on_synced() { state_ = State::durable; }

    // In `durable`: what replaces the segments from its base to its next offset.
    [[nodiscard]] const Segment& output() const { return output_; }
    void on_replaced() { begin_group(group_end_); }
    // Once finished: up to where the log is compacted.
    [[nodiscard]] std::int64_t clean_end() const { return clean_end_; }

  private:
    struct Rest {
        bool is_whole = true;  // The batch stays as it is.
        BatchHeader header;
        base::Bytes records;
    };

    // Reads the next batch of the source into batch_; nothing: its end.
    [[nodiscard]] base::Result<std::optional<BatchHeader>> read_batch();
    void open_source(std::size_t source);
    void begin_group(std::size_t first);
    base::Result<void> begin_writing();
    base::Result<void> note_some(const Decompressor& opener);
    base::Result<void> look_at_some(const Decompressor& opener);
    base::Result<void> write_some(const Decompressor& opener);
    // A source is written; true: it was the last of its group.
    bool end_source();
    // False: there is no room.
    [[nodiscard]] base::Result<bool> note(const BatchHeader& header, const Decompressor& opener);
    [[nodiscard]] Rest rest_of(const BatchHeader& header, const Decompressor& opener);
    [[nodiscard]] bool stays(const Record& record, std::int64_t offset) const;
    void put(const Rest& rest, base::Bytes& out);

    LogFiles& files_;
    const Settings settings_;
    const std::vector<Source> sources_;
    State state_ = State::noting;
    LastOffsets last_;
    std::int64_t clean_end_;
    std::size_t source_ = 0;    // That is read.
    std::int64_t read_to_ = 0;  // The offset behind its last batch.
    std::optional<BatchWalk> walk_;
    std::uint64_t step_bytes_ = 0;  // Read and opened in this step.
    base::Bytes batch_;
    std::size_t group_begin_ = 0;  // Sources that become one segment.
    std::size_t group_end_ = 0;
    Segment output_;
};

}  // namespace bps
