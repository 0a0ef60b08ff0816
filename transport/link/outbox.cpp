#include "transport/link/outbox.hpp"

#include <utility>

namespace transport::link {

const Payload& Outbox::add(Queued message, std::uint64_t end) {
    bytes_ += message.payload.size();
    auto& messages = lanes_[static_cast<std::size_t>(message.lane)].messages;
    messages.push_back({std::move(message), end});
    return messages.back().message.payload;
}

void Outbox::pop(Sent& sent) {
    bytes_ -= sent.messages.front().message.payload.size();
    sent.messages.pop_front();
    ++sent.first;
}

void Outbox::cover_to(Lane lane, std::uint64_t position) {
    Sent& sent = lanes_[static_cast<std::size_t>(lane)];
    while (!sent.messages.empty() && sent.messages.front().end <= position)
        pop(sent);
}

bool Outbox::cover(const NextNumbers& next) {
    for (std::size_t i = 0; i < kLanes; ++i) {
        const Sent& sent = lanes_[i];
        if (next[i] < sent.first || next[i] > sent.first + sent.messages.size()) return false;
    }
    for (std::size_t i = 0; i < kLanes; ++i) {
        while (lanes_[i].first < next[i])
            pop(lanes_[i]);
    }
    return true;
}

std::vector<Queued> Outbox::take_all() {
    std::vector<Queued> out;
    for (Sent& sent : lanes_) {
        for (Kept& kept : sent.messages)
            out.push_back(std::move(kept.message));
        sent = {};
    }
    bytes_ = 0;
    return out;
}

}  // namespace transport::link
