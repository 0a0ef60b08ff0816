#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/driver.hpp"
#include "transport/link/frame.hpp"
#include "transport/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

// What a connection knows of the kinds that are faster than TCP: paths of frames, and who makes
// them. Everything here belongs to one I/O thread.
namespace transport::link {

// What seals a path: each of one TLS session, attempt, lane and direction alone.
struct PathSecrets {
    std::array<base::Hash256, kLanes> out{};
    std::array<base::Hash256, kLanes> in{};
};

// Who uses a path.
class FastUser {
  public:
    virtual ~FastUser() = default;

    // Something may have come, there may be room, or the path has failed: peek() tells. Called
    // from Driver::progress() only; the path may be destroyed within.
    virtual void on_fast_ready() = 0;
};

// A path besides TCP to one peer: records of frames, whole and in order in each lane, of which none
// is lost while it works. Destroying it gives back all that it holds.
class FastPath : base::Pinned {
  public:
    struct Received {
        Lane lane = Lane::control;
        base::ByteView record{};  // Private memory, until consume().
    };

    virtual ~FastPath() = default;

    // What the peer needs to bring up its end.
    [[nodiscard]] virtual base::Bytes parameters() const = 0;
    // Connects to the peer's end; frames go when that has done the same. malformed, unavailable:
    // they don't lead anywhere.
    [[nodiscard]] virtual base::Result<void> bring_up(base::ByteView peer_parameters) = 0;

    // The oldest record of the control lane, else of the data lane. Empty: none has come, and the
    // user hears when one does. unavailable, invalid: the path has failed; for good.
    [[nodiscard]] virtual base::Result<std::optional<Received>> peek() = 0;
    virtual void consume(Lane lane) = 0;
    // The user hears soon, though nothing happens: it left off reading.
    virtual void call_again() = 0;

    // Whether a full record of the lane can be sent now; if not, the user hears when it can.
    [[nodiscard]] virtual bool has_room(Lane lane) = 0;
    // Sends a record for which there is room.
    virtual void send(Lane lane, base::ByteView record) = 0;
    // Landings: memory that the peer keeps for parts of long messages, where they are written at
    // once, besides the frames that tell of them. Most paths have none.
    [[nodiscard]] virtual bool has_landings() const { return false; }
    // How many can be sent now; if none, the user hears when it can.
    [[nodiscard]] virtual std::size_t landing_room() { return 0; }
    // Sends parts of messages, and one record of their frames, whose tokens the path sets; there is
    // room for them.
    virtual void land(std::span<const Part> parts);
    // Copies what the peer landed, as told by the frame that peek() gave, into private memory, and
    // frees its place. invalid: the peer has not, or not that.
    [[nodiscard]] virtual base::Result<void> take_landing(const Landing& landing,
                                                          std::span<std::byte> out);

    // How far a lane was written, and how far the peer has taken it: two positions of one axis.
    [[nodiscard]] virtual std::uint64_t sent(Lane lane) const = 0;
    [[nodiscard]] virtual std::uint64_t taken(Lane lane) const = 0;

    // Before a turn's sending: hears how far the peer is. invalid: the path has failed.
    [[nodiscard]] virtual base::Result<void> begin_turn() = 0;
    // After it: tells the peer how far we are, and wakes it if it sleeps and has a reason not to.
    virtual void end_turn(base::Timestamp now) = 0;
    // Now and then. unavailable: the peer's end is silent, or has started anew.
    [[nodiscard]] virtual base::Result<void> tick(base::Timestamp now) = 0;
};

// One kind of paths: what this node has of it, for all peers.
class FastKind : base::Pinned {
  public:
    struct Request {
        base::ByteView peer_address{};  // From the peer's offer.
        bool leads = false;             // Our end opened the TCP connection.
        PathSecrets secrets{};
    };

    virtual ~FastKind() = default;

    [[nodiscard]] virtual Kind kind() const = 0;
    // For our offers. Empty: none now.
    [[nodiscard]] virtual base::Bytes address() const = 0;
    // Why this node has nothing of the kind now, for people; empty: it has. Any thread.
    [[nodiscard]] virtual std::string why_not() const { return {}; }
    // Our end of a path. unavailable, malformed: not to this address, or not now; says why.
    // The user outlives the path, and the kind both.
    [[nodiscard]] virtual base::Result<std::unique_ptr<FastPath>> prepare(const Request& request,
                                                                          FastUser& user) = 0;
    // Runs all paths.
    [[nodiscard]] virtual Driver& driver() = 0;
};

}  // namespace transport::link
