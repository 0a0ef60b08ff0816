#include "p2p/wants.hpp"

#include <algorithm>
#include <iterator>

namespace p2p {

void Wants::add(const chain::BlockId& id, PeerSet from, base::Timestamp due) {
    PeerSet counted;
    from.for_each([&](PeerSlot slot) {
        if (named_.at(slot) < kOfPeerMax) counted.add(slot);
    });
    if (counted.empty() && !from.empty()) return;
    auto at = entries_.find(id);
    if (at == entries_.end()) {
        if (entries_.size() >= kMax && !make_room(counted)) return;
        at = entries_.emplace(id, Want{.due = due, .departures = departures_.count()}).first;
    }
    Want& want = current(at->second);
    counted.for_each([&](PeerSlot slot) {
        if (want.candidates.has(slot)) return;
        want.candidates.add(slot);
        ++named_.at(slot);
    });
}

void Wants::hurry(const chain::BlockId& id, PeerSlot sender, base::Timestamp now) {
    const auto at = entries_.find(id);
    if (at == entries_.end()) return;
    Want& want = current(at->second);
    if (!want.candidates.has(sender) || want.tried.has(sender)) return;
    want.first.add(sender);
    want.due = std::min(want.due, now);
}

bool Wants::make_room(PeerSet from) {
    const auto most = std::ranges::max_element(named_);
    const auto slot = static_cast<PeerSlot>(most - named_.begin());
    bool has_less = from.empty();
    from.for_each([&](PeerSlot each) { has_less = has_less || named_.at(each) + 1 < *most; });
    if (!has_less) return false;
    for (auto at = entries_.end(); at != entries_.begin();) {
        --at;
        if (!current(at->second).candidates.has(slot)) continue;
        erase(at);
        return true;
    }
    return false;
}

Wants::Entries::iterator Wants::erase(Entries::iterator at) {
    current(at->second).candidates.for_each([this](PeerSlot slot) { --named_.at(slot); });
    return entries_.erase(at);
}

void Wants::erase(const chain::BlockId& id) {
    const auto at = entries_.find(id);
    if (at != entries_.end()) erase(at);
}

void Wants::forget(PeerSlot slot) {
    departures_.note(slot);
    named_.at(slot) = 0;
}

Wants::Want& Wants::current(Want& want) const {
    const PeerSet gone = departures_.since(want.departures);
    want.candidates.remove(gone);
    want.tried.remove(gone);
    want.first.remove(gone);
    want.departures = departures_.count();
    return want;
}

}  // namespace p2p
