#include "node/bps/disk/disk_log_files.hpp"

#include "base/rng.hpp"
#include "tests/node/bps/core/simulated_files.hpp"
#include "tests/node/bps/disk/watched_calls.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

// A partition's directory: it keeps to the seam as the one in memory does, takes no name that leads
// elsewhere, and holds no more files open than it may.

namespace {

namespace fs = std::filesystem;
using bps::DiskLogFiles;
using bps::OpenFiles;
using Names = std::vector<std::string>;

constexpr const char* kName = "00000000000000000000.log";

std::unique_ptr<DiskLogFiles> open(const std::string& path, OpenFiles& files) {
    auto opened = DiskLogFiles::open(path, files);
    if (!opened) FAIL(opened.error().detail);
    return *std::move(opened);
}

base::Bytes bytes(std::string_view text) {
    return base::to_bytes(base::as_bytes(text));
}

std::string text_of(const bps::LogFiles& files, std::string_view name) {
    const auto read = files.read(name, 0, 1'000'000);
    return read ? std::string(base::as_text(*read)) : "error: " + read.error().detail;
}

void write_outside(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

std::string text_outside(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Descriptors of this process for files in a directory.
std::size_t open_in(const std::string& directory) {
    std::size_t count = 0;
    for (const auto& each : fs::directory_iterator("/proc/self/fd")) {
        std::error_code ignored;
        if (fs::read_symlink(each, ignored).string().starts_with(directory + "/")) ++count;
    }
    return count;
}

// Whether pages of a file there can be elsewhere than in memory.
bool can_leave_memory(const std::string& path) {
    struct ::statfs about {};
    REQUIRE(::statfs(path.c_str(), &about) == 0);
    return about.f_type != TMPFS_MAGIC;
}

std::size_t pages_in_memory(const std::string& path) {
    const std::size_t size = fs::file_size(path);
    const auto file = node::File::open(path, O_RDONLY).value();
    void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    REQUIRE(mapped != MAP_FAILED);
    std::vector<unsigned char> pages((size + 4'095) / 4'096);
    REQUIRE(::mincore(mapped, size, pages.data()) == 0);
    ::munmap(mapped, size);
    return static_cast<std::size_t>(
        std::ranges::count_if(pages, [](unsigned char page) { return (page & 1U) != 0; }));
}

void check_equal(const bps::LogFiles& a, const bps::LogFiles& b) {
    const auto list_a = a.list();
    const auto list_b = b.list();
    REQUIRE(list_a.has_value());
    REQUIRE(list_b.has_value());
    REQUIRE(list_a->size() == list_b->size());
    for (std::size_t i = 0; i < list_a->size(); ++i) {
        const auto& file = (*list_a)[i];
        CHECK(file.name == (*list_b)[i].name);
        CHECK(file.bytes == (*list_b)[i].bytes);
        CHECK(a.read(file.name, 0, file.bytes).value() == b.read(file.name, 0, file.bytes).value());
        // A part, and what lies behind the end.
        CHECK(a.read(file.name, 3, 5).value() == b.read(file.name, 3, 5).value());
        CHECK(a.read(file.name, file.bytes + 1, 5).value().empty());
    }
}

// One call by chance on both.
void do_something(base::Rng& rng, DiskLogFiles& disk, bps::LogFiles& memory) {
    const std::string name = "file" + std::to_string(rng.below(4));
    base::Bytes content(rng.below(2'000));
    for (std::byte& byte : content)
        byte = std::byte(rng.below(256));
    const auto there = memory.read(name, 0, 1'000'000);
    const std::uint64_t kind = there ? rng.below(6) : 0;
    if (kind == 0) {
        REQUIRE(disk.replace(name, content));
        REQUIRE(memory.replace(name, content));
    } else if (kind == 1) {
        REQUIRE(disk.remove(name));
        REQUIRE(memory.remove(name));
    } else if (kind == 2) {
        const std::uint64_t kept = rng.below(there->size() + 1);
        REQUIRE(disk.truncate(name, kept));
        REQUIRE(memory.truncate(name, kept));
    } else if (kind == 3 && disk.find_unsynced(name) == nullptr) {
        const std::string other = "file" + std::to_string(rng.below(4));
        REQUIRE(disk.rename(name, other));
        REQUIRE(memory.rename(name, other));
    } else {
        REQUIRE(disk.append(name, content));
        REQUIRE(memory.append(name, content));
    }
}

}  // namespace

TEST_CASE("a directory on a disk and one in memory are one contract", "[bps][disk]") {
    const TemporaryDirectory directory;
    base::Rng rng(GENERATE(1U, 2U, 3U));
    OpenFiles open_files(2);
    auto disk = open(directory / "log", open_files);
    support::SimulatedFiles memory;
    for (int i = 0; i < 300; ++i) {
        do_something(rng, *disk, memory);
        if (i % 50 == 0) {
            disk.reset();
            CHECK(open_files.size() == 0);
            disk = open(directory / "log", open_files);
        }
        check_equal(*disk, memory);
    }
}

TEST_CASE("what is not there is not found, and removed with success", "[bps][disk]") {
    const TemporaryDirectory directory;
    OpenFiles open_files;
    const auto files = open(directory / "a/b/log/", open_files);
    CHECK(files->list().value().empty());
    CHECK(files->read(kName, 0, 1).error().code == base::Errc::not_found);
    CHECK_FALSE(files->append(kName, bytes("x")));
    CHECK_FALSE(fs::exists(directory / ("a/b/log/" + std::string(kName))));
    CHECK(files->remove(kName));
}

TEST_CASE("a name that is none is refused, and nothing is touched", "[bps][disk]") {
    const TemporaryDirectory directory;
    OpenFiles open_files;
    const auto files = open(directory / "log", open_files);
    write_outside(directory / "outside", "as before");
    const std::vector<std::string> names{"",
                                         ".",
                                         "..",
                                         "../outside",
                                         "a/b",
                                         directory / "outside",
                                         ".hidden",
                                         "start.next",
                                         "Start",
                                         "start ",
                                         std::string("start\0", 6),
                                         "st\xC3\xA4rt",
                                         std::string(65, 'a')};
    for (const std::string& name : names) {
        INFO(name);
        CHECK(files->read(name, 0, 1).error().code == base::Errc::invalid);
        CHECK(files->append(name, bytes("x")).error().code == base::Errc::invalid);
        CHECK(files->truncate(name, 0).error().code == base::Errc::invalid);
        CHECK(files->replace(name, bytes("x")).error().code == base::Errc::invalid);
        CHECK(files->remove(name).error().code == base::Errc::invalid);
        CHECK(files->share(name).error().code == base::Errc::invalid);
    }
    CHECK(text_outside(directory / "outside") == "as before");
    CHECK(fs::is_empty(directory / "log"));
    CHECK(files->replace(std::string(64, 'a'), bytes("x")));
    CHECK(files->replace("producers.00000000000000000007", bytes("x")));
}

TEST_CASE("files of other names are left alone", "[bps][disk]") {
    const TemporaryDirectory directory;
    OpenFiles open_files;
    fs::create_directory(directory / "log");
    write_outside(directory / "log/README", "of a person");
    write_outside(directory / "log/Notes.next", "of a person");
    write_outside(directory / "log/start.next", "half of a fi");
    const auto files = open(directory / "log", open_files);
    CHECK(files->list().value().empty());
    CHECK(text_outside(directory / "log/README") == "of a person");
    CHECK(text_outside(directory / "log/Notes.next") == "of a person");
    CHECK_FALSE(fs::exists(directory / "log/start.next"));
}

TEST_CASE("a symbolic link is not followed", "[bps][disk]") {
    const TemporaryDirectory directory;
    OpenFiles open_files;
    write_outside(directory / "outside", "as before");
    fs::create_directory(directory / "log");
    SECTION("as a file that is there before") {
        fs::create_symlink(directory / "outside", directory / "log/start");
        const auto opened = DiskLogFiles::open(directory / "log", open_files);
        REQUIRE_FALSE(opened);
        CHECK(opened.error().code == base::Errc::invalid);
        CHECK_THAT(opened.error().detail,
                   Catch::Contains(directory / "log/start") && Catch::Contains("symbolic link") &&
                       Catch::Contains("remove it"));
    }
    SECTION("as a file that comes later") {
        const auto files = open(directory / "log", open_files);
        fs::create_symlink(directory / "outside", directory / "log/start");
        CHECK(files->read("start", 0, 1).error().code == base::Errc::unavailable);
        CHECK(files->append("start", bytes("x")).error().code == base::Errc::unavailable);
        CHECK(files->truncate("start", 0).error().code == base::Errc::unavailable);
        CHECK(files->list().error().code == base::Errc::invalid);
        // The link itself goes.
        CHECK(files->replace("start", bytes("new")));
        CHECK(text_of(*files, "start") == "new");
        CHECK_FALSE(fs::is_symlink(directory / "log/start"));
    }
    SECTION("as the directory of a log") {
        fs::create_directory_symlink(directory / "log", directory / "link");
        const std::string path = directory / GENERATE(as<std::string>(), "link", "link/");
        const auto opened = DiskLogFiles::open(path, open_files);
        REQUIRE_FALSE(opened);
        CHECK(opened.error().code == base::Errc::invalid);
        CHECK_THAT(opened.error().detail, Catch::Contains("symbolic link"));
    }
    SECTION("above that directory it may stand") {
        fs::create_directory_symlink(directory / "log", directory / "link");
        CHECK(open(directory / "link/log", open_files)->replace("start", bytes("x")));
    }
    CHECK(text_outside(directory / "outside") == "as before");
}

TEST_CASE("what is no file stops a log from being opened", "[bps][disk]") {
    const TemporaryDirectory directory;
    OpenFiles open_files;
    SECTION("a directory where a file should be") {
        fs::create_directories(directory / "log/start");
        const auto opened = DiskLogFiles::open(directory / "log", open_files);
        REQUIRE_FALSE(opened);
        CHECK(opened.error().code == base::Errc::invalid);
        CHECK_THAT(opened.error().detail, Catch::Contains("no regular file"));
    }
    SECTION("a file where the directory should be") {
        write_outside(directory / "log", "a file");
        CHECK_FALSE(DiskLogFiles::open(directory / "log", open_files));
        CHECK(text_outside(directory / "log") == "a file");
    }
}

TEST_CASE("replacing is durable in this order", "[bps][disk]") {
    const TemporaryDirectory directory;
    support::WatchedCalls calls;
    OpenFiles open_files(8, calls);
    const auto files = open(directory / "log", open_files);
    Names seen;
    calls.on_call = [&](const std::string& call) {
        seen.push_back(call);
        return 0;
    };
    REQUIRE(files->replace("start", bytes("new")));
    CHECK(seen == Names{"create start.next",
                        "pwrite start.next",
                        "fdatasync start.next",
                        "rename start.next",
                        "fsync log"});
    seen.clear();
    REQUIRE(files->append("start", bytes(" more")));
    CHECK(seen == Names{"pwrite start"});
    seen.clear();
    REQUIRE(files->truncate("start", 3));
    CHECK(seen == Names{"fdatasync start"});
    seen.clear();
    REQUIRE(files->replace("other", bytes("another")));
    seen.clear();
    REQUIRE(files->rename("other", "start"));
    CHECK(seen == Names{"rename other", "fsync log"});
    CHECK(text_of(*files, "start") == "another");
    seen.clear();
    REQUIRE(files->remove("start"));
    CHECK(seen == Names{"unlink start", "fsync log"});
}

TEST_CASE("replacing that fails leaves the old or the new whole", "[bps][disk]") {
    const TemporaryDirectory directory;
    support::WatchedCalls calls;
    OpenFiles open_files(8, calls);
    auto files = open(directory / "log", open_files);
    REQUIRE(files->replace("start", bytes("the old text")));
    int failures = 0;
    for (int fails_at = 1;; ++fails_at) {
        int count = 0;
        calls.on_call = [&](const std::string&) { return ++count == fails_at ? EIO : 0; };
        const auto done = files->replace("start", bytes("the new text, which is longer"));
        calls.on_call = [](const std::string&) { return 0; };
        const std::string found = text_of(*files, "start");
        if (done) {
            CHECK(found == "the new text, which is longer");
            break;
        }
        ++failures;
        CHECK(done.error().code == base::Errc::unavailable);
        CHECK_THAT(done.error().detail,
                   Catch::Contains(directory / "log") && Catch::Contains("Input/output error"));
        const bool is_whole = found == "the old text" || found == "the new text, which is longer";
        CHECK(is_whole);
        files.reset();
        files = open(directory / "log", open_files);
        CHECK(files->list().value().size() == 1);
        CHECK(text_of(*files, "start") == found);
        REQUIRE(files->replace("start", bytes("the old text")));
    }
    CHECK(failures == 5);
}

TEST_CASE("a write that fails half-way is cut off again", "[bps][disk]") {
    const TemporaryDirectory directory;
    support::WatchedCalls calls;
    OpenFiles open_files(8, calls);
    const auto files = open(directory / "log", open_files);
    REQUIRE(files->replace(kName, {}));
    REQUIRE(files->append(kName, bytes("first ")));
    calls.on_call = [](const std::string&) { return ENOSPC; };
    const auto failed = files->append(kName, bytes("second"));
    CHECK(failed.error().code == base::Errc::unavailable);
    CHECK_THAT(
        failed.error().detail,
        Catch::Contains(directory / "log/" + kName) && Catch::Contains("No space left on device"));
    CHECK(files->list().value().front().bytes == 9);
    calls.on_call = [](const std::string&) { return 0; };
    REQUIRE(files->truncate(kName, 6));
    REQUIRE(files->append(kName, bytes("third")));
    CHECK(text_of(*files, kName) == "first third");
    CHECK(files->list().value().front().bytes == 11);
}

// After a sync that failed the kernel has pages that the disk does not have. One that is not
// durable yet does not leave memory: that all left shows that all was written.
TEST_CASE("what is there is durable, and read from the disk itself, once a log is open",
          "[bps][disk]") {
    constexpr std::size_t kPages = 16;
    const TemporaryDirectory directory;
    fs::create_directory(directory / "log");
    write_outside(directory / "log/" + kName, std::string(kPages * 4'096, 'x'));
    if (!can_leave_memory(directory.path())) {
        WARN("needs a file system that is not in memory; not run");
        return;
    }
    CHECK(pages_in_memory(directory / "log/" + kName) == kPages);
    OpenFiles open_files;
    const auto files = open(directory / "log", open_files);
    CHECK(pages_in_memory(directory / "log/" + kName) == 0);
    CHECK(files->read(kName, kPages * 4'096 - 1, 9).value() == bytes("x"));
}

TEST_CASE("the name of a new log's directory is durable", "[bps][disk]") {
    const TemporaryDirectory directory;
    const std::string above = fs::path(directory.path()).filename().string();
    support::WatchedCalls calls;
    OpenFiles open_files(8, calls);
    int fails_at = 0;
    Names seen;
    calls.on_call = [&](const std::string& call) {
        seen.push_back(call);
        return static_cast<int>(seen.size()) == fails_at ? EIO : 0;
    };
    SECTION("it is made") {
        (void)open(directory / "log", open_files);
        CHECK(seen == Names{"mkdir log", "fsync " + above, "fsync " + above});
    }
    SECTION("a process that was killed made it") {
        fs::create_directory(directory / "log");
        (void)open(directory / "log", open_files);
        CHECK(seen == Names{"fsync " + above});
    }
    SECTION("a disk that fails then is said to fail") {
        for (fails_at = 1; fails_at <= 3; ++fails_at) {
            seen.clear();
            fs::remove(directory / "log");
            const auto opened = DiskLogFiles::open(directory / "log", open_files);
            REQUIRE_FALSE(opened);
            CHECK(opened.error().code == base::Errc::unavailable);
            CHECK_THAT(opened.error().detail, Catch::Contains("Input/output error"));
        }
    }
}

TEST_CASE("no more files are open than allowed, and what is closed is durable", "[bps][disk]") {
    constexpr std::size_t kOpenMax = 4;
    const TemporaryDirectory directory;
    support::WatchedCalls calls;
    OpenFiles open_files(kOpenMax, calls);
    const auto files = open(directory / "log", open_files);
    for (int i = 0; i < 10; ++i) {
        REQUIRE(files->replace("file" + std::to_string(i), {}));
    }
    Names syncs;
    calls.on_call = [&](const std::string& call) {
        if (call.starts_with("fdatasync")) syncs.push_back(call);
        return 0;
    };
    for (int i = 0; i < 10; ++i) {
        const std::string name = "file" + std::to_string(i);
        REQUIRE(files->append(name, bytes(name)));
        CHECK(open_in(directory / "log") <= kOpenMax);
    }
    CHECK(syncs == Names{"fdatasync file0",
                         "fdatasync file1",
                         "fdatasync file2",
                         "fdatasync file3",
                         "fdatasync file4",
                         "fdatasync file5"});
    CHECK(files->find_unsynced("file5") == nullptr);
    CHECK(files->find_unsynced("file6") != nullptr);
    for (int i = 0; i < 10; ++i) {
        const std::string name = "file" + std::to_string(i);
        CHECK(text_of(*files, name) == name);
        CHECK(open_in(directory / "log") <= kOpenMax);
    }
    CHECK(open_files.size() == kOpenMax);
}

TEST_CASE("one that cannot be made durable is not closed, and its log hears of it", "[bps][disk]") {
    const TemporaryDirectory directory;
    support::WatchedCalls calls;
    OpenFiles open_files(2, calls);
    const auto files = open(directory / "log", open_files);
    for (int i = 0; i < 6; ++i) {
        REQUIRE(files->replace("file" + std::to_string(i), {}));
    }
    int tries = 0;
    calls.on_call = [&](const std::string& call) {
        if (call != "fdatasync file0") return 0;
        return ++tries == 1 ? EIO : 0;
    };
    for (int i = 0; i < 6; ++i) {
        REQUIRE(files->append("file" + std::to_string(i), bytes("x")));
    }
    const auto lost = files->find_unsynced("file0");
    REQUIRE(lost != nullptr);
    CHECK(lost->has_failed());
    const auto again = lost->sync();
    REQUIRE_FALSE(again);
    CHECK_THAT(again.error().detail,
               Catch::Contains(directory / "log/file0") && Catch::Contains("failed before"));
    CHECK(tries == 1);
}

TEST_CASE("a file that is shared can be read when its name is gone", "[bps][disk]") {
    const TemporaryDirectory directory;
    OpenFiles open_files;
    auto files = open(directory / "log", open_files);
    REQUIRE(files->replace(kName, bytes("batches")));
    const auto shared = files->share(kName).value();
    REQUIRE(files->remove(kName));
    CHECK(files->share(kName).error().code == base::Errc::not_found);
    files.reset();
    char found[8] = {};
    CHECK(::pread(shared->descriptor(), found, sizeof(found), 0) == 7);
    CHECK(std::string_view(found) == "batches");
}

TEST_CASE("files of a log are its user's only", "[bps][disk]") {
    const TemporaryDirectory directory;
    OpenFiles open_files;
    const auto files = open(directory / "log", open_files);
    REQUIRE(files->replace(kName, bytes("batches")));
    const auto others = fs::perms::group_all | fs::perms::others_all;
    CHECK((fs::status(directory / "log/" + kName).permissions() & others) == fs::perms::none);
}
