#include "node/worker_pool.hpp"

#include <pthread.h>
#include <utility>

namespace node {

void name_this_thread(const char* name) {
    pthread_setname_np(pthread_self(), name);
}

WorkerPool::WorkerPool(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) {
        threads_.emplace_back([this] { run(); });
    }
}

WorkerPool::~WorkerPool() {
    stop();
}

void WorkerPool::post(std::function<void()> job) {
    post(jobs_, std::move(job));
}

void WorkerPool::post_urgent(std::function<void()> job) {
    post(urgent_, std::move(job));
}

void WorkerPool::post_of_peer(const base::crypto::PublicKey& peer, std::function<void()> job) {
    {
        const std::scoped_lock lock(mutex_);
        Jobs& jobs = of_peers_[peer];
        if (jobs.empty()) turns_.push_back(peer);
        jobs.push_back(std::move(job));
        ++of_peers_waiting_;
    }
    ready_.notify_one();
}

void WorkerPool::post(Jobs& jobs, std::function<void()> job) {
    {
        const std::scoped_lock lock(mutex_);
        jobs.push_back(std::move(job));
    }
    ready_.notify_one();
}

std::size_t WorkerPool::queued() const {
    const std::scoped_lock lock(mutex_);
    return urgent_.size() + jobs_.size() + of_peers_waiting_;
}

void WorkerPool::stop() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    ready_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
    threads_.clear();
}

std::function<void()> WorkerPool::take() {
    if (!urgent_.empty()) return take_first(urgent_);
    const bool is_turn_of_peers = jobs_.empty() || runs_before_ >= kRunsBefore;
    if (is_turn_of_peers && !turns_.empty()) return take_of_peer();
    ++runs_before_;
    return take_first(jobs_);
}

std::function<void()> WorkerPool::take_of_peer() {
    runs_before_ = 0;
    --of_peers_waiting_;
    const auto found = of_peers_.find(turns_.front());
    std::function<void()> job = take_first(found->second);
    // Behind all peers that wait.
    if (found->second.empty()) {
        of_peers_.erase(found);
    } else {
        turns_.push_back(std::move(turns_.front()));
    }
    turns_.pop_front();
    return job;
}

std::function<void()> WorkerPool::take_first(Jobs& jobs) {
    std::function<void()> job = std::move(jobs.front());
    jobs.pop_front();
    return job;
}

void WorkerPool::run() {
    name_this_thread("bor-worker");
    while (true) {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return stopping_ || is_any(); });
        if (!is_any()) return;
        const std::function<void()> job = take();
        lock.unlock();
        job();
    }
}

}  // namespace node
