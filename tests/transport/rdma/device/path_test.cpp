// Paths moved by hand, on real verbs: what goes over them and what that costs; and peers that use
// their queue pair as no node would. Each harms its own path, and no other.
#include "paths.hpp"
#include "transport/link/frame.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tests {

using namespace verbs;

TEST_CASE("frames of all lengths go both ways, and completions are few") {
    End leader(0);
    End follower(1);
    bring_up(leader, follower);
    // Who follows waits until it has heard of who leads.
    CHECK_FALSE(follower.path->has_room(Lane::control));
    stream(leader, follower, 300);
    stream(follower, leader, 300);
    for (const End* end : {&leader, &follower}) {
        const auto& counters = end->kind->counters();
        std::cout << end->kind->description() << ": " << counters.received_with_immediate
                  << " WRITE_WITH_IMM completions of " << counters.completions << ", "
                  << counters.wakeups << " wake-ups\n";
        CHECK(counters.received_with_immediate >= 300);
        // Of 600 writes and more few report; each end has 300 immediates, and some of credit.
        CHECK(counters.completions < 450);
        CHECK(counters.failures == 0);
    }
    leave(leader);
    leave(follower);
}

link::Part part_of(base::ByteView bytes) {
    return {{.lane = Lane::data, .is_first = true, .total_or_offset = 65'536}, bytes};
}

// Takes all that a record names, in order.
void take_landings(End& to, base::ByteView record, std::deque<base::Bytes>& expected) {
    while (!record.empty()) {
        const auto frame = link::first_frame(record);
        REQUIRE(frame);
        REQUIRE(frame->header.kind == link::FrameKind::landing);
        const auto landing = link::decode_landing(frame->payload);
        REQUIRE(landing);
        base::Bytes out(landing->bytes);
        REQUIRE(to.path->take_landing(*landing, out));
        REQUIRE(out == expected.front());
        expected.pop_front();
        record = record.subspan(link::LandingFrame().size());
    }
}

// Lands so many parts of all lengths at the other end, in turns with frames.
void land(End& from, End& to, std::uint64_t count) {
    REQUIRE(from.path->has_landings());
    std::deque<base::Bytes> expected;
    std::uint64_t sent = 0;
    REQUIRE(comes_true([&] {
        REQUIRE(from.failure.empty());
        REQUIRE(to.failure.empty());
        // One, two, three by one record.
        std::vector<link::Part> parts;
        for (auto room = std::min<std::uint64_t>(from.path->landing_room(), 1 + sent % 3);
             sent < count && room > 0;
             --room) {
            const std::size_t size = sent % 3 == 0 ? link::kLandingBytes : 1 + sent * 997 % 65'536;
            expected.push_back(frame_of(size, static_cast<std::uint8_t>(sent)));
            parts.push_back(part_of(expected.back()));
            ++sent;
        }
        if (!parts.empty()) from.path->land(parts);
        from.take();
        to.take();
        for (; !to.frames.empty(); to.frames.pop_front())
            take_landings(to, to.frames.front(), expected);
        return sent == count && expected.empty();
    }));
}

TEST_CASE("parts of messages land both ways, and the places are used again and again") {
    End leader(0);
    End follower(1);
    bring_up(leader, follower);
    stream(leader, follower, 3);
    land(leader, follower, 100);
    land(follower, leader, 30);
    stream(leader, follower, 30);
    for (const End* end : {&leader, &follower})
        CHECK(end->kind->counters().failures == 0);
    leave(leader);
    leave(follower);
}

TEST_CASE("who lands without room for it waits, and frames still go") {
    End leader(0);
    End follower(1);
    bring_up(leader, follower);
    unsigned landed = 0;
    for (; leader.path->landing_room() > 0; ++landed) {
        const auto bytes = frame_of(link::kLandingBytes, static_cast<std::uint8_t>(landed));
        leader.path->land(std::array{part_of(bytes)});
        leader.path->end_turn(now());
    }
    CHECK(landed == rdma::kLandingsUsual);
    CHECK(leader.path->has_room(Lane::data));
    // The frames are taken, the landings not: no place is free.
    REQUIRE(comes_true([&] {
        follower.take();
        leader.take();
        return follower.frames.size() == landed;
    }));
    CHECK(leader.path->landing_room() == 0);
    for (unsigned i = 0; i < landed; ++i) {
        base::Bytes out(link::kLandingBytes);
        REQUIRE(follower.path->take_landing({.token = i, .bytes = link::kLandingBytes}, out));
    }
    REQUIRE(comes_true([&] {
        follower.take();
        leader.take();
        return leader.path->landing_room() > 0;
    }));
    follower.frames.clear();
    land(leader, follower, 5);
    CHECK(leader.failure.empty());
}

TEST_CASE("a loaded end is landed on by less at a time, and all the same by all") {
    auto options = test_options(1);
    options.readings = [] { return rdma::Reading{.memory = 1000, .free = 100}; };
    End leader(0);
    End follower(options);
    bring_up(leader, follower);
    CHECK(leader.kind->landings_now() == rdma::kLandingsUsual);
    CHECK(follower.kind->landings_now() == rdma::kLandingsMin);
    // What was granted at first stays granted.
    land(leader, follower, rdma::kLandingsUsual);
    REQUIRE(comes_true([&] {
        follower.take();
        leader.take();
        return leader.path->landing_room() == rdma::kLandingsMin;
    }));
    for (int i = 0; i < 20; ++i) {
        land(leader, follower, 5);
        CHECK(leader.path->landing_room() <= rdma::kLandingsMin);
    }
    land(follower, leader, 20);
    leave(leader);
    leave(follower);
}

TEST_CASE("an end that keeps no landings is sent frames only") {
    auto options = test_options(1);
    options.landings = 0;
    End leader(0);
    End follower(options);
    bring_up(leader, follower);
    CHECK_FALSE(leader.path->has_landings());
    CHECK(leader.path->landing_room() == 0);
    stream(leader, follower, 5);
    CHECK(follower.path->has_landings());
    land(follower, leader, 10);
}

TEST_CASE("without a shared receive queue all works the same") {
    auto options = test_options(0);
    options.shares_receives = false;
    End leader(options);
    options.address = address_of(1);
    End follower(options);
    check_path(leader, follower, 200);
}

TEST_CASE("a sender without credit waits, and nothing is lost or refused") {
    End leader(0);
    End follower(1);
    bring_up(leader, follower);
    unsigned sent = 0;
    // The peer takes nothing: what runs out first is its receives.
    for (; leader.path->has_room(Lane::control); ++sent) {
        leader.path->send(Lane::control, frame_of(40, static_cast<std::uint8_t>(sent)));
        leader.path->end_turn(now());
    }
    CHECK(sent > 64);
    CHECK(sent < 128);
    for (int i = 0; i < 100; ++i) {
        leader.take();
        CHECK_FALSE(leader.path->has_room(Lane::control));
    }
    REQUIRE(comes_true([&] {
        follower.take();
        leader.take();
        return follower.frames.size() == sent && leader.path->has_room(Lane::control);
    }));
    for (unsigned i = 0; i < sent; ++i)
        CHECK(follower.frames[i] == frame_of(40, static_cast<std::uint8_t>(i)));
    CHECK(leader.failure.empty());
    follower.frames.clear();
    stream(leader, follower, 50);
}

TEST_CASE("a path that leaves tells the other end, and another can begin at once") {
    End leader(0);
    End follower(1);
    for (int round = 0; round < 3; ++round) {
        bring_up(leader, follower);
        stream(leader, follower, 5);
        leader.path.reset();
        REQUIRE(comes_true([&] {
            turn(*leader.kind);
            follower.take();
            return !follower.failure.empty();
        }));
        CHECK_THAT(follower.failure, Catch::Contains("left"));
        follower.failure.clear();
        follower.path.reset();
    }
    leave(leader);
    leave(follower);
}

// Its driver tells nothing of it, and waits until nobody has the device open.
TEST_CASE("a device that is removed in use is let go, and used again when it is back") {
    std::future<int> removed;  // Waits for the device until the ends are gone.
    End leader(0);
    End follower(1);
    bring_up(leader, follower);
    removed = std::async(std::launch::async, [] { return std::system("rdma link delete rxe1"); });
    REQUIRE(comes_true([&] {
        follower.take();
        return !follower.failure.empty();
    }));
    CHECK_THAT(follower.failure, Catch::Contains("rxe1 has been removed"));
    follower.failure.clear();
    leave(follower);
    REQUIRE(comes_true([&] {
        turn(*follower.kind);
        return removed.wait_for(0s) == std::future_status::ready;
    }));
    REQUIRE(removed.get() == 0);
    const auto refused = follower.kind->prepare(
        {.peer_address = leader.kind->address(), .leads = false, .secrets = {}}, follower.user);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == follower.kind->why_not());
    CHECK_FALSE(follower.kind->address().empty());
    leave(leader);
    leader.failure.clear();
    REQUIRE(std::system("rdma link add rxe1 type rxe netdev rdma1") == 0);
    REQUIRE(comes_true([&] {
        turn(*follower.kind);
        return follower.kind->why_not().empty();
    }));
    check_path(leader, follower, 50);
}

TEST_CASE("a device whose link was down is let go, and used again when it is up") {
    End leader(0);
    End follower(1);
    bring_up(leader, follower);
    REQUIRE(std::system("ip link set rdma1 down") == 0);
    REQUIRE(comes_true([&] {
        leader.take();
        follower.take();
        return !leader.failure.empty() && !follower.failure.empty();
    }));
    CHECK_THAT(follower.failure, Catch::Contains("the link of RDMA device rxe1 is down"));
    REQUIRE(std::system("sh /run/rdma-vm/link-up 1") == 0);
    for (End* end : {&leader, &follower}) {
        leave(*end);
        end->failure.clear();
        // The other end of a cable hears of it later.
        REQUIRE(comes_true([end] {
            turn(*end->kind);
            return end->kind->prepare({.peer_address = end->kind->address()}, end->user)
                .has_value();
        }));
    }
    check_path(leader, follower, 50);
}

TEST_CASE("a peer at an address where nobody is costs no waiting") {
    End victim(0);
    auto address = *rdma::decode_address(victim.kind->address());
    address.gid.back() = std::byte{99};
    victim.prepare(encode(address), true);
    REQUIRE(victim.path->bring_up(encode(rdma::Parameters{.pair = 17, .key = 1})));
    REQUIRE(comes_true([&] {
        victim.take();
        return !victim.failure.empty();
    }));
    CHECK_THAT(victim.failure, Catch::Contains("nobody answers"));
    leave(victim);
}

TEST_CASE("a peer with another path's key reaches neither that path nor its own") {
    End victim(0);
    End friendly(1);
    bring_up(victim, friendly);
    stream(victim, friendly, 3);
    // A path of the same node to somebody else, who knows the key of the first.
    auto first = std::move(victim.path);
    const auto foreign = *rdma::decode_parameters(first->parameters());
    Hostile hostile(victim);
    hostile.peer_address = victim.kind->address();
    hostile.connect(foreign.key);
    hostile.target.memory = foreign.memory;
    std::ranges::fill(hostile.memory->bytes(), std::byte{0xEE});
    hostile.write(0, 4096, rdma::Immediate{.line = 0});
    CHECK(hostile.await() != IBV_WC_SUCCESS);
    victim.path = std::move(first);
    stream(victim, friendly, 20);
    stream(friendly, victim, 20);
}

TEST_CASE("a write beyond what a peer was given fails") {
    End victim(0);
    Hostile hostile(victim);
    hostile.peer_address = victim.kind->address();
    hostile.connect();
    hostile.write(std::size_t{4} << 20, 4096, std::nullopt);
    CHECK(hostile.await() != IBV_WC_SUCCESS);
    leave(victim);
}

TEST_CASE("a peer that announces what it did not write loses its path, which says why") {
    const std::vector<std::pair<rdma::Immediate, std::string>> lies{
        {{.lane = Lane::control, .line = 0}, "another record than it wrote"},
        {{.lane = Lane::data, .line = 5}, "where none can be"},
        {{.lane = Lane::data, .line = 0xFFFFFF}, "where none can be"},
        {{.kind = rdma::Immediate::Kind::goodbye}, "left"},
        {{.kind = rdma::Immediate::Kind::landed, .lane = Lane::data, .line = 5},
         "where none can be"},
        {{.kind = rdma::Immediate::Kind::landed, .lane = Lane::control, .line = 0},
         "means nothing"},
    };
    for (const auto& [immediate, reason] : lies) {
        End victim(0);
        Hostile hostile(victim);
        hostile.peer_address = victim.kind->address();
        hostile.connect();
        hostile.write(transport::ring::Geometry::kRingsAt, 64, immediate);
        REQUIRE(hostile.await() == IBV_WC_SUCCESS);
        REQUIRE(comes_true([&] {
            victim.take();
            return !victim.failure.empty();
        }));
        CHECK_THAT(victim.failure, Catch::Contains(reason));
        leave(victim);
    }
}

TEST_CASE("a peer that names a landing which it did not write gets nothing for it") {
    End victim(0);
    End friendly(1);
    bring_up(victim, friendly);
    base::Bytes out(100);
    const auto taken = victim.path->take_landing({.token = 0, .bytes = 100}, out);
    REQUIRE_FALSE(taken);
    CHECK_THAT(taken.error().detail, Catch::Contains("did not seal"));
}

TEST_CASE("a write behind the landings fails") {
    End victim(0);
    Hostile hostile(victim);
    hostile.peer_address = victim.kind->address();
    hostile.connect();
    hostile.write(hostile.target.region_bytes(), 64, std::nullopt);
    CHECK(hostile.await() != IBV_WC_SUCCESS);
    leave(victim);
}

TEST_CASE("a record that is none of the peer's session is refused") {
    End victim(0);
    Hostile hostile(victim);
    hostile.peer_address = victim.kind->address();
    hostile.connect();
    const std::uint64_t word = transport::ring::encode({.lap = 1, .length = 40});
    std::memcpy(hostile.memory->bytes().data(), &word, sizeof word);
    hostile.write(transport::ring::Geometry::kRingsAt, 64, rdma::Immediate{.line = 0});
    REQUIRE(comes_true([&] {
        victim.take();
        return !victim.failure.empty();
    }));
    CHECK_THAT(victim.failure, Catch::Contains("did not seal"));
    leave(victim);
}

TEST_CASE("a peer that ignores its credit ends its own path, and no other's") {
    End victim(0);
    End friendly(1);
    bring_up(victim, friendly);
    auto first = std::move(victim.path);
    Hostile hostile(victim);
    hostile.peer_address = victim.kind->address();
    hostile.connect();
    // It never reads our credit, and is told none: nothing of this is a record.
    REQUIRE(comes_true([&] {
        if (hostile.pair->room() > 0) {
            hostile.write(0, 0, rdma::Immediate{.kind = rdma::Immediate::Kind::credit});
            if (hostile.await() != IBV_WC_SUCCESS) return true;
        }
        turn(*victim.kind);
        const auto received = victim.path->peek();
        if (!received) victim.failure = received.error().detail;
        return !victim.failure.empty();
    }));
    CHECK_THAT(victim.failure, Catch::Contains("more immediates than it was allowed"));
    victim.failure.clear();
    victim.path = std::move(first);
    stream(victim, friendly, 20);
    stream(friendly, victim, 20);
}

TEST_CASE("a peer that writes without pause gets a part of a turn, and no write is forgotten") {
    End victim(0);
    Hostile hostile(victim);
    hostile.peer_address = victim.kind->address();
    hostile.connect();
    const std::uint64_t before = victim.kind->counters().received_with_immediate;
    const auto received = [&] { return victim.kind->counters().received_with_immediate - before; };
    constexpr unsigned kRounds = 12;
    constexpr unsigned kWrites = 100;
    for (unsigned i = 0; i < kRounds; ++i) {
        for (unsigned j = 0; j < kWrites; ++j)
            hostile.write(0, 0, rdma::Immediate{.kind = rdma::Immediate::Kind::credit});
        for (unsigned j = 0; j < kWrites; ++j)
            REQUIRE(hostile.await() == IBV_WC_SUCCESS);
    }
    transport::Driver& driver = victim.kind->driver();
    driver.progress(now(), 64);
    CHECK(received() > 0);
    CHECK(received() <= kRounds * kWrites / 2);
    // Without another event.
    CHECK(driver.arm() == transport::Driver::Arm::busy);
    REQUIRE(comes_true([&] {
        driver.progress(now(), 64);
        return driver.arm() == transport::Driver::Arm::armed;
    }));
    CHECK(received() == kRounds * kWrites);
    leave(victim);
}

TEST_CASE("a node that may lock little memory has fewer peers by RDMA, or none, and says so") {
    auto options = test_options(0);
    options.lockable = 64U << 10U;
    const auto none = rdma::RdmaKind::create(options);
    REQUIRE_FALSE(none);
    CHECK_THAT(none.error().detail,
               Catch::Contains("64 KiB") && Catch::Contains("LimitMEMLOCK=infinity"));
    options.lockable = 2 * options.bytes_for_peer() + 4096;
    End small(options);
    CHECK_THAT(small.kind->description(), Catch::Contains("peers at most 2"));
    End other(1);
    std::vector<std::unique_ptr<link::FastPath>> paths;
    for (int i = 0; i < 2; ++i) {
        small.prepare(other.kind->address(), true);
        paths.push_back(std::move(small.path));
    }
    const auto refused = small.kind->prepare(
        {.peer_address = other.kind->address(), .leads = true, .secrets = {}}, small.user);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().detail, Catch::Contains("as many peers"));
    paths.clear();
    leave(small);
}

}  // namespace tests
