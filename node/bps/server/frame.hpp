#pragma once

#include "base/bytes.hpp"
#include "node/bps/server/memory_shares.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace bps {

// A request as it came, without the length before it. It counts against its tenant's memory until
// it is destroyed; where a password is in it (SaslAuthenticate) it is wiped then. A value that
// moves; thread: that of its owner.
class Frame {
  public:
    // The memory was taken.
    Frame(MemoryHold hold, std::size_t bytes);
    Frame(Frame&& other) noexcept
        : hold_(std::move(other.hold_)),
          data_(std::move(other.data_)),
          size_(std::exchange(other.size_, 0)) {}
    Frame& operator=(Frame&& other) noexcept {
        std::swap(hold_, other.hold_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Frame();

    [[nodiscard]] std::span<std::byte> bytes() { return {data_.get(), size_}; }
    [[nodiscard]] base::ByteView view() const { return {data_.get(), size_}; }

  private:
    MemoryHold hold_;
    // Not zeroed, but for the key: every byte is received before it is read.
    std::unique_ptr<std::byte[]> data_;
    std::size_t size_;
};

}  // namespace bps
