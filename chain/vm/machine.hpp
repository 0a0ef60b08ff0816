#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace chain::vm {

// The seam between the VM and the machine that it runs on: memory that can be executed, the
// reservation that a contract's linear memory lies in, a stack of its own, and the way to end a
// run from another thread (spec 03, "Contracts"). node/machine implements it.
//
// One per engine. Thread: the engine's; only stop() and is_stopped() are for any thread.
class Machine : base::Pinned {
  public:
    // Machine code that can run, on any thread; it may outlive the machine. Never writable through
    // this address.
    class Code : base::Pinned {
      public:
        virtual ~Code() = default;
        [[nodiscard]] virtual const std::byte* begin() const = 0;
    };

    // What a run has for itself. All addresses stay until the machine goes.
    struct Room {
        // Byte 0 of the linear memory. `below` bytes under it are always readable and writable,
        // and zero at first; from it on 8 GiB and 64 KiB are reserved without access but for
        // what grant() gave. Divisible by 4,096.
        std::byte* memory = nullptr;
        // The end of a stack that grows down: at least `stack` bytes, with a guard page under
        // them and one above. Divisible by 4,096.
        std::byte* stack_end = nullptr;
    };

    virtual ~Machine() = default;

    // Copies position-independent code to where it can run. Null: the machine has no memory for
    // it left, or forbids executable memory.
    [[nodiscard]] virtual std::unique_ptr<Code> publish(base::ByteView code) = 0;

    // Makes the room at the first call; later ones give the same room and must ask for no more.
    // Null: no address space is left.
    [[nodiscard]] virtual const Room* room(std::size_t below, std::size_t stack) = 0;

    // Lets the first `bytes` of the linear memory be read and written; never fewer than before.
    // Bytes seen for the first time are zero. False: the machine has no memory left.
    [[nodiscard]] virtual bool grant(std::uint64_t bytes) = 0;

    // Ends the present run, or the next one, at its next leader: stores kStopLimit into the word
    // at Room::memory - 8, which compiled code compares with its fuel (release order).
    virtual void stop() = 0;
    [[nodiscard]] virtual bool is_stopped() const = 0;
    // Takes stop() back: the word is 0 again. By the engine's thread, between runs.
    virtual void clear_stop() = 0;

    // More than any fuel.
    static constexpr std::int64_t kStopLimit = INT64_MAX;
};

}  // namespace chain::vm
