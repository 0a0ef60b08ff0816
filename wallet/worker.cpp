#include "wallet/worker.hpp"

#include <utility>

namespace wallet {

Worker::Worker(std::size_t jobs_max, Job tick)
    : jobs_max_(jobs_max), tick_(std::move(tick)), thread_([this] { run(); }) {}

Worker::~Worker() {
    {
        const std::lock_guard guard(mutex_);
        ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

bool Worker::post(Job job) {
    {
        const std::lock_guard guard(mutex_);
        if (ending_ || jobs_.size() >= jobs_max_) return false;
        jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
    return true;
}

void Worker::run() {
    constexpr std::chrono::seconds kTick{1};
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait_for(lock, kTick, [this] { return ending_ || !jobs_.empty(); });
        if (jobs_.empty()) {
            if (ending_) return;
            lock.unlock();
            tick_();
            lock.lock();
            continue;
        }
        const Job job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        lock.lock();
    }
}

}  // namespace wallet
