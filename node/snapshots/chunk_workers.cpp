#include "node/snapshots/chunk_workers.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace node {

namespace {

constexpr auto kShowsEvery = std::chrono::seconds(1);

}  // namespace

base::Result<void> ChunkWorkers::run(unsigned workers,
                                     std::size_t jobs,
                                     const Job& job,
                                     const ShowProgress& show) {
    running_ = std::max(1U, workers);
    std::vector<std::thread> threads;
    for (unsigned i = running_; i > 0; --i)
        threads.emplace_back([&, jobs] { work(jobs, job); });
    watch(show);
    for (std::thread& thread : threads)
        thread.join();
    return outcome_;
}

void ChunkWorkers::count(const genesis::ChunkInfo& chunk) {
    ++chunks_;
    bytes_ += chunk.bytes;
}

void ChunkWorkers::work(std::size_t jobs, const Job& job) {
    while (!failed_) {
        const std::size_t number = next_++;
        if (number >= jobs) break;
        auto done = job(number);
        if (done) continue;
        const std::scoped_lock lock(mutex_);
        if (outcome_) outcome_ = std::move(done);
        failed_ = true;
    }
    {
        const std::scoped_lock lock(mutex_);
        --running_;
    }
    ended_.notify_one();
}

void ChunkWorkers::watch(const ShowProgress& show) {
    const auto began = std::chrono::steady_clock::now();
    const auto progress = [&] {
        return ChunkProgress{chunks_,
                             folder_.manifest().chunks.size(),
                             bytes_,
                             folder_.head().bytes,
                             std::chrono::duration_cast<std::chrono::milliseconds>(
                                 std::chrono::steady_clock::now() - began)};
    };
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kShowsEvery, [this] { return running_ == 0; })) {
        if (show) show(progress());
    }
    if (show && outcome_) show(progress());
}

}  // namespace node
