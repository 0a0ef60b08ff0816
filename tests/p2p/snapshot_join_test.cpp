#include "p2p/world.hpp"

#include <catch2/catch.hpp>

// A node that takes a snapshot from its peers, message by message.

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

// Node 0 is new; the others have a chain, of which they have only the newest blocks.
struct Joining {
    World world;
    TestSnapshot snapshot;
    std::vector<RegisteredNode> nodes;

    explicit Joining(std::size_t peers,
                     chain::Height earliest = 40,
                     std::size_t blocks = 60,
                     std::uint32_t chunks = 40)
        : world(peers + 1) {
        snapshot = TestSnapshot::of(static_cast<chain::Height>(blocks - 10));
        snapshot.counts[SnapshotPart::chunk] = chunks;
        Node& joiner = world[0];
        joiner.options.takes_snapshots = true;
        joiner.desk.right = {snapshot};
        for (std::size_t i = 0; i <= peers; ++i)
            nodes.push_back({key_of(i), World::organisation(i), kValidator});
        start();
        Ledger ledger;
        ledger.grow(blocks);
        ledger.earliest = earliest;
        for (std::size_t i = 1; i <= peers; ++i) {
            world[i].ledger = ledger;
            world[i].desk.ours = {snapshot};
            world.tell_ledger(world[i]);
            world.input(world[i], input::SnapshotsChanged{{snapshot.point}});
        }
    }
    // The joiner's process; its desk stays as it is.
    void start() {
        world.start(world[0]);
        world.input(world[0], input::RegistryChanged{nodes});
    }
    void join() {
        for (std::size_t i = 1; i < 4; ++i)
            world.join(0, i);
    }
    [[nodiscard]] std::size_t asked() const { return world.count(MessageType::snapshot_request); }
};

// Blocks come slowly: some hundreds in a long round trip.
void far_behind(std::uint64_t rows, bool takes_snapshot) {
    Joining test(3, 1, 30'000);
    test.world[0].desk.rows = rows;
    test.world[0].desk.bytes = 50U << 20U;
    for (std::size_t i = 1; i < 4; ++i) {
        test.world[i].read_delay = milliseconds(400);
        test.world[i].read_most = 300;
    }
    test.join();
    test.world.run(seconds(14));
    INFO("final " << test.world[0].ledger.finalized->header.height);
    CHECK(test.world[0].ledger.finalized->header.height > 1);
    CHECK(test.world[0].desk.loaded.has_value() == takes_snapshot);
    if (takes_snapshot) {
        // What it decided stays: how little is asked for at first says nothing of how fast it is.
        CHECK(std::ranges::count_if(test.world.log.lines, [](const std::string& line) {
                  return line.find("snapshot: one is taken") != std::string::npos;
              }) == 1);
        // It held on to what it had while the chunks came, and was still far from the end.
        CHECK(test.world[0].ledger.finalized->header.height < 25'000);
    } else {
        // Links, proof and manifest told what it costs, and no chunk was asked for.
        CHECK(test.world[0].desk.chunks_kept == 0);
        CHECK(test.asked() == 4);
    }
}

}  // namespace

TEST_CASE("a new node whose peers have no old blocks takes their snapshot") {
    Joining test(3);
    test.join();
    test.world.run(seconds(10));
    CHECK(test.world[0].desk.loaded == test.snapshot.point);
    CHECK(test.world[0].desk.chunks_kept == 40);
    // Each piece once.
    CHECK(test.asked() == 44);
    CHECK(test.world.closes.empty());
    for (const PeerStatus& peer : test.world[0].network->status().peers) {
        CHECK(peer.stored.earliest_height == 40);
        CHECK(peer.messages_dropped == 0);
    }
}

TEST_CASE("where one peer has the block after ours, blocks are taken") {
    Joining test(3);
    test.world[2].ledger.earliest = 1;
    test.world.tell_ledger(test.world[2]);
    test.join();
    test.world.run(seconds(10));
    CHECK_FALSE(test.world[0].desk.loaded);
    CHECK(test.asked() == 0);
    CHECK(test.world[0].ledger.finalized->header.height > 50);
}

TEST_CASE("how old a snapshot is decides nothing, and is said with the clocks of peers") {
    Joining test(3);
    test.world[0].desk.final_time = test.world.now - std::chrono::minutes(20);
    test.join();
    test.world.run(seconds(10));
    CHECK(test.world[0].desk.loaded == test.snapshot.point);
    CHECK(
        test.world.log.has("1200 s behind the clock: stale until the node has caught up; clocks "
                           "of peers less ours: b:1 0 ms"));
    for (const PeerStatus& peer : test.world[0].network->status().peers)
        CHECK(peer.score == 100);
}

TEST_CASE("a new node believes no single organisation a snapshot without waiting for another") {
    Joining test(3);
    test.world.join(0, 1);
    test.world.run(seconds(60));
    CHECK(test.asked() == 0);
    CHECK_FALSE(test.world.log.has("stale"));
    test.world.join(0, 2);
    test.world.run(seconds(5));
    CHECK(test.world[0].desk.loaded == test.snapshot.point);
}

TEST_CASE(
    "a peer with a flipped bit in a chunk is closed by name, the rest comes from the others") {
    Joining test(3);
    test.world[2].desk.falsify = [](SnapshotChunk& chunk) {
        if (chunk.piece.part == SnapshotPart::chunk) chunk.bytes[0] ^= std::byte{1};
    };
    test.join();
    test.world.run(seconds(10));
    CHECK(test.world[0].desk.loaded == test.snapshot.point);
    CHECK(test.world.closes.front() == "A: bad_block");
    CHECK(test.world.log.has("c:1"));
    CHECK(test.world.log.has("its SHA-256 is another"));
}

TEST_CASE("a snapshot that comes to a peer later is heard of, and taken") {
    Joining test(3);
    for (std::size_t i = 1; i < 4; ++i)
        test.world.input(test.world[i], input::SnapshotsChanged{{}});
    test.join();
    test.world.run(seconds(5));
    CHECK(test.asked() == 0);
    const auto status = test.world[0].network->status().sync;
    REQUIRE(status.snapshot);
    CHECK(status.snapshot->waiting_for == "no peer that is connected has a snapshot above block 1");
    test.world.input(test.world[1], input::SnapshotsChanged{{test.snapshot.point}});
    test.world.run(seconds(5));
    CHECK(test.world[0].desk.loaded == test.snapshot.point);
}

TEST_CASE("a snapshot that its last peers have no more is not waited for") {
    Joining test(3);
    test.join();
    test.world.at(test.world.now + milliseconds(20), [&] {
        for (std::size_t i = 1; i < 4; ++i)
            test.world[i].desk.ours.clear();
    });
    test.world.run(seconds(5));
    CHECK_FALSE(test.world[0].desk.loaded);
    CHECK(test.world.closes.empty());
    const TestSnapshot newer = TestSnapshot::of(55, 2);
    test.world[0].desk.right.push_back(newer);
    for (std::size_t i = 1; i < 4; ++i) {
        test.world[i].desk.ours = {newer};
        test.world.input(test.world[i], input::SnapshotsChanged{{newer.point}});
    }
    test.world.run(seconds(5));
    CHECK(test.world[0].desk.loaded == newer.point);
}

TEST_CASE("far behind, a snapshot is taken if that is three times as fast as blocks") {
    far_behind(0, true);
}

TEST_CASE("far behind, blocks are taken if a snapshot is not much faster") {
    far_behind(1'000'000'000, false);
}

TEST_CASE("the seconds that are left are those until it is loaded, and the digests'") {
    constexpr std::uint64_t kRows = 37'500'000;
    constexpr milliseconds kDigests(30'000);  // At 800 ns a row.
    Joining test(3, 40, 60, 240);
    test.world[0].desk.rows = kRows;
    test.world[0].desk.bytes = 240U << 20U;
    for (std::size_t i = 1; i < 4; ++i)
        test.world[i].read_delay = milliseconds(400);
    test.join();
    const auto shown = [&] { return test.world[0].network->status().sync; };
    test.world.run(milliseconds(1'500));
    REQUIRE(shown().snapshot);
    CHECK_FALSE(shown().snapshot->eta);  // Chunks come for less than a second.
    test.world.run(seconds(3));
    const base::Timestamp asked_at = test.world.now;
    REQUIRE(shown().snapshot);
    REQUIRE(shown().snapshot->eta);
    CHECK(shown().peers == 3);
    const base::Duration eta = *shown().snapshot->eta;
    while (!test.world[0].desk.loaded && test.world.now < asked_at + seconds(60))
        test.world.run(milliseconds(50));
    REQUIRE(test.world[0].desk.loaded);
    const base::Duration took = test.world.now - asked_at + kDigests;
    INFO("said " << eta / milliseconds(1) << " ms, took " << took / milliseconds(1));
    CHECK(eta > took * 8 / 10);
    CHECK(eta < took * 12 / 10);
    CHECK(test.world.log.has(" s left"));
}

TEST_CASE(
    "who is asked for more pieces at once than four says so, and what is unasked is dropped") {
    Joining test(1);
    Node& server = test.world[1];
    test.world.join(0, 1);
    test.world.run(seconds(1));
    const auto peers = server.network->status().peers;
    REQUIRE(peers.size() == 1);
    server.desk.answers = false;
    const SharedBytes ask = pack_message(
        SnapshotRequest{.piece = {test.snapshot.point.manifest, SnapshotPart::chunk, 1}});
    for (int i = 0; i < 4; ++i)
        test.world.input(server, input::Message{peers[0].channel, *ask});
    CHECK(server.network->status().peers[0].score == 100);
    test.world.input(server, input::Message{peers[0].channel, *ask});
    CHECK(server.network->status().peers[0].score == 90);
    const SharedBytes unasked =
        pack_message(test.snapshot.answer({test.snapshot.point.manifest, SnapshotPart::chunk, 1}));
    test.world.input(server, input::Message{peers[0].channel, *unasked});
    CHECK(server.network->status().peers[0].score == 85);
}

TEST_CASE("a joiner that asks as fast as it is answered is within its budget") {
    Joining test(3, 40, 60, 900);
    test.join();
    test.world.run(seconds(10));
    CHECK(test.world[0].desk.chunks_kept == 900);
    CHECK(test.asked() == 904);
    for (std::size_t i = 1; i < 4; ++i) {
        for (const PeerStatus& peer : test.world[i].network->status().peers) {
            CHECK(peer.messages_dropped == 0);
            CHECK(peer.score == 100);
        }
    }
}

TEST_CASE("killed at 90 % of the chunks a joiner fetches at most 16 of them again") {
    Joining test(3, 40, 60, 900);
    test.join();
    while (test.world[0].desk.chunks_kept < 810)
        test.world.run(milliseconds(1));
    const std::size_t had = test.world[0].desk.chunks_kept;
    REQUIRE(had < 900);
    // What is on its way is lost with the process; what it had kept lies on the disk.
    for (std::size_t i = 1; i < 4; ++i)
        test.world.part(0, i);
    test.world[0].options.begun_snapshot = test.snapshot.point;
    test.start();
    test.join();
    test.world.run(seconds(10));
    CHECK(test.world[0].desk.loaded == test.snapshot.point);
    CHECK(test.world[0].desk.chunks_kept == 900);
    CHECK(test.world.log.has("chunks=" + std::to_string(had) + "/900 received=0"));
    // Links, proof and manifest took four questions, of the first process.
    const std::size_t again = test.asked() - 900 - 4;
    INFO(again << " were asked for again");
    CHECK(again > 0);
    CHECK(again <= 16);
    CHECK(test.world.closes.empty());
}

// A link is made for each change of the schedule, and kept for ever: 4 MiB of them are a piece.
TEST_CASE("a new node joins a chain whose schedule has changed often") {
    const std::uint32_t pieces = GENERATE(64U, 65U);
    Joining test(3);
    test.snapshot.counts[SnapshotPart::links] = pieces;
    for (Node* node : {&test.world[1], &test.world[2], &test.world[3]})
        node->desk.ours = {test.snapshot};
    test.world[0].desk.right = {test.snapshot};
    test.join();
    test.world.run(seconds(600));
    INFO(pieces << " pieces; " << (test.world.closes.empty() ? "" : test.world.closes.front()));
    CHECK(test.world[0].desk.loaded == test.snapshot.point);
    CHECK(test.world.closes.empty());
}
