#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/buffer_pool.hpp"
#include "transport/types.hpp"

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

// A message that arrived: private memory, checked by nobody yet.
struct Message {
    Lane lane = Lane::control;
    Priority priority = 0;
    Buffers bytes{};
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
