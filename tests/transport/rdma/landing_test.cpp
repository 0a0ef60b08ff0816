// Landings without a device: both ends over one memory, which a hostile peer writes as it likes.
#include "transport/rdma/landing.hpp"

#include "transport/rdma/kind.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace tests {

namespace link = transport::link;
namespace rdma = transport::rdma;
using rdma::kLandingPlaceBytes;
using rdma::LandingReader;
using rdma::LandingWriter;

namespace {

base::Hash256 secret(unsigned seed) {
    base::Hash256 out;
    out.bytes.fill(static_cast<std::byte>(seed));
    return out;
}

base::Bytes plain_of(std::size_t size, std::uint64_t seed) {
    base::Bytes out(size);
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<std::byte>(seed * 31 + i * 7);
    return out;
}

// Two ends; what one writes lies at once in the other's memory.
struct Ends {
    explicit Ends(std::size_t count = 4, unsigned key_of_reader = 1)
        : memory(count * kLandingPlaceBytes),
          writer(memory, secret(1)),
          reader(memory, secret(key_of_reader)) {}

    // Writes one; its frame.
    link::Landing write(std::size_t size) {
        const link::Landing landing{writer.token(), static_cast<std::uint32_t>(size)};
        last = writer.write(plain_of(size, landing.token));
        return landing;
    }
    // What the reader says of it: "" if it took what was written.
    std::string take(const link::Landing& landing) {
        base::Bytes out(landing.bytes);
        const auto taken = reader.take(landing, out);
        if (!taken) return taken.error().detail;
        return out == plain_of(landing.bytes, landing.token) ? "" : "other bytes";
    }

    base::Bytes memory;
    LandingWriter writer;
    LandingReader reader;
    LandingWriter::Written last;
};

}  // namespace

TEST_CASE("what lands is taken in turn, of every length, and its place is used again") {
    Ends ends;
    for (std::uint64_t i = 0; i < 40; ++i) {
        const std::size_t size = i % 5 == 0 ? link::kLandingBytes : 1 + i * 997;
        const auto landing = ends.write(size);
        CHECK(landing.token == i);
        CHECK(ends.last.at == i % 4 * kLandingPlaceBytes);
        CHECK(ends.take(landing).empty());
        CHECK(ends.reader.taken() == i + 1);
        REQUIRE(ends.writer.take_credit(ends.reader.taken()));
    }
}

TEST_CASE("a place is free when the peer has said so, and the peer can say no more than it took") {
    Ends ends;
    for (int i = 0; i < 4; ++i)
        (void)ends.write(100);
    CHECK(ends.writer.room() == 0);
    CHECK_FALSE(ends.writer.take_credit(5));
    REQUIRE(ends.writer.take_credit(2));
    CHECK(ends.writer.room() == 2);
    const auto back = ends.writer.take_credit(1);
    REQUIRE_FALSE(back);
    CHECK_THAT(back.error().detail, Catch::Contains("took 1 landings, between 2 and 4"));
}

TEST_CASE("a stale, repeated, or future landing is refused by name, and one that was not written") {
    Ends ends;
    const auto first = ends.write(1'000);
    const auto second = ends.write(2'000);
    CHECK_THAT(ends.take(second), Catch::Contains("named landing 1 before number 0"));
    CHECK(ends.take(first).empty());
    CHECK_THAT(ends.take(first), Catch::Contains("named landing 0, which was taken before"));
    CHECK(ends.take(second).empty());
    CHECK_THAT(ends.take({.token = 2, .bytes = 10}), Catch::Contains("did not seal"));
    CHECK_THAT(ends.take({.token = ~std::uint64_t{0}, .bytes = 10}),
               Catch::Contains("before number 2"));
    CHECK(ends.reader.taken() == 2);
}

TEST_CASE("more landings than there are places destroy those before, which no longer open") {
    Ends ends;
    const auto first = ends.write(100);
    for (int i = 0; i < 4; ++i) {
        // A peer that takes credit which it was not given.
        REQUIRE(ends.writer.take_credit(static_cast<std::uint64_t>(i)));
        (void)ends.write(100);
    }
    CHECK_THAT(ends.take(first), Catch::Contains("did not seal"));
    Ends without(0);
    CHECK(without.writer.room() == 0);
    CHECK_THAT(without.take({.token = 0, .bytes = 10}), Catch::Contains("was given none"));
}

TEST_CASE("landings in a row of places are one run of bytes") {
    Ends ends;
    const auto first = ends.write(link::kLandingBytes);
    auto both = ends.last;
    const auto second = ends.write(300);
    CHECK_FALSE(both.go_on(ends.last));
    CHECK(both.at == 0);
    CHECK(both.bytes.data() == ends.memory.data());
    CHECK(both.bytes.size() == kLandingPlaceBytes + 300 + 16);
    // As a device would: by one write, to another memory.
    base::Bytes peers(ends.memory.size());
    std::ranges::copy(both.bytes, peers.begin());
    LandingReader reader(peers, secret(1));
    for (const auto& each : {first, second}) {
        base::Bytes out(each.bytes);
        REQUIRE(reader.take(each, out));
        CHECK(out == plain_of(each.bytes, each.token));
    }
}

TEST_CASE("a row of landings ends where it would carry what is none, or goes back") {
    constexpr std::size_t kFull = link::kLandingBytes;
    // Of each row, how many landings; each is written once, and little else with it.
    const auto rows_of = [](std::size_t first, const std::vector<std::size_t>& sizes) {
        Ends ends;
        for (std::size_t i = 0; i < first; ++i)
            REQUIRE(ends.take(ends.write(1)).empty());
        REQUIRE(ends.writer.take_credit(first));
        std::vector<std::size_t> bytes;
        LandingWriter::Written row;
        for (const std::size_t size : sizes) {
            (void)ends.write(size);
            if (const auto before = row.go_on(ends.last)) bytes.push_back(before->bytes.size());
        }
        CHECK(row.at + row.bytes.size() == ends.last.at + ends.last.bytes.size());
        bytes.push_back(row.bytes.size());
        return bytes;
    };
    using Rows = std::vector<std::size_t>;
    CHECK(rows_of(0, {300}) == Rows{316});
    CHECK(rows_of(0, {kFull, kFull, 300}) == Rows{2 * kLandingPlaceBytes + 316});
    CHECK(rows_of(0, {300, kFull, kFull}) == Rows{316, kLandingPlaceBytes + kFull + 16});
    CHECK(rows_of(0, {300, 300, 300}) == Rows{316, 316, 316});
    CHECK(rows_of(3, {kFull, kFull}) == Rows{kFull + 16, kFull + 16});
    // As near as it may be, and a line too short.
    const std::size_t near = kLandingPlaceBytes - 4096 - 16;
    CHECK(rows_of(0, {near, 1}) == Rows{kLandingPlaceBytes + 17});
    CHECK(rows_of(0, {near - 1, 1}) == Rows{near + 15, 17});
}

TEST_CASE("an oversized landing is refused, and one of another length does not open") {
    Ends ends;
    auto landing = ends.write(30'000);
    landing.bytes = link::kLandingBytes + 1;
    CHECK_THAT(ends.take(landing), Catch::Contains("64 KiB at most"));
    for (const std::uint32_t bytes : {29'999U, 30'001U, 1U, 65'536U}) {
        landing.bytes = bytes;
        CHECK_THAT(ends.take(landing), Catch::Contains("did not seal"));
    }
    landing.bytes = 30'000;
    CHECK(ends.take(landing).empty());
}

TEST_CASE("a landing with a flipped bit, or of another session, does not open") {
    Ends ends;
    const auto landing = ends.write(500);
    for (std::size_t bit = 0; bit < 8 * (500 + 16); bit += 13) {
        ends.memory[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        CHECK_THAT(ends.take(landing), Catch::Contains("did not seal"));
        ends.memory[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
    CHECK(ends.take(landing).empty());
    Ends strangers(4, 2);
    const auto other = strangers.write(500);
    CHECK_THAT(strangers.take(other), Catch::Contains("did not seal"));
}

TEST_CASE("an older landing in its place again, or in another's, does not open") {
    Ends ends;
    const auto first = ends.write(700);
    const base::Bytes old = base::to_bytes(ends.last.bytes);
    CHECK(ends.take(first).empty());
    const auto second = ends.write(700);
    std::ranges::copy(old, ends.memory.begin() + static_cast<std::ptrdiff_t>(ends.last.at));
    CHECK_THAT(ends.take(second), Catch::Contains("did not seal"));
    REQUIRE(ends.writer.take_credit(1));
    for (int i = 0; i < 2; ++i)
        (void)ends.write(700);
    Ends again;
    REQUIRE(again.take(again.write(700)).empty());
    for (int i = 1; i < 4; ++i) {
        REQUIRE(again.writer.take_credit(again.reader.taken()));
        REQUIRE(again.take(again.write(700)).empty());
    }
    REQUIRE(again.writer.take_credit(4));
    const auto fifth = again.write(700);  // Where the first stood.
    std::ranges::copy(old, again.memory.begin());
    CHECK_THAT(again.take(fifth), Catch::Contains("did not seal"));
}

TEST_CASE("what was taken stays, whatever its peer writes there afterwards") {
    Ends ends;
    const auto landing = ends.write(5'000);
    base::Bytes out(landing.bytes);
    REQUIRE(ends.reader.take(landing, out));
    std::ranges::fill(ends.memory, std::byte{0xEE});
    CHECK(out == plain_of(5'000, 0));
}

TEST_CASE("landings and the data ring never share a key and a nonce") {
    transport::ring::Seal ring(secret(1), transport::ring::Seal::Use::seal);
    Ends ends;
    const base::Bytes plain = plain_of(700, 0);
    const auto landing = ends.write(700);
    base::Bytes record(plain.size() + transport::ring::kTagBytes);
    // A record at the landing's number, with what a landing binds: other bytes all the same.
    ring.seal(landing.token * link::kLandingBytes, 700, plain, record);
    CHECK_FALSE(base::equal(record, ends.last.bytes));
    std::ranges::copy(record, ends.memory.begin());
    CHECK_THAT(ends.take(landing), Catch::Contains("did not seal"));
}

TEST_CASE("what 100 peers make a node lock in memory is bounded") {
    constexpr std::size_t kMiB = std::size_t{1} << 20U;
    const rdma::RdmaKind::Options usual;
    // Cell, rings of 256 and 512 KiB and 8 landings that the peer writes, and as much of its.
    CHECK(usual.bytes_for_peer() == 2 * (256 + 256 * 1024 + 512 * 1024 + 8 * (65'536 + 64)));
    CHECK(100 * usual.bytes_for_peer() <= 251 * kMiB);
    CHECK(usual.peers_max == 32);
    CHECK(usual.peers_max * usual.bytes_for_peer() <= 81 * kMiB);
    // Whatever peers say of theirs, and on pages of 2 MiB.
    CHECK(rdma::RdmaKind::bytes_for_peer_max(usual) == 12 * kMiB);
    CHECK(usual.peers_max * rdma::RdmaKind::bytes_for_peer_max(usual) <= 384 * kMiB);
    const auto largest = rdma::decode_parameters(rdma::encode(
        rdma::Parameters{.control_log2 = 22, .data_log2 = 22, .landings = rdma::kLandingsMax}));
    REQUIRE(largest);
    CHECK(largest->region_bytes() <= 10 * kMiB);
}

}  // namespace tests
