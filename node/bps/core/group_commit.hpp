#pragma once

#include "node/bps/core/codec/error_code.hpp"
#include "node/bps/core/log.hpp"
#include "node/bps/core/partition_id.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace bps {

// An answer that waits, numbered by the owner.
using AnswerId = std::uint64_t;

// One sync for all that waits (spec 08, "Log"): says which files of which logs are to be made
// durable together, and which answers may leave then. While one sync runs, what is appended waits
// for the next; so the slower the disk, the more share a sync.
//
// Thread: that of its logs, which it borrows between attach() and detach().
class GroupCommit {
  public:
    // To be made durable; then on_synced() or on_failed() is called, before the next sync begins.
    struct Sync {
        struct Part {
            LogId log = 0;
            std::vector<std::string> files;
        };
        std::vector<Part> parts;
    };
    struct Answer {
        AnswerId id = 0;
        ErrorCode code = ErrorCode::none;  // none: durable. kafka_storage_error: it may be lost.
    };

    void attach(LogId id, Log& log) { logs_[id] = &log; }
    // Answers what waits for this log with `code`, as when a topic is deleted.
    [[nodiscard]] std::vector<Answer> detach(LogId id, ErrorCode code);

    // The answer may leave once the log is durable up to `end`: at once, if it is.
    void wait(LogId log, std::int64_t end, AnswerId answer);
    // The next sync includes this log, though no answer waits for it: acks=0, or the tail that was
    // found when it was opened.
    void touch(LogId log) { touched_.insert(log); }
    // What to sync; nothing: one runs already, or nothing waits for a disk.
    [[nodiscard]] std::optional<Sync> begin_sync();
    void on_synced();
    // The sync of these logs failed; what else was synced with it is durable.
    void on_failed(const std::vector<LogId>& logs);

    // Answers that may leave; each once, those of a log by ascending offset.
    [[nodiscard]] std::vector<Answer> take_ready();
    [[nodiscard]] bool has_ready() const { return !ready_.empty() || !changed_.empty(); }
    // Logs whose durable_end() has moved, or that failed; each once, ascending.
    [[nodiscard]] std::vector<LogId> take_changed();
    [[nodiscard]] std::size_t waiting() const { return waiting_; }

  private:
    void finish(LogId id, const Log::SyncPoint& point);
    void give_up(LogId id, ErrorCode code, std::vector<Answer>& out);

    std::map<LogId, Log*> logs_;
    std::map<LogId, std::multimap<std::int64_t, AnswerId>> waits_;  // By the end waited for.
    std::set<LogId> touched_;
    std::set<LogId> changed_;
    std::map<LogId, Log::SyncPoint> in_sync_;  // What the sync that runs makes durable.
    bool runs_ = false;
    std::size_t waiting_ = 0;
    std::vector<Answer> ready_;
};

}  // namespace bps
