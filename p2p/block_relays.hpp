#pragma once

#include "p2p/budget.hpp"
#include "p2p/two_of_slot.hpp"

#include <cstddef>

namespace p2p {

// Which good blocks of others are pushed on; of all others the header goes alone, and who lacks the
// block asks for it by id, which is charged to nobody.
//
// Pushed are recent ones, for which there may still be votes: what is older is in no hurry, and its
// producer can have any number of it. Of a producer and slot two, and in all what peers are sure to
// let pass (relayed_blocks(), kRelayedBlockBytes). Recent is what is at most two seconds of slots
// below the newest block here: the ledger lets none in that is dated ahead, and who looks at no
// clock is not misled by a wrong one.
class BlockRelays {
  public:
    explicit BlockRelays(std::uint32_t interval_milliseconds);

    // A good block, be it our own.
    void note(chain::Slot slot);
    [[nodiscard]] bool may_go(base::Timestamp now,
                              const TwoOfSlot::Key& key,
                              const chain::BlockId& id,
                              std::size_t bytes);

  private:
    chain::Slot recent_;  // So many slots.
    chain::Slot newest_ = 0;
    TokenBucket blocks_;
    TokenBucket bytes_;
    TwoOfSlot two_;
};

}  // namespace p2p
