#include "tests/node/received/join.hpp"
#include "tests/sim/files/disk_calls.hpp"
#include "tests/sim/files/disk_environment.hpp"

// Peers that vanish or have nothing, a full disk, a process that ends, and other histories: what
// the operator of the new node reads, that nobody pays who did nothing, and that it goes on
// (tests/node/snapshots/FAULTS.md).

namespace {

using p2p::SnapshotPart;
using p2p::SnapshotPiece;
using std::chrono::seconds;
using test::Intake;
using test::Join;
using test::Joiner;
using test::Source;
using Peers = std::set<std::size_t>;

std::string hex(const base::Hash256& hash) {
    return base::to_hex(hash.view());
}

void check_nobody_paid(Join& test) {
    CHECK(test.closed().empty());
    for (std::size_t i = 1; i < test.shelves.size(); ++i)
        CHECK(test.score(i) == 100);
}

// Does this once, before the piece of a part with this number, of those that come.
std::function<void(const SnapshotPiece&)> before(SnapshotPart part,
                                                 std::size_t number,
                                                 std::function<void()> what) {
    return [part, left = number + 1, what = std::move(what)](const SnapshotPiece& piece) mutable {
        if (left == 0 || piece.part != part) return;
        if (--left == 0) what();
    };
}

constexpr const char* kNone = "snapshot: no peer that is connected has a snapshot above block 1";

}  // namespace

TEST_CASE("fault: all peers vanish, at each stage; they come back and the node goes on",
          "[faults]") {
    Join test(3);
    const auto vanish = [&] {
        test.world.at(test.world.now, [&] {
            for (std::size_t i = 1; i <= 3; ++i)
                test.world.part(0, i);
        });
    };
    bool is_late = false;
    SECTION("before anything came") {
        test.shelf(1).is_silent = [&](const SnapshotPiece&) {
            vanish();
            return true;
        };
    }
    SECTION("with the proof") {
        test.intake.before_keep = before(SnapshotPart::proof, 0, vanish);
    }
    SECTION("with the manifest") {
        test.intake.before_keep = before(SnapshotPart::manifest, 0, vanish);
    }
    SECTION("with the third chunk") {
        test.intake.before_keep = before(SnapshotPart::chunk, 2, vanish);
    }
    SECTION("when all chunks are here") {
        test.intake.before_load = vanish;
        is_late = true;
    }
    test.run(seconds(30));
    INFO(test.log());
    CHECK(test.closed() == Peers{1, 2, 3});
    CHECK(test.has_joined() == is_late);
    test.shelf(1).is_silent = nullptr;
    test.connect();
    test.world.run(seconds(10));
    CHECK(test.has_joined());
    // No chunk was fetched twice.
    CHECK(test.intake.chunks_kept == test.folder().manifest().chunks.size());
    check_nobody_paid(test);
}

TEST_CASE(
    "fault: of two peers the one that gives vanishes, at each stage; the other gives the rest",
    "[faults]") {
    const auto part = GENERATE(SnapshotPart::proof, SnapshotPart::manifest, SnapshotPart::chunk);
    Join test(2);
    test.intake.before_keep =
        before(part, 0, [&] { test.world.at(test.world.now, [&] { test.world.part(0, 1); }); });
    test.run();
    INFO(test.log());
    CHECK(test.has_joined());
    CHECK(test.closed() == Peers{1});
    CHECK(test.score(2) == 100);
    CHECK(test.world.closes.empty());
}

TEST_CASE("fault: all peers have pruned, and no snapshot exists, until one does", "[faults]") {
    Join test(3);
    for (std::size_t i = 1; i <= 3; ++i)
        test.name(i, {});
    test.run(seconds(30));
    INFO(test.log());
    CHECK(test.has_line("snapshot: one is taken, 58 blocks are missing, 0 peers have the next"));
    CHECK(test.has_line(kNone));
    CHECK(test.waits_for() == std::string(kNone).substr(10));
    check_nobody_paid(test);
    test.name(2, {test.snapshot});
    test.world.run(seconds(5));
    CHECK(test.has_joined());
}

TEST_CASE("fault: the last snapshot is removed while it is fetched", "[faults]") {
    Join test(2);
    test.intake.before_keep = before(SnapshotPart::chunk, 2, [&] {
        REQUIRE(test.source.store().remove(test.source.store().list().front().name));
    });
    test.run(seconds(30));
    INFO(test.log());
    CHECK_FALSE(test.has_joined());
    CHECK(test.has_line(kNone));
    check_nobody_paid(test);
    const std::size_t had = test.intake.chunks_kept;
    CHECK(had > 0);
    const auto next = test.source.written(9);
    test.name(1, {next});
    test.world.run(seconds(10));
    INFO(test.log());
    CHECK(test.intake.loaded == next);
    check_nobody_paid(test);
    // Equal chunks are not fetched again.
    CHECK(test.intake.chunks_kept < had + test.folder().manifest().chunks.size());
}

TEST_CASE("fault: four join at once from two peers", "[faults]") {
    constexpr std::size_t kMore = 3;
    Join test(2);
    std::vector<p2p::RegisteredNode> nodes;
    for (std::size_t i = 0; i < 3 + kMore; ++i) {
        nodes.push_back({p2p::test::key_of(i), p2p::test::World::organisation(i), p2p::kValidator});
    }
    std::vector<std::unique_ptr<Joiner>> joiners;
    std::vector<std::unique_ptr<Intake>> intakes;
    for (std::size_t i = 3; i < 3 + kMore; ++i) {
        test.world.add(i);
        joiners.push_back(std::make_unique<Joiner>(
            test.source, std::optional<genesis::Checkpoint>(), "joiner" + std::to_string(i)));
        intakes.push_back(std::make_unique<Intake>(*joiners.back()));
        test.world[i].options.takes_snapshots = true;
        test.world[i].files = intakes.back().get();
        test.world.start(test.world[i]);
    }
    for (std::size_t i = 0; i < 3 + kMore; ++i)
        test.world.input(test.world[i], p2p::input::RegistryChanged{nodes});
    for (std::size_t i = 3; i < 3 + kMore; ++i) {
        test.world.join(i, 1);
        test.world.join(i, 2);
    }
    test.run();
    INFO(test.log());
    CHECK(test.has_joined());
    for (const auto& intake : intakes)
        CHECK(intake->loaded == test.snapshot);
    CHECK(test.world.closes.empty());
    for (const std::size_t i : {1U, 2U}) {
        for (const p2p::PeerStatus& peer : test.world[i].network->status().peers) {
            CHECK(peer.score == 100);
            CHECK(peer.messages_dropped == 0);
        }
    }
}

// --- The node ---

TEST_CASE("fault: a process that ends amid the chunks finds what it had", "[faults]") {
    Join test(3);
    const std::size_t all = test.folder().manifest().chunks.size();
    test.intake.before_keep = before(SnapshotPart::chunk, 0, [&] {
        for (std::size_t i = 1; i <= 3; ++i)
            test.shelf(i).is_silent = [](const SnapshotPiece&) { return true; };
    });
    test.run(seconds(1));
    const std::size_t had = test.intake.chunks_kept;
    REQUIRE(had > 0);
    REQUIRE(had < all);
    for (std::size_t i = 1; i <= 3; ++i) {
        test.world.part(0, i);
        test.shelf(i).is_silent = nullptr;
    }
    test.joiner.restart();
    test.world[0].options.begun_snapshot =
        node::SnapshotReceiver::begun_in(test.joiner.how.directory);
    REQUIRE(test.world[0].options.begun_snapshot == test.snapshot);
    test.restart();
    test.run();
    INFO(test.log());
    CHECK(test.has_joined());
    CHECK(test.intake.chunks_kept == all);
    CHECK(test.has_line(fmt::format("snapshot: chunks block=8 manifest={} chunks={}/{} received=0",
                                    hex(test.snapshot.manifest).substr(0, 16),
                                    had,
                                    all)));
    CHECK(
        test.has_line(fmt::format("snapshot: loading block=8 manifest={} chunks={}/{} received={}",
                                  hex(test.snapshot.manifest).substr(0, 16),
                                  all,
                                  all,
                                  all - had)));
}

TEST_CASE("fault: the disk is full, at each stage; with room again the node goes on", "[faults]") {
    sim::DiskFiles files("/m");
    sim::DiskCalls calls(files);
    Join test(2, node::Disk{calls, sim::make_environment(files)});
    REQUIRE(node::make_directories("/m/data", calls));
    const auto fill = [&] { files.set_full(true); };
    std::optional<std::size_t> last;  // Chunk.
    std::string text;
    SECTION("before anything came") {
        fill();
        text = "cannot make the directory /m/data/joining: No space left on device";
    }
    SECTION("with the proof") {
        test.intake.before_keep = before(SnapshotPart::proof, 0, fill);
        text = fmt::format("cannot open {}/manifest.bin: No space left on device",
                           test.joiner.receiver->path_of(test.snapshot).string());
    }
    SECTION("with links, proof and manifest") {
        test.intake.before_check = fill;
        text = fmt::format(
            "0 bytes are free on the device of /m/data; the snapshot's {} bytes of "
            "rows and 1 GiB are needed; free some, or take another device",
            test.folder().head().bytes);
    }
    SECTION("with the third chunk") {
        test.intake.before_keep = [&, count = 0](const SnapshotPiece& piece) mutable {
            if (piece.part != SnapshotPart::chunk) return;
            if (++count == 3) fill();
            last = piece.index;
        };
    }
    SECTION("when all chunks are here") {
        test.intake.before_load = fill;
        text = "cannot make the directory /m/data/state.1.loading: No space left on device";
    }
    test.run(seconds(8));
    INFO(test.log());
    if (last) {
        text = fmt::format("cannot open {}/chunks/{}.next: No space left on device",
                           test.joiner.receiver->path_of(test.snapshot).string(),
                           node::chunk_file_name(test.folder().manifest().chunks[*last].sha256));
    }
    CHECK(test.waits_for() == text);
    CHECK(test.has_line("snapshot: " + text));
    test.world.run(seconds(30));
    CHECK_FALSE(test.has_joined());
    check_nobody_paid(test);
    test.intake.before_check = nullptr;
    test.intake.before_load = nullptr;
    files.set_full(false);
    test.world.run(seconds(15));
    CHECK(test.has_joined());
    CHECK(test.intake.chunks_kept == test.folder().manifest().chunks.size());
    check_nobody_paid(test);
}

TEST_CASE("fault: a snapshot at or below the own final block", "[faults]") {
    Join test(2);
    p2p::test::Ledger own;
    own.grow(9);
    REQUIRE(own.finalized->header.height == Join::kHeight);
    test.world[0].ledger = own;
    test.world.tell_ledger(test.world[0]);
    test.run();
    INFO(test.log());
    CHECK_FALSE(test.intake.loaded);
    CHECK(test.has_line("snapshot: no peer that is connected has a snapshot above block 8"));
    CHECK(test.shelf(1).asked.empty());
    check_nobody_paid(test);
}

TEST_CASE("fault: a snapshot beside the own final block", "[faults]") {
    Join test(2);
    Source branch("branch");
    const genesis::Checkpoint own = branch.block(5);
    REQUIRE(own.block != test.source.block(5).block);
    test.intake.own_final = own;
    test.run();
    INFO(test.log());
    CHECK_FALSE(test.intake.loaded);
    CHECK(test.has_line(fmt::format(
        "snapshot: forked: the own final block 5:{}: the snapshot's chain has block {} there",
        hex(own.block),
        hex(test.source.block(5).block))));
    CHECK_FALSE(test::fs::exists(test.joiner.how.data_dir / "state.1.loading"));
    check_nobody_paid(test);
}

// --- History ---

TEST_CASE("fault: a branch that real old keys have signed, and a checkpoint", "[faults]") {
    Source branch("branch");
    const auto forged = branch.written(Join::kHeight);
    const auto checked = [&](chain::Height height, const std::function<std::string(Join&)>& text) {
        Join test(3);
        REQUIRE(branch.genesis().chain_id() == test.source.genesis().chain_id());
        REQUIRE(branch.block(height).block != test.source.block(height).block);
        test.joiner.how.trust.checkpoint = test.source.block(height);
        test.joiner.restart();
        test.give(1, branch.store());
        test.give(2, branch.store());
        test.run(seconds(30));
        INFO(test.log());
        CHECK(test.says(1, text(test)));
        CHECK(test.closed().contains(1));
        CHECK(test.score(3) == 100);
        CHECK(test.has_joined());
    };
    SECTION("at its block") {
        checked(8, [&](Join& test) {
            return fmt::format("{}: checkpoint 8:{}: the history has block {} there",
                               (test.joiner.receiver->path_of(forged) / "proof.bin").string(),
                               hex(test.source.block(8).block),
                               hex(branch.block(8).block));
        });
    }
    SECTION("below it: its rows say it") {
        checked(5, [&](Join& test) {
            return fmt::format("checkpoint 5:{}: the snapshot's chain has block {} there",
                               hex(test.source.block(5).block),
                               hex(branch.block(5).block));
        });
    }
}

TEST_CASE("fault: a recovery that the operator names is not in the history", "[faults]") {
    Join test(2);
    const base::Hash256 recovery = test.source.block(5).block;
    test.joiner.how.trust.chain.recoveries = {recovery};
    test.joiner.restart();
    test.run();
    INFO(test.log());
    CHECK_FALSE(test.intake.loaded);
    CHECK(
        test.says(1,
                  fmt::format("{}: links: recovery {}, which recover-from names, is not among "
                              "them: this is the chain without it, or before it; one that only "
                              "set the time back is no link, and needs its file (--recovery FILE, "
                              "a node's recovery.txt)",
                              (test.joiner.receiver->path_of(test.snapshot) / "proof.bin").string(),
                              hex(recovery))));
}
