// Peers and devices that take away what a node needs: its shared receives, its queue pairs, its
// large pages. Each costs the path concerned, with a reason; all comes back, and is counted.
#include "paths.hpp"
#include "transport/ring/path.hpp"
#include "transport/ring/seal.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <string>

namespace tests {

using namespace verbs;

namespace {

constexpr std::size_t kPeers = 2;
// Of all of them, and what a kind keeps besides.
constexpr std::size_t kReceivesOfAll = kPeers * 128 + 64;

rdma::RdmaKind::Options of_two_peers() {
    auto options = test_options(0);
    options.peers_max = kPeers;
    return options;
}

// Uses up every receive that `victim` shares among its peers. One more would find none.
void drain(Hostile& hostile) {
    const rdma::Immediate anything{.kind = rdma::Immediate::Kind::credit};
    for (std::size_t i = 0; i < kReceivesOfAll; ++i) {
        hostile.write(0, 0, anything);
        REQUIRE(hostile.await() == IBV_WC_SUCCESS);
    }
}

void await_failure(End& end, const std::string& reason) {
    REQUIRE(comes_true([&] {
        end.take();
        return !end.failure.empty();
    }));
    CHECK_THAT(end.failure, Catch::Contains(reason));
    end.failure.clear();
}

void await_pairs(End& end, std::size_t pairs) {
    REQUIRE(comes_true([&] {
        turn(*end.kind);
        return end.kind->pairs() == pairs;
    }));
}

}  // namespace

TEST_CASE("a peer that drains the shared receives loses its path, and all receives come back") {
    End victim(of_two_peers());
    End friendly(1);
    bring_up(victim, friendly);
    auto first = std::move(victim.path);
    const std::size_t locked = victim.kind->locked_bytes();
    // The second time there are as many as the first: all have come back.
    for (int round = 0; round < 2; ++round) {
        Hostile hostile(victim);
        hostile.peer_address = victim.kind->address();
        hostile.connect();
        drain(hostile);
        await_failure(victim, "more immediates than it was allowed");
        victim.path.reset();
        await_pairs(victim, 1);
        CHECK(victim.kind->locked_bytes() == locked);
    }
    victim.path = std::move(first);
    stream(victim, friendly, 300);
    stream(friendly, victim, 300);
    leave(victim);
}

// Apart: here somebody does write to a node that has no receive.
TEST_CASE("who writes while the shared receives are drained waits, and loses nothing",
          "[.drained]") {
    auto options = of_two_peers();
    options.patience = {};
    End victim(options);
    options = test_options(1);
    options.patience = {};
    End friendly(options);
    bring_up(friendly, victim);
    auto first = std::move(victim.path);
    Hostile hostile(victim);
    hostile.peer_address = victim.kind->address();
    hostile.connect();
    drain(hostile);
    constexpr std::uint8_t kFrames = 20;
    for (std::uint8_t i = 0; i < kFrames; ++i) {
        REQUIRE(friendly.path->has_room(Lane::control));
        friendly.path->send(Lane::control, frame_of(100, i));
        friendly.path->end_turn(now());
    }
    std::this_thread::sleep_for(100ms);
    friendly.take();
    CHECK(friendly.failure.empty());
    await_failure(victim, "more immediates than it was allowed");
    victim.path = std::move(first);
    REQUIRE(comes_true([&] {
        victim.take();
        friendly.take();
        return victim.frames.size() == kFrames;
    }));
    for (std::uint8_t i = 0; i < kFrames; ++i)
        CHECK(victim.frames[i] == frame_of(100, i));
    CHECK(victim.failure.empty());
    CHECK(friendly.failure.empty());
}

TEST_CASE("a queue pair that fails at either end is noticed soon, and no other suffers") {
    End victim(0);
    End friendly(1);
    bring_up(victim, friendly);
    auto first = std::move(victim.path);
    for (const bool is_ours : {true, false}) {
        CAPTURE(is_ours);
        Hostile hostile(victim);
        hostile.peer_address = victim.kind->address();
        hostile.connect();
        const auto begin = std::chrono::steady_clock::now();
        if (is_ours) {
            // What is forbidden puts the pair of who is written to into error, as its device does.
            hostile.write(std::size_t{4} << 20, 4096, std::nullopt);
            CHECK(hostile.await() != IBV_WC_SUCCESS);
        } else {
            hostile.pair->stop();
        }
        await_failure(victim, "the RDMA device");
        // Half a second of retries, a heartbeat, and what the emulation takes besides.
        CHECK(std::chrono::steady_clock::now() - begin < 15s);
        victim.path.reset();
        await_pairs(victim, 1);
    }
    victim.path = std::move(first);
    stream(victim, friendly, 20);
    stream(friendly, victim, 20);
    leave(victim);
    leave(friendly);
}

TEST_CASE("a record that its peer sealed goes with an announcement of its length only") {
    struct Case {
        std::size_t announced;
        std::size_t taken;
        const char* why;
    };
    constexpr std::size_t kBytes = 100;
    constexpr std::size_t kRecord = transport::ring::record_bytes(kBytes);
    static_assert(kRecord == 128);
    for (const auto& [announced, taken, why] :
         {Case{kRecord - 64, 0, "announced another record than it wrote"},
          Case{kRecord, 1, ""},
          Case{kRecord + 64, 1, "announced another record than it wrote"}}) {
        CAPTURE(announced);
        End victim(0);
        Hostile hostile(victim);
        hostile.peer_address = victim.kind->address();
        hostile.connect();
        // The secrets of an End are known.
        transport::ring::Seal seal({}, transport::ring::Seal::Use::seal);
        const std::uint64_t word = transport::ring::encode({.lap = 1, .length = kBytes});
        const auto record = hostile.memory->bytes().first(kRecord);
        std::memcpy(record.data(), &word, sizeof word);
        seal.seal(0,
                  word,
                  frame_of(kBytes, 1),
                  record.subspan(sizeof word, kBytes + transport::ring::kTagBytes));
        const std::size_t at = transport::ring::Geometry::kRingsAt;
        hostile.write(at, kRecord, std::nullopt);
        hostile.write(at, announced, rdma::Immediate{.line = 0});
        REQUIRE(comes_true([&] {
            victim.take();
            return victim.frames.size() == taken &&
                   victim.failure.empty() == std::string(why).empty();
        }));
        CHECK_THAT(victim.failure, Catch::Contains(why));
        if (taken == 1) CHECK(victim.frames.front() == frame_of(kBytes, 1));
        leave(victim);
    }
}

namespace {

constexpr const char* kHugePages = "/proc/sys/vm/nr_hugepages";

void reserve_huge_pages(unsigned count) {
    std::ofstream(kHugePages) << count << "\n";
    unsigned reserved = 0;
    std::ifstream(kHugePages) >> reserved;
    REQUIRE(reserved == count);
}

}  // namespace

TEST_CASE(
    "rings lie on pages of 2 MiB where there are some, else on small ones, and it says which") {
    struct Case {
        unsigned pages;
        const char* text;
    };
    // Two ends with two regions each; then one end finds none any more.
    for (const auto& [pages, text] :
         {Case{0, "pages of 4 KiB"}, Case{8, "pages of 2 MiB"}, Case{2, "pages of 2 MiB"}}) {
        CAPTURE(pages);
        reserve_huge_pages(pages);
        End leader(0);
        End follower(1);
        CHECK_THAT(leader.kind->description(), Catch::Contains(text));
        bring_up(leader, follower);
        const bool is_huge = leader.kind->locked_bytes() % (std::size_t{2} << 20) == 0;
        CHECK(is_huge == (pages == 8));
        stream(leader, follower, 50);
        stream(follower, leader, 50);
        leave(leader);
        leave(follower);
    }
    reserve_huge_pages(0);
}

}  // namespace tests
