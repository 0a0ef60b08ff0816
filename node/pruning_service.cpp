#include "node/pruning_service.hpp"

#include "node/logging.hpp"
#include "node/runtime.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace node {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kEvery = std::chrono::seconds(2);
constexpr auto kAfterFailure = std::chrono::seconds(30);
constexpr int kNice = 10;

}  // namespace

base::Result<std::unique_ptr<PruningService>> PruningService::open(RocksDbStorage& storage,
                                                                   const chain::PruningRules& rules,
                                                                   Environment environment,
                                                                   const base::Log& log) {
    auto pruning = Pruning::open(storage, rules);
    if (!pruning) return base::fail(pruning.error());
    std::unique_ptr<PruningService> made(
        new PruningService(*std::move(pruning), std::move(environment), log));
    made->planned_ = made->pruning_->floor();
    made->counters_.earliest = made->pruning_->floor().blocks;
    made->counters_.earliest_traces = made->pruning_->floor().traces;
    return made;
}

void PruningService::start() {
    thread_ = std::thread([this] { run(); });
}

void PruningService::stop() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    woken_.notify_all();
    if (thread_.joinable()) thread_.join();
}

PruningService::Counters PruningService::counters() const {
    const std::scoped_lock lock(mutex_);
    return counters_;
}

bool PruningService::rest(Clock::duration time) {
    std::unique_lock lock(mutex_);
    return !woken_.wait_for(lock, time, [this] { return stopping_; });
}

void PruningService::run() {
    name_this_thread("bor-prune");
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
    Clock::duration wait = kEvery;
    while (rest(wait)) {
        const auto began = Clock::now();
        const auto done = pass();
        wait = done ? Clock::duration(kEvery) : Clock::duration(kAfterFailure);
        if (!done) log_.warn("pruning failed error={}", done.error().detail);
        if (done && *done) {
            log_.info("pruned earliest={} earliest_traces={} ms={}",
                      pruning_->floor().blocks,
                      pruning_->floor().traces,
                      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began)
                          .count());
        }
        const std::scoped_lock lock(mutex_);
        if (done && *done) ++counters_.passes;
        if (!done) ++counters_.failed;
        counters_.earliest = pruning_->floor().blocks;
        counters_.earliest_traces = pruning_->floor().traces;
    }
}

base::Result<bool> PruningService::pass() {
    // What was planned before: who heard of it asks for none of these blocks any more.
    const chain::Height before = pruning_->floor().blocks;
    if (auto done = pruning_->raise(planned_); !done) return base::fail(done.error());
    if (pruning_->floor().blocks > before) environment_.on_pruned(pruning_->floor().blocks);
    auto next = pruning_->plan(environment_.snapshot());
    if (!next) return base::fail(next.error());
    if (next->blocks > planned_.blocks) environment_.on_planned(next->blocks);
    planned_ = *std::move(next);
    auto since = Clock::now();
    return pruning_->reclaim(steady_time(), [&] {
        // Others may want the disk and the cores.
        const bool goes_on = rest(Clock::now() - since);
        since = Clock::now();
        return goes_on;
    });
}

}  // namespace node
