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
    // Keeps a message; the payload stays where it is until covered. `end`: how far its lane of the
    // path was written with it.
    const Payload& add(Queued message, std::uint64_t end = 0);
    // The peer has taken all that was written to a lane up to here.
    void cover_to(Lane lane, std::uint64_t position);
    // The peer has taken all messages before these numbers. False: it can't have, they are ahead
    // of what was sent or behind what it said before.
    [[nodiscard]] bool cover(const NextNumbers& next);
    // The path is gone: gives back what is not covered, oldest first; counts from zero again.
    [[nodiscard]] std::vector<Queued> take_all();

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] bool empty() const { return bytes_ == 0; }

  private:
    struct Kept {
        Queued message;
        std::uint64_t end = 0;
    };
    struct Sent {
        std::deque<Kept> messages;
        std::uint64_t first = 0;  // The number of the oldest kept.
    };

    void pop(Sent& sent);

    std::array<Sent, kLanes> lanes_;
    std::size_t bytes_ = 0;
};

}  // namespace transport::link
