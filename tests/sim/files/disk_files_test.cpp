#include "tests/sim/files/disk_files.hpp"

#include "node/disk/journal_file.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "tests/sim/files/disk_calls.hpp"
#include "tests/sim/files/disk_environment.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <set>
#include <string>

// The simulated files: what survives a power cut and what does not; and that the classes of
// node/disk keep their promises on them, whenever it comes.

namespace {

using base::Family;
using node::JournalFile;
using node::RocksDbStorage;
using sim::Chance;
using sim::DiskCalls;
using sim::DiskFiles;

base::Bytes filled(std::size_t size, unsigned char with) {
    return base::Bytes(size, std::byte{with});
}

// A file with these bytes, synced, its name too.
void make(DiskFiles& files, const std::string& path, const base::Bytes& bytes) {
    DiskCalls calls(files);
    auto file = node::File::open(path, O_RDWR | O_CREAT, 0600, calls).value();
    REQUIRE(file.write_at(0, bytes));
    REQUIRE(file.sync());
    REQUIRE(node::sync_directory_of(path, calls));
}

base::Bytes contents(DiskFiles& files, const std::string& path) {
    DiskCalls calls(files);
    auto file = node::File::open(path, O_RDONLY, 0600, calls);
    if (!file) return {};
    return file->read_at(0, static_cast<std::size_t>(*file->size())).value();
}

std::unique_ptr<RocksDbStorage> open(DiskFiles& files, std::string* error = nullptr) {
    RocksDbStorage::Options options;
    options.directory = "/m/state";
    options.cache_bytes = 1024 * 1024;
    options.opening_threads = 1;
    options.env = sim::make_environment(files);
    auto opened = RocksDbStorage::open(options);
    if (opened) return std::move(*opened);
    if (error == nullptr) FAIL(opened.error().detail);
    *error = opened.error().detail;
    return nullptr;
}

// Commits are numbered: each leaves its number under one key that all have, and in a row of its
// own. Returns how many of them there are; they must be the first ones.
unsigned char commits(const base::StorageView& storage) {
    std::size_t rows = 0;
    unsigned char last = 0;
    REQUIRE(storage.scan(Family::blocks, {}, [&](auto key, auto) {
        ++rows;
        REQUIRE(key[0] == std::byte(rows));
        return true;
    }));
    const auto found = storage.get(Family::state, filled(1, 0));
    REQUIRE(found);
    if (*found) last = std::to_integer<unsigned char>((**found)[0]);
    REQUIRE(last == rows);
    return last;
}

base::Batch commit(unsigned char number) {
    base::Batch batch;
    batch.put(Family::state, filled(1, 0), filled(1, number));
    batch.put(Family::blocks, filled(1, number), filled(700, number));
    return batch;
}

}  // namespace

TEST_CASE("what was synced survives a power cut, of the rest any sectors do") {
    std::set<std::size_t> kept;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        DiskFiles files("/m");
        make(files, "/m/a", filled(2048, 1));
        DiskCalls calls(files);
        auto file = node::File::open("/m/a", O_RDWR, 0600, calls).value();
        REQUIRE(file.write_at(0, filled(1024, 2)));
        REQUIRE(contents(files, "/m/a")[0] == std::byte{2});
        Chance chance(seed);
        files.cut_power(chance);
        const base::Bytes left = contents(files, "/m/a");
        REQUIRE(left.size() == 2048);
        std::size_t pattern = 0;
        for (std::size_t sector = 0; sector < 4; ++sector) {
            const auto at = left.begin() + static_cast<std::ptrdiff_t>(sector * 512);
            REQUIRE(std::all_of(at, at + 512, [&](std::byte each) { return each == *at; }));
            if (*at == std::byte{2}) pattern |= std::size_t{1} << sector;
        }
        kept.insert(pattern);
    }
    CHECK(kept == std::set<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("a name survives once its directory was synced, and before by chance") {
    std::set<bool> is_there;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        DiskFiles files("/m");
        make(files, "/m/a", filled(10, 1));
        DiskCalls calls(files);
        auto file = node::File::open("/m/b", O_RDWR | O_CREAT, 0600, calls).value();
        REQUIRE(file.write_at(0, filled(10, 2)));
        REQUIRE(file.sync());
        Chance chance(seed);
        files.cut_power(chance);
        REQUIRE(contents(files, "/m/a") == filled(10, 1));
        const base::Bytes left = contents(files, "/m/b");
        REQUIRE((left.empty() || left == filled(10, 2)));
        is_there.insert(!left.empty());
    }
    CHECK(is_there.size() == 2);
}

TEST_CASE("what moves to another directory has one name, after a cut of each as it was synced") {
    const bool is_synced_there = GENERATE(false, true);
    const bool is_synced_here = GENERATE(false, true);
    std::set<std::set<std::string>> left;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        DiskFiles files("/m");
        DiskCalls calls(files);
        REQUIRE(node::make_directories("/m/a", calls));
        REQUIRE(node::make_directories("/m/b", calls));
        make(files, "/m/a/one", filled(10, 1));
        REQUIRE(calls.rename("/m/a/one", "/m/b/two") == 0);
        REQUIRE_FALSE(calls.exists("/m/a/one"));
        REQUIRE(contents(files, "/m/b/two") == filled(10, 1));
        if (is_synced_there) REQUIRE(node::sync_directory_of("/m/b/two", calls));
        if (is_synced_here) REQUIRE(node::sync_directory_of("/m/a/one", calls));
        Chance chance(seed);
        files.cut_power(chance);
        DiskCalls after(files);
        std::set<std::string> names;
        for (const char* each : {"/m/a/one", "/m/b/two"}) {
            if (after.exists(each)) names.insert(each);
        }
        left.insert(names);
        if (is_synced_there) REQUIRE(names.contains("/m/b/two"));
        if (is_synced_here) REQUIRE_FALSE(names.contains("/m/a/one"));
    }
    CHECK(left.size() == (is_synced_there ? 1U : 2U) * (is_synced_here ? 1U : 2U));
}

TEST_CASE("a directory that moves to another one never has two names") {
    const bool is_synced = GENERATE(false, true);
    std::set<std::set<std::string>> left;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        DiskFiles files("/m");
        DiskCalls calls(files);
        REQUIRE(node::make_directories("/m/a/one", calls));
        REQUIRE(node::make_directories("/m/b", calls));
        make(files, "/m/a/one/file", filled(10, 1));
        REQUIRE(calls.rename("/m/a/one", "/m/b/two") == 0);
        if (is_synced) REQUIRE(node::sync_directory_of("/m/b/two", calls));
        REQUIRE(calls.rename("/m/b/two", "/m/b/three") == 0);
        Chance chance(seed);
        files.cut_power(chance);
        DiskCalls after(files);
        std::set<std::string> names;
        for (const char* each : {"/m/a/one", "/m/b/two", "/m/b/three"}) {
            if (!after.exists(each)) continue;
            names.insert(each);
            REQUIRE(contents(files, std::string(each) + "/file") == filled(10, 1));
        }
        REQUIRE(names.size() <= 1);
        if (is_synced) REQUIRE_FALSE(names.contains("/m/a/one"));
        if (is_synced) REQUIRE(names.size() == 1);
        left.insert(names);
    }
    CHECK(left.size() == (is_synced ? 2U : 4U));
}

TEST_CASE("a process that is over changes nothing more") {
    DiskFiles files("/m");
    make(files, "/m/a", filled(10, 1));
    DiskCalls calls(files);
    auto file = node::File::open("/m/a", O_RDWR, 0600, calls).value();
    files.end_process();
    CHECK_FALSE(file.write_at(0, filled(10, 2)));
    CHECK_FALSE(file.sync());
    CHECK(calls.unlink("/m/a") != 0);
    CHECK(contents(files, "/m/a") == filled(10, 1));
}

TEST_CASE("the last sync of a file can be taken back, and no other") {
    DiskFiles files("/m");
    make(files, "/m/a", filled(600, 1));
    DiskCalls calls(files);
    auto file = node::File::open("/m/a", O_RDWR, 0600, calls).value();
    REQUIRE(file.write_at(500, filled(600, 2)));
    REQUIRE(file.sync());
    files.mark();
    REQUIRE(file.write_at(400, filled(400, 3)));
    REQUIRE(file.write_at(1000, filled(400, 4)));
    REQUIRE(file.sync());
    Chance chance(1);
    files.cut_power(chance);
    CHECK(files.lose_last_syncs("/m/safety") == 0);
    CHECK(files.lose_last_syncs("/m") == 1);
    base::Bytes expected = filled(1100, 2);
    std::fill_n(expected.begin(), 500, std::byte{1});
    CHECK(contents(files, "/m/a") == expected);
    CHECK(files.lose_last_syncs("/m") == 0);
}

TEST_CASE("no sync is taken back beside a file that it may have replaced") {
    DiskFiles files("/m");
    make(files, "/m/a", filled(600, 1));
    make(files, "/m/b", filled(600, 1));
    DiskCalls calls(files);
    auto file = node::File::open("/m/a", O_RDWR, 0600, calls).value();
    files.mark();
    REQUIRE(file.write_at(0, filled(600, 2)));
    REQUIRE(file.sync());
    REQUIRE(calls.unlink("/m/b") == 0);
    Chance chance(1);
    files.cut_power(chance);
    CHECK(files.lose_last_syncs("/m") == 0);
    CHECK(contents(files, "/m/a") == filled(600, 2));
}

TEST_CASE("a journal is the old or the new one whenever the power goes in its compaction") {
    std::set<std::size_t> lengths;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        DiskFiles files("/m");
        DiskCalls calls(files);
        REQUIRE(JournalFile::create("/m/j", filled(4096, 1), calls));
        auto journal = JournalFile::open("/m/j", calls).value();
        REQUIRE(journal->append_page(filled(4096, 2)));
        Chance chance(seed);
        files.stop_after(chance.below(25));
        (void)journal->compact(filled(4096, 3));
        files.cut_power(chance);
        DiskCalls next(files);
        const base::Bytes left = JournalFile::open("/m/j", next).value()->read().value();
        lengths.insert(left.size());
        REQUIRE(left.back() == (left.size() == 4096 ? std::byte{3} : std::byte{2}));
    }
    CHECK(lengths == std::set<std::size_t>{4096, 8192});
}

TEST_CASE("what a journal has shown to a process is there after a power cut") {
    std::size_t shown = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        DiskFiles files("/m");
        DiskCalls calls(files);
        REQUIRE(JournalFile::create("/m/j", filled(4096, 1), calls));
        auto journal = JournalFile::open("/m/j", calls).value();
        files.stop_after(1);  // Written, not synced.
        REQUIRE_FALSE(journal->append_page(filled(4096, 2)));
        files.end_process();
        DiskCalls second(files);
        const base::Bytes left = JournalFile::open("/m/j", second).value()->read().value();
        shown += left.size() == 8192 ? 1U : 0U;
        Chance chance(seed);
        files.cut_power(chance);
        DiskCalls third(files);
        REQUIRE(JournalFile::open("/m/j", third).value()->read().value() == left);
    }
    CHECK(shown == 50);
}

TEST_CASE("a new journal or database survives a power cut, with the directory that it is in") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        DiskFiles files("/m");
        DiskCalls calls(files);
        REQUIRE(calls.mkdir("/m/safety", 0700) == 0);
        REQUIRE(JournalFile::create("/m/safety/j", filled(4096, 1), calls));
        Chance chance(seed);
        files.cut_power(chance);
        DiskCalls next(files);
        REQUIRE(JournalFile::open("/m/safety/j", next));
        auto storage = open(files);
        REQUIRE(storage->commit(commit(1), true));
        files.cut_power(chance);
        storage = open(files);
        REQUIRE(commits(*storage) == 1);
    }
}

TEST_CASE("after any kills and power cuts there are the first commits, with all synced ones") {
    std::size_t lost = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        DiskFiles files("/m");
        Chance chance(seed);
        unsigned char last = 0;
        unsigned char synced = 0;
        for (int life = 0; life < 6; ++life) {
            auto storage = open(files);
            const unsigned char there = commits(*storage);
            REQUIRE(there >= synced);
            REQUIRE(there <= last);
            lost += last - there;
            last = there;
            for (std::size_t i = chance.below(6); i > 0; --i) {
                const bool sync = chance.percent(30);
                if (i == 1 && chance.percent(50)) files.stop_after(chance.below(4));
                ++last;
                if (storage->commit(commit(last), sync) && sync) synced = last;
            }
            if (chance.percent(40)) {
                files.end_process();
            } else {
                files.cut_power(chance);
            }
        }
    }
    CHECK(lost > 0);
}

TEST_CASE("a flipped bit costs the last commits or is said, and is never another value") {
    std::size_t refused = 0;
    std::size_t shorter = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        CAPTURE(seed);
        DiskFiles files("/m");
        auto storage = open(files);
        for (unsigned char number = 1; number <= 20; ++number) {
            REQUIRE(storage->commit(commit(number), true));
            if (number == 10 && seed % 2 == 0) REQUIRE(storage->flush());
        }
        files.end_process();
        storage.reset();
        Chance chance(seed);
        CAPTURE(files.flip_bit(chance));
        std::string error;
        storage = open(files, &error);
        if (storage == nullptr) {
            REQUIRE(error.find("/m/state") != std::string::npos);
            ++refused;
            continue;
        }
        bool is_whole = true;
        for (unsigned char number = 1; number <= 20 && is_whole; ++number) {
            const auto row = storage->get(Family::blocks, filled(1, number));
            if (!row) {
                REQUIRE(row.error().code == base::Errc::corrupt);
                ++refused;
                is_whole = false;
            } else if (*row) {
                REQUIRE(**row == filled(700, number));
            }
        }
        if (is_whole && commits(*storage) < 20) ++shorter;
    }
    CHECK(refused > 0);
    CHECK(shorter > 0);
}

TEST_CASE("a full disk and a broken one are said") {
    DiskFiles files("/m");
    auto storage = open(files);
    REQUIRE(storage->commit(commit(1), true));
    files.set_full(true);
    const auto full = storage->commit(commit(2), true);
    REQUIRE_FALSE(full);
    CHECK(full.error().detail.find("no space is left") != std::string::npos);
    files.set_full(false);
    REQUIRE(storage->commit(commit(2), true));
    files.break_all();
    const auto broken = storage->commit(commit(3), true);
    REQUIRE_FALSE(broken);
    CHECK(broken.error().detail.find("input/output error") != std::string::npos);
}

TEST_CASE("a journal goes by the name under which a killed process has left it") {
    std::size_t lost = 0;
    std::size_t kept = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        for (std::size_t stop = 15; stop < 24; ++stop) {
            DiskFiles files("/m");
            Chance chance(seed * 100 + stop);
            {
                DiskCalls calls(files);
                REQUIRE(calls.mkdir("/m/safety", 0700) == 0);
                REQUIRE(JournalFile::create("/m/safety/k.journal", filled(4096, 1), calls));
                REQUIRE(node::sync_directory_of("/m/safety/k.journal", calls));
                REQUIRE(node::sync_directory_of("/m/safety", calls));
                auto journal = JournalFile::open("/m/safety/k.journal", calls).value();
                REQUIRE(journal->append_page(filled(4096, 2)));
                files.stop_after(stop);
                (void)journal->compact(filled(4096, 3));
                files.end_process();
            }
            bool replaced = false;
            {
                DiskCalls calls(files);
                auto journal = JournalFile::open("/m/safety/k.journal", calls).value();
                replaced = journal->read().value() == filled(4096, 3);
                REQUIRE(journal->append_page(filled(4096, 4)));
                files.cut_power(chance);
            }
            if (!replaced) continue;
            DiskCalls calls(files);
            auto journal = JournalFile::open("/m/safety/k.journal", calls).value();
            const base::Bytes bytes = journal->read().value();
            const bool has_it = base::equal(base::ByteView(bytes).last(4096), filled(4096, 4));
            (has_it ? kept : lost) += 1;
        }
    }
    CAPTURE(lost, kept);
    CHECK(kept > 0);
    CHECK(lost == 0);
}

TEST_CASE(
    "a journal is replaced whatever a process left that was killed when it made the journal") {
    std::size_t made = 0;
    for (std::size_t stop = 15; stop < 30; ++stop) {
        DiskFiles files("/m");
        {
            DiskCalls calls(files);
            REQUIRE(calls.mkdir("/m/safety", 0700) == 0);
            files.stop_after(stop);
            (void)JournalFile::create("/m/safety/k.journal", filled(4096, 1), calls);
            files.end_process();
        }
        DiskCalls calls(files);
        auto journal = JournalFile::open("/m/safety/k.journal", calls);
        if (!journal) continue;
        ++made;
        REQUIRE((*journal)->append_page(filled(4096, 2)));
        REQUIRE((*journal)->compact(filled(4096, 3)));
        CHECK((*journal)->read().value() == filled(4096, 3));
    }
    CHECK(made > 0);
}
