#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/channel.hpp"
#include "transport/link/frame.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>

namespace transport::link {

// Puts slices together again: one message at a time for each lane and level. Memory for a whole
// message is taken with its first slice, so that what was begun can always be finished.
//
// Thread: one.
class Reassembly : base::Pinned {
  public:
    struct Taken {
        bool is_short_of_memory = false;   // Offer the same slice again when the pool has some.
        std::optional<Message> message{};  // Complete with this slice.
    };

    explicit Reassembly(BufferPool& pool) : pool_(pool) {}

    // invalid: a slice that does not continue its message, or more unfinished messages than
    // kOpenBytesMax. `payload` has the header's length.
    [[nodiscard]] base::Result<Taken> take(const FrameHeader& header, base::ByteView payload);

    // Where a landing of so many bytes belongs: memory of the message, until landed().
    struct Place {
        bool is_short_of_memory = false;  // Ask again when the pool has some.
        std::span<std::byte> bytes{};
    };
    // invalid: as take().
    [[nodiscard]] base::Result<Place> place(const FrameHeader& header, std::size_t bytes);
    // So many more bytes of a message are there; from outside after place() alone.
    [[nodiscard]] Taken landed(const FrameHeader& header, std::size_t bytes);

    // Forgets what is unfinished; its memory comes back.
    void clear();
    // Bytes of messages that are begun and not finished.
    [[nodiscard]] std::size_t open_bytes() const { return open_bytes_; }

  private:
    struct Partial {
        std::optional<Buffers> bytes;
        std::size_t received = 0;
    };

    [[nodiscard]] base::Result<Taken> begin(const FrameHeader& header, base::ByteView payload);
    [[nodiscard]] base::Result<void> check_begin(const FrameHeader& header, bool is_whole) const;

    BufferPool& pool_;
    std::array<Partial, kLanes * kPriorities> partials_;
    std::size_t open_bytes_ = 0;
};

}  // namespace transport::link
