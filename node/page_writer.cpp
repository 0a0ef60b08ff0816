#include "node/page_writer.hpp"

#include "base/check.hpp"
#include "node/worker_pool.hpp"

#include <utility>

namespace node {

PageWriter::PageWriter(base::AppendLog& log) : log_(log), thread_([this] { run(); }) {}

PageWriter::~PageWriter() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void PageWriter::begin(base::Bytes page) {
    {
        const std::scoped_lock lock(mutex_);
        CHECK(!page_ && !outcome_);
        page_ = std::move(page);
    }
    changed_.notify_all();
}

base::Result<void> PageWriter::finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return outcome_.has_value(); });
    return *std::exchange(outcome_, std::nullopt);
}

void PageWriter::run() {
    name_this_thread("bor-journal");
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return stopping_ || page_.has_value(); });
        if (!page_) return;
        const base::Bytes page = *std::exchange(page_, std::nullopt);
        lock.unlock();
        base::Result<void> outcome = log_.append_page(page);
        lock.lock();
        outcome_ = std::move(outcome);
        changed_.notify_all();
    }
}

}  // namespace node
