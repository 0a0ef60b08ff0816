#include "p2p/orphans.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace p2p {

bool Orphans::add(PeerSlot from, const chain::BlockPtr& block, base::Timestamp until) {
    if (entries_.contains(block->id)) return true;
    const std::size_t bytes = memory_of(*block);
    if (!make_room(from, bytes)) return false;
    entries_.emplace(block->id, Orphan{from, block, until, bytes});
    children_.emplace(block->header.previous, block->id);
    shares_.add(from, bytes);
    return true;
}

// Of the peer with the most the highest goes: the lowest is of use first.
bool Orphans::make_room(PeerSlot from, std::size_t bytes) {
    while (!shares_.has_room(bytes)) {
        const auto most = shares_.find_most(from, bytes);
        if (!most) return false;
        auto highest = entries_.end();
        for (auto at = entries_.begin(); at != entries_.end(); ++at) {
            if (at->second.from == *most) highest = at;  // Ids begin with the height.
        }
        CHECK(highest != entries_.end());
        erase(highest);
    }
    return true;
}

Orphans::Entries::iterator Orphans::erase(Entries::iterator at) {
    const Orphan& orphan = at->second;
    const auto siblings = children_.equal_range(orphan.block->header.previous);
    const auto child = std::find_if(siblings.first, siblings.second, [&](const auto& each) {
        return each.second == at->first;
    });
    CHECK(child != siblings.second);
    children_.erase(child);
    shares_.remove(orphan.from, orphan.bytes);
    return entries_.erase(at);
}

const chain::Block* Orphans::find(const chain::BlockId& id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second.block.get();
}

std::vector<Orphans::Orphan> Orphans::take_children(const chain::BlockId& parent) {
    std::vector<Orphan> taken;
    for (auto at = children_.find(parent); at != children_.end(); at = children_.find(parent)) {
        const auto child = entries_.find(at->second);
        taken.push_back(child->second);
        erase(child);
    }
    return taken;
}

void Orphans::drop(base::Timestamp now, chain::Height final_height) {
    for (auto at = entries_.begin(); at != entries_.end();) {
        const Orphan& orphan = at->second;
        const bool is_old = orphan.until <= now || orphan.block->header.height <= final_height;
        at = is_old ? erase(at) : std::next(at);
    }
}

void Orphans::forget(PeerSlot slot) {
    for (auto at = entries_.begin(); at != entries_.end();)
        at = at->second.from == slot ? erase(at) : std::next(at);
}

}  // namespace p2p
