#pragma once

#include "base/pinned.hpp"
#include "base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace transport {

// All that an event loop has to know of a kind: the contract under which a loop that sleeps,
// a core that polls and the simulator run the same code (spec 06, "Interface"). It is for kinds
// that find messages in memory. tcp and sim have none of it: the one runs inside its Boost.Asio
// loop, the other has nothing to wait for.
//
// Thread: its I/O thread.
class Driver : base::Pinned {
  public:
    enum class Arm : std::uint8_t {
        armed,  // Whatever happens from now on makes event_fd() readable.
        busy,   // Something happened already: call progress() again before sleeping.
    };

    virtual ~Driver() = default;

    // Does up to `budget` pieces of work; returns how many it did. Never blocks.
    virtual std::size_t progress(base::Timestamp now, std::size_t budget) = 0;
    [[nodiscard]] virtual Arm arm() = 0;
    // When to call progress() even if nothing happens; empty: never.
    [[nodiscard]] virtual std::optional<base::Timestamp> wake_at() const = 0;
    // To wait on for reading; -1: this kind can only be polled.
    [[nodiscard]] virtual int event_fd() const = 0;
    // Takes the events that made event_fd() readable; progress() comes after it.
    virtual void drain_events() = 0;
};

}  // namespace transport
