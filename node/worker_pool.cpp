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

void WorkerPool::post(Jobs& jobs, std::function<void()> job) {
    {
        const std::scoped_lock lock(mutex_);
        jobs.push_back(std::move(job));
    }
    ready_.notify_one();
}

std::size_t WorkerPool::queued() const {
    const std::scoped_lock lock(mutex_);
    return urgent_.size() + jobs_.size();
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

void WorkerPool::run() {
    name_this_thread("bor-worker");
    while (true) {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return stopping_ || !urgent_.empty() || !jobs_.empty(); });
        Jobs& jobs = urgent_.empty() ? jobs_ : urgent_;
        if (jobs.empty()) return;
        const std::function<void()> job = std::move(jobs.front());
        jobs.pop_front();
        lock.unlock();
        job();
    }
}

}  // namespace node
