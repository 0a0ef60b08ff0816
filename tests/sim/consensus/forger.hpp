#pragma once

#include "tests/sim/consensus/cluster.hpp"

#include <vector>

namespace sim {

// What the Byzantine members send that proves nothing: certificates and blocks with one thing
// wrong, which nobody honest may take for good. It has dice of its own: those of the others fall
// as they did before it was there.
class Forger {
  public:
    explicit Forger(Cluster& cluster);

    // At the start of a slot.
    void act();

  private:
    void forge_certificate();
    void forge_half();
    void forge_joint();
    void forge_block();
    void forge_witness();
    void forge_early();
    void forge_votes();
    [[nodiscard]] const Seen& recent();
    [[nodiscard]] std::optional<chain::BlockHeader> draft_header(const Seen& parent,
                                                                 chain::Slot slot);
    [[nodiscard]] static const Seen* find_ancestor(const Seen& parent,
                                                   chain::Slot above,
                                                   chain::Slot up_to);
    void spoil(chain::Certificate& certificate);
    [[nodiscard]] chain::Witness spoil(chain::BlockHeader& header, const Seen& parent);
    [[nodiscard]] chain::Certificate draft(const Seen& block, chain::VoteKind kind);
    void tell(const Message& message);

    Cluster& cluster_;
    Chance dice_;
    std::vector<std::size_t> honest_;
    std::vector<base::crypto::PublicKey> own_keys_;
    int certificates_ = 0;  // In percent of slots.
    int blocks_ = 0;
    int votes_ = 0;
    int early_ = 0;
};

}  // namespace sim
