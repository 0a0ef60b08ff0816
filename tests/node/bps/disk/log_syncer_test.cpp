#include "node/bps/disk/log_syncer.hpp"

#include "tests/node/bps/disk/sync_results.hpp"
#include "tests/node/bps/disk/watched_calls.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

// Syncs in a thread of their own: what is reported durable was synced after it was written, what
// failed once is lost for good, and nothing runs on after the end.

namespace {

using bps::DiskLogFiles;
using bps::GroupCommit;
using bps::LogId;
using bps::LogSyncer;

constexpr const char* kFirst = "00000000000000000000.log";
constexpr const char* kSecond = "00000000000000000009.log";

base::Bytes bytes(std::string_view text) {
    return base::to_bytes(base::as_bytes(text));
}

GroupCommit::Sync both_files_of(const std::vector<LogId>& logs) {
    GroupCommit::Sync sync;
    for (const LogId log : logs) {
        sync.parts.push_back({.log = log, .files = {kFirst, kSecond}});
    }
    return sync;
}

// Logs 1 and 2, of two files each, and who syncs them.
struct Two {
    Two() {
        for (const LogId id : {LogId{1}, LogId{2}}) {
            files.push_back(open(id));
            syncer.attach(id, *files.back());
            for (const char* name : {kFirst, kSecond}) {
                REQUIRE(files.back()->replace(name, {}));
            }
        }
    }
    std::unique_ptr<DiskLogFiles> open(LogId id) {
        auto opened = DiskLogFiles::open(directory / ("log" + std::to_string(id)), open_files);
        if (!opened) FAIL(opened.error().detail);
        return *std::move(opened);
    }
    void write_all() {
        for (const auto& log : files) {
            for (const char* name : {kFirst, kSecond})
                REQUIRE(log->append(name, bytes("batch")));
        }
    }
    [[nodiscard]] LogSyncer::Failed sync_all() {
        syncer.start(both_files_of({1, 2}));
        return results.take();
    }
    [[nodiscard]] bool is_durable(std::size_t at) const {
        return files[at]->find_unsynced(kFirst) == nullptr &&
               files[at]->find_unsynced(kSecond) == nullptr;
    }

    const TemporaryDirectory directory;
    support::WatchedCalls calls;
    bps::OpenFiles open_files{16, calls};
    std::vector<std::unique_ptr<DiskLogFiles>> files;
    support::SyncResults results;
    LogSyncer syncer{results.done()};
};

}  // namespace

TEST_CASE("each file with bytes that are not durable is synced once", "[bps][disk]") {
    Two two;
    two.write_all();
    std::atomic<int> syncs = 0;
    two.calls.on_call = [&](const std::string& call) {
        if (call.starts_with("fdatasync")) ++syncs;
        return 0;
    };
    CHECK_FALSE(two.is_durable(0));
    CHECK(two.sync_all().empty());
    CHECK(syncs == 4);
    CHECK((two.is_durable(0) && two.is_durable(1)));
    CHECK(two.sync_all().empty());
    CHECK(syncs == 4);
    REQUIRE(two.files[1]->append(kSecond, bytes("more")));
    CHECK(two.sync_all().empty());
    CHECK(syncs == 5);
}

TEST_CASE("a log whose sync fails is named, and is lost until it is opened anew", "[bps][disk]") {
    Two two;
    two.write_all();
    REQUIRE(two.files[0]->replace("lost", {}));
    REQUIRE(two.files[0]->append("lost", bytes("batch")));
    GroupCommit::Sync sync = both_files_of({1, 2});
    sync.parts[0].files.emplace_back("lost");
    std::atomic<int> tries = 0;
    two.calls.on_call = [&](const std::string& call) {
        return call == "fdatasync lost" && ++tries == 1 ? EIO : 0;
    };
    two.syncer.start(sync);
    const auto failed = two.results.take();
    REQUIRE(failed.size() == 1);
    CHECK(failed.at(1).code == base::Errc::unavailable);
    CHECK_THAT(
        failed.at(1).detail,
        Catch::Contains(two.directory / "log1/lost") && Catch::Contains("Input/output error"));
    CHECK(two.files[0]->find_unsynced("lost") != nullptr);
    CHECK(two.is_durable(1));
    // The disk works again, but says nothing of what it lost.
    REQUIRE(two.files[0]->append("lost", bytes("more")));
    two.syncer.start(sync);
    const auto again = two.results.take();
    REQUIRE(again.size() == 1);
    CHECK_THAT(again.at(1).detail, Catch::Contains("failed before"));
    CHECK_FALSE(two.files[0]->truncate("lost", 0));
    CHECK(tries == 1);

    two.syncer.detach(1);
    two.files[0].reset();
    two.files[0] = two.open(1);
    two.syncer.attach(1, *two.files[0]);
    REQUIRE(two.files[0]->append("lost", bytes("anew")));
    two.syncer.start(sync);
    CHECK(two.results.take().empty());
    CHECK(two.files[0]->find_unsynced("lost") == nullptr);
}

TEST_CASE("of a log that fails in two files one reason is given", "[bps][disk]") {
    Two two;
    two.write_all();
    two.calls.on_call = [](const std::string& call) {
        return call.starts_with("fdatasync") ? ENOSPC : 0;
    };
    const auto failed = two.sync_all();
    REQUIRE(failed.size() == 2);
    CHECK_THAT(failed.at(1).detail, Catch::Contains("No space left on device"));
    CHECK_THAT(failed.at(2).detail, Catch::Contains(two.directory / "log2"));
}

TEST_CASE("what is written while a sync runs is not durable by it", "[bps][disk]") {
    Two two;
    two.write_all();
    std::promise<void> entered;
    std::promise<void> go_on;
    std::atomic<int> syncs = 0;
    two.calls.on_call = [&](const std::string& call) {
        if (call == "fdatasync " + std::string(kFirst) && ++syncs == 1) {
            entered.set_value();
            go_on.get_future().wait();
        }
        return 0;
    };
    two.syncer.start(both_files_of({1}));
    entered.get_future().wait();
    REQUIRE(two.files[0]->append(kFirst, bytes("later")));
    go_on.set_value();
    CHECK(two.results.take().empty());
    CHECK(two.files[0]->find_unsynced(kFirst) != nullptr);
    CHECK(two.files[0]->find_unsynced(kSecond) == nullptr);
    CHECK(two.sync_all().empty());
    CHECK(two.is_durable(0));
}

TEST_CASE("a log may go while it is synced", "[bps][disk]") {
    Two two;
    two.write_all();
    std::promise<void> entered;
    std::promise<void> go_on;
    std::atomic<int> syncs = 0;
    two.calls.on_call = [&](const std::string& call) {
        if (call.starts_with("fdatasync") && ++syncs == 1) {
            entered.set_value();
            go_on.get_future().wait();
        }
        return 0;
    };
    two.syncer.start(both_files_of({1, 2}));
    entered.get_future().wait();
    two.syncer.detach(1);
    REQUIRE(two.files[0]->remove(kFirst));
    two.files[0].reset();
    go_on.set_value();
    CHECK(two.results.take().empty());
    CHECK(two.is_durable(1));
}

TEST_CASE("stopping ends and reports the sync that runs", "[bps][disk]") {
    Two two;
    two.write_all();
    std::promise<void> entered;
    std::promise<void> go_on;
    std::atomic<int> syncs = 0;
    two.calls.on_call = [&](const std::string& call) {
        if (call.starts_with("fdatasync") && ++syncs == 1) {
            entered.set_value();
            go_on.get_future().wait();
        }
        return 0;
    };
    two.syncer.start(both_files_of({1, 2}));
    entered.get_future().wait();
    std::thread stopping([&] { two.syncer.stop(); });
    CHECK(two.results.count() == 0);
    go_on.set_value();
    stopping.join();
    CHECK(two.results.count() == 1);
    CHECK(two.results.take().empty());
    CHECK((two.is_durable(0) && two.is_durable(1)));
    two.syncer.stop();
}

TEST_CASE("who has nothing to do stops at once", "[bps][disk]") {
    support::SyncResults results;
    { const LogSyncer syncer(results.done()); }
    CHECK(results.count() == 0);
}
