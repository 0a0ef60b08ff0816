#pragma once

#include "consensus/consensus.hpp"
#include "tests/sim/consensus/observer.hpp"

#include <array>
#include <deque>
#include <map>
#include <set>
#include <vector>

namespace sim {

// What spec 04 asks of one node by its own clock, and of what it has heard: when it may sign, what
// it may hold, and whom it must accuse. Beside it the Observer has what holds for all together.
class Conduct {
  public:
    // The time of its steps, and what its clock shows.
    struct Moment {
        base::Timestamp now;
        base::Timestamp shown;
    };
    Conduct(const Universe& universe, Observer& observer, base::Duration clock_bound)
        : universe_(universe), observer_(observer), clock_bound_(clock_bound) {}

    // The process starts anew and knows nothing of what it heard.
    void restarts();
    // Until it starts anew, another machine uses the key.
    void meets_twin(const base::crypto::PublicKey& key) { twin_keys_.insert(key); }
    // It has seen a certificate that proves this, and not the block.
    void misses(const chain::VoteData& certified, base::Timestamp now);
    // What a step of the node asks for, before any of it is carried out.
    void asks_for(Moment moment,
                  const consensus::Consensus& node,
                  const consensus::Effects& effects);
    void makes_block(base::Timestamp local, chain::Slot slot);
    void holds_early(base::Timestamp local, base::Timestamp ready_at);
    // A vote comes. Whether it and another of its slot, both of just now, prove that their owner
    // broke a rule, and the node has not said so yet.
    [[nodiscard]] bool is_caught(base::Timestamp local,
                                 const chain::Vote& vote,
                                 const consensus::Consensus& node);
    // It has heard such a vote.
    void must_accuse(const base::crypto::PublicKey& key);
    // It has adopted the block; two of one producer and slot prove something.
    void adopted(base::Timestamp local, const chain::Block& block);
    // It made the certificate, or passes it on.
    void certificate_left(const chain::Certificate& certificate);

  private:
    void check_notarize(Moment moment,
                        const chain::VoteData& vote,
                        const consensus::Consensus& node);
    void check_twin(const base::crypto::PublicKey& key);
    void check_commit(base::Timestamp local,
                      const chain::VoteData& vote,
                      const consensus::Effects& effects);

    const Universe& universe_;
    Observer& observer_;
    base::Duration clock_bound_;
    // Of Byzantine keys, by kind: the votes of the last slots, one a slot.
    using BySlot = std::map<chain::Slot, chain::VoteData>;
    std::map<base::crypto::PublicKey, std::array<BySlot, 2>> heard_;
    chain::BlockId final_{};  // Then, and its version.
    std::uint32_t version_ = 0;
    chain::Slot latest_ = 0;  // That it let in.
    std::set<base::crypto::PublicKey> accused_keys_;
    std::set<chain::Name> accused_producers_;
    std::set<base::crypto::PublicKey> twin_keys_;
    std::deque<chain::BlockHeader> adopted_;  // The last ones.
    chain::BlockRef missing_;  // The highest that it knows to be certified and never had.
    base::Timestamp missing_at_{};
};

}  // namespace sim
