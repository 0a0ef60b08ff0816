// What two ends of a path by RDMA tell each other: as it was said, or refused by name.
#include "transport/rdma/parameters.hpp"

#include <arpa/inet.h>
#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tests {

namespace rdma = transport::rdma;
using rdma::Immediate;
using transport::Lane;

namespace {

rdma::Parameters some_parameters() {
    return {.pair = 0x123456,
            .first_packet = 0xFFFFFF,
            .memory = 0x7F00'1234'5000,
            .key = 0xDEADBEEF,
            .control_log2 = 17,
            .data_log2 = 22,
            .receives = 64,
            .landings = 16};
}

// As it stands in a table; "" where two nodes can be joined.
rdma::Gid gid_of(const std::string& ip) {
    rdma::Gid out{};
    const std::string mapped = ip.find(':') == std::string::npos ? "::ffff:" + ip : ip;
    REQUIRE(::inet_pton(AF_INET6, mapped.c_str(), out.data()) == 1);
    return out;
}
std::string refusal_of_route(const std::string& own, const std::string& peer) {
    const auto leads = rdma::check_route(gid_of(own), gid_of(peer));
    return leads ? "" : leads.error().detail;
}

template <class Change>
std::string refusal(const Change& change) {
    auto parameters = some_parameters();
    change(parameters);
    const auto decoded = rdma::decode_parameters(rdma::encode(parameters));
    return decoded ? "accepted" : decoded.error().detail;
}

}  // namespace

TEST_CASE("an RDMA address comes back as it was, and nothing else does") {
    rdma::Address address{.is_ethernet = false, .mtu = 3, .lid = 0xBEEF};
    address.gid[0] = std::byte{0xFE};
    address.gid[15] = std::byte{7};
    const base::Bytes bytes = rdma::encode(address);
    const auto decoded = rdma::decode_address(bytes);
    REQUIRE(decoded);
    CHECK_FALSE(decoded->is_ethernet);
    CHECK(decoded->mtu == 3);
    CHECK(decoded->lid == 0xBEEF);
    CHECK(decoded->gid == address.gid);
    for (std::size_t length = 0; length < bytes.size(); ++length)
        CHECK_FALSE(rdma::decode_address(base::ByteView(bytes).first(length)));
    base::Bytes longer = bytes;
    longer.push_back(std::byte{0});
    CHECK_FALSE(rdma::decode_address(longer));
    for (const std::size_t at : {0U, 1U, 2U}) {
        base::Bytes wrong = bytes;
        wrong[at] = std::byte{9};
        CHECK_FALSE(rdma::decode_address(wrong));
    }
}

TEST_CASE("addresses of one family are joined, IPv4 and IPv6") {
    CHECK(refusal_of_route("10.77.0.1", "10.77.0.2").empty());
    CHECK(refusal_of_route("10.77.0.1", "192.168.255.254").empty());
    CHECK(refusal_of_route("169.254.1.1", "169.254.1.2").empty());
    CHECK(refusal_of_route("223.255.255.1", "1.0.0.0").empty());
    CHECK(refusal_of_route("fd77::1", "fd77::2").empty());
    CHECK(refusal_of_route("2001:db8::1", "::2").empty());
    CHECK(refusal_of_route("fec0::1", "fe7f::1").empty());
    for (const auto& [own, peer] :
         {std::pair("10.77.0.1", "fd77::2"), std::pair("fd77::2", "10.77.0.1")}) {
        CHECK_THAT(refusal_of_route(own, peer),
                   Catch::Contains("different families") && Catch::Contains("10.77.0.1") &&
                       Catch::Contains("fd77::2") && Catch::Contains("rdma-address"));
    }
}

TEST_CASE("an address that is no node's is not looked for, whoever has it") {
    const std::vector<std::pair<std::string, std::string>> uses{
        {"0.0.0.0", "unspecified"},
        {"0.1.2.3", "unspecified"},
        {"127.0.0.1", "loopback"},
        {"127.255.0.9", "loopback"},
        {"224.0.0.1", "multicast"},
        {"255.255.255.255", "multicast"},
        {"::", "unspecified"},
        {"::1", "loopback"},
        {"ff02::1", "multicast"},
        {"fe80::1", "link-local"},
        {"febf:ffff::1", "link-local"},
    };
    for (const auto& [address, use] : uses) {
        CHECK(rdma::special_use(gid_of(address)) == use);
        const std::string other = address.find(':') == std::string::npos ? "10.7.7.1" : "fd77::1";
        CHECK_THAT(refusal_of_route(other, address),
                   Catch::Contains("the peer's RDMA address " + address) && Catch::Contains(use));
        CHECK_THAT(refusal_of_route(address, other),
                   Catch::Contains("this node's RDMA address " + address) && Catch::Contains(use));
    }
}

TEST_CASE("parameters of a path come back as they were") {
    const auto decoded = rdma::decode_parameters(rdma::encode(some_parameters()));
    REQUIRE(decoded);
    CHECK(decoded->pair == 0x123456);
    CHECK(decoded->first_packet == 0xFFFFFF);
    CHECK(decoded->memory == 0x7F00'1234'5000);
    CHECK(decoded->key == 0xDEADBEEF);
    CHECK(decoded->receives == 64);
    CHECK(decoded->landings == 16);
    CHECK(decoded->region_bytes() == decoded->geometry().region_bytes() + 16 * 65'600);
    CHECK(decoded->geometry().ring_bytes[0] == 131'072);
    CHECK(decoded->geometry().ring_bytes[1] == 4U << 20U);
}

TEST_CASE("parameters outside their bounds are refused by name") {
    using P = rdma::Parameters;
    CHECK_THAT(refusal([](P& p) { p.pair = 1U << 24U; }), Catch::Contains("queue pair"));
    CHECK_THAT(refusal([](P& p) { p.first_packet = 1U << 24U; }), Catch::Contains("first packet"));
    CHECK_THAT(refusal([](P& p) { p.memory += 8; }), Catch::Contains("memory"));
    CHECK_THAT(refusal([](P& p) { p.control_log2 = 16; }), Catch::Contains("control ring"));
    CHECK_THAT(refusal([](P& p) { p.data_log2 = 23; }), Catch::Contains("data ring"));
    CHECK_THAT(refusal([](P& p) { p.receives = 15; }), Catch::Contains("receives"));
    CHECK_THAT(refusal([](P& p) { p.receives = 4097; }), Catch::Contains("receives"));
    CHECK_THAT(refusal([](P& p) { p.landings = 17; }), Catch::Contains("landings"));
    CHECK(refusal([](P& p) { p.landings = 0; }) == "accepted");
    const base::Bytes bytes = rdma::encode(some_parameters());
    for (std::size_t length = 0; length < bytes.size(); ++length)
        CHECK_FALSE(rdma::decode_parameters(base::ByteView(bytes).first(length)));
}

TEST_CASE("an immediate is what the specification lays out") {
    const Immediate record{.lane = Lane::data, .priority = 5, .line = 0xABCDEF};
    CHECK(rdma::encode(record) == (1U << 29U | 1U << 28U | 5U << 25U | 0xABCDEFU));
    CHECK(rdma::decode_immediate(rdma::encode(record)) == record);
    for (const auto kind : {Immediate::Kind::credit, Immediate::Kind::goodbye}) {
        const Immediate other{.kind = kind};
        CHECK(rdma::decode_immediate(rdma::encode(other)) == other);
        CHECK_FALSE(rdma::decode_immediate(rdma::encode(other) | 1U));
        CHECK_FALSE(rdma::decode_immediate(rdma::encode(other) | 1U << 28U));
    }
    const Immediate landed{.kind = Immediate::Kind::landed, .lane = Lane::data, .line = 7};
    CHECK(rdma::decode_immediate(rdma::encode(landed)) == landed);
    CHECK_FALSE(rdma::decode_immediate(rdma::encode(landed) & ~(1U << 28U)));
    for (const unsigned unknown : {0U, 4U, 6U, 7U})
        CHECK_FALSE(rdma::decode_immediate(unknown << 29U));
    CHECK_FALSE(rdma::decode_immediate(rdma::encode(record) | 1U << 24U));
}

TEST_CASE("a credit of which a part is older than the rest is none") {
    CHECK(rdma::decode_credit({}) == rdma::Credit{});
    const rdma::Credit before{.read = {64, 128}, .received = 3, .landed = 1};
    const rdma::Credit after{.read = {640, 4096}, .received = 70, .landed = 9};
    CHECK(rdma::decode_credit(rdma::encode(after)) == after);
    for (unsigned mixture = 1; mixture < 31; ++mixture) {
        auto words = rdma::encode(before);
        for (unsigned i = 0; i < words.size(); ++i)
            if ((mixture >> i & 1U) != 0) words[i] = rdma::encode(after)[i];
        CHECK_FALSE(rdma::decode_credit(words));
    }
}

}  // namespace tests
