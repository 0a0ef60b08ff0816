#pragma once

#include "base/bytes.hpp"
#include "node/bps/server/memory_shares.hpp"

#include <cstddef>
#include <span>
#include <utility>

namespace bps {

// A request as it came, without the length before it. It counts against its tenant's memory until
// it is destroyed; where a password is in it (SaslAuthenticate) it is wiped then. A value that
// moves; thread: that of its owner.
class Frame {
  public:
    // The memory was taken.
    Frame(MemoryHold hold, std::size_t bytes) : hold_(std::move(hold)), bytes_(bytes) {}
    Frame(Frame&&) noexcept = default;
    Frame& operator=(Frame&& other) noexcept {
        std::swap(hold_, other.hold_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Frame();

    [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
    [[nodiscard]] base::ByteView view() const { return bytes_; }

  private:
    MemoryHold hold_;
    base::Bytes bytes_;
};

}  // namespace bps
