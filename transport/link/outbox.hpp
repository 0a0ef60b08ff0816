#pragma once

#include "base/pinned.hpp"
#include "transport/link/prelude.hpp"
#include "transport/link/send_queue.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

namespace transport::link {

// Messages that went by a fast path and may still be lost with it: kept until the peer's credit
// covers them, so that TCP can carry them again. Numbered in each lane from zero in each attempt.
//
// Thread: one.
class Outbox : base::Pinned {
  public:
    // Keeps a message; the payload stays where it is until covered.
    const Payload& add(Queued message);
    // The peer has taken all messages before these numbers. False: it can't have, they are ahead
    // of what was sent or behind what it said before.
    [[nodiscard]] bool cover(const NextNumbers& next);
    // The path is gone: gives back what is not covered, oldest first; counts from zero again.
    [[nodiscard]] std::vector<Queued> take_all();

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    struct Sent {
        std::deque<Queued> messages;
        std::uint64_t first = 0;  // The number of the oldest kept.
    };

    std::array<Sent, kLanes> lanes_;
    std::size_t bytes_ = 0;
};

}  // namespace transport::link
