#include "p2p/two_of_slot.hpp"

#include <algorithm>

namespace p2p {

namespace {
constexpr std::size_t kPairsMax = 1'024;
}  // namespace

bool TwoOfSlot::take(const Key& key, const chain::BlockId& id) {
    Pair& pair = pairs_[key];
    const auto end = pair.ids.begin() + static_cast<std::ptrdiff_t>(pair.count);
    const bool is_known = std::find(pair.ids.begin(), end, id) != end;
    const bool has_room = pair.count < pair.ids.size();
    if (!is_known && has_room) pair.ids.at(pair.count++) = id;
    if (pairs_.size() > kPairsMax) pairs_.erase(pairs_.begin());
    return is_known || has_room;
}

}  // namespace p2p
