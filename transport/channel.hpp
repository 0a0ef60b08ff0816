#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
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

class Channel;

// Who uses a channel. Called on its I/O thread, never from within a call to the channel.
class ChannelHandler {
  public:
    virtual ~ChannelHandler() = default;

    virtual void on_message(Channel& channel, Message message) = 0;
    // After would_block: half of the lane's queue is free again.
    virtual void on_writable(Channel& channel, Lane lane) = 0;
    // Once, last; every buffer given to the channel has come back.
    virtual void on_closed(Channel& channel, const CloseInfo& info) = 0;
};

// An ordered, reliable, authenticated stream of messages to one peer.
//
// Thread: its I/O thread only (IoThread::post reaches it from others).
class Channel : base::Pinned {
  public:
    virtual ~Channel() = default;

    [[nodiscard]] virtual ChannelId id() const = 0;
    [[nodiscard]] virtual const PeerKey& peer() const = 0;
    [[nodiscard]] virtual Caps caps() const = 0;

    // Queues one message of 1..kMessageBytesMax bytes. would_block: the lane's queue is full and
    // the payload was not touched; on_writable follows. unavailable: closing.
    virtual base::Result<void> send(Lane lane, Priority priority, Payload&& payload) = 0;
    // Says goodbye with `text`: what is queued on the control lane goes first, for a second at
    // most; then on_closed.
    virtual void close(CloseReason reason, std::string text) = 0;
};

}  // namespace transport
