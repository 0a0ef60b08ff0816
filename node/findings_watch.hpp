#pragma once

#include "base/log.hpp"
#include "node/api/diagnosis.hpp"

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace node {

// Says in the log what is wrong with the agreement, once when it comes and once when it has gone.
// What is there in fewer looks than kLooks one after the other is not told of. Not thread-safe.
class FindingsLog {
  public:
    static constexpr int kLooks = 5;

    explicit FindingsLog(const base::Log& log) : log_(log) {}
    // Once a second.
    void note(const std::vector<api::Finding>& findings);

  private:
    struct Entry {
        int looks = 0;  // Without a change of what is to be told.
        bool is_told = false;
    };
    // Texts have numbers that change: a finding is the same by its kind and by who it is about.
    using Key = std::pair<api::Finding::Kind, std::string>;

    base::Log log_;
    std::map<Key, Entry> entries_;
};

// Looks once a second, in a thread of its own between start() and stop(); now and then it gives
// free memory back.
class FindingsWatch : base::Pinned {
  public:
    // On the watch's thread; nothing: not known at the moment.
    using Diagnose = std::function<std::vector<api::Finding>()>;

    FindingsWatch(Diagnose diagnose, const base::Log& log)
        : diagnose_(std::move(diagnose)), log_(log) {}
    void start();
    // Ends the look that is under way; so does destruction.
    void stop();

  private:
    void run(const std::stop_token& stop);

    const Diagnose diagnose_;
    FindingsLog log_;
    std::jthread thread_;
};

}  // namespace node
