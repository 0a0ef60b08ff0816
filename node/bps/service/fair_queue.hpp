#pragma once

#include "base/pinned.hpp"
#include "node/bps/core/reply.hpp"
#include "node/bps/server/frame.hpp"
#include "node/bps/server/memory_shares.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace bps {

// What waits for the broker's thread, of each tenant in the order in which it came. The next is of
// the tenant that has had the least of the thread's time, so that nobody waits longer because
// requests of others cost more (start-time fair queueing, Goyal, Vin and Cheng 1996). Who has not
// logged in yet shares the time of tenant 0.
//
// Thread: one.
class FairQueue : base::Pinned {
  public:
    using Time = std::chrono::nanoseconds;
    struct Item {
        RequestId id;
        std::optional<Frame> frame;  // Nothing: the connection has closed.
    };
    struct Next {
        Tenant tenant = 0;
        Item item;
    };

    void put(Tenant tenant, Item item);
    // Nobody has anything that waits, but those who are held.
    [[nodiscard]] bool empty() const { return ready_.empty(); }
    // Whose the next is. Not where it is empty.
    [[nodiscard]] Tenant first() const { return ready_.begin()->second; }
    // Not where it is empty.
    [[nodiscard]] Next take();
    // Nothing is taken of first() until then, in the time of release().
    void hold_first(std::int64_t until);
    void release(std::int64_t now);
    // When the first of those who are held goes on; nothing: nobody is held.
    [[nodiscard]] std::optional<std::int64_t> next_release() const;
    // What was taken of this tenant has cost so much.
    void charge(Tenant tenant, Time cost);
    // Tenants of which anything is known.
    [[nodiscard]] std::size_t tenants() const { return lines_.size(); }

  private:
    struct Line {
        std::deque<Item> items;
        Time had{};
    };
    using Places = std::set<std::pair<Time, Tenant>>;

    [[nodiscard]] Places& places_of(const Line& line) {
        return line.items.empty() ? resting_ : ready_;
    }
    void forget_rested();

    std::map<Tenant, Line> lines_;
    Places ready_;    // Who has something that waits and is not held, by what it had.
    Places resting_;  // Who has nothing, and had more than now_.
    std::set<std::pair<std::int64_t, Tenant>> held_;  // And until when; something of each waits.
    Time now_{};  // What the tenant had of which the last item was taken.
};

}  // namespace bps
