#include "p2p/bootstrap.hpp"

#include "p2p/snapshot_desk.hpp"

#include <catch2/catch.hpp>

#include <deque>

// What to fetch of a snapshot from whom: every source that lies, stalls or goes.

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.
using std::chrono::milliseconds;
using std::chrono::seconds;
using Stage = Bootstrap::Stage;

// One joiner, and peers that answer when the test says so.
struct Play {
    base::Timestamp now = base::Timestamp(seconds(1'000'000));
    Bootstrap bootstrap{7, {}};
    SnapshotDesk desk;
    std::map<PeerSlot, std::vector<SnapshotPoint>> named;
    std::map<PeerSlot, std::deque<Bootstrap::Ask>> asked;
    std::map<PeerSlot, std::size_t> chunks_asked;
    std::vector<std::uint32_t> order;  // Of chunks, as they were asked for first.
    std::vector<Bootstrap::Fault> faults;
    std::optional<SnapshotPoint> load;
    std::size_t checks = 0;
    chain::Height own_final = 1;
    std::size_t most_under_way = 0;

    explicit Play(std::size_t peers, const TestSnapshot& snapshot = TestSnapshot::of(100)) {
        desk.right = {snapshot};
        for (PeerSlot slot = 0; slot < peers; ++slot)
            named[slot] = {snapshot.point};
    }
    [[nodiscard]] std::vector<Bootstrap::Source> sources() const {
        std::vector<Bootstrap::Source> sources;
        for (const auto& [slot, snapshots] : named) {
            const std::string name = std::string("org") + static_cast<char>('a' + slot % 26);
            sources.push_back({slot, *chain::Name::from_string(name), &snapshots});
        }
        return sources;
    }
    void pump() {
        Bootstrap::Plan plan = bootstrap.plan(now, sources(), own_final);
        for (const Bootstrap::Ask& ask : plan.asks) {
            asked[ask.slot].push_back(ask);
            if (ask.request.piece.part != SnapshotPart::chunk) continue;
            ++chunks_asked[ask.slot];
            order.push_back(ask.request.piece.index);
        }
        std::size_t open = 0;
        for (const auto& [slot, asks] : asked) {
            CHECK(asks.size() <= kSnapshotRequestsMax);
            open += asks.size();
        }
        most_under_way = std::max(most_under_way, open);
        if (plan.load) load = plan.load;
        if (!plan.check) return;
        ++checks;
        note(bootstrap.on_checked(now, desk.check(*plan.check), sources()));
        pump();
    }
    void note(std::vector<Bootstrap::Fault> more) {
        for (Bootstrap::Fault& fault : more) {
            if (fault.points == 0) leave(fault.slot);
            faults.push_back(std::move(fault));
        }
    }
    void leave(PeerSlot slot) {
        named.erase(slot);
        asked.erase(slot);
        bootstrap.forget(slot);
    }
    // The peer answers what it was asked for first; `change` may lie.
    bool answer(PeerSlot slot, const std::function<void(SnapshotChunk&)>& change = {}) {
        const auto at = asked.find(slot);
        if (at == asked.end() || at->second.empty()) return false;
        const Bootstrap::Ask ask = at->second.front();
        at->second.pop_front();
        SnapshotChunk said{.piece = ask.request.piece};
        if (const auto* has = desk.find(desk.right, said.piece.manifest)) {
            said = has->answer(said.piece);
        }
        if (change) change(said);
        REQUIRE(bootstrap.is_asked(slot, ask.correlation));
        auto arrived = bootstrap.on_answer(now, slot, ask.correlation, said);
        if (arrived.fault) note({*arrived.fault});
        if (arrived.keep) note(bootstrap.on_kept(now, desk.keep(*arrived.keep), sources()));
        pump();
        return true;
    }
    // All answer in turn, until nothing is asked any more.
    void run() {
        pump();
        for (bool is_any = true; is_any;) {
            is_any = false;
            const auto slots = named;
            for (const auto& [slot, snapshots] : slots)
                is_any = answer(slot) || is_any;
        }
    }
    // Until chunks come.
    void begin() {
        pump();
        while (bootstrap.stage() == Stage::history || bootstrap.stage() == Stage::looking) {
            bool is_any = false;
            for (const PeerSlot slot : {0U, 1U, 2U, 3U})
                is_any = is_any || (bootstrap.stage() != Stage::chunks && answer(slot));
            REQUIRE(is_any);
        }
        REQUIRE(bootstrap.stage() == Stage::chunks);
    }
    void pass(base::Duration time) {
        const base::Timestamp end = now + time;
        while (now < end) {
            now += milliseconds(100);
            note(bootstrap.on_time(now));
            pump();
        }
    }
    [[nodiscard]] bool is_loading(const TestSnapshot& snapshot) const {
        return bootstrap.stage() == Stage::loading && load == snapshot.point;
    }
};

}  // namespace

TEST_CASE("links, proof and manifest come from one peer, before any chunk, then chunks from all") {
    Play play(4);
    play.pump();
    CHECK(play.asked[0].size() == 3);
    CHECK(play.asked.size() == 1);
    CHECK(play.order.empty());
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.faults.empty());
    CHECK(play.desk.chunks_kept == 40);
    CHECK(play.order.size() == 40);
    CHECK(play.most_under_way == Bootstrap::kWindow);
    for (const PeerSlot slot : {0U, 1U, 2U, 3U})
        CHECK(play.chunks_asked[slot] == 10);
}

TEST_CASE("chunks are asked for in random order, which the seed gives") {
    Play one(1);
    Play same(1);
    Play other(1);
    other.bootstrap = Bootstrap(8, {});
    for (Play* play : {&one, &same, &other})
        play->run();
    CHECK(one.order == same.order);
    CHECK(one.order != other.order);
    CHECK_FALSE(std::ranges::is_sorted(one.order));
}

TEST_CASE("the snapshot of most organisations is taken, of these the newest") {
    Play play(3);
    const TestSnapshot newer = TestSnapshot::of(200, 2);
    const TestSnapshot newest = TestSnapshot::of(300, 3);
    play.desk.right = {TestSnapshot::of(100), newer, newest};
    play.named[0].push_back(newer.point);
    play.named[1].push_back(newer.point);
    play.named[2].push_back(newer.point);
    play.named[2].push_back(newest.point);
    play.run();
    CHECK(play.is_loading(newer));
}

TEST_CASE("what was begun before a restart is preferred, and its chunks are not fetched again") {
    Play play(2);
    const TestSnapshot newer = TestSnapshot::of(200, 2);
    play.desk.right.push_back(newer);
    for (auto& [slot, snapshots] : play.named)
        snapshots.push_back(newer.point);
    const TestSnapshot begun = TestSnapshot::of(100);
    for (std::uint32_t i = 0; i < 35; ++i)
        play.desk.kept[begun.point.manifest].insert({SnapshotPart::chunk, i});
    play.bootstrap = Bootstrap(7, begun.point);
    play.run();
    CHECK(play.is_loading(begun));
    CHECK(play.desk.chunks_kept == 5);
}

TEST_CASE("a chunk with another hash costs its sender, and comes from another") {
    Play play(2);
    play.begin();
    const PeerSlot liar = 1;
    REQUIRE(play.answer(liar, [](SnapshotChunk& chunk) { chunk.bytes[0] ^= std::byte{1}; }));
    REQUIRE(play.faults.size() == 1);
    CHECK(play.faults[0].slot == liar);
    CHECK(play.faults[0].points == 0);
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.desk.chunks_kept == 40);
}

TEST_CASE(
    "an answer that is not to the question, too large, or of another count costs its sender") {
    const auto lies = {
        +[](SnapshotChunk& chunk) { ++chunk.piece.index; },
        +[](SnapshotChunk& chunk) { chunk.piece.manifest.bytes[5] ^= std::byte{1}; },
        +[](SnapshotChunk& chunk) { chunk.count = 41; },
        +[](SnapshotChunk& chunk) { chunk.bytes.resize(5U << 20U); },
    };
    for (const auto& lie : lies) {
        Play play(2);
        play.begin();
        REQUIRE(play.answer(1, lie));
        REQUIRE(play.faults.size() == 1);
        CHECK(play.faults[0].slot == 1);
        CHECK(play.faults[0].points == 0);
        play.run();
        CHECK(play.is_loading(TestSnapshot::of(100)));
    }
}

TEST_CASE("a proof or manifest that is larger than may be, or has no end, costs its sender") {
    for (const std::uint32_t count : {0U, 65U, 0xFFFF'FFFFU}) {
        Play play(2);
        play.pump();
        REQUIRE(play.answer(0));  // The links.
        REQUIRE(play.answer(0, [count](SnapshotChunk& chunk) { chunk.count = count; }));
        REQUIRE(play.faults.size() == 1);
        CHECK(play.faults[0].slot == 0);
        play.run();
        CHECK(play.is_loading(TestSnapshot::of(100)));
    }
}

TEST_CASE("a claim of more links than may be costs its sender, one of as many is no load") {
    for (const std::uint32_t count : {16'385U, 0xFFFF'FFFFU}) {
        Play play(2);
        play.pump();
        REQUIRE(play.answer(0, [count](SnapshotChunk& chunk) { chunk.count = count; }));
        REQUIRE(play.faults.size() == 1);
        CHECK(play.faults[0].slot == 0);
        CHECK(play.faults[0].text == "says that the links of a snapshot has " +
                                         std::to_string(count) +
                                         " pieces; at most 16384 are allowed");
        play.run();
        CHECK(play.is_loading(TestSnapshot::of(100)));
    }
    Play play(1);
    play.desk.right.front().counts[SnapshotPart::links] = 16'384;
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.faults.empty());
}

TEST_CASE("no link is asked for far ahead of one that does not come") {
    Play play(1);
    play.desk.right.front().counts[SnapshotPart::links] = 100;
    play.pump();
    REQUIRE(play.answer(0));
    // The next one is held back; all others come.
    const Bootstrap::Ask held = [&] {
        auto& asked = play.asked[0];
        const auto at = std::ranges::find_if(asked, [](const Bootstrap::Ask& ask) {
            return ask.request.piece ==
                   SnapshotPiece{ask.request.piece.manifest, SnapshotPart::links, 1};
        });
        REQUIRE(at != asked.end());
        const Bootstrap::Ask ask = *at;
        asked.erase(at);
        return ask;
    }();
    while (play.answer(0)) {
    }
    const auto& kept = play.desk.kept[TestSnapshot::of(100).point.manifest];
    CHECK(kept.contains({SnapshotPart::links, 4}));
    CHECK_FALSE(kept.contains({SnapshotPart::links, 5}));
    CHECK(kept.contains({SnapshotPart::manifest, 0}));
    play.asked[0].push_back(held);
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.faults.empty());
}

TEST_CASE("a wrong proof costs its sender, and another is asked") {
    Play play(3);
    play.pump();
    REQUIRE(play.answer(0));
    REQUIRE(play.answer(0, [](SnapshotChunk& chunk) { chunk.bytes[0] ^= std::byte{1}; }));
    for (int i = 0; i < 2; ++i)
        REQUIRE(play.answer(0));
    REQUIRE(play.faults.size() == 1);
    CHECK(play.faults[0].slot == 0);
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.faults.size() == 1);
}

TEST_CASE("a manifest that contradicts itself costs everyone who names it, and no one else") {
    Play play(3);
    const TestSnapshot forged = TestSnapshot::of(200, 2);
    play.desk.right.push_back(forged);
    play.named[1].push_back(forged.point);
    play.named[2].push_back(forged.point);
    play.named[0] = {TestSnapshot::of(100).point};
    play.named[1] = play.named[2] = {forged.point};
    play.begin();
    const auto sources = play.sources();
    const SnapshotPiece piece = play.asked.begin()->second.front().request.piece;
    REQUIRE(piece.manifest == forged.point.manifest);
    REQUIRE(play.answer(1, [](SnapshotChunk&) {}));
    input::SnapshotKept kept{piece, SnapshotVerdict::bad_manifest, "the lanes are others"};
    // As the node would say of one that is with it.
    const auto ask = play.asked[1].front();
    auto arrived =
        play.bootstrap.on_answer(play.now, 1, ask.correlation, forged.answer(ask.request.piece));
    play.asked[1].pop_front();
    REQUIRE(arrived.keep);
    kept.piece = arrived.keep->piece;
    play.note(play.bootstrap.on_kept(play.now, kept, play.sources()));
    REQUIRE(play.faults.size() == 2);
    CHECK(play.faults[0].slot == 1);
    CHECK(play.faults[1].slot == 2);
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
}

TEST_CASE("a snapshot that was removed meanwhile costs nobody; a newer one is taken") {
    Play play(2);
    play.begin();
    for (int i = 0; i < 10; ++i)
        REQUIRE(play.answer(static_cast<PeerSlot>(i % 2)));
    const TestSnapshot newer = TestSnapshot::of(200, 2);
    play.desk.right = {newer};
    for (auto& [slot, snapshots] : play.named)
        snapshots.push_back(newer.point);
    play.run();
    CHECK(play.is_loading(newer));
    CHECK(play.faults.empty());
}

TEST_CASE("when all sources vanish the node waits, says so, and goes on when one is back") {
    for (const bool is_early : {true, false}) {
        Play play(3);
        if (is_early) {
            play.pump();
            REQUIRE(play.answer(0));
        } else {
            play.begin();
            REQUIRE(play.answer(0));
        }
        for (const PeerSlot slot : {0U, 1U, 2U})
            play.leave(slot);
        play.pass(seconds(60));
        CHECK(play.bootstrap.status().waiting_for.find("no peer") != std::string::npos);
        CHECK(play.faults.empty());
        play.named[9] = {TestSnapshot::of(100).point};
        play.run();
        CHECK(play.is_loading(TestSnapshot::of(100)));
        CHECK(play.desk.chunks_kept == 40);
    }
}

TEST_CASE(
    "a peer that does not answer is late three times, and what it was asked for is given away") {
    Play play(2);
    play.begin();
    REQUIRE(play.asked[1].size() == 4);
    play.pass(seconds(9));
    // The other answers all, and what is with the silent one is asked of it, too.
    while (play.answer(0)) {
    }
    play.pass(seconds(2));
    while (play.answer(0)) {
    }
    CHECK(play.is_loading(TestSnapshot::of(100)));
    std::map<PeerSlot, int> points;
    for (const Bootstrap::Fault& fault : play.faults)
        points[fault.slot] += fault.points;
    CHECK(points[0] == 0);
    CHECK(points[1] >= 100);
}

TEST_CASE("one that is slow is given no more until it answers, and a late answer is taken") {
    Play play(2);
    play.begin();
    // Half of what there is; then both say nothing.
    for (int i = 0; i < 20; ++i)
        REQUIRE(play.answer(0));
    play.pass(seconds(11));
    CHECK(play.chunks_asked[1] == 4);
    const std::size_t before = play.desk.chunks_kept;
    REQUIRE(play.answer(1));
    CHECK(play.desk.chunks_kept == before + 1);
}

TEST_CASE("what blocks make needless stops, and begins again where it was") {
    Play play(2);
    play.begin();
    for (int i = 0; i < 10; ++i)
        REQUIRE(play.answer(static_cast<PeerSlot>(i % 2)));
    play.bootstrap.stop();
    // What is on its way is not wanted any more.
    for (const PeerSlot slot : {0U, 1U}) {
        while (!play.asked[slot].empty()) {
            const auto ask = play.asked[slot].front();
            play.asked[slot].pop_front();
            const auto answer = TestSnapshot::of(100).answer(ask.request.piece);
            CHECK_FALSE(play.bootstrap.on_answer(play.now, slot, ask.correlation, answer).keep);
        }
    }
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.desk.chunks_kept == 40);
}

TEST_CASE("a full disk costs nobody, and is tried again") {
    Play play(1);
    play.begin();
    const auto ask = play.asked[0].front();
    play.asked[0].pop_front();
    auto arrived = play.bootstrap.on_answer(
        play.now, 0, ask.correlation, TestSnapshot::of(100).answer(ask.request.piece));
    REQUIRE(arrived.keep);
    play.note(play.bootstrap.on_kept(
        play.now, {arrived.keep->piece, SnapshotVerdict::unavailable, "the disk is full"}, {}));
    CHECK(play.faults.empty());
    CHECK(play.bootstrap.status().waiting_for == "the disk is full");
    play.pass(seconds(11));
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.desk.chunks_kept == 40);
}

TEST_CASE("a disk that is full while links, proof and manifest come is tried again") {
    Play play(1);
    play.pump();
    REQUIRE(play.answer(0));  // The links.
    const auto ask = play.asked[0].front();
    play.asked[0].pop_front();
    auto arrived = play.bootstrap.on_answer(
        play.now, 0, ask.correlation, TestSnapshot::of(100).answer(ask.request.piece));
    REQUIRE(arrived.keep);
    play.note(play.bootstrap.on_kept(
        play.now, {arrived.keep->piece, SnapshotVerdict::unavailable, "the disk is full"}, {}));
    CHECK(play.faults.empty());
    CHECK(play.bootstrap.status().waiting_for == "the disk is full");
    REQUIRE(play.answer(0));  // The manifest.
    play.pass(seconds(11));
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.faults.empty());
}

TEST_CASE("rows that do not fit the agreement part cost whoever gave that") {
    Play play(2);
    play.run();
    REQUIRE(play.is_loading(TestSnapshot::of(100)));
    const auto faults = play.bootstrap.on_loaded(
        play.now,
        {TestSnapshot::of(100).point.manifest, SnapshotVerdict::bad_piece, "other schedules"},
        play.sources());
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].slot == 0);
}

TEST_CASE("a snapshot that is not above the own final block is never asked for") {
    Play play(2);
    play.own_final = 100;
    play.bootstrap = Bootstrap(7, TestSnapshot::of(100).point);
    play.run();
    CHECK(play.asked.empty());
    CHECK(play.bootstrap.status().waiting_for.find("above block 100") != std::string::npos);
    play.own_final = 99;
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
}

TEST_CASE("with three of four sources gone the fourth gives the rest, asked at once") {
    Play play(4);
    play.begin();
    for (const PeerSlot slot : {0U, 1U, 2U, 3U})
        REQUIRE(play.answer(slot));
    for (const PeerSlot slot : {0U, 1U, 2U})
        play.leave(slot);
    const std::size_t before = play.chunks_asked[3];
    REQUIRE(play.answer(3));
    CHECK(play.chunks_asked[3] == before + 1);
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.desk.chunks_kept == 40);
    CHECK(play.faults.empty());
}

TEST_CASE("the last chunks of a slow peer are asked of another, too, and the first answer counts") {
    Play play(2);
    play.begin();
    while (play.answer(0)) {
    }
    REQUIRE(play.asked[1].size() == 4);
    CHECK(play.asked[0].empty());
    play.pass(milliseconds(600));
    CHECK(play.asked[0].size() == 4);
    while (play.answer(0)) {
    }
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.desk.chunks_kept == 40);
    // What the slow one says now is not needed, and no fault.
    while (play.answer(1)) {
    }
    CHECK(play.faults.empty());
    CHECK(play.desk.chunks_kept == 40);
}

TEST_CASE("who gives a small piece of the history now and then does not hold up the join") {
    Play play(2);
    play.pump();
    REQUIRE(play.asked[1].empty());
    const base::Timestamp begin = play.now;
    while (play.asked[1].empty()) {
        play.pass(milliseconds(9'900));
        REQUIRE(play.now < begin + seconds(100));
        if (!play.asked[1].empty()) break;
        REQUIRE(play.answer(0, [](SnapshotChunk& chunk) {
            chunk.count = 64;
            chunk.bytes = base::Bytes{std::byte{1}};
        }));
    }
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.faults.empty());
}

TEST_CASE("who goes on giving links is not left for another, however many they are") {
    Play play(2);
    play.desk.right.front().counts[SnapshotPart::links] = 70;
    play.desk.right.front().link_piece_bytes = kSnapshotPageBytes;
    play.pump();
    REQUIRE(play.asked[1].empty());
    // A line of 512 KiB a second: ten minutes for all.
    while (play.bootstrap.stage() == Stage::history) {
        play.pass(seconds(8));
        REQUIRE(play.asked[1].empty());
        REQUIRE(play.answer(0));
    }
    CHECK(play.desk.kept[TestSnapshot::of(100).point.manifest].size() == 73);
    CHECK(play.faults.empty());
}

TEST_CASE("who alone has a snapshot may take its time for the history") {
    Play play(1);
    play.desk.right.front().counts[SnapshotPart::links] = 40;
    play.pump();
    for (int i = 0; i < 41; ++i) {
        play.pass(seconds(5));
        REQUIRE(play.answer(0));
    }
    CHECK(play.checks == 1);
    play.run();
    CHECK(play.is_loading(TestSnapshot::of(100)));
    CHECK(play.faults.empty());
}
