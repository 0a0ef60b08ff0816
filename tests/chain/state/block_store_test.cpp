#include "chain/state/block_store.hpp"

#include "tests/support/memory_storage.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace {

using base::Family;
using chain::BlockPtr;
using chain::BlockReader;
using chain::Height;

// A block with one transaction of its own.
BlockPtr block_at(Height height, std::uint64_t slot = 0) {
    chain::BlockHeader header;
    header.height = height;
    header.slot = slot == 0 ? height : slot;
    chain::SignedTransaction transaction;
    transaction.expiration = chain::TimePointSec{height * 1000 + static_cast<std::uint32_t>(slot)};
    chain::TransactionReceipt receipt;
    receipt.transaction = chain::PackedTransaction::pack(transaction);
    return chain::make_block({header, {}}, {receipt}, {});
}

chain::TransactionId transaction_of(const chain::Block& block) {
    const auto& packed = std::get<chain::PackedTransaction>(block.transactions.at(0).transaction);
    return chain::decode_transaction(packed).value()->id;
}

std::vector<chain::TransactionTrace> traces_of(const chain::Block& block) {
    chain::TransactionTrace trace;
    trace.id = transaction_of(block);
    trace.block_num = block.header.height;
    return {trace};
}

struct Fixture {
    support::MemoryStorage storage;
    BlockReader reader{storage};

    void add_final(const BlockPtr& block, const chain::Retention& retention = {}) {
        base::Batch batch;
        chain::append_final(batch, *block, traces_of(*block));
        REQUIRE(chain::append_pruned(batch, storage, block->header.height, retention));
        REQUIRE(storage.commit(batch, true));
    }
    std::size_t entries(Family family) {
        std::size_t count = 0;
        REQUIRE(storage.scan(family, {}, [&](auto, auto) { return ++count > 0; }));
        return count;
    }
};

}  // namespace

TEST_CASE("a final block is found by its height, its id and its transactions") {
    Fixture f;
    const BlockPtr block = block_at(7);
    f.add_final(block);
    REQUIRE(f.reader.at(7).value() != nullptr);
    CHECK(f.reader.at(7).value()->id == block->id);
    CHECK(f.reader.height_of(block->id).value() == Height{7});
    CHECK(f.reader.height_of_transaction(transaction_of(*block)).value() == Height{7});
    CHECK(f.reader.traces(7).value()->at(0).id == transaction_of(*block));
    CHECK(f.reader.earliest().value() == Height{7});

    CHECK(f.reader.at(8).value() == nullptr);
    CHECK_FALSE(f.reader.height_of(block_at(8)->id).value());
    CHECK_FALSE(f.reader.height_of_transaction(block->id).value());
    CHECK_FALSE(f.reader.traces(8).value());
}

TEST_CASE("an empty storage has no blocks") {
    Fixture f;
    CHECK_FALSE(f.reader.earliest().value());
    CHECK(f.reader.at(1).value() == nullptr);
    CHECK(f.reader.reversible().value().empty());
}

TEST_CASE("blocks that are not final come back parents first, until they are final or lost") {
    Fixture f;
    const std::vector<BlockPtr> blocks = {
        block_at(300), block_at(2), block_at(255), block_at(2, 9)};
    base::Batch batch;
    for (const BlockPtr& block : blocks)
        chain::append_reversible(batch, *block);
    REQUIRE(f.storage.commit(batch, true));
    const auto found = f.reader.reversible().value();
    REQUIRE(found.size() == 4);
    CHECK(found[0]->header.height == 2);
    CHECK(found[1]->header.height == 2);
    CHECK(found[2]->id == blocks[2]->id);
    CHECK(found[3]->id == blocks[0]->id);

    f.add_final(blocks[1]);
    base::Batch lost;
    chain::erase_reversible(lost, blocks[3]->header, blocks[3]->id);
    REQUIRE(f.storage.commit(lost, true));
    CHECK(f.reader.reversible().value().size() == 2);
}

TEST_CASE("without a retention everything is kept") {
    Fixture f;
    for (Height height = 1; height <= 50; ++height)
        f.add_final(block_at(height));
    CHECK(f.entries(Family::blocks) == 50);
    CHECK(f.entries(Family::traces) == 50);
    CHECK(f.entries(Family::index) == 100);
}

TEST_CASE("what falls out of the retention goes with its indexes") {
    Fixture f;
    for (Height height = 1; height <= 50; ++height) {
        f.add_final(block_at(height), {.blocks = 10, .traces = 3});
    }
    CHECK(f.reader.earliest().value() == Height{41});
    CHECK(f.reader.at(40).value() == nullptr);
    CHECK(f.reader.at(41).value() != nullptr);
    CHECK_FALSE(f.reader.traces(47).value());
    CHECK(f.reader.traces(48).value());
    CHECK(f.entries(Family::blocks) == 10);
    CHECK(f.entries(Family::traces) == 3);
    CHECK(f.entries(Family::index) == 20);
    CHECK_FALSE(f.reader.height_of_transaction(transaction_of(*block_at(40))).value());
    CHECK(f.reader.height_of_transaction(transaction_of(*block_at(41))).value());
}

TEST_CASE("a retention that was shortened is caught up with, a few blocks at a time") {
    Fixture f;
    for (Height height = 1; height <= 100; ++height)
        f.add_final(block_at(height));
    f.add_final(block_at(101), {.blocks = 5, .traces = 0});
    CHECK(f.entries(Family::blocks) > 60);
    CHECK(f.entries(Family::blocks) < 101);
    for (Height height = 102; height <= 115; ++height) {
        f.add_final(block_at(height), {.blocks = 5, .traces = 0});
    }
    CHECK(f.entries(Family::blocks) == 5);
    CHECK(f.entries(Family::index) == 10);
    CHECK(f.entries(Family::traces) == 115);
}

TEST_CASE("a retention of one keeps the final block, also when many become final at once") {
    Fixture f;
    base::Batch batch;
    for (Height height = 1; height <= 30; ++height) {
        const BlockPtr block = block_at(height);
        chain::append_final(batch, *block, traces_of(*block));
    }
    REQUIRE(chain::append_pruned(batch, f.storage, 30, {.blocks = 1, .traces = 1}));
    REQUIRE(f.storage.commit(batch, true));
    for (Height height = 31; height <= 34; ++height) {
        f.add_final(block_at(height), {.blocks = 1, .traces = 1});
    }
    CHECK(f.entries(Family::blocks) == 1);
    CHECK(f.entries(Family::index) == 2);
    CHECK(f.reader.at(34).value() != nullptr);
}

TEST_CASE("damage is told as damage") {
    Fixture f;
    f.add_final(block_at(1));
    const base::Bytes key(4, std::byte{0});
    base::Batch batch;
    SECTION("a block that does not decode") {
        base::Bytes first = key;
        first[3] = std::byte{1};
        batch.put(Family::blocks, first, base::Bytes(10));
        REQUIRE(f.storage.commit(batch, true));
        CHECK(f.reader.at(1).error().code == base::Errc::corrupt);
        base::Batch pruning;
        const auto pruned = chain::append_pruned(pruning, f.storage, 9, {.blocks = 1, .traces = 1});
        REQUIRE_FALSE(pruned);
        CHECK(pruned.error().code == base::Errc::corrupt);
        CHECK(pruning.changes.empty());
    }
    SECTION("a block at another's height") {
        base::Bytes second = key;
        second[3] = std::byte{2};
        batch.put(Family::blocks, second, chain::encode_block(*block_at(1)));
        REQUIRE(f.storage.commit(batch, true));
        CHECK(f.reader.at(2).error().code == base::Errc::corrupt);
    }
    SECTION("an index entry of another size") {
        base::Bytes entry = {std::byte{'b'}};
        const chain::BlockId id = block_at(1)->id;
        entry.insert(entry.end(), id.bytes.begin(), id.bytes.end());
        batch.put(Family::index, entry, base::Bytes(3));
        REQUIRE(f.storage.commit(batch, true));
        CHECK(f.reader.height_of(id).error().code == base::Errc::corrupt);
    }
    SECTION("a reversible block that does not decode") {
        batch.put(Family::reversible, base::Bytes(36), base::Bytes(5));
        REQUIRE(f.storage.commit(batch, true));
        CHECK(f.reader.reversible().error().code == base::Errc::corrupt);
    }
    SECTION("a disk that does not answer") {
        f.storage.fail_reads(base::Error{base::Errc::unavailable, "gone"});
        CHECK(f.reader.at(1).error().code == base::Errc::unavailable);
        CHECK(f.reader.height_of({}).error().code == base::Errc::unavailable);
        CHECK(f.reader.traces(1).error().code == base::Errc::unavailable);
        CHECK(f.reader.earliest().error().code == base::Errc::unavailable);
        CHECK(f.reader.reversible().error().code == base::Errc::unavailable);
    }
}
