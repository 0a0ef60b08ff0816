#include "tests/sim/files/background_jobs.hpp"

#include <rocksdb/env.h>

#include <utility>

namespace sim {

struct BackgroundJobs::Job {
    std::shared_ptr<BackgroundJobs> jobs;
    std::uint64_t number;
    void (*run)(void*);
    void (*drop)(void*);
    void* argument;

    static void done(void* self) {
        const std::unique_ptr<Job> job(static_cast<Job*>(self));
        job->jobs->wait_for_turn(job->number);
        job->run(job->argument);
        job->jobs->remove(job->number);
    }
    static void dropped(void* self) {
        const std::unique_ptr<Job> job(static_cast<Job*>(self));
        if (job->drop != nullptr) job->drop(job->argument);
        job->jobs->remove(job->number);
    }
};

class BackgroundJobs::Ordered final : public rocksdb::EnvWrapper {
  public:
    Ordered(const std::shared_ptr<rocksdb::Env>& environment, std::shared_ptr<BackgroundJobs> jobs)
        : EnvWrapper(environment), jobs_(std::move(jobs)) {}

    [[nodiscard]] const char* Name() const override { return "OrderedJobs"; }
    void Schedule(void (*run)(void*),
                  void* argument,
                  Priority priority,
                  void* tag,
                  void (*drop)(void*)) override {
        auto job = std::make_unique<Job>(Job{jobs_, jobs_->add(), run, drop, argument});
        EnvWrapper::Schedule(&Job::done, job.release(), priority, tag, &Job::dropped);
    }

  private:
    std::shared_ptr<BackgroundJobs> jobs_;
};

std::shared_ptr<rocksdb::Env> BackgroundJobs::order(
    const std::shared_ptr<rocksdb::Env>& environment, std::shared_ptr<BackgroundJobs> jobs) {
    return std::make_shared<Ordered>(environment, std::move(jobs));
}

void BackgroundJobs::wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_.empty(); });
}

std::uint64_t BackgroundJobs::add() {
    const std::scoped_lock lock(mutex_);
    open_.insert(++last_);
    return last_;
}

void BackgroundJobs::wait_for_turn(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return *open_.begin() == number; });
}

void BackgroundJobs::remove(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    open_.erase(number);
    changed_.notify_all();
}

}  // namespace sim
