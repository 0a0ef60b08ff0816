#pragma once

#include "chain/types/evidence.hpp"
#include "chain/types/vote.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <vector>

namespace consensus {

// The last votes that were seen of each validator: to count votes that came before their block,
// to answer hello, and to find two that no honest validator casts together.
//
// Bounded: kKept votes of each kind of a key; keys are those the caller lets in. Allocates
// nothing for a key that is known.
class VoteHistory {
  public:
    static constexpr std::size_t kKept = 8;

    // Notes a vote whose signature was checked, unless it is older than all that is kept of its
    // key.
    void add(const chain::Vote& vote);
    [[nodiscard]] bool knows(const base::crypto::PublicKey& key) const {
        return keys_.contains(key);
    }
    // The vote of this key with exactly this data; null: not kept.
    [[nodiscard]] const chain::Vote* find(const base::crypto::PublicKey& key,
                                          const chain::VoteData& data) const;
    // The newest vote of each kind.
    [[nodiscard]] std::vector<chain::Vote> newest(const base::crypto::PublicKey& key) const;

    // Calls `visit` with each vote kept of this key.
    template <class Visit>
    void each(const base::crypto::PublicKey& key, Visit visit) const {
        const auto found = keys_.find(key);
        if (found == keys_.end()) return;
        for (const Ring& ring : found->second) {
            for (std::size_t i = 0; i < ring.count; ++i) {
                visit(ring.votes[i]);
            }
        }
    }
    // Forgets the keys for which `keep` is false.
    template <class Keep>
    void forget_others(Keep keep) {
        std::erase_if(keys_, [&](const auto& entry) { return !keep(entry.first); });
    }

  private:
    struct Ring {
        std::array<chain::Vote, kKept> votes;  // The first `count`, in no order.
        std::size_t count = 0;
    };
    std::map<base::crypto::PublicKey, std::array<Ring, 2>> keys_;
};

}  // namespace consensus
