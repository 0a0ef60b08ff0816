#include "node/bps/core/log.hpp"
#include "node/bps/disk/disk_log_files.hpp"
#include "node/bps/disk/disk_space.hpp"
#include "tests/node/bps/core/batches.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

// A disk that is full, or may not hold more: nothing that was taken is lost, and with room again
// the log goes on by itself.

namespace {

using bps::DiskLogFiles;
using bps::OpenFiles;

// A file system of so many bytes, where the process may mount one.
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
    [[nodiscard]] const std::string& path() const { return directory_.path(); }

  private:
    TemporaryDirectory directory_;
    bool mounted_ = false;
};

// No file of this process may grow above these bytes, while this is there.
class FileSizeLimit : base::Pinned {
  public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, SIG_DFL);
    }

  private:
    rlimit before_{};
};

struct OpenLog {
    explicit OpenLog(const std::string& path) {
        auto opened_files = DiskLogFiles::open(path, open_files);
        if (!opened_files) FAIL(opened_files.error().detail);
        files = *std::move(opened_files);
        auto opened = bps::Log::open(*files, {}, 0);
        if (!opened) FAIL(opened.error().detail);
        log = std::move(opened->log);
        if (log->epochs().latest() < 0) REQUIRE(log->begin_epoch(0));
    }
    // A record of about 40 kB.
    [[nodiscard]] bps::Verdict<bps::Log::Appended> append(int number) const {
        base::Bytes batch =
            support::make_batch({.records = {{std::to_string(number), std::string(40'000, 'x')}}});
        return log->append(batch, {}, 0);
    }

    OpenFiles open_files;
    std::unique_ptr<DiskLogFiles> files;
    std::unique_ptr<bps::Log> log;
};

// Appends until the disk takes no more; returns how many are there then.
int fill(const OpenLog& open, const std::string& reason) {
    int count = static_cast<int>(open.log->end());
    auto appended = open.append(count);
    while (appended && count < 1'000) {
        appended = open.append(++count);
    }
    REQUIRE_FALSE(appended);
    CHECK(appended.error().code == bps::ErrorCode::kafka_storage_error);
    CHECK_THAT(appended.error().reason,
               Catch::Contains(reason) && Catch::Contains("00000000000000000000.log"));
    CHECK(open.log->end() == count);
    CHECK_FALSE(open.log->has_failed());
    return count;
}

void check_records(const bps::Log& log, int count) {
    int seen = 0;
    REQUIRE(log.for_each_batch([&](const bps::BatchHeader& header, base::ByteView) {
        CHECK(header.base_offset == seen++);
        return base::Result<void>();
    }));
    CHECK(seen == count);
}

}  // namespace

TEST_CASE("a log on a full disk refuses, keeps what it took, and goes on with room",
          "[bps][disk]") {
    const SmallDisk disk(4U << 20U);
    if (!disk.mounted()) {
        WARN("needs the right to mount a tmpfs; not run");
        return;
    }
    CHECK(bps::free_percent(disk.path()).value() > 90);
    {
        const OpenLog before(disk / "log");
        REQUIRE(before.append(0));
    }
    REQUIRE(node::write_file_atomically(disk / "ballast", base::Bytes(1U << 20U)));
    CHECK(bps::free_percent(disk.path()).value() < 75);
    int taken = 0;
    {
        const OpenLog open(disk / "log");
        taken = fill(open, "No space left on device");
        CHECK(taken > 50);
        CHECK(bps::free_percent(disk.path()).value() < bps::kFreePercentMin);
        // Nothing can be replaced, either, and what is there stays.
        const auto replaced = open.files->replace("start", base::Bytes(100'000));
        REQUIRE_FALSE(replaced);
        CHECK_THAT(replaced.error().detail, Catch::Contains("No space left on device"));
        check_records(*open.log, taken);
    }
    // A node that begins on the full disk reads all.
    const OpenLog again(disk / "log");
    check_records(*again.log, taken);
    CHECK_FALSE(again.append(taken));
    std::filesystem::remove(disk / "ballast");
    REQUIRE(again.append(taken));
    check_records(*again.log, taken + 1);
}

TEST_CASE("a log whose file may not grow refuses, and keeps what it took", "[bps][disk]") {
    const TemporaryDirectory directory;
    int taken = 0;
    {
        const OpenLog open(directory / "log");
        const FileSizeLimit limit(1'000'000);
        taken = fill(open, "File too large");
        CHECK(taken == 24);
        check_records(*open.log, taken);
    }
    const OpenLog again(directory / "log");
    check_records(*again.log, taken);
    REQUIRE(again.append(taken));
}

TEST_CASE("how much of a disk is free is asked of one that is there", "[bps][disk]") {
    const TemporaryDirectory directory;
    CHECK(bps::free_percent(directory.path()).value() <= 100);
    const auto missing = bps::free_percent(directory / "missing");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == base::Errc::unavailable);
    CHECK_THAT(missing.error().detail, Catch::Contains(directory / "missing"));
}
