#pragma once

#include "base/bytes.hpp"
#include "base/crypto/keys.hpp"
#include "base/strong.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

// The vocabulary of transports (spec 06, "Interface"): plain values, for any thread.
namespace transport {

// One channel of this process; never used again. Zero means "none".
using ChannelId = base::Strong<struct ChannelIdTag>;

// A node is its P-256 key (PUB_R1_...): TLS proves that the peer holds it.
using PeerKey = base::crypto::PublicKey;

// Bytes handed to several channels or threads; never changed again.
using SharedBytes = std::shared_ptr<const base::Bytes>;

// How bytes reach the peer. The values are those of the prelude.
enum class Kind : std::uint8_t { tcp = 1, rdma = 2, ntb = 3, shm = 4, sim = 5 };

// Two streams in each direction: blocks, transactions and snapshots are data, all else control.
enum class Lane : std::uint8_t { control = 0, data = 1 };
inline constexpr std::size_t kLanes = 2;

// 0 is the most urgent, 7 the least. Messages of one lane and one priority keep their order.
using Priority = std::uint8_t;
inline constexpr std::size_t kPriorities = 8;

inline constexpr std::size_t kMessageBytesMax = std::size_t{8} << 20;

// Why a channel ended, at the granularity at which its user reacts differently.
enum class CloseReason : std::uint8_t {
    local,      // We asked for it.
    peer,       // The peer said goodbye; its text is in the info.
    lost,       // Reset, or an end without goodbye.
    timed_out,  // The peer is silent, or takes no bytes, or never finished its handshake.
    refused,    // A certificate or a key is not accepted, by us or by the peer.
    violation,  // The peer broke the framing: its fault, never chance.
    limit,      // One of our bounds (handshakes, channels); not the peer's fault.
};

[[nodiscard]] std::string_view to_string(Kind kind);
[[nodiscard]] std::string_view to_string(CloseReason reason);

// The end of a channel, for its user and the log.
struct CloseInfo {
    CloseReason reason = CloseReason::local;
    std::string text{};              // One sentence for people; the peer's when by_peer.
    bool by_peer = false;            // The peer said it; its words prove nothing.
    std::uint64_t unsent_bytes = 0;  // Of messages that were accepted and may not have arrived.
};

}  // namespace transport
