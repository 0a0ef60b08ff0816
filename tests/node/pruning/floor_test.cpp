// Where the history begins after pruning, decided on the storage of a whole node that makes blocks;
// and that the node starts on what is left.
#include "chain/chain_manager.hpp"
#include "chain/pruning.hpp"
#include "chain/state/block_store.hpp"
#include "chain/state/proof_store.hpp"
#include "chain/state/state_manager.hpp"
#include "tests/support/one_node.hpp"

#include <catch2/catch.hpp>

namespace {

using chain::Height;
using chain::HistoryFloor;
using chain::Retention;

Retention retention(std::string_view text) {
    return chain::Retention::from_string(text).value();
}

class Chain {
  public:
    explicit Chain(chain::Slot slots) {
        for (chain::Slot slot = 1; slot <= slots; ++slot)
            node.tick_at(slot);
    }
    [[nodiscard]] HistoryFloor next(std::string_view blocks,
                                    std::string_view traces,
                                    std::optional<Height> snapshot,
                                    std::vector<Height> recoveries = {}) {
        auto floor = chain::next_floor(node.storage(),
                                       {.blocks = retention(blocks),
                                        .traces = retention(traces),
                                        .times = node.genesis().times,
                                        .recoveries = std::move(recoveries)},
                                       snapshot);
        if (!floor) FAIL(floor.error().detail);
        return *std::move(floor);
    }
    void set(const HistoryFloor& floor) {
        base::Batch batch;
        chain::append_floor(batch, floor);
        REQUIRE(node.storage().commit(batch, true));
    }
    [[nodiscard]] Height final() { return chain::stored_final(node.storage()).value().height; }
    [[nodiscard]] Height base() {
        return chain::ChainManager::stored_schedules(node.storage()).value()->base_height;
    }
    [[nodiscard]] Height final_of(Height height) {
        const auto block = chain::BlockReader(node.storage()).at(height).value();
        return chain::height_of(block->header.finalized.id);
    }

    support::OneNode node;
};

}  // namespace

TEST_CASE("lengths of history are read strictly") {
    CHECK(retention("full") == Retention{});
    CHECK(retention("none") == Retention{Retention::Unit::blocks, 0});
    CHECK(retention("1000b") == Retention{Retention::Unit::blocks, 1000});
    CHECK(retention("30d") == Retention{Retention::Unit::days, 30});
    for (const char* text : {"",
                             "0",
                             "1000",
                             "0b",
                             "0d",
                             "-1b",
                             "1000B",
                             "1000 b",
                             "b",
                             "1.5d",
                             "4294967296b",
                             "full ",
                             "all"}) {
        INFO(text);
        CHECK(Retention::from_string(text).error().code == base::Errc::invalid);
    }
}

TEST_CASE("without a snapshot no block goes, whatever the operator wishes") {
    Chain chain(30);
    for (const char* blocks : {"full", "1b", "none"}) {
        CHECK(chain.next(blocks, "full", std::nullopt).blocks == 0);
    }
    CHECK(chain.next("full", "full", 20).blocks == 0);
    CHECK(chain.next("full", "full", 20) == HistoryFloor{});
}

TEST_CASE("blocks above the newest snapshot stay, with what that takes of the agreement") {
    Chain chain(40);
    const Height final = chain.final();
    REQUIRE(final > 30);
    // The wish is below the snapshot.
    CHECK(chain.next("35b", "full", 30).blocks == final - 34);
    CHECK(chain.next("none", "full", 20).blocks == chain.final_of(20));
    CHECK(chain.next("1b", "full", 20).blocks == chain.final_of(20));
    CHECK(chain.final_of(20) <= 20);
    // One of the final block itself: then it is what a restart reads.
    CHECK(chain.next("none", "full", final).blocks ==
          std::min(chain.base(), chain.final_of(final)));
    CHECK(chain.next("1000b", "full", 30).blocks == 0);
    // Of a snapshot whose block is not stored nobody knows what it needs.
    CHECK(chain.next("none", "full", final + 100).blocks == 0);
}

TEST_CASE("a history that was lengthened does not come back, one that was shortened goes on") {
    Chain chain(40);
    const HistoryFloor pruned = chain.next("20b", "full", 38);
    REQUIRE(pruned.blocks == chain.final() - 19);
    chain.set(pruned);
    CHECK(chain.next("30b", "full", 38) == pruned);
    CHECK(chain.next("full", "full", 38) == pruned);
    CHECK(chain.next("10b", "full", 38).blocks == chain.final() - 9);
    // A snapshot below what is stored holds nothing, and lets nothing go.
    CHECK(chain.next("10b", "full", 5) == pruned);
}

TEST_CASE("traces go by themselves, and with their blocks, but for those of the final block") {
    Chain chain(40);
    const Height final = chain.final();
    CHECK(chain.next("full", "3b", std::nullopt).traces == final - 2);
    CHECK(chain.next("full", "none", std::nullopt).traces == final);
    CHECK(chain.next("full", "3b", std::nullopt).blocks == 0);
    const HistoryFloor both = chain.next("20b", "full", 38);
    CHECK(both.traces == both.blocks);
    CHECK(chain.next("20b", "30b", 38).traces == both.blocks);
}

TEST_CASE("blocks from which a recovery begins stay, with their children") {
    Chain chain(40);
    const HistoryFloor floor = chain.next("10b", "full", 38, {35, 7, 12, 13});
    CHECK(floor.blocks == chain.final() - 9);
    CHECK(floor.kept == std::vector<Height>{7, 8, 12, 13, 14});
    chain.set(floor);
    const chain::BlockReader reader(chain.node.storage());
    CHECK(reader.at(7).value() != nullptr);
    CHECK(reader.at(9).value() == nullptr);
    CHECK(reader.earliest().value() == floor.blocks);
}

TEST_CASE("so do those of the recoveries that the chain went through, which are links") {
    Chain chain(40);
    const auto from = chain::BlockReader(chain.node.storage()).at(20).value();
    chain::RecoveryLink link{from->header, {.from = from->id, .schedule = {}}};
    link.reset.schedule = chain.node.genesis().schedule;
    link.reset.schedule.version = 100;
    base::Batch batch;
    chain::append_link(batch, link);
    REQUIRE(chain.node.storage().commit(batch, true));
    CHECK(chain.next("10b", "full", 38).kept == std::vector<Height>{20, 21});
    CHECK(chain.next("10b", "full", 38, {20, 5}).kept == std::vector<Height>{5, 6, 20, 21});
    // Above the floor there is nothing to keep.
    CHECK(chain.next("25b", "full", 38).kept.empty());
}

TEST_CASE("days are counted back from the final block, in the chain's time") {
    Chain chain(20);
    constexpr chain::Slot kDay = 172'800;  // Slots of half a second.
    for (chain::Slot slot = kDay + 100; slot < kDay + 120; ++slot)
        chain.node.tick_at(slot);
    const Height final = chain.final();
    CHECK(chain.next("2d", "full", final).blocks <= 1);
    const HistoryFloor floor = chain.next("1d", "full", final);
    const chain::BlockReader reader(chain.node.storage());
    const chain::Slot last = reader.at(final).value()->header.slot;
    CHECK(reader.at(floor.blocks).value()->header.slot + kDay >= last);
    CHECK(reader.at(floor.blocks - 1).value()->header.slot + kDay < last);
    CHECK(chain.next("full", "1d", std::nullopt).traces == floor.blocks);
}

TEST_CASE("a node starts on what pruning left, and goes on") {
    for (const char* blocks : {"none", "10b"}) {
        Chain chain(40);
        chain.node.submit(chain.node.new_account("alice"));
        chain.node.tick_at(41);
        chain.node.tick_at(42);
        const Height before = chain.final();
        const HistoryFloor floor = chain.next(blocks, "none", before);
        REQUIRE(floor.blocks > 25);
        chain.set(floor);
        // As if nothing of it were there any more.
        base::Batch gone;
        for (const base::Family family :
             {base::Family::blocks, base::Family::traces, base::Family::index}) {
            REQUIRE(chain.node.storage().scan(family, {}, [&](auto key, auto value) {
                if (floor.is_past(family, key, value)) gone.erase(family, base::to_bytes(key));
                return true;
            }));
        }
        REQUIRE(gone.changes.size() > 60);
        REQUIRE(chain.node.storage().commit(gone, true));
        chain.node.cut_power_and_start();
        CHECK(chain.node.view().finalized->header.height >= before);
        CHECK(chain.node.has_account("alice", *chain.node.view().final_state));
        for (chain::Slot slot = 43; slot < 60; ++slot)
            chain.node.tick_at(slot);
        CHECK(chain.final() > before + 10);
        CHECK(chain.next(blocks, "none", chain.final()).blocks > floor.blocks);
    }
}
