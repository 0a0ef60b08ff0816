#include "p2p/certified.hpp"

#include <algorithm>

namespace p2p {

void CertifiedBranches::add(const chain::BlockId& id, PeerSlot holder) {
    for (Branch& branch : branches_) {
        if (std::ranges::find(branch.ids, id) == branch.ids.end()) continue;
        branch.holders.add(holder);
        return;
    }
    if (branches_.size() >= kBranchesMax) branches_.pop_front();
    branches_.push_back({.ids = {id}, .holders = PeerSet::of(holder)});
}

void CertifiedBranches::note_holder(const chain::BlockId& id, PeerSlot holder) {
    for (Branch& branch : branches_) {
        if (branch.ids.front() == id) branch.holders.add(holder);
    }
}

void CertifiedBranches::extend(Branch& branch, const chain::BlockId& id) {
    for (const Branch& other : branches_) {
        const auto at = std::ranges::find(other.ids, id);
        if (&other == &branch || at == other.ids.end()) continue;
        branch.ids.insert(branch.ids.end(), at, other.ids.end());
        branch.parent = other.parent;
        branch.holders.add(other.holders);
        return;
    }
    branch.ids.push_back(id);
}

bool CertifiedBranches::contains(const chain::BlockId& id) const {
    return std::ranges::any_of(branches_, [&](const Branch& branch) {
        return std::ranges::find(branch.ids, id) != branch.ids.end();
    });
}

void CertifiedBranches::forget(PeerSlot slot) {
    for (Branch& branch : branches_)
        branch.holders.remove(slot);
}

}  // namespace p2p
