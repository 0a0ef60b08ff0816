#include "node/findings_watch.hpp"

#include "node/free_memory.hpp"
#include "node/worker_pool.hpp"

#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>

namespace node {

namespace {
constexpr auto kEvery = std::chrono::seconds(1);
constexpr int kLooksToTidy = 20;  // From one look at the free memory to the next.
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
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void FindingsWatch::stop() {
    thread_ = std::jthread();
}

void FindingsWatch::run(const std::stop_token& stop) {
    name_this_thread("bor-watch");
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    for (int looks = 1;; ++looks) {
        woken.wait_for(lock, stop, kEvery, [] { return false; });
        if (stop.stop_requested()) return;
        log_.note(diagnose_());
        if (looks % kLooksToTidy == 0) give_back_free_memory();
    }
}

}  // namespace node
