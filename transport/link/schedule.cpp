#include "transport/link/schedule.hpp"

#include <algorithm>
#include <utility>

namespace transport::link {

void Schedule::mark_ready(Scheduled& path) {
    if (!std::exchange(path.is_ready_, true)) ready_.push_back(&path);
}

void Schedule::mark_unarmed(Scheduled& path) {
    if (!std::exchange(path.is_unarmed_, true)) unarmed_.push_back(&path);
}

void Schedule::run_at(Scheduled& path, base::Timestamp due) {
    if (!path.due_) waiting_.push_back(&path);
    path.due_ = due;
}

void Schedule::remove(Scheduled& path) {
    std::ranges::replace(ready_, &path, nullptr);
    std::erase(unarmed_, &path);
    std::erase(waiting_, &path);
}

std::size_t Schedule::run(base::Timestamp now, std::size_t budget) {
    std::erase_if(waiting_, [&](Scheduled* path) {
        if (*path->due_ > now) return false;
        path->due_.reset();
        mark_ready(*path);
        return true;
    });
    // Who becomes ready meanwhile comes next time.
    const std::size_t end = ready_.size();
    std::size_t at = 0;
    std::size_t count = 0;
    for (; at < end && count < budget; ++at) {
        Scheduled* path = ready_[at];
        if (path == nullptr) continue;
        path->is_ready_ = false;
        path->run();
        ++count;
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(at));
    return count;
}

bool Schedule::arm() {
    std::swap(arming_, unarmed_);
    for (Scheduled* path : arming_) {
        path->is_unarmed_ = false;
        if (!path->arm()) mark_ready(*path);
    }
    arming_.clear();
    return ready_.empty();
}

std::optional<base::Timestamp> Schedule::wake_at() const {
    std::optional<base::Timestamp> first;
    for (const Scheduled* path : waiting_)
        first = std::min(first.value_or(*path->due_), *path->due_);
    return first;
}

}  // namespace transport::link
