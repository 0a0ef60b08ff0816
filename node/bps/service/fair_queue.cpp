#include "node/bps/service/fair_queue.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace bps {

// Who comes back has not saved up time while others worked, and still owes what it had before.
void FairQueue::put(Tenant tenant, Item item) {
    Line& line = lines_[tenant];
    if (line.items.empty()) {
        resting_.erase({line.had, tenant});
        line.had = std::max(line.had, now_);
        ready_.emplace(line.had, tenant);
    }
    line.items.push_back(std::move(item));
}

FairQueue::Next FairQueue::take() {
    CHECK(!ready_.empty());
    const auto [had, tenant] = *ready_.begin();
    now_ = had;
    Line& line = lines_.at(tenant);
    Next next{.tenant = tenant, .item = std::move(line.items.front())};
    line.items.pop_front();
    if (line.items.empty()) resting_.insert(ready_.extract(ready_.begin()));
    return next;
}

void FairQueue::hold_first(std::int64_t until) {
    CHECK(!ready_.empty());
    const Tenant tenant = ready_.extract(ready_.begin()).value().second;
    held_.emplace(until, tenant);
}

void FairQueue::release(std::int64_t now) {
    while (!held_.empty() && held_.begin()->first <= now) {
        const Tenant tenant = held_.extract(held_.begin()).value().second;
        Line& line = lines_.at(tenant);
        line.had = std::max(line.had, now_);
        ready_.emplace(line.had, tenant);
    }
}

std::optional<std::int64_t> FairQueue::next_release() const {
    return held_.empty() ? std::nullopt : std::optional(held_.begin()->first);
}

void FairQueue::charge(Tenant tenant, Time cost) {
    Line& line = lines_.at(tenant);
    Places& places = places_of(line);
    places.erase({line.had, tenant});
    line.had += cost;
    places.emplace(line.had, tenant);
    forget_rested();
}

void FairQueue::forget_rested() {
    while (!resting_.empty() && resting_.begin()->first <= now_) {
        lines_.erase(resting_.begin()->second);
        resting_.erase(resting_.begin());
    }
}

}  // namespace bps
