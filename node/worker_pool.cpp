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
    {
        const std::scoped_lock lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    ready_.notify_one();
}

void WorkerPool::post_first(std::function<void()> job) {
    {
        const std::scoped_lock lock(mutex_);
        jobs_.push_front(std::move(job));
    }
    ready_.notify_one();
}

std::size_t WorkerPool::queued() const {
    const std::scoped_lock lock(mutex_);
    return jobs_.size();
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
        ready_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        const std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
    }
}

}  // namespace node
