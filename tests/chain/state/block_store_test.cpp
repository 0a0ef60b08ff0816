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

    void add_final(const BlockPtr& block) {
        base::Batch batch;
        chain::append_final(batch, *block, traces_of(*block));
        REQUIRE(storage.commit(batch, true));
    }
    void set_floor(const chain::HistoryFloor& floor) {
        base::Batch batch;
        chain::append_floor(batch, floor);
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

TEST_CASE("what is below the floor counts as gone, whatever the tables still hold") {
    Fixture f;
    for (Height height = 1; height <= 50; ++height)
        f.add_final(block_at(height));
    CHECK(BlockReader(f.storage).earliest().value() == Height{1});
    f.set_floor({.blocks = 41, .traces = 48, .swept = 0, .kept = {7, 8}});
    const BlockReader reader(f.storage);
    CHECK(reader.earliest().value() == Height{41});
    CHECK(reader.earliest_traces().value() == Height{48});
    for (const Height height : {1U, 6U, 9U, 40U}) {
        CHECK(reader.at(height).value() == nullptr);
        CHECK_FALSE(reader.packed_at(height).value());
        CHECK_FALSE(reader.height_of(block_at(height)->id).value());
        CHECK_FALSE(reader.height_of_transaction(transaction_of(*block_at(height))).value());
    }
    for (const Height height : {7U, 8U, 41U, 50U}) {
        REQUIRE(reader.at(height).value() != nullptr);
        CHECK(reader.at(height).value()->id == block_at(height)->id);
        CHECK(reader.packed_at(height).value());
        CHECK(reader.height_of(block_at(height)->id).value() == height);
        CHECK(reader.height_of_transaction(transaction_of(*block_at(height))).value() == height);
    }
    CHECK_FALSE(reader.traces(47).value());
    CHECK(reader.traces(48).value());
}

TEST_CASE("which rows are past is said for each family") {
    const chain::HistoryFloor floor{.blocks = 41, .traces = 48, .swept = 0, .kept = {7}};
    const auto key = [](Height height) { return chain::height_key(height); };
    CHECK(floor.is_past(Family::blocks, key(40), {}));
    CHECK_FALSE(floor.is_past(Family::blocks, key(7), {}));
    CHECK_FALSE(floor.is_past(Family::blocks, key(41), {}));
    CHECK(floor.is_past(Family::traces, key(47), {}));
    CHECK(floor.is_past(Family::traces, key(7), {}));
    CHECK_FALSE(floor.is_past(Family::traces, key(48), {}));
    const auto index = [](char kind, std::size_t size) {
        base::Bytes made(size, std::byte{1});
        made.front() = static_cast<std::byte>(kind);
        return made;
    };
    for (const char kind : {'b', 't'}) {
        CHECK(floor.is_past(Family::index, index(kind, 33), key(40)));
        CHECK_FALSE(floor.is_past(Family::index, index(kind, 33), key(7)));
        CHECK_FALSE(floor.is_past(Family::index, index(kind, 33), key(41)));
    }
    // Nodes of the mountain range and links, which proofs need.
    CHECK_FALSE(floor.is_past(Family::index, index('n', 10), base::Bytes(32)));
    CHECK_FALSE(floor.is_past(Family::index, index('n', 33), key(1)));
    CHECK_FALSE(floor.is_past(Family::index, index('s', 5), key(1)));
    CHECK_FALSE(floor.is_past(Family::state, key(1), {}));
    CHECK_FALSE(floor.is_past(Family::meta, key(1), {}));
}

TEST_CASE("the floor is stored and read strictly") {
    Fixture f;
    CHECK(chain::read_floor(f.storage).value() == chain::HistoryFloor{});
    const chain::HistoryFloor floor{.blocks = 9, .traces = 12, .swept = 5, .kept = {2, 3}};
    f.set_floor(floor);
    CHECK(chain::read_floor(f.storage).value() == floor);
    base::Batch batch;
    chain::append_floor(batch, floor);
    base::Bytes& value = *batch.changes.front().value;
    SECTION("cut") {
        value.pop_back();
    }
    SECTION("longer") {
        value.push_back(std::byte{0});
    }
    SECTION("more blocks than there may be") {
        value.at(13) = std::byte{0xFF};
        value.at(14) = std::byte{0xFF};
    }
    REQUIRE(f.storage.commit(batch, true));
    CHECK(chain::read_floor(f.storage).error().code == base::Errc::corrupt);
    CHECK(BlockReader(f.storage).at(9).error().code == base::Errc::corrupt);
}

TEST_CASE("a floor is lowered when blocks came back, and never raised by it") {
    const chain::HistoryFloor floor{.blocks = 9, .traces = 12, .swept = 5, .kept = {2, 6}};
    CHECK(chain::lowered(floor, 7) ==
          chain::HistoryFloor{.blocks = 7, .traces = 12, .swept = 5, .kept = {2, 6}});
    // The index has rows of them again.
    CHECK(chain::lowered(floor, 3) ==
          chain::HistoryFloor{.blocks = 3, .traces = 12, .swept = 3, .kept = {2}});
    CHECK(chain::lowered(floor, 1) ==
          chain::HistoryFloor{.blocks = 0, .traces = 12, .swept = 0, .kept = {}});
    CHECK(chain::lowered(floor, 9) == floor);
    CHECK(chain::lowered(floor, 40) == floor);
    CHECK(chain::lowered({}, 1) == chain::HistoryFloor{});
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
