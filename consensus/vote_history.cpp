#include "consensus/vote_history.hpp"

#include <algorithm>
#include <span>

namespace consensus {

namespace {

chain::Slot slot_of(const chain::Vote& vote) {
    return vote.data.slot;
}

}  // namespace

void VoteHistory::add(const chain::Vote& vote) {
    Ring& ring = keys_[vote.key][index_of(vote.data.kind)];
    const std::span kept(ring.votes.data(), ring.count);
    const bool known =
        std::ranges::any_of(kept, [&](const chain::Vote& one) { return one.data == vote.data; });
    if (known) return;
    if (ring.count < kKept) {
        ring.votes[ring.count++] = vote;
        return;
    }
    const auto oldest = std::ranges::min_element(kept, {}, slot_of);
    if (slot_of(*oldest) <= vote.data.slot) *oldest = vote;
}

const chain::Vote* VoteHistory::find(const base::crypto::PublicKey& key,
                                     const chain::VoteData& data) const {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return nullptr;
    const Ring& ring = found->second[index_of(data.kind)];
    for (std::size_t i = 0; i < ring.count; ++i) {
        if (ring.votes[i].data == data) return &ring.votes[i];
    }
    return nullptr;
}

std::vector<chain::Vote> VoteHistory::newest(const base::crypto::PublicKey& key) const {
    std::vector<chain::Vote> votes;
    const auto found = keys_.find(key);
    if (found == keys_.end()) return votes;
    for (const Ring& ring : found->second) {
        if (ring.count == 0) continue;
        const std::span kept(ring.votes.data(), ring.count);
        votes.push_back(*std::ranges::max_element(kept, {}, slot_of));
    }
    return votes;
}

}  // namespace consensus
