#pragma once

#include "p2p/messages.hpp"
#include "tests/sim/chance.hpp"

#include <cstdint>

namespace sim::full {

// What a Byzantine member serves of final blocks: copies with the right ids, and here and there
// with another producer signature, without a transaction, or with a certificate of which a
// signature is another. What is to be checked before it is executed must not pass; what is stored
// unchecked (trust = certified) must be found and mended. It has dice of its own.
class Miscopier {
  public:
    explicit Miscopier(std::uint64_t seed);

    // What leaves in the place of a message of one of its machines.
    [[nodiscard]] p2p::SharedBytes falsify(const p2p::SharedBytes& bytes);

    // Blocks that it copied wrongly.
    [[nodiscard]] std::uint64_t copies() const { return copies_; }

  private:
    [[nodiscard]] chain::BlockPtr miscopy(const chain::Block& block);

    Chance dice_;
    std::uint64_t copies_ = 0;
};

}  // namespace sim::full
