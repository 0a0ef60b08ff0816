#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/bps/core/group_commit.hpp"
#include "node/bps/core/partition_id.hpp"
#include "node/bps/disk/disk_log_files.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace bps {

// Carries out the syncs that GroupCommit asks for, in threads of their own at nice 10: the file
// system writes its journal once for all files that are synced at the same time.
//
// Thread: that of the logs; `done` is called in one of the syncer's own, once for each start().
class LogSyncer : base::Pinned {
  public:
    // Logs whose sync failed, and why; empty: all is durable. They must be given up
    // (GroupCommit::on_failed): a file is never synced again after that.
    using Failed = std::map<LogId, base::Error>;
    using Done = std::function<void(Failed)>;

    explicit LogSyncer(Done done);
    // As stop().
    ~LogSyncer();

    // The files of a log, which it borrows until detach(); that does not wait for a sync that runs.
    void attach(LogId id, const DiskLogFiles& files) { logs_[id] = &files; }
    void detach(LogId id) { logs_.erase(id); }

    // All its logs are attached. The sync before was reported by `done`.
    void start(const GroupCommit::Sync& sync);
    // Ends what runs, and reports it; nothing can be started any more.
    void stop();

  private:
    struct Job {
        LogId log = 0;
        std::shared_ptr<OpenFile> file;
    };
    // The sync that runs.
    struct Run {
        std::vector<Job> waiting;
        std::size_t left = 0;  // Of all its jobs.
        Failed failed;
    };

    void work();
    [[nodiscard]] std::optional<Job> take_job();
    // What is to be reported, if that was the last job.
    [[nodiscard]] std::optional<Failed> finish(const Job& job, const base::Result<void>& synced);

    Done done_;
    std::map<LogId, const DiskLogFiles*> logs_;
    std::mutex mutex_;  // Guards the two below.
    std::optional<Run> run_;
    bool is_stopping_ = false;
    std::condition_variable changed_;
    std::vector<std::thread> threads_;
};

}  // namespace bps
