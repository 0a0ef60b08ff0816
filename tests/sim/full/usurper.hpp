#pragma once

#include "p2p/messages.hpp"
#include "tests/sim/full/fleet.hpp"

#include <cstdint>

namespace sim::full {

// A Byzantine member that makes headers which say who produces and who votes: its block, which
// waits as a third one of its slot, proposes a schedule of its own keys and claims that to be
// final. What builds on it is signed, and certified for a slot in years, by these keys; and in the
// name of another member it makes blocks of the slots that come. It has dice of its own.
class Usurper {
  public:
    Usurper(Fleet& fleet, std::uint64_t seed);
    [[nodiscard]] static bool is_in(const World& world, std::uint64_t seed);

    // After this block, which the member has just sent, from its machine.
    void usurp(std::size_t machine, const chain::BlockPtr& block);

    // How often it did so.
    [[nodiscard]] std::uint64_t usurpations() const { return usurpations_; }

  private:
    [[nodiscard]] std::vector<p2p::SharedBytes> make(std::size_t member, const chain::Block& block);

    Fleet& fleet_;
    Chance dice_;
    std::uint64_t usurpations_ = 0;
};

}  // namespace sim::full
