#include "node/core/unchecked.hpp"
#include "node/disk/data_directory.hpp"
#include "tests/node/archive/fixture.hpp"
#include "tests/support/elections.hpp"

#include <filesystem>

// The blocks of a whole node go into an archive and come back into a copy that has pruned them, as
// they were. What was tampered with is refused by name, and wherever it ends the history has no
// gap.

namespace {

namespace fs = std::filesystem;
using base::Family;
using Catch::Matchers::Contains;
using chain::Height;
using chain::HistoryFloor;
using test::Archive;
using test::check_contiguous;
using test::pruned;
using test::rows_of;

// A chain of one validator, some blocks of which have transactions.
class Chain {
  public:
    Chain() {
        for (chain::Slot slot = 1; slot <= 40; ++slot) {
            if (slot % 4 == 0) node.submit(node.new_account("account" + std::string(1, name_++)));
            node.tick_at(slot);
        }
    }
    [[nodiscard]] chain::ChainId id() const { return node.genesis().chain_id(); }
    [[nodiscard]] Height final() { return chain::stored_final(node.storage()).value().height; }

    support::OneNode node;

  private:
    char name_ = 'a';
};

Chain& chain_here() {
    static Chain chain;
    return chain;
}

const HistoryFloor kFloor{.blocks = 31, .traces = 31, .swept = 31, .kept = {7, 8}};

struct Fixture {
    Fixture() {
        const auto done = archive.fill(source.node.storage(), source.id(), {.file_blocks = 10});
        if (!done) FAIL(done.error().detail);
    }
    base::Result<node::Filled> fill(base::Storage& storage, Height from = 1) const {
        return node::import_archive(
            storage, source.node.genesis(), archive.open(), from, [](Height) {});
    }
    // The import is refused, and the storage is as before, or filled without a gap.
    void check_refused(const std::string& text, Height earliest = kFloor.blocks) const {
        const auto target = pruned(source.node.storage(), kFloor);
        const auto folder = node::ArchiveFolder::open(archive.path());
        auto done =
            folder ? node::import_archive(*target, source.node.genesis(), *folder, 1, [](Height) {})
                   : base::Result<node::Filled>(base::fail(folder.error()));
        REQUIRE_FALSE(done);
        CHECK_THAT(done.error().detail, Contains(text));
        check_contiguous(*target, earliest);
    }

    Chain& source = chain_here();
    Archive archive;
};

// The lowest block above 15 that has some.
Height with_transactions(const base::StorageView& storage) {
    Height height = 16;
    while (chain::BlockReader(storage).at(height).value()->transactions.empty())
        ++height;
    return height;
}

const std::string kLowest = "0000000001-0000000010.blocks";
const std::string kMiddle = "0000000011-0000000020.blocks";
const std::string kUpper = "0000000021-0000000030.blocks";

}  // namespace

TEST_CASE("what was pruned comes back from an archive as it was, but for traces") {
    Fixture f;
    const auto target = pruned(f.source.node.storage(), kFloor);
    REQUIRE(rows_of(*target, Family::blocks) != rows_of(f.source.node.storage(), Family::blocks));
    const auto filled = f.fill(*target);
    if (!filled) FAIL(filled.error().detail);
    CHECK(filled->before == 31);
    CHECK(filled->earliest == 1);
    CHECK(filled->final == f.source.final());
    check_contiguous(*target, 1);
    for (const Family family : {Family::blocks, Family::index})
        CHECK(rows_of(*target, family) == rows_of(f.source.node.storage(), family));
    const HistoryFloor floor = chain::read_floor(*target).value();
    CHECK(floor == HistoryFloor{.blocks = 0, .traces = 31, .swept = 0, .kept = {}});
    CHECK_FALSE(chain::BlockReader(*target).traces(12).value());
    // Nothing is left to be done.
    CHECK(f.fill(*target).value().before == 1);
}

TEST_CASE("a history is filled down to a height, and the rest later") {
    Fixture f;
    const auto target = pruned(f.source.node.storage(), kFloor);
    for (const Height from : {25U, 14U, 8U, 2U, 1U}) {
        CHECK(f.fill(*target, from).value().earliest == from);
        check_contiguous(*target, from);
        const HistoryFloor floor = chain::read_floor(*target).value();
        CHECK(floor.blocks == (from > 1 ? from : 0));
        CHECK(floor.kept.empty() == (from <= 7));
    }
}

TEST_CASE("wherever filling ends the history has no gap, and it goes on there") {
    Fixture f;
    for (int batches = 0; batches < 3; ++batches) {
        const auto target = pruned(f.source.node.storage(), kFloor);
        Height earliest = kFloor.blocks;
        int left = batches;
        if (left == 0) target->fail_commits(1);
        const auto done = node::import_archive(
            *target, f.source.node.genesis(), f.archive.open(), 1, [&](Height now) {
                earliest = now;
                if (--left == 0) target->fail_commits(1);
            });
        REQUIRE_FALSE(done);
        CHECK(earliest == 31U - 10U * static_cast<Height>(batches));
        target->cut_power();
        check_contiguous(*target, earliest);
        CHECK(f.fill(*target).value().earliest == 1);
        CHECK(rows_of(*target, Family::index) == rows_of(f.source.node.storage(), Family::index));
    }
}

TEST_CASE("a large file comes back in batches of a thousand blocks, one below the other") {
    support::OneNode node;
    for (chain::Slot slot = 1; slot <= 1'100; ++slot)
        node.tick_at(slot);
    Archive archive;
    REQUIRE(archive.fill(node.storage(), node.genesis().chain_id(), {}));
    REQUIRE(archive.open().files().size() == 1);
    const auto target = pruned(node.storage(), {.blocks = 1'091, .traces = 1'091, .swept = 1'091});
    std::vector<Height> durable;
    const auto filled =
        node::import_archive(*target, node.genesis(), archive.open(), 1, [&](Height earliest) {
            target->cut_power();
            durable.push_back(chain::BlockReader(*target).earliest().value().value());
            CHECK(durable.back() == earliest);
        });
    if (!filled) FAIL(filled.error().detail);
    CHECK(durable == std::vector<Height>{91, 1});
    check_contiguous(*target, 1);
    CHECK(rows_of(*target, Family::index) == rows_of(node.storage(), Family::index));
}

TEST_CASE("a file that is cut short, damaged, or in the place of another is refused by name") {
    Fixture f;
    const base::Bytes good = f.archive.read(kMiddle);
    for (const std::size_t size : {std::size_t{0}, std::size_t{100}, good.size() - 1}) {
        f.archive.write(kMiddle, base::ByteView(good).first(size));
        f.check_refused(kMiddle);
    }
    for (std::size_t at = 0; at < good.size(); at += 37) {
        base::Bytes damaged = good;
        damaged[at] ^= std::byte{4};
        f.archive.write(kMiddle, damaged);
        f.check_refused(kMiddle);
    }
    f.archive.write(kMiddle, f.archive.read(kLowest));
    f.check_refused(kMiddle + ": it has blocks 1 to 10");
    fs::remove(f.archive.path(kMiddle));
    f.check_refused("heights are missing between " + kLowest + " and " + kUpper);
    f.archive.write("0000000011-0000000021.blocks", good);
    f.check_refused("heights are in both of");
}

TEST_CASE("a file that says to unpack to gigabytes is refused by what it says") {
    Fixture f;
    base::Bytes bytes = f.archive.read(kUpper);
    bytes.resize(genesis::kArchiveHeadBytes);
    const base::Bytes bomb = base::from_hex("28b52ffde00000000001000000").value();
    bytes.insert(bytes.end(), bomb.begin(), bomb.end());
    f.archive.write(kUpper, bytes);
    f.check_refused("its frame has 4294967296 bytes");
}

TEST_CASE("what no id covers is checked before it is stored: bodies, signatures, certificates") {
    Fixture f;
    const auto forge = [&](auto change) {
        f.archive.forge(kMiddle, 15, [&](const chain::Block& block) {
            chain::Block other = block;
            change(other);
            return std::make_shared<const chain::Block>(other);
        });
    };
    SECTION("body") {
        const Height other = with_transactions(f.source.node.storage());
        const auto donor = chain::BlockReader(f.source.node.storage()).at(other).value();
        forge([&](chain::Block& block) { block.transactions = donor->transactions; });
        f.check_refused("block 15: it has another body");
    }
    SECTION("signature") {
        forge([](chain::Block& block) { block.signature = {}; });
        f.check_refused("block 15: the producer's signature is wrong", 21);
    }
    SECTION("certificate of another block") {
        forge([&](chain::Block& block) {
            REQUIRE(block.witness.justify);
            block.witness.justify =
                chain::BlockReader(f.source.node.storage()).at(14).value()->witness.justify;
        });
        f.check_refused("block 15: witness of justify", 21);
    }
    SECTION("no certificate") {
        forge([](chain::Block& block) { block.witness.finalized.reset(); });
        f.check_refused("block 15: witness of final: no certificate", 21);
    }
    SECTION("votes") {
        forge([](chain::Block& block) {
            REQUIRE(block.witness.finalized);
            block.witness.finalized->signatures.front() = {};
        });
        f.check_refused("block 15", 21);
    }
}

TEST_CASE("the first block, which nobody signs, has neither signature nor certificate") {
    Fixture f;
    const auto second = chain::BlockReader(f.source.node.storage()).at(9).value();
    f.archive.forge(kLowest, 1, [&](const chain::Block& block) {
        chain::Block other = block;
        other.witness = second->witness;
        return std::make_shared<const chain::Block>(other);
    });
    f.check_refused("block 1: it is the first one", 11);
}

TEST_CASE("an archive of another chain, or of another branch, is refused") {
    Fixture f;
    SECTION("chain") {
        Archive other("other");
        REQUIRE(other.fill(f.source.node.storage(), {}, {.file_blocks = 10}));
        f.archive.write(kUpper, other.read(kUpper));
        f.check_refused("are of the chain 00000000");
    }
    SECTION("branch") {
        support::OneNode branch;
        for (chain::Slot slot = 1; slot <= 40; ++slot)
            branch.tick_at(slot);
        REQUIRE(branch.genesis().chain_id() == f.source.id());
        Archive other("other");
        REQUIRE(other.fill(branch.storage(), f.source.id(), {.file_blocks = 10}));
        f.archive.write(kUpper, other.read(kUpper));
        f.check_refused("block 30 is another than the one below block 31 here");
    }
}

TEST_CASE("an archive that does not reach up to the lowest block says what it has") {
    Fixture f;
    const auto folder = f.archive.open();
    for (const auto& each : folder.files()) {
        if (each.first > 20) fs::remove(f.archive.path(each.name()));
    }
    f.check_refused("the lowest block that is stored is 31, so block 30 comes next");
    f.check_refused("has blocks 1 to 20");
}

TEST_CASE("of an archive that begins later the lowest blocks only serve as a base") {
    Fixture f;
    fs::remove(f.archive.path(kLowest));
    const auto target = pruned(f.source.node.storage(), kFloor);
    const auto filled = f.fill(*target);
    if (!filled) FAIL(filled.error().detail);
    CHECK(filled->earliest > 11);
    CHECK(filled->earliest < 16);
    check_contiguous(*target, filled->earliest);
}

TEST_CASE("over a change of the schedule certificates need both") {
    support::Cluster cluster(4, 1, 12);
    support::elect_standby(cluster);
    cluster.run(24, 60);
    support::MemoryStorage& source = cluster[0].storage();
    const genesis::Genesis& genesis = cluster[0].genesis();
    const auto at = [&](Height height) { return chain::BlockReader(source).at(height).value(); };
    const Height final = chain::stored_final(source).value().height;
    REQUIRE(at(final - 1)->header.schedule_version > at(2)->header.schedule_version);
    HistoryFloor floor{.blocks = final - 2, .traces = final - 2, .swept = final - 2};
    for (const Height blocks : {3U, 7U, 10'000U}) {
        Archive archive;
        REQUIRE(archive.fill(source, genesis.chain_id(), {.file_blocks = blocks}));
        const auto target = pruned(source, floor);
        const auto filled =
            node::import_archive(*target, genesis, archive.open(), 1, [](Height) {});
        if (!filled) FAIL(filled.error().detail);
        CHECK(filled->earliest == 1);
        CHECK(rows_of(*target, Family::index) == rows_of(source, Family::index));
    }
    // Wherever an archive begins, what is stored of it is nearly all.
    for (Height first = 15; first <= 35; ++first) {
        CAPTURE(first);
        Archive archive;
        REQUIRE(archive.fill(source, genesis.chain_id(), {.from = first}));
        const auto target = pruned(source, floor);
        const auto filled =
            node::import_archive(*target, genesis, archive.open(), 1, [](Height) {});
        if (!filled) FAIL(filled.error().detail);
        CHECK(filled->earliest <= first + 12);
        check_contiguous(*target, filled->earliest);
    }
}

TEST_CASE("an export keeps what is there and goes on above and below it") {
    Chain& source = chain_here();
    Archive archive;
    const auto fill = [&](std::optional<Height> from, std::optional<Height> to) {
        return archive.fill(
            source.node.storage(), source.id(), {.from = from, .to = to, .file_blocks = 10});
    };
    CHECK(fill(12, 23).value().files == 2);
    const base::Bytes kept = archive.read("0000000021-0000000023.blocks");
    CHECK(fill(12, 23).value().files == 0);
    CHECK_THAT(fill(25, 30).error().detail, Contains("some would be missing"));
    CHECK_THAT(fill(2, 10).error().detail, Contains("some would be missing"));
    CHECK(fill(14, 33).value().files == 2);
    CHECK(fill(1, std::nullopt).value().files == (source.final() > 40 ? 4 : 3));
    CHECK(archive.read("0000000021-0000000023.blocks") == kept);
    const auto folder = archive.open();
    CHECK(folder.files().front() == node::ArchiveFile{1, 10});
    CHECK(folder.files().back().last == source.final());
    for (const node::ArchiveFile& file : folder.files())
        CHECK(folder.blocks(file, source.id()).value().size() == file.last - file.first + 1);
}

TEST_CASE("an export names what is not stored, and a folder of another chain") {
    Chain& source = chain_here();
    Archive archive;
    const auto target = pruned(source.node.storage(), kFloor);
    const auto refused = [&](const base::StorageView& from, const node::ArchiveRange& range) {
        const auto done = archive.fill(from, source.id(), range);
        REQUIRE_FALSE(done);
        return done.error().detail;
    };
    CHECK_THAT(refused(*target, {.from = 30}), Contains("the first is not stored here"));
    CHECK_THAT(refused(*target, {.to = 1000}), Contains("the last is not final here"));
    CHECK_THAT(refused(*target, {.from = 35, .to = 34}), Contains("there is none"));
    REQUIRE(archive.fill(*target, source.id(), {}));
    CHECK(archive.open().files().front().first == 31);
    const auto other = archive.fill(*target, {}, {});
    REQUIRE_FALSE(other);
    CHECK_THAT(other.error().detail, Contains("of another chain"));
}

TEST_CASE("blocks whose signatures are not checked yet are not exported") {
    Chain& source = chain_here();
    const auto storage = pruned(source.node.storage(), {});
    node::Unchecked unchecked;
    base::Batch batch;
    unchecked.add({.from = 12,
                   .to = 14,
                   .base_height = 5,
                   .base = chain::first_schedules(source.node.genesis().schedule)},
                  {},
                  batch);
    REQUIRE(storage->commit(batch, true));
    Archive archive;
    const auto done = archive.fill(*storage, source.id(), {.file_blocks = 10});
    REQUIRE_FALSE(done);
    CHECK_THAT(done.error().detail, Contains("the signatures of block 12 are not checked yet"));
    CHECK(archive.open().files().size() == 1);
    CHECK(archive.fill(*storage, source.id(), {.to = 11}).value().files == 1);
}

TEST_CASE("a file that was not finished is removed, what is somebody's stays") {
    Chain& source = chain_here();
    Archive archive;
    fs::create_directories(archive.path());
    archive.write("0000000001-0000000007.blocks.next", base::as_bytes("x"));
    REQUIRE(archive.fill(source.node.storage(), source.id(), {.to = 10}));
    CHECK_FALSE(fs::exists(archive.path("0000000001-0000000007.blocks.next")));
    archive.write("0000000001-0000000007.blocks.next", base::as_bytes("x"));
    archive.write("index.html", base::as_bytes("x"));
    REQUIRE(archive.fill(source.node.storage(), source.id(), {}));
    CHECK_FALSE(fs::exists(archive.path("0000000001-0000000007.blocks.next")));
    CHECK(fs::exists(archive.path("index.html")));
    CHECK(archive.open().files().size() == 2);
}

TEST_CASE("a folder of something else gets no archive") {
    Chain& source = chain_here();
    Archive archive;
    fs::create_directories(archive.path());
    archive.write("manifest", base::as_bytes("of a snapshot"));
    const auto done = archive.fill(source.node.storage(), source.id(), {});
    REQUIRE_FALSE(done);
    CHECK_THAT(done.error().detail, Contains("is no archive, and not empty: it has manifest"));
    CHECK(archive.open().files().empty());
}

TEST_CASE("names of files are read strictly") {
    using node::ArchiveFile;
    CHECK(ArchiveFile{1, 10}.name() == kLowest);
    CHECK(ArchiveFile::from_name(kLowest) == ArchiveFile{1, 10});
    for (const char* name : {"",
                             "0000000001-0000000010.block",
                             "0000000001-0000000010.blocks.next",
                             "0000000000-0000000010.blocks",
                             "0000000011-0000000010.blocks",
                             "000000001x-0000000010.blocks",
                             "+000000001-0000000010.blocks",
                             "0000000001_0000000010.blocks",
                             "9999999999-9999999999.blocks"}) {
        CHECK_FALSE(ArchiveFile::from_name(name));
    }
}

TEST_CASE("a data directory that a node works in is refused") {
    TemporaryDirectory home;
    const auto held = node::DataDirectory::open(home / "data");
    REQUIRE(held);
    const auto done =
        node::export_archive(home / "data", home / "archive", {}, [](const node::ArchiveFile&) {});
    REQUIRE_FALSE(done);
    CHECK_THAT(done.error().detail, Contains("is in use by another process"));
    CHECK_FALSE(fs::exists(home / "archive"));
}
