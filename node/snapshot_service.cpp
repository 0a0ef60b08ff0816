#include "node/snapshot_service.hpp"

#include "node/runtime.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace node {

using base::Errc;
using base::fail;

namespace {

constexpr int kNice = 10;
// Final blocks that are older are those of a node that catches up.
constexpr auto kSyncingBehind = std::chrono::seconds(10);

}  // namespace

base::Result<std::unique_ptr<SnapshotService>> SnapshotService::open(const Options& options,
                                                                     const base::Storage& storage,
                                                                     const base::Log& log) {
    std::unique_ptr<SnapshotService> made(new SnapshotService(options, storage, log));
    auto store = SnapshotStore::open(options.directory, log);
    if (!store) return fail(store.error());
    made->store_ = *std::move(store);
    auto schedule = SnapshotSchedule::open(options.directory / "schedule.json");
    if (!schedule) return fail(schedule.error());
    made->schedule_ = *std::move(schedule);
    return made;
}

SnapshotService::~SnapshotService() {
    stop();
}

void SnapshotService::start() {
    thread_ = std::thread([this] { run(); });
}

void SnapshotService::stop() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    ready_.notify_all();
    if (thread_.joinable()) thread_.join();
    std::vector<Answered> left;
    {
        const std::scoped_lock lock(mutex_);
        left.swap(waiting_);
    }
    for (const Answered& answered : left)
        answered(fail(Errc::unavailable, "the node stops"));
}

void SnapshotService::create(Answered answered) {
    {
        const std::scoped_lock lock(mutex_);
        if (!stopping_) {
            waiting_.push_back(std::move(answered));
            ready_.notify_all();
            return;
        }
    }
    answered(fail(Errc::unavailable, "the node stops"));
}

SnapshotService::Counters SnapshotService::counters() const {
    const std::scoped_lock lock(mutex_);
    Counters counters = counters_;
    if (busy_) {
        const auto passed = std::chrono::steady_clock::now() - began_;
        counters.making_ms = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(passed).count() + 1);
    }
    return counters;
}

std::optional<chain::Height> SnapshotService::newest_at_rest() const {
    {
        const std::scoped_lock lock(mutex_);
        if (busy_ || scheduled_ || !waiting_.empty()) return std::nullopt;
    }
    const auto listed = store_->list();
    return listed.empty() ? std::nullopt : std::optional(listed.back().head.height);
}

bool SnapshotService::is_wanted(chain::Height height, bool& keep) const {
    keep = schedule_->names(height);
    if (keep) return true;
    return options_.keep != 0 && options_.every != 0 && height % options_.every == 0;
}

void SnapshotService::on_finalized(const effect::Finalized& finalized) {
    if (before_ != finalized.before) {
        before_ = finalized.before;
        since_.clear();
    }
    since_.push_back(finalized.block->changes);
    bool keep = false;
    const chain::BlockPtr& block = finalized.block->block;
    if (is_wanted(block->header.height, keep)) begin(block, keep);
    if (finalized.certificate) {
        // The last of those that became final together: the storage is let go.
        before_.reset();
        since_.clear();
    }
}

void SnapshotService::begin(const chain::BlockPtr& block, bool keep) {
    const chain::TimePoint time = options_.times.time_of(block->header.slot);
    const auto age =
        system_time().time_since_epoch() - std::chrono::microseconds(time.microseconds);
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    if (age > kSyncingBehind && !keep) {
        ++counters_.skipped_syncing;
        return;
    }
    if (busy_ || scheduled_) {
        ++counters_.skipped_busy;
        std::uint64_t skipped = 0;
        if (skips_.allow(RepeatGuard::Clock::now(), skipped)) {
            log_.warn("no snapshot at block={}: the one before is still being made; skipped={}",
                      block->header.height,
                      skipped);
        }
        return;
    }
    scheduled_ = Job{StateCapture{block, before_, since_}, keep, {}};
    ready_.notify_all();
}

void SnapshotService::run() {
    name_this_thread("bor-snapshot");
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
    std::unique_lock lock(mutex_);
    while (true) {
        ready_.wait(lock, [this] { return stopping_ || scheduled_ || !waiting_.empty(); });
        if (stopping_) return;
        Job job;
        if (scheduled_) {
            job = *std::exchange(scheduled_, std::nullopt);
        } else {
            job.keep = true;
            job.answered.swap(waiting_);
        }
        busy_ = true;
        began_ = std::chrono::steady_clock::now();
        lock.unlock();
        carry_out(std::move(job));
        lock.lock();
        busy_ = false;
    }
}

void SnapshotService::carry_out(Job job) {
    const auto began = std::chrono::steady_clock::now();
    const auto made = make(job);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - began);
    if (made) {
        log_.info("snapshot={} block={} rows={} bytes={} on disk={} ms={}",
                  made->name,
                  made->head.height,
                  made->head.rows,
                  made->head.bytes,
                  made->packed_bytes,
                  took.count());
    } else {
        log_.error("no snapshot: {}", made.error().detail);
    }
    if (auto kept = store_->keep_newest(std::max<std::size_t>(options_.keep, 1)); !kept) {
        log_.warn("old snapshots stay: {}", kept.error().detail);
    }
    if (made) {
        if (auto done = schedule_->forget_before(made->head.height + 1); !done) {
            log_.warn("the schedule of snapshots is not stored: {}", done.error().detail);
        }
    }
    {
        const std::scoped_lock lock(mutex_);
        ++(made ? counters_.made : counters_.failed);
    }
    for (const Answered& answered : job.answered)
        answered(made);
}

base::Result<SnapshotStore::Listed> SnapshotService::make(Job& job) {
    if (!job.capture) {
        auto capture = capture_final(storage_.snapshot());
        if (!capture) return fail(capture.error());
        job.capture = *std::move(capture);
    }
    SnapshotWriter writer(
        *store_, [this] { return storage_.snapshot(); }, stopping_);
    SnapshotWriter::Options how;
    how.chain_id = options_.chain_id;
    how.bytes_per_second = options_.bytes_per_second;
    how.keep = job.keep;
    return writer.write(*job.capture, how);
}

}  // namespace node
