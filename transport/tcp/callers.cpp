#include "transport/tcp/callers.hpp"

#include <algorithm>

namespace transport::tcp {

Callers::Standing Callers::arrive(ChannelId channel,
                                  const std::string& origin,
                                  base::Timestamp now) {
    const auto known = known_.find(origin);
    if (known != known_.end() && now - known->second.seen_at < kKnownFor) {
        if (!known->second.bucket.take(now, 1)) return Standing::too_often;
        first_.push_back(channel);
        return Standing::known;
    }
    if (!bucket_of(origin).take(now, 1)) return Standing::too_often;
    std::deque<ChannelId>& waiting = waiting_[origin];
    if (waiting.empty()) turns_.push_back(origin);
    waiting.push_back(channel);
    return Standing::stranger;
}

base::TokenBucket& Callers::bucket_of(const std::string& origin) {
    if (const auto found = others_.find(origin); found != others_.end()) return found->second;
    if (others_.size() >= kOriginsMax) {
        others_.erase(oldest_.front());
        oldest_.pop_front();
    }
    oldest_.push_back(origin);
    return others_.emplace(origin, base::TokenBucket(rates_.of_origin)).first->second;
}

std::optional<ChannelId> Callers::next(base::Timestamp now) {
    if (!first_.empty()) {
        const ChannelId channel = first_.front();
        first_.pop_front();
        return channel;
    }
    if (turns_.empty() || !strangers_.take(now, 1)) return {};
    const auto turn = waiting_.find(turns_.front());
    turns_.pop_front();
    const ChannelId channel = turn->second.front();
    turn->second.pop_front();
    if (turn->second.empty()) {
        waiting_.erase(turn);
    } else {
        turns_.push_back(turn->first);
    }
    return channel;
}

void Callers::remove(ChannelId channel) {
    std::erase(first_, channel);
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        std::erase(at->second, channel);
        if (at->second.empty()) {
            std::erase(turns_, at->first);
            at = waiting_.erase(at);
        } else {
            ++at;
        }
    }
}

void Callers::note_known(const std::string& origin, base::Timestamp now) {
    if (const auto known = known_.find(origin); known != known_.end()) {
        known->second.seen_at = now;
        return;
    }
    if (known_.size() >= kOriginsMax) {
        const auto seen_at = [](const auto& item) { return item.second.seen_at; };
        known_.erase(std::ranges::min_element(known_, {}, seen_at));
    }
    known_.emplace(origin, Known{base::TokenBucket(rates_.of_known_origin), now});
}

}  // namespace transport::tcp
