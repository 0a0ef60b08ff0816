#pragma once

#include "chain/types/block.hpp"

#include <array>
#include <cstddef>
#include <map>

namespace p2p {

// Of each producer and slot the first two ids: they convict it, and a third says nothing new.
//
// Bounded: the oldest slots are forgotten, and may be counted again.
class TwoOfSlot {
  public:
    struct Key {
        chain::Slot slot = 0;
        chain::Name producer{};
        auto operator<=>(const Key&) const = default;
    };

    // Whether it is one of the two; counts it.
    [[nodiscard]] bool take(const Key& key, const chain::BlockId& id);

  private:
    struct Pair {
        std::array<chain::BlockId, 2> ids{};
        std::size_t count = 0;
    };
    std::map<Key, Pair> pairs_;
};

}  // namespace p2p
