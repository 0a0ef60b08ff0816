// What the state costs (spec 03, "Numbers to reach"): point reads, commits and the digest. Rows
// are like a token's balances: 32-byte keys that begin alike, values of some dozen bytes; a
// million of them in RocksDB.
#include "base/rng.hpp"
#include "chain/state/digest.hpp"
#include "chain/state/state_manager.hpp"
#include "node/disk/rocksdb_storage.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

using chain::StateDelta;
using chain::Table;

constexpr std::uint64_t kAccounts = 1'000'000;
constexpr std::uint64_t kHot = 50'000;
constexpr std::uint64_t kBlockChanges = 10'000;

// code, scope, table, primary key.
base::Bytes balance_key(std::uint64_t account) {
    base::Bytes key;
    for (const std::uint64_t word :
         {0x5530EA033482A600ULL, account * 0x9E3779B97F4A7C15ULL, 0x32AC74CC00000000ULL, 5ULL}) {
        for (int shift = 56; shift >= 0; shift -= 8) {
            key.push_back(static_cast<std::byte>((word >> shift) & 0xFFU));
        }
    }
    return key;
}

base::Hash256 id_number(std::uint64_t number) {
    base::Hash256 id;
    for (std::size_t i = 0; i < 8; ++i)
        id.bytes[i] = std::byte((number >> (8 * i)) & 0xFFU);
    return id;
}

// A database with all accounts, removed at the end; and the manager over it.
class World {
  public:
    World() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "bor_bench_XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) std::abort();
        directory_ = pattern;
        node::RocksDbStorage::Options options;
        options.directory = directory_ + "/db";
        auto opened = node::RocksDbStorage::open(options);
        if (!opened) std::abort();
        storage = std::move(*opened);
        for (std::uint64_t first = 0; first < kAccounts; first += 50'000) {
            base::Batch batch;
            for (std::uint64_t i = first; i < first + 50'000; ++i) {
                chain::append_state_row(
                    batch, Table::contract_row, balance_key(i), base::Bytes(24));
            }
            if (!storage->commit(batch, false)) std::abort();
        }
        base::Batch batch;
        chain::append_state_block(batch, {0, {}}, {});
        if (!storage->commit(batch, true) || !storage->flush()) std::abort();
        manager = chain::StateManager::open(storage->snapshot(),
                                            {.on_fault = [](const base::Error&) { std::abort(); }})
                      .value();
    }
    ~World() {
        manager.reset();
        storage.reset();
        std::filesystem::remove_all(directory_);
    }

    // Adds a block that changes this many balances, chosen among the hot ones.
    void add_block(std::uint64_t changes) {
        auto delta = manager->child(id_number(height));
        for (std::uint64_t i = 0; i < changes; ++i) {
            delta->put(Table::contract_row, balance_key(rng.below(kHot)), base::Bytes(24));
        }
        ++height;
        const auto adopted = manager->adopt({{height, id_number(height)},
                                             id_number(height - 1),
                                             delta->take(),
                                             chain::StateLanes()});
        if (!adopted) std::abort();
    }

    std::unique_ptr<node::RocksDbStorage> storage;
    std::unique_ptr<chain::StateManager> manager;
    std::uint32_t height = 0;
    base::Rng rng{1};

  private:
    std::string directory_;
};

World& world() {
    static World made;
    return made;
}

const std::vector<base::Bytes>& hot_keys() {
    static const std::vector<base::Bytes> kKeys = [] {
        std::vector<base::Bytes> made;
        made.reserve(kHot);
        for (std::uint64_t i = 0; i < kHot; ++i)
            made.push_back(balance_key(i));
        return made;
    }();
    return kKeys;
}

// Hot rows, through a transaction's and a block's changes, three blocks that are not final and
// the cache.
void point_read_hot(benchmark::State& state) {
    World& w = world();
    while (w.manager->block_count() < 3)
        w.add_block(2'000);
    const auto block = w.manager->child(id_number(w.height));
    for (std::uint64_t i = 0; i < 5'000; ++i) {
        block->put(Table::contract_row, hot_keys()[w.rng.below(kHot)], base::Bytes(24));
    }
    StateDelta transaction = StateDelta::on(*block);
    StateDelta action = StateDelta::on(transaction);
    for (const base::Bytes& key : hot_keys())
        benchmark::DoNotOptimize(action.find(Table::contract_row, key));
    base::Rng rng(2);
    for (auto _ : state) {
        benchmark::DoNotOptimize(action.find(Table::contract_row, hot_keys()[rng.below(kHot)]));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(point_read_hot);

void point_read_cached_base(benchmark::State& state) {
    World& w = world();
    const auto view = w.manager->view(w.manager->base().id);
    for (const base::Bytes& key : hot_keys())
        benchmark::DoNotOptimize(view->find(Table::contract_row, key));
    base::Rng rng(2);
    for (auto _ : state) {
        benchmark::DoNotOptimize(view->find(Table::contract_row, hot_keys()[rng.below(kHot)]));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(point_read_cached_base);

void point_read_database(benchmark::State& state) {
    const auto view = world().manager->shared_view(world().manager->base().id);
    base::Rng rng(3);
    for (auto _ : state) {
        benchmark::DoNotOptimize(
            view->find(Table::contract_row, balance_key(rng.below(kAccounts))));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(point_read_database);

void ordered_read_database(benchmark::State& state) {
    const auto view = world().manager->shared_view(world().manager->base().id);
    base::Rng rng(3);
    for (auto _ : state) {
        benchmark::DoNotOptimize(
            view->at_or_after(Table::contract_row, balance_key(rng.below(kAccounts))));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ordered_read_database);

void put_in_block(benchmark::State& state) {
    World& w = world();
    std::uint64_t i = 0;
    auto block = w.manager->child(id_number(w.height));
    for (auto _ : state) {
        if (i++ % kBlockChanges == 0) {
            state.PauseTiming();
            block = w.manager->child(id_number(w.height));
            state.ResumeTiming();
        }
        block->put(Table::contract_row, hot_keys()[w.rng.below(kHot)], base::Bytes(24));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(put_in_block);

// A transaction of one action that changes four rows, merged into its block.
void merge_transaction(benchmark::State& state) {
    World& w = world();
    std::uint64_t i = 0;
    auto block = w.manager->child(id_number(w.height));
    for (auto _ : state) {
        if (i++ % (kBlockChanges / 4) == 0) {
            state.PauseTiming();
            block = w.manager->child(id_number(w.height));
            state.ResumeTiming();
        }
        StateDelta transaction = StateDelta::on(*block);
        StateDelta action = StateDelta::on(transaction);
        for (int row = 0; row < 4; ++row) {
            action.put(Table::contract_row, hot_keys()[w.rng.below(kHot)], base::Bytes(24));
        }
        transaction.merge(action);
        block->merge(transaction);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(merge_transaction);

// The disk thread's part: the batch is made, written and synced.
void commit_block(benchmark::State& state) {
    World& w = world();
    for (auto _ : state) {
        state.PauseTiming();
        w.add_block(kBlockChanges);
        const chain::FinalState final = w.manager->finalize(id_number(w.height));
        state.ResumeTiming();
        base::Batch batch;
        final.append_to(batch);
        if (!w.storage->commit(batch, true)) std::abort();
        state.PauseTiming();
        if (!w.manager->committed(w.storage->snapshot())) std::abort();
        state.ResumeTiming();
    }
}
BENCHMARK(commit_block)->Unit(benchmark::kMillisecond)->Iterations(200);

// The ledger's thread: the base moves over the block, and the cache with it.
void absorb_block(benchmark::State& state) {
    World& w = world();
    for (auto _ : state) {
        state.PauseTiming();
        w.add_block(kBlockChanges);
        base::Batch batch;
        w.manager->finalize(id_number(w.height)).append_to(batch);
        if (!w.storage->commit(batch, true)) std::abort();
        auto snapshot = w.storage->snapshot();
        state.ResumeTiming();
        if (!w.manager->committed(std::move(snapshot))) std::abort();
    }
}
BENCHMARK(absorb_block)->Unit(benchmark::kMillisecond)->Iterations(100);

void digest_entry(benchmark::State& state) {
    chain::StateLanes lanes;
    const base::Bytes value(24);
    std::size_t i = 0;
    for (auto _ : state) {
        lanes.add(Table::contract_row, hot_keys()[i++ % kHot], value);
    }
    benchmark::DoNotOptimize(lanes);
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(digest_entry);

void digest_of_lanes(benchmark::State& state) {
    const chain::StateLanes lanes;
    for (auto _ : state)
        benchmark::DoNotOptimize(lanes.digest());
}
BENCHMARK(digest_of_lanes);

void net_changes_of_block(benchmark::State& state) {
    World& w = world();
    const auto block = w.manager->child(id_number(w.height));
    for (std::uint64_t i = 0; i < kBlockChanges; ++i) {
        block->put(Table::contract_row, hot_keys()[i * 3], base::Bytes(24, std::byte{7}));
    }
    for (auto _ : state) {
        benchmark::DoNotOptimize(chain::net_changes(block->changes(), block->parent()));
    }
}
BENCHMARK(net_changes_of_block)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
