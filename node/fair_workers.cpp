#include "node/fair_workers.hpp"

#include "node/worker_pool.hpp"

#include <sys/resource.h>

#include <unistd.h>
#include <utility>

namespace node {

namespace {

// What runs here may burn a processor for all of its time: everything else goes first.
constexpr int kNice = 19;

}  // namespace

FairWorkers::FairWorkers(const Options& options) : options_(options) {
    for (unsigned i = 0; i < options_.threads; ++i)
        threads_.emplace_back([this, i] { run(i); });
}

FairWorkers::~FairWorkers() {
    stop();
}

bool FairWorkers::post(const std::string& client, Job job) {
    {
        const std::scoped_lock lock(mutex_);
        if (is_stopping_ || waiting_ >= options_.waiting_max) return false;
        Client& of = clients_[client];
        if (of.jobs.size() >= options_.waiting_by_client) return false;
        of.jobs.push_back(std::move(job));
        ++waiting_;
        if (!of.is_running && of.jobs.size() == 1) turns_.push_back(client);
    }
    ready_.notify_one();
    return true;
}

void FairWorkers::stop() {
    std::map<std::string, Client> dropped;
    {
        const std::scoped_lock lock(mutex_);
        is_stopping_ = true;
        // Not destroyed under the lock: a job may hold what answers when it goes.
        for (auto& [client, of] : clients_)
            dropped[client].jobs.swap(of.jobs);
        turns_.clear();
        waiting_ = 0;
    }
    ready_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
    threads_.clear();
}

void FairWorkers::run(std::size_t thread) {
    name_this_thread("bor-dry-run");
    // Without it the jobs run all the same.
    static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice));
    std::unique_lock lock(mutex_);
    while (true) {
        ready_.wait(lock, [this] { return is_stopping_ || !turns_.empty(); });
        if (is_stopping_) return;
        const std::string client = std::move(turns_.front());
        turns_.pop_front();
        Client& of = clients_.at(client);
        Job job = std::move(of.jobs.front());
        of.jobs.pop_front();
        of.is_running = true;
        --waiting_;
        lock.unlock();
        job(thread);
        job = nullptr;
        lock.lock();
        of.is_running = false;
        if (of.jobs.empty()) {
            clients_.erase(client);
            continue;
        }
        // Behind all who wait. This thread goes on, so that nobody need be woken.
        turns_.push_back(client);
    }
}

}  // namespace node
