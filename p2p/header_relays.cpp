#include "p2p/header_relays.hpp"

#include "chain/types/rule.hpp"

#include <iterator>

namespace p2p {

namespace {

constexpr std::size_t kWaitingMax = 64;
constexpr base::Duration kTryAgain = std::chrono::milliseconds(100);

}  // namespace

HeaderRelays::HeaderRelays(std::uint32_t interval_milliseconds)
    : bucket_(relayed_headers(slots_of_second(interval_milliseconds))) {}

// Pairs that were forgotten may go on again: the bucket bounds them.
bool HeaderRelays::is_one_of_two(const Key& key, const chain::BlockId& id) {
    if (chain::is_left_out(chain::Rule::two_headers_go_on)) return true;
    return two_.take(key, id);
}

void HeaderRelays::add(const Key& key, const chain::BlockId& id, SharedBytes message) {
    if (!is_one_of_two(key, id)) return;
    waiting_[{key.slot, id}] = std::move(message);
    if (waiting_.size() > kWaitingMax) waiting_.erase(waiting_.begin());
}

bool HeaderRelays::may_go(base::Timestamp now, const Key& key, const chain::BlockId& id) {
    return is_one_of_two(key, id) && bucket_.take(now, 1);
}

std::optional<HeaderRelays::Next> HeaderRelays::take(base::Timestamp now) {
    if (waiting_.empty()) return {};
    if (!bucket_.take(now, 1)) {
        again_ = now + kTryAgain;
        return {};
    }
    auto newest = waiting_.extract(std::prev(waiting_.end()));
    return Next{newest.key().second, std::move(newest.mapped())};
}

std::optional<base::Timestamp> HeaderRelays::next_time() const {
    if (waiting_.empty()) return {};
    return again_;
}

}  // namespace p2p
