#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "transport/ring/path.hpp"
#include "transport/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// What two ends of a path by RDMA tell each other, within TLS and by immediates.
namespace transport::rdma {

// An address of 16 bytes: an IPv6 address, or ::ffff:a.b.c.d, or of InfiniBand.
using Gid = std::array<std::byte, 16>;
inline constexpr std::size_t kIpv4At = 12;
[[nodiscard]] bool is_ipv4(const Gid& gid);
// What an IP address is that is no node's of a network: "link-local" (of IPv6: it says no
// interface), "multicast", "loopback", "unspecified". Empty: an ordinary one.
[[nodiscard]] std::string_view special_use(const Gid& gid);
// Whether a node of RoCEv2 can look for another. invalid: their families differ, or one of them is
// no node's; says which.
[[nodiscard]] base::Result<void> check_route(const Gid& own, const Gid& peer);

// Where a node is found on its RDMA network; what a node offers.
struct Address {
    bool is_ethernet = true;  // RoCEv2; else InfiniBand.
    std::uint8_t mtu = 1;     // As verbs number it: 1..5 are 256..4096 bytes.
    std::uint16_t lid = 0;    // InfiniBand's.
    Gid gid{};
};
[[nodiscard]] base::Bytes encode(const Address& address);
// malformed: anything else than exactly this.
[[nodiscard]] base::Result<Address> decode_address(base::ByteView bytes);

// Of a ring: 128 KiB to 4 MiB, a power of two.
inline constexpr unsigned kRingLog2Min = 17;
inline constexpr unsigned kRingLog2Max = 22;
// Of immediates that a node takes before it has said that it took some.
inline constexpr std::uint16_t kReceivesMin = 16;
inline constexpr std::uint16_t kReceivesMax = 4096;

// Of landings behind the rings; landing.hpp.
inline constexpr std::uint8_t kLandingsUsual = 8;

// One end of one path.
struct Parameters {
    std::uint32_t pair = 0;          // The queue pair's number.
    std::uint32_t first_packet = 0;  // Its first sequence number.
    std::uint64_t memory = 0;        // Where the peer's writes go, and the key for it.
    std::uint32_t key = 0;
    std::uint8_t control_log2 = 18;
    std::uint8_t data_log2 = 19;
    std::uint16_t receives = 128;
    std::uint8_t landings = kLandingsUsual;

    [[nodiscard]] ring::Geometry geometry() const {
        return {.ring_bytes = {std::size_t{1} << control_log2, std::size_t{1} << data_log2}};
    }
    [[nodiscard]] std::size_t landings_bytes() const;
    // Rings, and behind them landings.
    [[nodiscard]] std::size_t region_bytes() const {
        return geometry().region_bytes() + landings_bytes();
    }
};
[[nodiscard]] base::Bytes encode(const Parameters& parameters);
// malformed: anything else than exactly this, rings, receives or landings outside their bounds.
[[nodiscard]] base::Result<Parameters> decode_parameters(base::ByteView bytes);

// The 32 bits that come with a write and announce it: kind 3, lane 1, priority 3, flag 1, line 24.
struct Immediate {
    enum class Kind : std::uint8_t {
        record = 1,   // At `line` of the lane's ring.
        credit = 2,   // The cell of credit was written; said where somebody may sleep for it.
        landed = 3,   // The same, of the data lane; what it tells of was written before.
        goodbye = 5,  // The peer has left.
    };
    Kind kind = Kind::record;
    Lane lane = Lane::control;
    Priority priority = 0;
    std::uint32_t line = 0;  // Of 64 bytes.

    friend bool operator==(const Immediate&, const Immediate&) = default;
};
[[nodiscard]] std::uint32_t encode(const Immediate& immediate);
// Empty: unknown kinds, a set flag, places where there are none.
[[nodiscard]] std::optional<Immediate> decode_immediate(std::uint32_t bits);

// What an end says of what it took. Written in one piece to the begin of the peer's memory, where
// it is read word by word while it may be written: so the last word vouches for the others.
struct Credit {
    std::array<std::uint64_t, kLanes> read{};  // How far, of the rings.
    std::uint64_t received = 0;                // Immediates.
    std::uint64_t landed = 0;                  // Landings.

    friend bool operator==(const Credit&, const Credit&) = default;
};
using CreditWords = std::array<std::uint64_t, 5>;
[[nodiscard]] CreditWords encode(const Credit& credit);
// Empty: a part of one and a part of another. All zero is a credit of nothing.
[[nodiscard]] std::optional<Credit> decode_credit(const CreditWords& words);

}  // namespace transport::rdma
