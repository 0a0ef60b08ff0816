#pragma once

#include "p2p/messages.hpp"
#include "tests/sim/full/world.hpp"

#include <cstdint>

namespace sim::full {

// Byzantine members that claim from their first word on to have a block as final that is none, all
// of them the same one, until the chain comes to its height. It may be out of reach. They have none
// of the blocks up to it. It has dice of its own, so that what others draw stays as it is.
class Claimant {
  public:
    explicit Claimant(std::uint64_t seed);
    [[nodiscard]] static bool is_in(const World& world, std::uint64_t seed);

    // What leaves in the place of a message of one of their machines.
    [[nodiscard]] p2p::SharedBytes falsify(const p2p::SharedBytes& bytes);

    // How often they said so.
    [[nodiscard]] std::uint64_t claims() const { return claims_; }

  private:
    p2p::BlockPoint claimed_;
    std::uint64_t claims_ = 0;
};

}  // namespace sim::full
