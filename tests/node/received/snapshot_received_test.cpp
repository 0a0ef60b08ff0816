#include "genesis/snapshot_chunk.hpp"
#include "node/disk/data_directory.hpp"
#include "node/snapshots/packing.hpp"
#include "tests/node/received/fixture.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

// A snapshot goes from one node's files to another's piece by piece, on a real disk: what the
// receiver says of each lie, whom it blames, and what is left after it was cut short.

namespace {

namespace fs = std::filesystem;
using node::SnapshotFolder;
using node::SnapshotStore;
using p2p::SnapshotPart;
using p2p::SnapshotVerdict;
using test::Joiner;
using test::kGenesis;
using test::Source;

void flip_last(p2p::SnapshotChunk& chunk) {
    chunk.bytes.back() ^= std::byte{1};
}

}  // namespace

TEST_CASE("a snapshot that came in pieces is a state, and a snapshot of this node's own") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    joiner.fetch_all(snapshot);
    const auto loaded = joiner.load(snapshot, source.block(3));
    INFO(loaded.text);
    REQUIRE(loaded.verdict == SnapshotVerdict::good);
    CHECK(fs::exists(joiner.how.data_dir / "state.1.loading" / "CURRENT"));
    const auto taken = joiner.own->take_over(joiner.receiver->path_of(snapshot), false);
    REQUIRE(taken);
    CHECK(taken->id == snapshot.manifest);
    joiner.receiver->forget_up_to(snapshot.height);
    CHECK_FALSE(node::SnapshotReceiver::begun_in(joiner.how.directory));
}

TEST_CASE("after a restart what was received is there, and nothing else is missing") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    CHECK(joiner.receiver->check(snapshot).verdict == SnapshotVerdict::absent);
    const auto first = joiner.fetch_history(snapshot);
    REQUIRE(first.missing.size() > 4);
    joiner.fetch_chunks(snapshot, {first.missing[1], first.missing[3]});
    joiner.restart();
    CHECK(node::SnapshotReceiver::begun_in(joiner.how.directory) == snapshot);
    const auto second = joiner.receiver->check(snapshot);
    REQUIRE(second.verdict == SnapshotVerdict::good);
    std::vector<std::uint32_t> left = first.missing;
    left.erase(left.begin() + 3);
    left.erase(left.begin() + 1);
    CHECK(second.missing == left);
}

TEST_CASE("of a snapshot before, and of this node's own, equal chunks are taken over") {
    Source source;
    Joiner joiner(source);
    const auto old = source.written(7);
    const auto snapshot = source.written(8);
    joiner.fetch_all(old);
    CHECK(joiner.receiver->check(snapshot).verdict == SnapshotVerdict::absent);
    const auto checked = joiner.fetch_history(snapshot);
    REQUIRE(checked.verdict == SnapshotVerdict::good);
    CHECK(checked.missing.size() < checked.chunks);
    CHECK_FALSE(fs::exists(joiner.receiver->path_of(old)));
    joiner.fetch_chunks(snapshot, checked.missing);
    REQUIRE(joiner.load(snapshot, kGenesis).verdict == SnapshotVerdict::good);
    REQUIRE(joiner.own->take_over(joiner.receiver->path_of(snapshot), false));
    CHECK(joiner.receiver->check(snapshot).verdict == SnapshotVerdict::absent);
    CHECK(joiner.fetch_history(snapshot).missing.empty());
}

TEST_CASE("a wrong chunk is its sender's fault where its hash is wrong") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    REQUIRE(joiner.receiver->check(snapshot).verdict == SnapshotVerdict::absent);
    REQUIRE(joiner.fetch_history(snapshot).verdict == SnapshotVerdict::good);
    const p2p::SnapshotPiece piece{snapshot.manifest, SnapshotPart::chunk, 2};
    const auto other = joiner.read({snapshot.manifest, SnapshotPart::chunk, 3}).bytes;
    // Well packed, of the right length.
    const auto ours = SnapshotFolder::open(source.store().path_of(source.store().list().front()));
    REQUIRE(ours);
    base::Bytes changed = *ours->chunk(2);
    changed.back() ^= std::byte{1};
    const std::vector<Joiner::Lie> lies = {
        [&](auto& chunk) { chunk.bytes = node::pack_chunk(changed); },
        flip_last,
        [](auto& chunk) { chunk.bytes.pop_back(); },
        [](auto& chunk) { chunk.bytes.push_back(std::byte{0}); },
        [](auto& chunk) { chunk.bytes.assign(100, std::byte{0}); },
        [&](auto& chunk) { chunk.bytes = other; },
        [](auto& chunk) { chunk.bytes = node::pack_chunk(base::Bytes(4U << 20U)); },
    };
    for (const auto& lie : lies) {
        const auto kept = joiner.fetch(piece, lie);
        CHECK(kept.verdict == SnapshotVerdict::bad_piece);
        CHECK(kept.text.find(".zst of the snapshot of block 8") != std::string::npos);
        CHECK_FALSE(fs::exists(joiner.chunk_file(snapshot, 2)));
    }
    CHECK(joiner.fetch(piece).verdict == SnapshotVerdict::good);
}

TEST_CASE("wrong links, proofs and manifests are their sender's fault, and are not kept") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    for (const auto part : {SnapshotPart::proof, SnapshotPart::manifest}) {
        CHECK(joiner.receiver->check(snapshot).verdict == SnapshotVerdict::absent);
        const auto checked = joiner.fetch_history(snapshot, part, flip_last);
        INFO(checked.text);
        CHECK(checked.verdict == SnapshotVerdict::bad_piece);
        CHECK_FALSE(fs::exists(joiner.receiver->path_of(snapshot) / SnapshotFolder::kProof));
    }
}

TEST_CASE("wrong links are their sender's fault when they come, before all of them are here") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    CHECK(joiner.receiver->check(snapshot).verdict == SnapshotVerdict::absent);
    const auto give = [&](std::uint32_t index) {
        return joiner.receiver->keep({{snapshot.manifest, SnapshotPart::links, index},
                                      16'384,
                                      std::make_shared<const base::Bytes>(50, std::byte{7})});
    };
    // It has its turn when the one before it was followed.
    CHECK(give(1).verdict == SnapshotVerdict::good);
    const auto kept = give(0);
    CHECK(kept.verdict == SnapshotVerdict::bad_piece);
    CHECK(kept.text.find("links-0.bin: links: link at offset 1: is neither 0 nor 1") !=
          std::string::npos);
    // Another begins anew.
    CHECK(joiner.receiver->check(snapshot).verdict == SnapshotVerdict::absent);
    CHECK_FALSE(fs::exists(joiner.receiver->path_of(snapshot) / node::links_file_name(1)));
    joiner.fetch_all(snapshot);
}

TEST_CASE("the parts of links are counted without a look at each") {
    const TemporaryDirectory home;
    auto& files = node::system_calls();
    CHECK(node::count_link_parts(home.path(), files) == 0);
    for (std::size_t parts = 1; parts < 40; ++parts) {
        std::ofstream(home / node::links_file_name(parts - 1)) << "x";
        CHECK(node::count_link_parts(home.path(), files) == parts);
    }
}

TEST_CASE("a chunk that has its hash and not its lanes is the fault of everyone who names it") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    const auto folder = SnapshotFolder::open(source.store().path_of(source.store().list().front()));
    REQUIRE(folder);
    genesis::Manifest forged = folder->manifest();
    // The sum stays.
    std::swap(forged.chunks[2].lanes, forged.chunks[3].lanes);
    const p2p::SnapshotPoint named{8, genesis::manifest_id(forged)};
    CHECK(joiner.receiver->check(named).verdict == SnapshotVerdict::absent);
    const auto keep = [&](SnapshotPart part, std::uint32_t index, const base::Bytes& content) {
        const p2p::effect::KeepSnapshot piece{
            {named.manifest, part, index}, 1, std::make_shared<const base::Bytes>(content)};
        return part == SnapshotPart::chunk ? joiner.receiver->keep_chunk(piece)
                                           : joiner.receiver->keep(piece);
    };
    const auto read = [&](SnapshotPart part, std::uint32_t index) {
        return joiner.read({snapshot.manifest, part, index}).bytes;
    };
    (void)keep(SnapshotPart::proof, 0, read(SnapshotPart::proof, 0));
    (void)keep(SnapshotPart::manifest, 0, genesis::encode_manifest(forged));
    REQUIRE(joiner.receiver->check(named).verdict == SnapshotVerdict::good);
    CHECK(keep(SnapshotPart::chunk, 1, read(SnapshotPart::chunk, 1)).verdict ==
          SnapshotVerdict::good);
    CHECK(keep(SnapshotPart::chunk, 2, read(SnapshotPart::chunk, 2)).verdict ==
          SnapshotVerdict::bad_manifest);
}

TEST_CASE("a manifest that this node refuses is the fault of everyone who names it, or of nobody") {
    Source source;
    Joiner joiner(source);
    auto snapshot = source.written(8);
    const auto folder = SnapshotFolder::open(source.store().path_of(source.store().list().front()));
    REQUIRE(folder);
    genesis::Manifest forged = folder->manifest();
    SnapshotVerdict verdict = SnapshotVerdict::bad_manifest;
    SECTION("its lanes are not the digest") {
        forged.chunks[0].lanes += forged.chunks[1].lanes;
    }
    SECTION("its chain goes on under rules of a newer release") {
        forged.head.rules_version = chain::kRulesKnown + 1;
        verdict = SnapshotVerdict::useless;
    }
    const base::Bytes bytes = genesis::encode_manifest(forged);
    const p2p::SnapshotPoint named{8, genesis::manifest_id(forged)};
    CHECK(joiner.receiver->check(named).verdict == SnapshotVerdict::absent);
    const auto keep = [&](SnapshotPart part, const base::Bytes& content) {
        const auto kept = joiner.receiver->keep(
            {{named.manifest, part, 0}, 1, std::make_shared<const base::Bytes>(content)});
        CHECK(kept.verdict == SnapshotVerdict::good);
    };
    keep(SnapshotPart::proof, joiner.read({snapshot.manifest, SnapshotPart::proof, 0}).bytes);
    keep(SnapshotPart::manifest, bytes);
    CHECK(joiner.receiver->check(named).verdict == verdict);
}

TEST_CASE("a snapshot below the checkpoint is of no use") {
    Source source;
    Joiner joiner(source, source.block(9));
    const auto snapshot = source.written(8);
    CHECK(joiner.receiver->check(snapshot).verdict == SnapshotVerdict::absent);
    const auto checked = joiner.fetch_history(snapshot);
    CHECK(checked.verdict == SnapshotVerdict::useless);
    CHECK(checked.text.find("checkpoint 9 is above block 8") != std::string::npos);
}

TEST_CASE("only a snapshot above the own final block, and of its chain, takes the state's place") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    joiner.fetch_all(snapshot);
    genesis::Checkpoint forked = source.block(5);
    forked.block.bytes[31] ^= std::byte{1};
    for (const auto& own : {source.block(8), source.block(9), forked}) {
        const auto loaded = joiner.load(snapshot, own);
        CHECK(loaded.verdict == SnapshotVerdict::useless);
        CHECK_FALSE(fs::exists(joiner.how.data_dir / "state.1.loading"));
        if (own.height == 5) {
            CHECK(loaded.text.find("forked") != std::string::npos);
        } else {
            CHECK(loaded.text == "the snapshot of block 8 is not above the own final block " +
                                     std::to_string(own.height));
        }
    }
    CHECK(joiner.load(snapshot, source.block(5)).verdict == SnapshotVerdict::good);
}

TEST_CASE("a chunk that the disk has damaged since is fetched again") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    joiner.fetch_all(snapshot);
    std::ofstream(joiner.chunk_file(snapshot, 4), std::ios::trunc) << "torn";
    CHECK(joiner.load(snapshot, kGenesis).verdict == SnapshotVerdict::absent);
    const auto again = joiner.receiver->check(snapshot);
    REQUIRE(again.verdict == SnapshotVerdict::good);
    CHECK(again.missing == std::vector<std::uint32_t>{4});
    joiner.fetch_chunks(snapshot, again.missing);
    CHECK(joiner.load(snapshot, kGenesis).verdict == SnapshotVerdict::good);
}

TEST_CASE("of a snapshot that is not there, or no more, nothing is known") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    const p2p::SnapshotPiece links{snapshot.manifest, SnapshotPart::links, 0};
    CHECK(joiner.read(links).is_known);
    CHECK_FALSE(joiner.read({base::Hash256{}, SnapshotPart::links, 0}).is_known);
    REQUIRE(source.store().remove(source.store().list().front().name));
    for (const auto part :
         {SnapshotPart::links, SnapshotPart::proof, SnapshotPart::manifest, SnapshotPart::chunk}) {
        CHECK_FALSE(joiner.read({snapshot.manifest, part, 0}).is_known);
    }
}

TEST_CASE("a piece beyond the last is known to be none") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    for (const auto part :
         {SnapshotPart::links, SnapshotPart::proof, SnapshotPart::manifest, SnapshotPart::chunk}) {
        const std::uint32_t count = joiner.read({snapshot.manifest, part, 0}).count;
        const auto beyond = joiner.read({snapshot.manifest, part, count});
        CHECK(beyond.is_known);
        CHECK(beyond.bytes.empty());
    }
}

TEST_CASE("a snapshot that a peer reads is not removed for newer ones") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(6);
    for (const chain::Height height : {7U, 8U, 9U})
        (void)source.written(height);
    (void)joiner.read({snapshot.manifest, SnapshotPart::chunk, 1});
    REQUIRE(source.store().keep_newest(2));
    std::vector<chain::Height> left;
    for (const SnapshotStore::Listed& each : source.store().list())
        left.push_back(each.head.height);
    CHECK(left == std::vector<chain::Height>{6, 8, 9});
}

TEST_CASE("a node that stops does not go on to make a state") {
    Source source;
    Joiner joiner(source);
    const auto snapshot = source.written(8);
    joiner.fetch_all(snapshot);
    joiner.receiver->stop();
    CHECK(joiner.load(snapshot, kGenesis).verdict == SnapshotVerdict::unavailable);
    CHECK_FALSE(fs::exists(joiner.how.data_dir / "state.1.loading"));
    joiner.restart();
    CHECK(joiner.receiver->check(snapshot).missing.empty());
    CHECK(joiner.load(snapshot, kGenesis).verdict == SnapshotVerdict::good);
}
