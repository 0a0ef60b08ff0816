#pragma once

#include "tests/sim/full/fleet.hpp"
#include "tests/sim/full/variants.hpp"

namespace sim::full {

// A Byzantine producer that does as it should until all has healed. From then on, in each slot that
// is its turn, it gives each other validator two blocks that nobody else has, pushes nothing else,
// and votes for nothing: without it the others are just a quorum, and each of them holds what the
// two that build next have never seen.
class Splitter {
  public:
    explicit Splitter(Fleet& fleet) : fleet_(fleet) {}

    // Whether there is one in the world of this seed.
    [[nodiscard]] static bool is_in(const World& world, std::uint64_t seed);
    // Its machine begins to push this block of its own.
    void split(std::size_t machine, const chain::BlockPtr& block, Variants& variants);
    // Whether a message never leaves.
    [[nodiscard]] bool keeps_back(const p2p::Envelope& envelope) const;

  private:
    Fleet& fleet_;
};

}  // namespace sim::full
