#include "node/bps/core/log.hpp"
#include "node/bps/disk/disk_log_files.hpp"
#include "node/bps/disk/log_syncer.hpp"
#include "tests/node/bps/core/batches.hpp"
#include "tests/node/bps/disk/sync_results.hpp"
#include "tests/node/bps/disk/watched_calls.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

// A process that ends by SIGKILL: at each call that changes the disk, and at any time under load.
// What it leaves is what the seam says, and what it reported as durable is there.

namespace {

using bps::DiskLogFiles;
using bps::OpenFiles;

constexpr const char* kName = "00000000000000000000.log";

base::Bytes bytes(std::string_view text) {
    return base::to_bytes(base::as_bytes(text));
}

using Content = std::map<std::string, std::string>;
// What is done to a directory, and what is in it afterwards.
struct Step {
    std::function<base::Result<void>(bps::LogFiles&)> act;
    Content after;
};

// All that a log does to its files.
std::vector<Step> steps() {
    return {
        {[](bps::LogFiles& files) { return files.replace(kName, {}); }, {{kName, ""}}},
        {[](bps::LogFiles& files) { return files.append(kName, bytes("one ")); },
         {{kName, "one "}}},
        {[](bps::LogFiles& files) { return files.replace("start", bytes("1")); },
         {{kName, "one "}, {"start", "1"}}},
        {[](bps::LogFiles& files) { return files.append(kName, bytes("two")); },
         {{kName, "one two"}, {"start", "1"}}},
        {[](bps::LogFiles& files) { return files.replace("start", bytes("a longer one")); },
         {{kName, "one two"}, {"start", "a longer one"}}},
        {[](bps::LogFiles& files) { return files.truncate(kName, 4); },
         {{kName, "one "}, {"start", "a longer one"}}},
        {[](bps::LogFiles& files) { return files.remove("start"); }, {{kName, "one "}}},
        {[](bps::LogFiles& files) { return files.append(kName, bytes("three")); },
         {{kName, "one three"}}},
    };
}

// Takes the steps, and is killed before its n-th call; never returns.
[[noreturn]] void take_steps(const std::string& path, int dies_at) {
    support::WatchedCalls calls;
    int count = 0;
    calls.on_call = [&](const std::string&) {
        if (++count == dies_at) ::kill(::getpid(), SIGKILL);
        return 0;
    };
    OpenFiles open_files(8, calls);
    const auto files = DiskLogFiles::open(path, open_files);
    if (!files) ::_exit(1);
    for (const Step& step : steps()) {
        if (!step.act(**files)) ::_exit(1);
    }
    ::_exit(0);
}

// Whether it was killed.
bool wait_for(::pid_t child) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status)) {
        CHECK(WTERMSIG(status) == SIGKILL);
        return true;
    }
    CHECK(WEXITSTATUS(status) == 0);
    return false;
}

Content content_of(const std::string& path) {
    OpenFiles open_files;
    const auto files = DiskLogFiles::open(path, open_files);
    if (!files) FAIL(files.error().detail);
    Content found;
    const auto list = (*files)->list();
    REQUIRE(list.has_value());
    for (const auto& file : *list) {
        found[file.name] = base::as_text((*files)->read(file.name, 0, file.bytes).value());
    }
    // Nor is anything there that is not listed.
    const auto there = std::distance(std::filesystem::directory_iterator(path), {});
    CHECK(static_cast<std::size_t>(there) == found.size());
    return found;
}

// A batch of which each byte is known by its number.
base::Bytes batch_of(std::int64_t number) {
    const std::string text = "record " + std::to_string(number);
    return support::make_batch(
        {.records = {{text, std::string(2'000, static_cast<char>('a' + number % 26))}},
         .producer_id = 7,
         .producer_epoch = 0,
         .base_sequence = static_cast<std::int32_t>(number)});
}

const bps::LogSettings kSmallSegments{.segment_bytes = 64U << 10U};

// Produces from the log's end on, syncs, and says through the pipe up to where all is durable,
// until it is killed.
[[noreturn]] void produce(const std::string& path, int pipe) {
    OpenFiles open_files;
    const auto files = DiskLogFiles::open(path, open_files);
    if (!files) ::_exit(1);
    auto opened = bps::Log::open(**files, kSmallSegments, 0);
    if (!opened) ::_exit(2);
    bps::Log& log = *opened->log;
    if (log.epochs().latest() < 0 && !log.begin_epoch(0)) ::_exit(3);
    bps::GroupCommit commit;
    commit.attach(1, log);
    support::SyncResults results;
    bps::LogSyncer syncer(results.done());
    syncer.attach(1, **files);
    commit.touch(1);
    while (true) {
        for (int i = 0; i < 5; ++i) {
            base::Bytes batch = batch_of(log.end());
            if (!log.append(batch, {}, 0)) ::_exit(4);
            commit.touch(1);
        }
        const auto sync = commit.begin_sync();
        if (!sync) ::_exit(5);
        syncer.start(*sync);
        if (!results.take().empty()) ::_exit(6);
        commit.on_synced();
        const std::int64_t durable = log.durable_end();
        if (durable != log.end()) ::_exit(7);
        if (::write(pipe, &durable, sizeof(durable)) != sizeof(durable)) ::_exit(8);
    }
}

// Kills the child after so long; what it last said was durable.
std::int64_t kill_after(::pid_t child, int pipe, std::chrono::milliseconds time) {
    std::int64_t durable = 0;
    // It is at work.
    REQUIRE(::read(pipe, &durable, sizeof(durable)) == sizeof(durable));
    std::this_thread::sleep_for(time);
    ::kill(child, SIGKILL);
    CHECK(wait_for(child));
    while (::read(pipe, &durable, sizeof(durable)) == sizeof(durable)) {
    }
    return durable;
}

// The log holds each batch once, in order, as it was produced, at least up to `durable`.
void check_log(const std::string& path, std::int64_t durable) {
    OpenFiles open_files;
    const auto files = DiskLogFiles::open(path, open_files);
    if (!files) FAIL(files.error().detail);
    auto opened = bps::Log::open(**files, kSmallSegments, 0);
    if (!opened) FAIL(opened.error().detail);
    bps::Log& log = *opened->log;
    CHECK(log.end() >= durable);
    std::int64_t number = 0;
    REQUIRE(log.for_each_batch([&](const bps::BatchHeader& header, base::ByteView batch) {
        base::Bytes expected = batch_of(number);
        bps::set_place(expected, number, 0);
        const bool is_equal = base::equal(batch, expected);
        if (!is_equal || header.base_offset != number) FAIL("batch " << number << " differs");
        ++number;
        return base::Result<void>();
    }));
    CHECK(number == log.end());
    // Sent again by its producer, the last one is known.
    base::Bytes last = batch_of(log.end() - 1);
    const auto again = log.append(last, {}, 0);
    REQUIRE(again.has_value());
    CHECK(again->is_duplicate);
}

}  // namespace

TEST_CASE("killed at any call, a process leaves each step done or not", "[bps][disk]") {
    const std::vector<Step> all = steps();
    std::size_t done_before = 0;
    int dies_at = 1;
    for (bool is_killed = true; is_killed; ++dies_at) {
        const TemporaryDirectory directory;
        const ::pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) take_steps(directory / "log", dies_at);
        is_killed = wait_for(child);
        const Content found = content_of(directory / "log");
        INFO("killed before call " << dies_at);
        // How many steps are done: never fewer than where it was killed earlier.
        std::size_t done = done_before;
        while (done <= all.size() && found != (done == 0 ? Content() : all[done - 1].after)) {
            ++done;
        }
        REQUIRE(done <= all.size());
        CHECK(done <= done_before + 1);
        done_before = done;
        if (!is_killed) CHECK(done == all.size());
    }
    CHECK(dies_at > 20);
}

TEST_CASE("killed under load, a process loses nothing that it called durable", "[bps][disk]") {
    const TemporaryDirectory directory;
    std::int64_t durable = 0;
    for (int round = 0; round < 6; ++round) {
        std::array<int, 2> pipe{};
        REQUIRE(::pipe(pipe.data()) == 0);
        const ::pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::close(pipe[0]);
            produce(directory / "log", pipe[1]);
        }
        ::close(pipe[1]);
        const std::int64_t said =
            kill_after(child, pipe[0], std::chrono::milliseconds(20 + 17 * round));
        ::close(pipe[0]);
        CHECK(said > durable);
        durable = said;
        check_log(directory / "log", durable);
    }
}
