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
constexpr std::uint64_t kHour = 3'600'000;  // Milliseconds.
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
    if (busy_ || !scheduled_.empty()) {
        const auto since = busy_ ? began_ : scheduled_.front().since;
        const auto passed = std::chrono::steady_clock::now() - since;
        counters.making_ms = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(passed).count() + 1);
    }
    return counters;
}

std::optional<chain::Height> SnapshotService::newest_at_rest() const {
    {
        const std::scoped_lock lock(mutex_);
        if (busy_ || !scheduled_.empty() || !waiting_.empty()) return std::nullopt;
    }
    const auto listed = store_->list();
    return listed.empty() ? std::nullopt : std::optional(listed.back().head.height);
}

bool SnapshotService::is_wanted(const chain::ExecutedBlock& block, bool& keep) const {
    const chain::Height height = block.block->header.height;
    keep = schedule_->names(height);
    if (keep) return true;
    const std::uint64_t period = block.snapshot_period != 0
                                     ? block.snapshot_period
                                     : kHour / options_.times.interval_milliseconds;
    return options_.keep != 0 && height % (period * options_.every) == 0;
}

void SnapshotService::on_finalized(const effect::Finalized& finalized) {
    if (before_ != finalized.before) {
        before_ = finalized.before;
        since_.clear();
    }
    since_.push_back(finalized.block->changes);
    bool keep = false;
    const chain::BlockPtr& block = finalized.block->block;
    if (is_wanted(*finalized.block, keep)) begin(block, keep);
    // Not before it waits: what is below is past.
    if (told_.exchange(block->header.height) == 0) {
        const std::scoped_lock lock(mutex_);
        has_begun_ = true;
        ready_.notify_all();
    }
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
    const bool has_room = keep ? scheduled_.size() < kWaitingMax : !busy_ && scheduled_.empty();
    if (!has_room) return say_skipped(block->header.height);
    scheduled_.push_back(
        {StateCapture{block, before_, since_}, keep, {}, std::chrono::steady_clock::now()});
    ready_.notify_all();
}

void SnapshotService::say_skipped(chain::Height height) {
    ++counters_.skipped_busy;
    std::uint64_t skipped = 0;
    if (skips_.allow(RepeatGuard::Clock::now(), skipped)) {
        log_.warn("no snapshot at block={}: one is still being made, waiting={}; skipped={}",
                  height,
                  scheduled_.size(),
                  skipped);
    }
}

// Those that waited, or wait still, are not past.
void SnapshotService::forget_passed() {
    chain::Height next = told_ + 1;
    {
        const std::scoped_lock lock(mutex_);
        if (!scheduled_.empty()) next = scheduled_.front().capture->block->header.height;
    }
    const auto gone = schedule_->forget_before(next);
    if (!gone) log_.warn("the schedule of snapshots is not stored: {}", gone.error().detail);
    if (!gone) return;
    for (const SnapshotRequest& each : *gone) {
        if (each.spacing != 0 || store_->find(each.start)) continue;
        log_.warn(
            "snapshot request={} of block={} is dropped: none was made of it, the block is "
            "past; 'bor-cli snapshot create' makes one of now",
            each.id,
            each.start);
    }
}

void SnapshotService::run() {
    name_this_thread("bor-snapshot");
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
    std::unique_lock lock(mutex_);
    while (true) {
        ready_.wait(lock, [this] {
            return stopping_ || has_begun_ || !scheduled_.empty() || !waiting_.empty();
        });
        if (stopping_) return;
        if (std::exchange(has_begun_, false)) {
            // What was asked for while the node did not run.
            lock.unlock();
            forget_passed();
            lock.lock();
            continue;
        }
        Job job;
        if (!scheduled_.empty()) {
            job = std::move(scheduled_.front());
            scheduled_.pop_front();
        } else {
            job.keep = true;
            job.answered.swap(waiting_);
            job.since = std::chrono::steady_clock::now();
        }
        busy_ = true;
        began_ = job.since;
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
        const auto* const block = job.capture ? job.capture->block.get() : nullptr;
        log_.error("no snapshot of block={}: {}",
                   block == nullptr ? 0 : block->header.height,
                   made.error().detail);
    }
    if (auto kept = store_->keep_newest(std::max<std::size_t>(options_.keep, 1)); !kept) {
        log_.warn("old snapshots stay: {}", kept.error().detail);
    }
    if (!stopping_) forget_passed();
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
