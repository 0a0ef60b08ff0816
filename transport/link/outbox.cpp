#include "transport/link/outbox.hpp"

#include <iterator>
#include <utility>

namespace transport::link {

const Payload& Outbox::add(Queued message) {
    bytes_ += message.payload.size();
    auto& messages = lanes_[static_cast<std::size_t>(message.lane)].messages;
    messages.push_back(std::move(message));
    return messages.back().payload;
}

bool Outbox::cover(const NextNumbers& next) {
    for (std::size_t i = 0; i < kLanes; ++i) {
        const Sent& sent = lanes_[i];
        if (next[i] < sent.first || next[i] > sent.first + sent.messages.size()) return false;
    }
    for (std::size_t i = 0; i < kLanes; ++i) {
        Sent& sent = lanes_[i];
        for (; sent.first < next[i]; ++sent.first) {
            bytes_ -= sent.messages.front().payload.size();
            sent.messages.pop_front();
        }
    }
    return true;
}

std::vector<Queued> Outbox::take_all() {
    std::vector<Queued> out;
    for (Sent& sent : lanes_) {
        std::move(sent.messages.begin(), sent.messages.end(), std::back_inserter(out));
        sent = {};
    }
    bytes_ = 0;
    return out;
}

}  // namespace transport::link
