#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "transport/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

// The frames by which two nodes, connected by TCP and authenticated by TLS, find out whether they
// have a faster path between them (spec 06, "Connecting"). Each begins with magic and version.
namespace transport::link {

inline constexpr std::uint16_t kPreludeVersion = 1;
inline constexpr std::size_t kOffersMax = 4;
inline constexpr std::size_t kParametersBytesMax = 960;  // Four offers fit a frame.

// What a node has for a kind: its address there (GID, port, MTU; window, partitions; host id).
// Only the kind knows what the bytes mean.
struct Offer {
    Kind kind = Kind::tcp;
    base::Bytes address{};
};

// Numbers of the next messages, by lane. They count from zero in each attempt.
using NextNumbers = std::array<std::uint64_t, kLanes>;

namespace prelude {

// Both ends, first; later the leader whenever it tries again, and then the follower.
struct Offers {
    std::uint32_t attempt = 0;
    std::vector<Offer> offers{};
};

// The leader names the kind and its parameters (queue pair, keys, rings), the follower its own.
struct Accept {
    std::uint32_t attempt = 0;
    Kind kind = Kind::tcp;
    base::Bytes parameters{};
};

// The number that the peer wrote through the new path has arrived.
struct Probed {
    std::uint32_t attempt = 0;
    std::uint64_t nonce = 0;
};

// All messages after this one come by the new path.
struct Switch {
    std::uint32_t attempt = 0;
};

// The new path is given up, whatever came of it; messages from these numbers on have not arrived.
struct Resume {
    std::uint32_t attempt = 0;
    NextNumbers next{};
};

}  // namespace prelude

using Prelude = std::
    variant<prelude::Offers, prelude::Accept, prelude::Probed, prelude::Switch, prelude::Resume>;

[[nodiscard]] base::Bytes encode(const Prelude& prelude);

// malformed: anything but exactly one frame of our version; another version is named.
[[nodiscard]] base::Result<Prelude> decode_prelude(base::ByteView payload);

}  // namespace transport::link
