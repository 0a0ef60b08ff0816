#pragma once

#include "base/pinned.hpp"
#include "transport/channel.hpp"
#include "transport/types.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

// How the core thread and the I/O threads talk: lists of commands one way, lists of events the
// other way. The simulator speaks the same language.
namespace transport {

namespace command {

// Queues a message. Where it can't be: event::Refused gives it back.
struct Send {
    ChannelId channel;
    Lane lane = Lane::control;
    Priority priority = 0;
    SharedBytes bytes{};
};

// Ends a channel after what was sent before on its control lane; event::Down follows.
struct Close {
    ChannelId channel;
    std::string text{};  // Told to the peer.
};

// Opens a channel; event::Up or event::ConnectFailed follows, within the handshake's time.
struct Connect {
    std::string address{};            // "host:port".
    std::optional<PeerKey> expected;  // Any other key is refused.
};

}  // namespace command

using Command = std::variant<command::Send, command::Close, command::Connect>;

namespace event {

// A peer proved its key and was admitted. Before any other event of the channel.
struct Up {
    ChannelId channel;
    PeerKey peer{};
    std::string address{};  // Of the peer; for `outbound` as it was asked for.
    bool outbound = false;
    // The same at both ends and nowhere else (a TLS exporter): what is signed over it holds for
    // this channel only.
    base::Hash256 binding{};
};

// The last event of a channel that was up.
struct Down {
    ChannelId channel;
    CloseInfo info{};
};

struct Received {
    ChannelId channel;
    Message message{};
};

// The lane's queue was full: nothing of this message was sent. Writable follows.
struct Refused {
    ChannelId channel;
    Lane lane = Lane::control;
    Priority priority = 0;
    SharedBytes bytes{};
};

// After Refused: half of the lane's queue is free again.
struct Writable {
    ChannelId channel;
    Lane lane = Lane::control;
};

struct ConnectFailed {
    std::string address{};
    CloseInfo info{};
};

}  // namespace event

using Event = std::variant<event::Up,
                           event::Down,
                           event::Received,
                           event::Refused,
                           event::Writable,
                           event::ConnectFailed>;

// Whether a key may have a channel, and if not why: the text goes to the log and to the peer.
struct Verdict {
    bool is_allowed = false;
    std::string text{};
};

// What an I/O thread asks of its node. Called on the I/O thread; must not block.
class Host {
  public:
    virtual ~Host() = default;

    // The key is proved: TLS has checked that the peer holds it.
    [[nodiscard]] virtual Verdict admit(const PeerKey& peer, bool outbound) = 0;
    // In order; one call for all that happened in one turn of the loop. Takes the events and
    // leaves an empty list: one with capacity saves an allocation each turn.
    virtual void on_events(std::vector<Event>& events) = 0;
};

// Owns channels, their buffers and the thread they live on.
class IoThread : base::Pinned {
  public:
    virtual ~IoThread() = default;

    // Any thread. In order. Takes the commands and leaves an empty list. A command for a channel
    // that is gone does nothing.
    virtual void post(std::vector<Command>& commands) = 0;
};

}  // namespace transport
