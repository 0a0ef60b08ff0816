#pragma once

#include "p2p/budget.hpp"
#include "p2p/messages.hpp"
#include "p2p/two_of_slot.hpp"

#include <map>
#include <optional>
#include <utility>

namespace p2p {

// Which good headers go on, and when.
//
// Of a producer and slot two: they convict it, and a third says nothing new. Wherever two are, all
// get two, since everybody passes on the first two that it sees. What goes on in all is bounded
// (relayed_headers()); over that a header waits, the newest slot first: no header of this slot
// waits for old ones. A slot has few, so that nobody takes the place of another's, and two which
// convict are sent, whatever came before.
class HeaderRelays {
  public:
    using Key = TwoOfSlot::Key;
    struct Next {
        chain::BlockId id;
        SharedBytes message;
    };

    explicit HeaderRelays(std::uint32_t interval_milliseconds);

    // A good header, which is not passed on yet.
    void add(const Key& key, const chain::BlockId& id, SharedBytes message);
    // Whether a header may go now, ahead of its block, to those who lack both.
    [[nodiscard]] bool may_go(base::Timestamp now, const Key& key, const chain::BlockId& id);
    // What goes now. Nothing: none waits, or it is too much.
    [[nodiscard]] std::optional<Next> take(base::Timestamp now);
    // When take() has something; absent: nothing waits.
    [[nodiscard]] std::optional<base::Timestamp> next_time() const;

  private:
    // Whether it is one of two; counts it.
    [[nodiscard]] bool is_one_of_two(const Key& key, const chain::BlockId& id);

    TokenBucket bucket_;
    TwoOfSlot two_;
    std::map<std::pair<chain::Slot, chain::BlockId>, SharedBytes> waiting_;  // The newest slots.
    base::Timestamp again_{};
};

}  // namespace p2p
