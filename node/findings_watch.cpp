#include "node/findings_watch.hpp"

#include "node/worker_pool.hpp"

#include <chrono>
#include <iterator>

namespace node {

namespace {
constexpr auto kEvery = std::chrono::seconds(1);
}  // namespace

void FindingsLog::note(const std::vector<api::Finding>& findings) {
    std::map<Key, const api::Finding*> present;
    for (const api::Finding& each : findings) {
        const Key key{each.kind, each.who};
        present.emplace(key, &each);
        entries_.try_emplace(key);
    }
    for (auto at = entries_.begin(); at != entries_.end();) {
        auto& [key, entry] = *at;
        const auto found = present.find(key);
        const bool is_present = found != present.end();
        entry.looks = is_present == entry.is_told ? 0 : entry.looks + 1;
        if (entry.looks >= kLooks) {
            entry = {.is_told = is_present};
            if (is_present) {
                log_.warn("{}: {}", to_string(key.first), found->second->text);
            } else {
                log_.info("{} is over{}{}",
                          to_string(key.first),
                          key.second.empty() ? "" : ": ",
                          key.second);
            }
        }
        const bool is_gone = !is_present && !entry.is_told;
        at = is_gone ? entries_.erase(at) : std::next(at);
    }
}

void FindingsWatch::start() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = false;
    }
    thread_ = std::thread([this] { run(); });
}

void FindingsWatch::stop() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    woken_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void FindingsWatch::run() {
    name_this_thread("bor-watch");
    std::unique_lock lock(mutex_);
    while (!woken_.wait_for(lock, kEvery, [this] { return stopping_; })) {
        lock.unlock();
        log_.note(diagnose_());
        lock.lock();
    }
}

}  // namespace node
