#pragma once

#include "tests/sim/consensus/cluster.hpp"
#include "tests/sim/consensus/forger.hpp"

namespace sim {

// All Byzantine members at once. It sees every block and vote the moment it leaves, signs with
// its own keys only, and chooses who hears of what and when: equivocating and late blocks, old
// parents, double and withheld votes, certificates given to one node at the edge of a slot.
class Adversary {
  public:
    explicit Adversary(Cluster& cluster);

    // Several times a slot; the first of them at its start.
    void act(bool starts_slot);
    // An honest node sends its vote.
    void on_vote(const chain::Vote& vote);

  private:
    void make_blocks();
    [[nodiscard]] bool make_under_other_key();
    [[nodiscard]] chain::Witness choose_progress(const Seen& parent, chain::BlockHeader& header);
    void make_block(Seen& parent, chain::Slot slot);
    void cast_votes();
    void flood_votes(const Seen& block, chain::VoteKind kind, bool is_ahead);
    void release_certificates();
    void lie_of_clocks();
    [[nodiscard]] Seen& recent(std::size_t depth);
    void tell(const Message& message, int share, base::Duration latest);
    [[nodiscard]] base::Timestamp later(base::Duration latest);

    Cluster& cluster_;
    Chance& chance_;
    Forger forger_;
    std::vector<std::size_t> honest_;
    // How it likes to behave, in percent.
    int produces_ = 0;
    int equivocates_ = 0;
    int forks_ = 0;
    int votes_ = 0;
    int splits_ = 0;
    int releases_ = 0;
    int floods_ = 0;
    int lies_ = 0;
    bool answers_ = false;  // The first COMMIT for a block, with votes of its own.
    chain::BlockId answered_;
};

}  // namespace sim
