#pragma once

#include "transport/buffer_pool.hpp"
#include "transport/types.hpp"

#include <atomic>
#include <memory>
#include <utility>
#include <variant>

namespace transport {

// What is sent: buffers of a pool, which come back once, or bytes shared with others.
class Payload {
  public:
    Payload(Buffers buffers) : held_(std::move(buffers)) {}    // NOLINT(google-explicit-*)
    Payload(SharedBytes shared) : held_(std::move(shared)) {}  // NOLINT(google-explicit-*)

    [[nodiscard]] std::size_t size() const;
    // The bytes from `offset` that lie in one run.
    [[nodiscard]] base::ByteView run_at(std::size_t offset) const;

  private:
    std::variant<Buffers, SharedBytes> held_;
};

// Counts the bytes of a channel's messages that its user still holds, so that a channel whose
// user is slow stops reading. Move-only; gives back on any thread.
class Charge {
  public:
    using Total = std::shared_ptr<std::atomic<std::size_t>>;

    Charge() = default;
    Charge(Total total, std::size_t bytes) : total_(std::move(total)), bytes_(bytes) {
        *total_ += bytes_;
    }
    Charge(Charge&& other) noexcept { swap(other); }
    Charge& operator=(Charge&& other) noexcept {
        Charge(std::move(other)).swap(*this);
        return *this;
    }
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    ~Charge() {
        if (total_ != nullptr) *total_ -= bytes_;
    }

  private:
    void swap(Charge& other) noexcept {
        std::swap(total_, other.total_);
        std::swap(bytes_, other.bytes_);
    }

    Total total_;
    std::size_t bytes_ = 0;
};

// A message that arrived: private memory, checked by nobody yet. Keep it as a whole, so that
// its channel knows how much is held.
struct Message {
    Lane lane = Lane::control;
    Priority priority = 0;
    Buffers bytes{};
    Charge charge{};  // After `bytes`: ends before them, whose return wakes the channel.
};

}  // namespace transport
