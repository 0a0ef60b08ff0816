// Pruning on the simulated disk: the power is cut at each call that it makes, from the commit of
// the floor on. Whatever is left, no row that is needed is missing, and the next process ends the
// work.
#include "chain/state/history_floor.hpp"
#include "chain/state/state_manager.hpp"
#include "node/pruning/pruning.hpp"
#include "tests/sim/files/disk_environment.hpp"

#include <catch2/catch.hpp>

namespace {

using base::Family;
using chain::Height;
using chain::HistoryFloor;
using node::Pruning;
using node::RocksDbStorage;

constexpr Height kBlocks = 60;
const HistoryFloor kFloor{.blocks = 51, .traces = 55, .swept = 0, .kept = {7, 8}};

std::unique_ptr<RocksDbStorage> open(sim::DiskFiles& files) {
    RocksDbStorage::Options options;
    options.directory = "/m/state";
    options.cache_bytes = 1024 * 1024;
    options.opening_threads = 1;
    options.env = sim::make_environment(files);
    auto opened = RocksDbStorage::open(options);
    if (!opened) FAIL(opened.error().detail);
    return std::move(*opened);
}

base::Bytes filled(Height height, std::size_t size) {
    return base::Bytes(size, static_cast<std::byte>(height));
}

base::Bytes transaction_key(Height height) {
    base::Bytes key = filled(height * 37, 33);
    key.front() = static_cast<std::byte>(chain::kIndexedTransaction);
    return key;
}

// In two tables of each family, the border of which is not where the floor comes.
void fill(RocksDbStorage& storage) {
    for (Height height = 1; height <= kBlocks; ++height) {
        base::Batch batch;
        batch.put(Family::blocks, chain::height_key(height), filled(height, 700));
        batch.put(Family::traces, chain::height_key(height), filled(height, 900));
        batch.put(Family::index, transaction_key(height), chain::height_key(height));
        chain::append_state_block(batch, {height, {}}, {});
        REQUIRE(storage.commit(batch, height == kBlocks));
        if (height == 40) REQUIRE(storage.flush());
    }
    REQUIRE(storage.flush());
}

base::Result<void> prune(RocksDbStorage& storage) {
    auto pruning = Pruning::open(storage, {});
    if (!pruning) return base::fail(pruning.error());
    // So few rows are hardly worth while: they go after their time.
    for (int hours = 1; hours <= 2; ++hours) {
        auto done =
            (*pruning)->reclaim(base::Timestamp{std::chrono::hours(hours)}, [] { return true; });
        if (!done) return base::fail(done.error());
    }
    return {};
}

void check_whole(const base::StorageView& storage, const HistoryFloor& floor) {
    for (Height height = 1; height <= kBlocks; ++height) {
        const base::Bytes key = chain::height_key(height);
        if (floor.has_block(height)) {
            REQUIRE(storage.get(Family::blocks, key).value() == filled(height, 700));
            REQUIRE(storage.get(Family::index, transaction_key(height)).value() == key);
        }
        if (height >= floor.traces) {
            REQUIRE(storage.get(Family::traces, key).value() == filled(height, 900));
        }
    }
}

std::size_t past_rows(const base::StorageView& storage, Family family) {
    std::size_t rows = 0;
    REQUIRE(storage.scan(family, {}, [&](base::ByteView key, base::ByteView value) {
        if (kFloor.is_past(family, key, value)) ++rows;
        return true;
    }));
    return rows;
}

}  // namespace

TEST_CASE("a power cut at any call of pruning costs no row, and the next process ends the work") {
    sim::DiskFiles files("/m");
    {
        const auto storage = open(files);
        fill(*storage);
    }
    files.end_process();
    const auto before = files.image();
    std::size_t cuts = 0;
    std::size_t amid = 0;
    for (std::size_t calls = 0;; ++calls) {
        files.put_back(*before);
        auto storage = open(files);
        files.stop_after(calls);
        base::Batch batch;
        chain::append_floor(batch, kFloor);
        const auto committed = storage->commit(batch, true);
        const bool is_done = committed && prune(*storage);
        storage.reset();
        sim::Chance chance(calls + 1);
        files.cut_power(chance);
        INFO("cut at call " << calls);
        storage = open(files);
        const HistoryFloor floor = chain::read_floor(*storage).value();
        REQUIRE((floor == kFloor || floor == HistoryFloor{}));
        if (committed) REQUIRE(floor == kFloor);
        check_whole(*storage, floor);
        if (floor == kFloor) {
            if (past_rows(*storage, Family::traces) > 0) ++amid;
            REQUIRE(prune(*storage));
            check_whole(*storage, floor);
            REQUIRE(past_rows(*storage, Family::blocks) == 0);
            REQUIRE(past_rows(*storage, Family::traces) == 0);
        }
        storage.reset();
        files.end_process();
        if (is_done) break;
        ++cuts;
    }
    INFO(cuts << " cuts, " << amid << " of them amid the work");
    CHECK(cuts > 20);
    CHECK(amid > 10);
}
