#include "node/disk/rocksdb_storage.hpp"

#include "base/codec.hpp"
#include "base/rng.hpp"
#include "node/disk/file.hpp"
#include "node/disk/rocksdb_losses.hpp"
#include "tests/support/memory_storage.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using base::Batch;
using base::Family;
using node::RocksDbStorage;

base::Bytes bytes(std::string_view text) {
    return base::to_bytes(base::as_bytes(text));
}

std::unique_ptr<RocksDbStorage> open(const std::string& directory) {
    RocksDbStorage::Options options;
    options.directory = directory;
    options.cache_bytes = 8 * 1024 * 1024;
    options.write_buffer_bytes = 1024 * 1024;
    options.free_bytes_min = 4 * 1024 * 1024;
    auto opened = RocksDbStorage::open(options);
    if (!opened) FAIL(opened.error().detail);
    return std::move(*opened);
}

base::Error open_error(const std::string& directory) {
    RocksDbStorage::Options options;
    options.directory = directory;
    const auto opened = RocksDbStorage::open(options);
    REQUIRE_FALSE(opened);
    return opened.error();
}

Batch one(std::string_view key, std::string_view value, Family family = Family::state) {
    Batch batch;
    batch.put(family, bytes(key), bytes(value));
    return batch;
}

std::string text(const base::Result<std::optional<base::Bytes>>& found) {
    REQUIRE(found);
    return *found ? std::string(base::as_text(**found)) : "none";
}

std::string text(const base::Result<std::optional<base::StoredRow>>& found) {
    REQUIRE(found);
    if (!*found) return "none";
    return std::string(base::as_text((*found)->key)) + "=" +
           std::string(base::as_text((*found)->value));
}

std::string all_of(const base::StorageView& view, Family family, std::string_view from) {
    std::string seen;
    REQUIRE(view.scan(family, base::as_bytes(from), [&](auto key, auto value) {
        seen += std::string(base::as_text(key)) + "=" + std::string(base::as_text(value)) + ";";
        return true;
    }));
    return seen;
}

void require_same(const base::StorageView& real, const base::StorageView& model) {
    for (const Family family : {Family::state, Family::blocks}) {
        for (int i = 0; i < 20; ++i) {
            const std::string key = std::to_string(i);
            REQUIRE(text(real.get(family, base::as_bytes(key))) ==
                    text(model.get(family, base::as_bytes(key))));
            REQUIRE(text(real.at_or_after(family, base::as_bytes(key))) ==
                    text(model.at_or_after(family, base::as_bytes(key))));
            REQUIRE(text(real.before(family, base::as_bytes(key))) ==
                    text(model.before(family, base::as_bytes(key))));
        }
        REQUIRE(all_of(real, family, "3") == all_of(model, family, "3"));
    }
}

// Until nearly all tables of a family have been merged into one.
void wait_for_merging(const std::string& directory) {
    const auto tables = [&] {
        return std::ranges::count_if(
            std::filesystem::directory_iterator(directory),
            [](const auto& file) { return file.path().extension() == ".sst"; });
    };
    for (int tries = 0; tables() > 5; ++tries) {
        REQUIRE(tries < 600);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

// A file system of this many bytes, where the process may mount one.
class SmallDisk : base::Pinned {
  public:
    explicit SmallDisk(std::size_t bytes) {
        const std::string options = "size=" + std::to_string(bytes);
        mounted_ = ::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, options.c_str()) == 0;
    }
    ~SmallDisk() {
        if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
    }
    [[nodiscard]] bool mounted() const { return mounted_; }
    [[nodiscard]] std::string operator/(const std::string& name) const { return directory_ / name; }

  private:
    TemporaryDirectory directory_;
    bool mounted_ = false;
};

}  // namespace

// Random batches to both, reads of the newest and of held snapshots, reopening in between.
TEST_CASE("RocksDB and the storage of the tests are one contract") {
    const TemporaryDirectory directory;
    base::Rng rng(31);
    support::MemoryStorage model;
    auto real = open(directory / "db");
    for (int round = 0; round < 4; ++round) {
        std::vector<std::shared_ptr<const base::StorageView>> real_held;
        std::vector<std::shared_ptr<const base::StorageView>> model_held;
        for (int step = 0; step < 12; ++step) {
            Batch batch;
            for (std::uint64_t i = rng.below(8); i > 0; --i) {
                const Family family = rng.below(2) == 0 ? Family::state : Family::blocks;
                const base::Bytes key = bytes(std::to_string(rng.below(20)));
                if (rng.below(3) == 0) {
                    batch.erase(family, key);
                } else {
                    // Some are so big that they go to blob files.
                    batch.put(family, key, base::Bytes(rng.below(900), std::byte('a' + step)));
                }
            }
            REQUIRE(model.commit(batch, true));
            REQUIRE(real->commit(batch, rng.below(2) == 0));
            real_held.push_back(real->snapshot());
            model_held.push_back(model.snapshot());
            const std::size_t pick = rng.below(real_held.size());
            require_same(*real_held[pick], *model_held[pick]);
            require_same(*real, model);
        }
        REQUIRE(real->flush());
        require_same(*real, model);
        for (std::size_t i = 0; i < real_held.size(); ++i) {
            require_same(*real_held[i], *model_held[i]);
        }
        real_held.clear();
        real.reset();
        real = open(directory / "db");
    }
}

TEST_CASE("a snapshot stays readable when the storage is gone") {
    const TemporaryDirectory directory;
    auto storage = open(directory / "db");
    REQUIRE(storage->commit(one("a", "1"), true));
    const auto held = storage->snapshot();
    REQUIRE(storage->commit(one("a", "2"), true));
    storage.reset();
    CHECK(text(held->get(Family::state, base::as_bytes("a"))) == "1");
}

TEST_CASE("a synced commit survives kill -9") {
    const TemporaryDirectory directory;
    const ::pid_t child = ::fork();
    if (child == 0) {
        RocksDbStorage::Options options;
        options.directory = directory / "db";
        const auto storage = RocksDbStorage::open(options);
        if (!storage || !(*storage)->commit(one("a", "1"), false) ||
            !(*storage)->commit(one("b", "2"), true)) {
            ::_exit(1);
        }
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    const auto storage = open(directory / "db");
    CHECK(text(storage->get(Family::state, base::as_bytes("a"))) == "1");
    CHECK(text(storage->get(Family::state, base::as_bytes("b"))) == "2");
}

TEST_CASE("a second process on the same directory is refused with what to do") {
    const TemporaryDirectory directory;
    const auto storage = open(directory / "db");
    const base::Error error = open_error(directory / "db");
    CHECK(error.code == base::Errc::invalid);
    CHECK(error.detail.find(directory / "db") != std::string::npos);
    CHECK(error.detail.find("in use by another process") != std::string::npos);
}

TEST_CASE("another schema version is refused with what to do") {
    const TemporaryDirectory directory;
    base::Writer version;
    SECTION("later") {
        version.u32(node::kSchemaVersion + 1);
    }
    SECTION("damaged") {
        version.u8(7);
    }
    Batch batch;
    batch.put(Family::meta, bytes("schema"), version.view());
    REQUIRE(open(directory / "db")->commit(batch, true));
    const base::Error error = open_error(directory / "db");
    const bool later = version.view().size() == 4;
    CHECK(error.code == (later ? base::Errc::invalid : base::Errc::corrupt));
    const std::string newer = std::to_string(node::kSchemaVersion + 1);
    if (later) CHECK(error.detail.find("schema version " + newer) != std::string::npos);
}

TEST_CASE("a database without a version is somebody else's") {
    const TemporaryDirectory directory;
    Batch batch = one("a", "1");
    batch.erase(Family::meta, bytes("schema"));
    REQUIRE(open(directory / "db")->commit(batch, true));
    CHECK(open_error(directory / "db").code == base::Errc::invalid);
}

TEST_CASE("a directory that cannot be made is named") {
    const base::Error error = open_error("/proc/none/db");
    CHECK(error.code == base::Errc::unavailable);
    CHECK(error.detail.find("/proc/none/db") != std::string::npos);
}

TEST_CASE("writes that a damaged, a cut or a missing log loses are named once") {
    const TemporaryDirectory directory;
    const std::string folder = directory / "db";
    {
        const auto storage = open(folder);
        CHECK(storage->losses().empty());
        REQUIRE(storage->commit(one("a", "1"), true));
        REQUIRE(storage->commit(one("b", std::string(50, 'x')), true));
    }
    std::string log;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".log") log = entry.path().string();
    }
    REQUIRE_FALSE(log.empty());
    const auto size = std::filesystem::file_size(log);
    std::string said = log;
    SECTION("a bit of the last write") {
        auto file = node::File::open(log, O_RDWR).value();
        REQUIRE(file.write_at(size - 10, bytes("y")));
        said += " is damaged: ";
    }
    SECTION("the end of it") {
        std::filesystem::resize_file(log, size - 10);
        said += " was cut short: ";
    }
    SECTION("all of it") {
        std::filesystem::remove(log);
        said = "the write-ahead log of " + folder + " is gone";
    }
    {
        const auto storage = open(folder);
        REQUIRE(storage->losses().size() == 1);
        CHECK(storage->losses().front().find(said) != std::string::npos);
        CHECK_FALSE(storage->get(Family::state, base::as_bytes("b")).value().has_value());
    }
    CHECK(open(folder)->losses().empty());
}

TEST_CASE("a damaged table is corrupt, not another value") {
    const TemporaryDirectory directory;
    {
        const auto storage = open(directory / "db");
        Batch batch;
        for (int i = 0; i < 1000; ++i) {
            batch.put(Family::state, bytes("key " + std::to_string(i)), base::Bytes(100));
        }
        REQUIRE(storage->commit(batch, true));
        REQUIRE(storage->flush());
    }
    int damaged = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory / "db")) {
        if (entry.path().extension() != ".sst") continue;
        auto file = node::File::open(entry.path().string(), O_RDWR).value();
        if (file.size().value() < 3000) continue;
        REQUIRE(file.write_at(100, bytes("damaged")));
        ++damaged;
    }
    REQUIRE(damaged == 1);
    const auto storage = open(directory / "db");
    const auto found = storage->get(Family::state, base::as_bytes("key 1"));
    REQUIRE_FALSE(found);
    CHECK(found.error().code == base::Errc::corrupt);
    CHECK(found.error().detail.find("snapshot") != std::string::npos);
}

TEST_CASE("a full disk refuses commits as a whole, and takes them again when there is room") {
    const SmallDisk disk(24 * 1024 * 1024);
    if (!disk.mounted()) {
        WARN("needs the right to mount a tmpfs; not run");
        return;
    }
    const std::string ballast = disk / "ballast";
    REQUIRE(node::write_file_atomically(ballast, base::Bytes(10 * 1024 * 1024)));
    const auto storage = open(disk / "db");
    REQUIRE(storage->commit(one("before", "1"), true));
    base::Rng rng(1);
    int written = 0;
    base::Result<void> last;
    while (last && written < 1000) {
        Batch batch;
        base::Bytes noise(100'000);
        for (std::byte& byte : noise)
            byte = std::byte(rng.below(256));
        batch.put(Family::state, bytes("filler " + std::to_string(written)), noise);
        batch.put(Family::meta, bytes("last"), bytes(std::to_string(written)));
        last = storage->commit(batch, true);
        if (last) ++written;
    }
    REQUIRE_FALSE(last);
    CHECK(last.error().code == base::Errc::unavailable);
    INFO(last.error().detail);
    CHECK(last.error().detail.find("no space") != std::string::npos);
    // Nothing of the batch happened; what was there can be read.
    CHECK(text(storage->get(Family::meta, base::as_bytes("last"))) == std::to_string(written - 1));
    CHECK(text(storage->get(Family::state, base::as_bytes("before"))) == "1");
    // RocksDB gives room back in the background: take that, too.
    const std::string more = disk / "more";
    const auto free = std::filesystem::space(disk / "db").available;
    (void)node::write_file_atomically(more, base::Bytes(free - free / 8));
    CHECK_FALSE(storage->commit(one("still full", std::string(1'000'000, 'x')), true));

    std::filesystem::remove(ballast);
    std::filesystem::remove(more);
    base::Result<void> again = storage->commit(one("after", "2"), true);
    for (int tries = 0; !again && tries < 200; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        again = storage->commit(one("after", "2"), true);
    }
    if (!again) FAIL(again.error().detail);
    CHECK(text(storage->get(Family::state, base::as_bytes("after"))) == "2");
    CHECK(text(storage->get(Family::state, base::as_bytes("before"))) == "1");
}

// RocksDB 7.8 ends the process at the next write to a log that the disk cut short.
TEST_CASE("a commit that is larger than the room is refused before the log takes a part of it") {
    const SmallDisk disk(24 * 1024 * 1024);
    if (!disk.mounted()) {
        WARN("needs the right to mount a tmpfs; not run");
        return;
    }
    const auto storage = open(disk / "db");
    REQUIRE(storage->commit(one("before", "1"), true));
    REQUIRE(storage->flush());
    const std::string ballast = disk / "ballast";
    const auto free = std::filesystem::space(disk / "db").available;
    REQUIRE(node::write_file_atomically(ballast, base::Bytes(free - 5 * 1024 * 1024)));
    const std::string big(6 * 1024 * 1024, 'x');
    for (int i = 0; i < 3; ++i) {
        const auto refused = storage->commit(one("big", big), true);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == base::Errc::unavailable);
        CHECK(refused.error().detail.find("no space") != std::string::npos);
    }
    CHECK(storage->commit(one("small", "2"), true));
    std::filesystem::remove(ballast);
    CHECK(storage->commit(one("big", big), true));
    CHECK(text(storage->get(Family::state, base::as_bytes("small"))) == "2");
}

TEST_CASE("RocksDB's log goes on at 0 bytes of room, and keeps two files of at most 4 MiB") {
    const SmallDisk disk(24 * 1024 * 1024);
    if (!disk.mounted()) {
        WARN("needs the right to mount a tmpfs; not run");
        return;
    }
    const std::string path = disk / "LOG";
    const auto say = [](node::LossLog& log, char what) {
        rocksdb::Info(&log, "%s", std::string(1000, what).c_str());
    };
    const std::string ballast = disk / "ballast";
    {
        node::LossLog log(disk / "");
        say(log, 'a');
        const auto free = std::filesystem::space(disk / "").available;
        REQUIRE(node::write_file_atomically(ballast, base::Bytes(free)));
        for (int i = 0; i < 20; ++i)
            say(log, 'b');
        std::filesystem::remove(ballast);
        say(log, 'c');
        const std::string written(base::as_text(node::read_file(path, 1 << 20).value()));
        CHECK(written.find("aaa") != std::string::npos);
        CHECK(written.ends_with("ccc\n"));
        CHECK(log.GetLogFileSize() == written.size());
        for (int i = 0; i < 10'000; ++i)
            say(log, 'd');
    }
    CHECK(std::filesystem::file_size(path) < 4 * 1024 * 1024 + 2048);
    CHECK(std::filesystem::file_size(path + ".old") < 4 * 1024 * 1024 + 2048);
    CHECK(std::filesystem::file_size(path + ".old") >= 4 * 1024 * 1024);
    const node::LossLog again(disk / "");
    CHECK(std::filesystem::file_size(path) == 0);
}

TEST_CASE("on a full disk nothing is opened, and all is there when there is room") {
    const SmallDisk disk(12 * 1024 * 1024);
    if (!disk.mounted()) {
        WARN("needs the right to mount a tmpfs; not run");
        return;
    }
    REQUIRE(open(disk / "db")->commit(one("before", "1"), true));
    const std::string ballast = disk / "ballast";
    REQUIRE(node::write_file_atomically(
        ballast, base::Bytes(std::filesystem::space(disk / "db").available)));
    const base::Error refused = open_error(disk / "db");
    CHECK(refused.code == base::Errc::unavailable);
    CHECK(refused.detail.find("no space") != std::string::npos);
    std::filesystem::remove(ballast);
    CHECK(text(open(disk / "db")->get(Family::state, base::as_bytes("before"))) == "1");
}

// The filter of a table this big is larger than a shard of the cache.
TEST_CASE("a look-up in a big table reads a few blocks of it") {
    constexpr int kRows = 600'000;
    constexpr std::uint64_t kLookups = 1'000;
    const TemporaryDirectory directory;
    const auto storage = open(directory / "db");
    for (int row = 0; row < kRows;) {
        Batch batch;
        for (const int end = row + 10'000; row < end; ++row) {
            batch.put(Family::index, bytes("row " + std::to_string(row)), bytes("1"));
        }
        REQUIRE(storage->commit(batch, false));
    }
    REQUIRE(storage->flush());
    wait_for_merging(directory / "db");
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    base::Rng rng(5);
    for (std::uint64_t i = 0; i < kLookups; ++i) {
        const std::string key = "row " + std::to_string(rng.below(kRows));
        REQUIRE(text(storage->get(Family::index, base::as_bytes(key))) == "1");
    }
    const std::uint64_t read = rocksdb::get_perf_context()->block_read_byte;
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    CHECK(read / kLookups < 32 * 1024);
}

TEST_CASE("statistics say how much there is") {
    const TemporaryDirectory directory;
    const auto storage = open(directory / "db");
    Batch batch;
    for (int i = 0; i < 100; ++i) {
        batch.put(Family::blocks, bytes("key " + std::to_string(i)), base::Bytes(5000));
        batch.put(Family::state, bytes("key " + std::to_string(i)), base::Bytes(50));
    }
    REQUIRE(storage->commit(batch, true));
    const auto before = storage->statistics();
    CHECK(before.families[static_cast<std::size_t>(Family::state)].rows == 100);
    CHECK(before.families[static_cast<std::size_t>(Family::state)].memory_bytes > 0);
    REQUIRE(storage->flush());
    const auto after = storage->statistics();
    CHECK(after.families[static_cast<std::size_t>(Family::state)].table_bytes > 0);
    CHECK(after.families[static_cast<std::size_t>(Family::state)].blob_bytes == 0);
    CHECK(after.families[static_cast<std::size_t>(Family::blocks)].blob_bytes > 0);
    CHECK(after.disk_free_bytes > 0);
    CHECK_FALSE(after.writes_stopped);
    CHECK(node::family_name(Family::meta) == "meta");
}
