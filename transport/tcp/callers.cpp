#include "transport/tcp/callers.hpp"

#include <algorithm>

namespace transport::tcp {

// --- A line ---------------------------------------------------------------------------------

std::optional<Handshakes::Victim> Callers::Line::put(ChannelId channel, const std::string& origin) {
    auto gives_way = bounds_.make_room(origin);
    if (gives_way) remove(gives_way->channel);
    bounds_.add(channel, origin);
    std::deque<ChannelId>& waiting = waiting_[origin];
    if (waiting.empty()) turns_.push_back(origin);
    waiting.push_back(channel);
    return gives_way;
}

std::optional<ChannelId> Callers::Line::take(base::Timestamp now) {
    if (turns_.empty() || !rate_.take(now, 1)) return {};
    const auto turn = waiting_.find(turns_.front());
    turns_.pop_front();
    const ChannelId channel = turn->second.front();
    turn->second.pop_front();
    if (turn->second.empty()) {
        waiting_.erase(turn);
    } else {
        turns_.push_back(turn->first);
    }
    bounds_.remove(channel);
    return channel;
}

void Callers::Line::remove(ChannelId channel) {
    bounds_.remove(channel);
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

// --- Both -----------------------------------------------------------------------------------

Callers::Arrival Callers::arrive(ChannelId channel,
                                 const std::string& origin,
                                 base::Timestamp now) {
    Known* known = find_known(origin, now);
    base::TokenBucket& bucket = known == nullptr ? bucket_of(origin) : known->bucket;
    if (!bucket.take(now, 1)) return {.is_too_often = true};
    return {.gives_way = (known == nullptr ? line_ : known_line_).put(channel, origin)};
}

std::optional<Callers::Turn> Callers::next(base::Timestamp now) {
    if (const auto known = known_line_.take(now)) return Turn{*known, true};
    if (const auto stranger = line_.take(now)) return Turn{*stranger, false};
    return {};
}

void Callers::remove(ChannelId channel) {
    known_line_.remove(channel);
    line_.remove(channel);
}

Callers::Known* Callers::find_known(const std::string& origin, base::Timestamp now) {
    const auto found = known_.find(origin);
    if (found == known_.end() || now - found->second.seen_at >= kKnownFor) return nullptr;
    return &found->second;
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
