#include "node/bps/disk/log_syncer.hpp"

#include "base/check.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <pthread.h>
#include <unistd.h>
#include <utility>

namespace bps {

namespace {

constexpr int kNice = 10;  // Of all threads of the broker (spec 08): finality comes first.
// 32 files that grew took 126 ms one after another, 20 ms by two threads, 11 by eight, 6 by 16, and
// 8 ms by one syncfs(), which does not say what it could not write (ext4, a virtual disk).
constexpr std::size_t kThreads = 16;

}  // namespace

LogSyncer::LogSyncer(Done done) : done_(std::move(done)) {
    for (std::size_t i = 0; i < kThreads; ++i) {
        threads_.emplace_back([this] { work(); });
    }
}

LogSyncer::~LogSyncer() {
    stop();
}

void LogSyncer::start(const GroupCommit::Sync& sync) {
    std::vector<Job> jobs;
    for (const GroupCommit::Sync::Part& part : sync.parts) {
        for (const std::string& name : part.files) {
            auto file = logs_.at(part.log)->find_unsynced(name);
            if (file != nullptr) jobs.push_back({.log = part.log, .file = std::move(file)});
        }
    }
    // That there is nothing to do is reported by a thread, too.
    if (jobs.empty()) jobs.emplace_back();
    const std::size_t count = jobs.size();
    {
        const std::scoped_lock lock(mutex_);
        CHECK(!run_.has_value() && !is_stopping_);
        run_ = Run{.waiting = std::move(jobs), .left = count, .failed = {}};
    }
    for (std::size_t i = 0; i < std::min(count, kThreads); ++i)
        changed_.notify_one();
}

void LogSyncer::stop() {
    {
        const std::scoped_lock lock(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
    threads_.clear();
}

void LogSyncer::work() {
    ::pthread_setname_np(::pthread_self(), "bor-bps-sync");
    // Of this thread alone, as Linux has it. Where it is refused, the thread works as well.
    (void)::setpriority(PRIO_PROCESS, static_cast<::id_t>(::gettid()), kNice);
    while (auto job = take_job()) {
        const auto synced = job->file == nullptr ? base::Result<void>() : job->file->sync();
        if (auto failed = finish(*job, synced)) done_(*std::move(failed));
    }
}

std::optional<LogSyncer::Job> LogSyncer::take_job() {
    std::unique_lock lock(mutex_);
    const auto has_job = [this] { return run_.has_value() && !run_->waiting.empty(); };
    changed_.wait(lock, [&] { return is_stopping_ || has_job(); });
    if (!has_job()) return std::nullopt;
    Job job = std::move(run_->waiting.back());
    run_->waiting.pop_back();
    return job;
}

std::optional<LogSyncer::Failed> LogSyncer::finish(const Job& job,
                                                   const base::Result<void>& synced) {
    const std::scoped_lock lock(mutex_);
    // One reason of a log is enough.
    if (!synced) run_->failed.try_emplace(job.log, synced.error());
    if (--run_->left > 0) return std::nullopt;
    Failed failed = std::move(run_->failed);
    run_.reset();
    return failed;
}

}  // namespace bps
