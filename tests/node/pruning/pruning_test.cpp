// Bytes on a real disk: how many pruning gives back, of whom, beside a snapshot of the storage that
// somebody holds; and that a process that is killed amid it leaves a storage that is whole, where
// the next one ends the work.
#include "node/pruning/pruning.hpp"

#include "base/codec.hpp"
#include "chain/state/block_store.hpp"
#include "chain/state/state_manager.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using base::Family;
using chain::Height;
using chain::HistoryFloor;
using node::Pruning;
using node::RocksDbStorage;

constexpr Height kBlocks = 6'000;
constexpr Height kFloor = 5'801;
constexpr std::size_t kBlockBytes = 3'000;
constexpr std::size_t kTraceBytes = 4'000;
constexpr int kTransactions = 3;  // Of a block.

// Bytes that no compression makes smaller, the same for the same number.
base::Bytes noise(std::uint64_t number, std::size_t size) {
    std::mt19937_64 random(number);
    base::Bytes made(size);
    for (std::byte& each : made)
        each = static_cast<std::byte>(random());
    return made;
}

base::Bytes index_key(char kind, Height height, int number) {
    base::Bytes key{static_cast<std::byte>(kind)};
    if (kind == chain::kIndexedBlock) {
        const base::Bytes begin = chain::height_key(height);
        key.insert(key.end(), begin.begin(), begin.end());
    }
    const base::Bytes rest =
        noise(height * std::uint64_t{100} + static_cast<std::uint64_t>(number), 33 - key.size());
    key.insert(key.end(), rest.begin(), rest.end());
    return key;
}

std::unique_ptr<RocksDbStorage> open(const std::string& directory) {
    RocksDbStorage::Options options;
    options.directory = directory;
    options.write_buffer_bytes = 2 * 1024 * 1024;
    auto opened = RocksDbStorage::open(options);
    if (!opened) FAIL(opened.error().detail);
    return std::move(*opened);
}

void fill(RocksDbStorage& storage, Height last_height = kBlocks) {
    for (Height height = 1; height <= last_height; ++height) {
        base::Batch batch;
        batch.put(Family::blocks, chain::height_key(height), noise(height, kBlockBytes));
        batch.put(Family::traces, chain::height_key(height), noise(height, kTraceBytes));
        batch.put(Family::index, index_key('b', height, 0), chain::height_key(height));
        // What proofs need.
        batch.put(Family::index, index_key('n', height, 0), noise(height, 32));
        for (int i = 1; i <= kTransactions; ++i)
            batch.put(Family::index, index_key('t', height, i), chain::height_key(height));
        REQUIRE(storage.commit(batch, false));
    }
    base::Batch last;
    chain::append_state_block(last, {last_height, {}}, {});
    REQUIRE(storage.commit(last, true));
    REQUIRE(storage.flush());
}

void set_floor(RocksDbStorage& storage, const HistoryFloor& floor) {
    base::Batch batch;
    chain::append_floor(batch, floor);
    REQUIRE(storage.commit(batch, true));
}

// Of tables and blobs, as the file system counts.
std::uint64_t bytes_in(const std::string& directory) {
    std::uint64_t bytes = 0;
    for (const auto& each : fs::directory_iterator(directory)) {
        const auto kind = each.path().extension();
        std::error_code gone;
        const auto size = fs::file_size(each.path(), gone);
        if (!gone && (kind == ".sst" || kind == ".blob")) bytes += size;
    }
    return bytes;
}

std::size_t rows_of(const base::StorageView& storage, Family family, char kind = 0) {
    std::size_t rows = 0;
    REQUIRE(storage.scan(family, {}, [&](base::ByteView key, base::ByteView) {
        if (kind == 0 || key.front() == static_cast<std::byte>(kind)) ++rows;
        return true;
    }));
    return rows;
}

void check_whole(const RocksDbStorage& storage, const HistoryFloor& floor) {
    const auto check = [&](Height height) {
        const auto block = storage.get(Family::blocks, chain::height_key(height));
        REQUIRE(block);
        REQUIRE(*block == noise(height, kBlockBytes));
        for (int i = 1; i <= kTransactions; ++i) {
            REQUIRE(storage.get(Family::index, index_key('t', height, i)).value() ==
                    chain::height_key(height));
        }
        REQUIRE(storage.get(Family::index, index_key('b', height, 0)).value() ==
                chain::height_key(height));
    };
    for (const Height kept : floor.kept)
        check(kept);
    for (Height height = floor.blocks; height <= kBlocks; ++height)
        check(height);
    for (Height height = floor.traces; height <= kBlocks; ++height) {
        REQUIRE(storage.get(Family::traces, chain::height_key(height)).value() ==
                noise(height, kTraceBytes));
    }
    CHECK(rows_of(storage, Family::index, 'n') == kBlocks);
}

void check_gone(const RocksDbStorage& storage, const HistoryFloor& floor) {
    const std::size_t blocks = kBlocks - floor.blocks + 1 + floor.kept.size();
    CHECK(rows_of(storage, Family::blocks) == blocks);
    CHECK(rows_of(storage, Family::traces) == kBlocks - floor.traces + 1);
    CHECK(rows_of(storage, Family::index, 'b') == blocks);
    CHECK(rows_of(storage, Family::index, 't') == blocks * kTransactions);
}

std::unique_ptr<Pruning> pruning_of(RocksDbStorage& storage) {
    auto made = Pruning::open(storage, {});
    if (!made) FAIL(made.error().detail);
    return std::move(*made);
}

const Pruning::Pause kNoPause = [] { return true; };

}  // namespace

TEST_CASE("pruning gives 95 % of the bytes back at once, also beside a snapshot of the storage") {
    const TemporaryDirectory home;
    const auto storage = open(home / "state");
    fill(*storage);
    const std::uint64_t before = bytes_in(home / "state");
    REQUIRE(before > kBlocks * (kBlockBytes + kTraceBytes));
    std::shared_ptr<const base::StorageView> held;
    HistoryFloor floor{.blocks = kFloor, .traces = kFloor, .swept = 0, .kept = {}};
    SECTION("nobody reads") {}
    SECTION("a snapshot is held") {
        held = storage->snapshot();
    }
    SECTION("some blocks stay") {
        floor.kept = {1'000, 1'001, 4'000};
    }
    SECTION("of traces less stays than of blocks") {
        floor.traces = kFloor + 100;
    }
    set_floor(*storage, floor);
    const auto pruning = pruning_of(*storage);
    CHECK(pruning->reclaim(base::Timestamp{}, kNoPause).value());
    check_whole(*storage, floor);
    check_gone(*storage, floor);
    const std::uint64_t after = bytes_in(home / "state");
    const double share = static_cast<double>(kFloor - 1) / kBlocks;
    const double freed =
        static_cast<double>(before - after) / (static_cast<double>(before) * share);
    INFO("before " << before << ", after " << after << ", freed of what was removed " << freed);
    CHECK(freed >= 0.95);
    // All is done.
    CHECK_FALSE(pruning->reclaim(base::Timestamp{}, kNoPause).value());
    CHECK(chain::read_floor(*storage).value().swept == kFloor);
}

TEST_CASE("what is hardly worth while waits, and goes in bounded time") {
    const TemporaryDirectory home;
    const auto storage = open(home / "state");
    fill(*storage);
    set_floor(*storage, {.blocks = 21, .traces = 21, .swept = 0, .kept = {}});
    const auto pruning = pruning_of(*storage);
    const base::Timestamp start{std::chrono::hours(1)};
    CHECK_FALSE(pruning->reclaim(start, kNoPause).value());
    CHECK(rows_of(*storage, Family::blocks) == kBlocks);
    CHECK_FALSE(pruning->reclaim(start + std::chrono::minutes(9), kNoPause).value());
    CHECK(pruning->reclaim(start + std::chrono::minutes(10), kNoPause).value());
    CHECK(rows_of(*storage, Family::blocks) == kBlocks - 20);
    CHECK(rows_of(*storage, Family::traces) == kBlocks - 20);
}

TEST_CASE("work that is interrupted goes on with the next call, and with the next process") {
    const TemporaryDirectory home;
    const HistoryFloor floor{.blocks = kFloor, .traces = kFloor, .swept = 0, .kept = {7}};
    auto storage = open(home / "state");
    fill(*storage);
    set_floor(*storage, floor);
    for (int allowed = 0; allowed < 4; ++allowed) {
        int left = allowed;
        (void)pruning_of(*storage)->reclaim(base::Timestamp{}, [&] { return left-- > 0; });
        check_whole(*storage, floor);
        storage.reset();
        storage = open(home / "state");
        check_whole(*storage, floor);
    }
    CHECK(pruning_of(*storage)->reclaim(base::Timestamp{}, kNoPause));
    check_whole(*storage, floor);
    check_gone(*storage, floor);
}

// Its figures are for bench/README.md; minutes.
TEST_CASE("many blocks are pruned to the newest 1,000 beside commits", "[.][long]") {
    constexpr Height kMany = 100'000;
    const TemporaryDirectory home;
    const auto storage = open(home / "state");
    fill(*storage, kMany);
    const std::uint64_t before = bytes_in(home / "state");
    set_floor(*storage, {.blocks = kMany - 999, .traces = kMany - 999, .swept = 0, .kept = {}});
    const auto pruning = pruning_of(*storage);
    std::atomic<bool> is_done = false;
    std::chrono::steady_clock::duration worst{};
    std::thread commits([&] {
        for (Height height = kMany + 1; !is_done; ++height) {
            const auto began = std::chrono::steady_clock::now();
            base::Batch batch;
            batch.put(Family::blocks, chain::height_key(height), noise(height, kBlockBytes));
            batch.put(Family::traces, chain::height_key(height), noise(height, kTraceBytes));
            if (!storage->commit(batch, true)) std::abort();
            worst = std::max(worst, std::chrono::steady_clock::now() - began);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    });
    const auto began = std::chrono::steady_clock::now();
    auto since = began;
    const auto rest = [&] {
        std::this_thread::sleep_for(std::chrono::steady_clock::now() - since);
        since = std::chrono::steady_clock::now();
        return true;
    };
    const auto reclaimed = pruning->reclaim(base::Timestamp{}, rest);
    const auto took = std::chrono::steady_clock::now() - began;
    is_done = true;
    commits.join();
    REQUIRE(reclaimed);
    const std::uint64_t after = bytes_in(home / "state");
    const double freed = static_cast<double>(before - after) / (static_cast<double>(before) * 0.99);
    using Seconds = std::chrono::duration<double>;
    WARN("MiB " << (before >> 20U) << " before, " << (after >> 20U)
                << " after, of what was removed " << freed << " in " << Seconds(took).count()
                << " s; the longest commit " << Seconds(worst).count() * 1000 << " ms");
    CHECK(freed >= 0.95);
    CHECK(took < std::chrono::seconds(60));
}

// The process that is killed: a run of this program, since a fork has no threads of RocksDB.
TEST_CASE("prunes until it is killed", "[.]") {
    const std::string directory = std::getenv("BOR_PRUNED");
    const auto storage = open(directory);
    const auto pruning = pruning_of(*storage);
    std::thread killer([] {
        std::this_thread::sleep_for(std::chrono::microseconds(std::stol(std::getenv("BOR_AFTER"))));
        ::kill(::getpid(), SIGKILL);
    });
    (void)pruning->reclaim(base::Timestamp{}, kNoPause);
    killer.join();
}

TEST_CASE("kill -9 amid pruning leaves a whole storage, and the next process ends the work") {
    const TemporaryDirectory home;
    const HistoryFloor floor{.blocks = kFloor, .traces = kFloor, .swept = 0, .kept = {7, 8}};
    const std::string whole = home / "whole";
    {
        const auto storage = open(whole);
        fill(*storage);
        set_floor(*storage, floor);
    }
    std::size_t amid = 0;
    for (int round = 0; round < 8; ++round) {
        const std::string directory = home / ("state" + std::to_string(round));
        fs::copy(whole, directory);
        const std::string command = "BOR_PRUNED='" + directory +
                                    "' BOR_AFTER=" + std::to_string(500 + 6'000 * round) + " '" +
                                    fs::read_symlink("/proc/self/exe").string() +
                                    "' 'prunes until it is killed' > /dev/null 2>&1";
        const int status = std::system(command.c_str());
        REQUIRE(WIFEXITED(status));
        REQUIRE(WEXITSTATUS(status) == 128 + SIGKILL);
        const auto storage = open(directory);
        REQUIRE(chain::read_floor(*storage).value().blocks == kFloor);
        check_whole(*storage, floor);
        const std::size_t left = rows_of(*storage, Family::blocks);
        if (left > kBlocks - kFloor + 3 || rows_of(*storage, Family::index, 't') > left * 3) ++amid;
        REQUIRE(pruning_of(*storage)->reclaim(base::Timestamp{}, kNoPause));
        check_whole(*storage, floor);
        check_gone(*storage, floor);
        fs::remove_all(directory);
    }
    INFO(amid << " of 8 processes were killed before their work was done");
    CHECK(amid > 0);
}
