#include "transport/rdma/parameters.hpp"

#include "base/codec.hpp"
#include "transport/rdma/landing.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

namespace transport::rdma {

namespace {

constexpr std::uint8_t kVersion = 3;  // 1 had no landings, 2 one frame in a record.
constexpr std::uint8_t kMtuMax = 5;
constexpr std::uint32_t kNumberMax = (1U << 24U) - 1;  // Of queue pairs and packets.
constexpr std::uint32_t kLineMask = (1U << 24U) - 1;
constexpr unsigned kFlagAt = 24;
constexpr unsigned kPriorityAt = 25;
constexpr unsigned kLaneAt = 28;
constexpr unsigned kKindAt = 29;

void check(base::Reader& in, bool is_right, std::string_view field, std::string_view reason) {
    if (!is_right) in.set_error(field, reason);
}

bool is_ring(unsigned log2) {
    return log2 >= kRingLog2Min && log2 <= kRingLog2Max;
}

std::string_view special_use_of_ipv4(unsigned first) {
    if (first == 0) return "unspecified";
    if (first == 127) return "loopback";
    return first >= 224 ? "multicast" : "";  // Or reserved, or broadcast.
}

std::string to_text(const Gid& gid) {
    std::array<char, INET6_ADDRSTRLEN> out{};
    if (is_ipv4(gid)) return ::inet_ntop(AF_INET, gid.data() + kIpv4At, out.data(), out.size());
    return ::inet_ntop(AF_INET6, gid.data(), out.data(), out.size());
}

// Changes with each bit of each word, and with their order.
std::uint64_t mix(const Credit& credit) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    std::uint64_t out = 0;
    for (const std::uint64_t word :
         {credit.read[0], credit.read[1], credit.received, credit.landed})
        out = std::rotl((out ^ word) * kOdd, 29);
    return out;
}

}  // namespace

bool is_ipv4(const Gid& gid) {
    Gid begin{};
    begin[10] = begin[11] = std::byte{0xff};
    return std::equal(gid.begin(), gid.begin() + kIpv4At, begin.begin());
}

std::string_view special_use(const Gid& gid) {
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(gid[i]); };
    if (is_ipv4(gid)) return special_use_of_ipv4(byte(kIpv4At));
    if (byte(0) == 0xff) return "multicast";
    if (byte(0) == 0xfe && (byte(1) & 0xc0U) == 0x80) return "link-local";
    const auto last = gid.end() - 1;
    if (std::any_of(gid.begin(), last, [](std::byte each) { return each != std::byte{0}; }))
        return "";
    if (*last == std::byte{0}) return "unspecified";
    return *last == std::byte{1} ? "loopback" : "";
}

base::Result<void> check_route(const Gid& own, const Gid& peer) {
    for (const auto& [whose, gid] :
         {std::pair("this node's", own), std::pair("the peer's", peer)}) {
        const std::string_view use = special_use(gid);
        if (use.empty()) continue;
        return base::fail(base::Errc::invalid,
                          std::string(whose) + " RDMA address " + to_text(gid) + " is " +
                              std::string(use) + ", which leads to no node");
    }
    if (is_ipv4(own) == is_ipv4(peer)) return {};
    return base::fail(base::Errc::invalid,
                      "the peer's RDMA address " + to_text(peer) + " and this node's " +
                          to_text(own) + " are of different families; rdma-address chooses");
}

base::Bytes encode(const Address& address) {
    base::Writer out;
    out.u8(kVersion);
    out.boolean(address.is_ethernet);
    out.u8(address.mtu);
    out.u16(address.lid);
    out.raw(address.gid);
    return out.take();
}

base::Result<Address> decode_address(base::ByteView bytes) {
    base::Reader in(bytes);
    const std::uint8_t version = in.u8("version");
    check(in, version == kVersion, "version", "of the RDMA address is not 3");
    Address out{.is_ethernet = in.boolean("link")};
    out.mtu = in.u8("mtu");
    check(in, out.mtu >= 1 && out.mtu <= kMtuMax, "mtu", "is none of 1..5");
    out.lid = in.u16("lid");
    const base::ByteView gid = in.raw(out.gid.size(), "gid");
    if (auto done = in.finish(); !done) return base::fail(done.error());
    std::memcpy(out.gid.data(), gid.data(), gid.size());
    return out;
}

std::size_t Parameters::landings_bytes() const {
    return landings * kLandingPlaceBytes;
}

base::Bytes encode(const Parameters& parameters) {
    base::Writer out;
    out.u32(parameters.pair);
    out.u32(parameters.first_packet);
    out.u64(parameters.memory);
    out.u32(parameters.key);
    out.u8(parameters.control_log2);
    out.u8(parameters.data_log2);
    out.u16(parameters.receives);
    out.u8(parameters.landings);
    return out.take();
}

base::Result<Parameters> decode_parameters(base::ByteView bytes) {
    base::Reader in(bytes);
    Parameters out{.pair = in.u32("queue pair")};
    check(in, out.pair <= kNumberMax, "queue pair", "has more than 24 bits");
    out.first_packet = in.u32("first packet");
    check(in, out.first_packet <= kNumberMax, "first packet", "has more than 24 bits");
    out.memory = in.u64("memory");
    check(in, out.memory % ring::kLineBytes == 0, "memory", "does not begin a line");
    out.key = in.u32("key");
    out.control_log2 = in.u8("control ring");
    check(in, is_ring(out.control_log2), "control ring", "is no ring of 128 KiB to 4 MiB");
    out.data_log2 = in.u8("data ring");
    check(in, is_ring(out.data_log2), "data ring", "is no ring of 128 KiB to 4 MiB");
    out.receives = in.u16("receives");
    check(in,
          out.receives >= kReceivesMin && out.receives <= kReceivesMax,
          "receives",
          "are not 16 to 4096");
    out.landings = in.u8("landings");
    check(in, out.landings <= kLandingsMax, "landings", "are more than 16");
    if (auto done = in.finish(); !done) return base::fail(done.error());
    return out;
}

std::uint32_t encode(const Immediate& immediate) {
    return static_cast<std::uint32_t>(immediate.kind) << kKindAt |
           static_cast<std::uint32_t>(immediate.lane) << kLaneAt |
           std::uint32_t{immediate.priority} << kPriorityAt | (immediate.line & kLineMask);
}

std::optional<Immediate> decode_immediate(std::uint32_t bits) {
    using Kind = Immediate::Kind;
    const auto kind = static_cast<Kind>(bits >> kKindAt);
    if ((bits >> kFlagAt & 1U) != 0) return std::nullopt;
    if (kind == Kind::credit || kind == Kind::goodbye) {
        if (bits << (32 - kKindAt) != 0) return std::nullopt;
        return Immediate{.kind = kind};
    }
    if (kind != Kind::record && kind != Kind::landed) return std::nullopt;
    if (kind == Kind::landed && (bits >> kLaneAt & 1U) == 0) return std::nullopt;
    return Immediate{.kind = kind,
                     .lane = static_cast<Lane>(bits >> kLaneAt & 1U),
                     .priority = static_cast<Priority>(bits >> kPriorityAt & 7U),
                     .line = bits & kLineMask};
}

CreditWords encode(const Credit& credit) {
    return {credit.read[0], credit.read[1], credit.received, credit.landed, mix(credit)};
}

std::optional<Credit> decode_credit(const CreditWords& words) {
    const Credit out{.read = {words[0], words[1]}, .received = words[2], .landed = words[3]};
    if (mix(out) != words[4]) return std::nullopt;
    return out;
}

}  // namespace transport::rdma
