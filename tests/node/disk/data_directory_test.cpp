#include "node/disk/data_directory.hpp"

#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

// Which state of a data directory counts: `state` where nobody said anything, what `current` names
// otherwise; what it does not name goes, and nothing else does.

namespace {

namespace fs = std::filesystem;
using node::DataDirectory;

DataDirectory opened(const std::string& path) {
    auto directory = DataDirectory::open(path);
    if (!directory) FAIL(directory.error().detail);
    return std::move(*directory);
}

}  // namespace

TEST_CASE("a data directory without the file `current` has its state in `state`") {
    const TemporaryDirectory home;
    const fs::path path = home / "data";
    const DataDirectory directory = opened(path);
    CHECK(directory.state() == path / "state");
    CHECK(DataDirectory::state_in(path).value() == path / "state");
    CHECK(directory.next_state().value() == path / "state.1.loading");
}

TEST_CASE("after a switch the new state counts and the others go") {
    const TemporaryDirectory home;
    const fs::path path = home / "data";
    {
        DataDirectory directory = opened(path);
        for (const char* name : {"state", "state.1", "state.x", "state.01", "snapshots"})
            fs::create_directories(path / name);
        const fs::path next = directory.next_state().value();
        CHECK(next == path / "state.2.loading");
        fs::create_directories(next);
        // Before the switch a new start throws it away, and nothing else.
        REQUIRE(directory.remove_others());
        CHECK_FALSE(fs::exists(next));
        CHECK(fs::exists(path / "state"));
        CHECK(fs::exists(path / "state.1"));
        fs::create_directories(next);
        REQUIRE(directory.switch_to(next));
        CHECK(directory.state() == path / "state.2");
    }
    const DataDirectory directory = opened(path);
    CHECK(directory.state() == path / "state.2");
    REQUIRE(directory.remove_others());
    CHECK_FALSE(fs::exists(path / "state"));
    CHECK_FALSE(fs::exists(path / "state.1"));
    for (const char* kept : {"state.2", "state.x", "state.01", "snapshots"})
        CHECK(fs::exists(path / kept));
}

TEST_CASE("a state whose directory has lost the file `current` is not removed") {
    const TemporaryDirectory home;
    const fs::path path = home / "data";
    fs::create_directories(path / "state.3");
    SECTION("the only one counts") {
        const DataDirectory directory = opened(path);
        CHECK(directory.state() == path / "state.3");
        REQUIRE(directory.remove_others());
        CHECK(fs::exists(path / "state.3"));
    }
    SECTION("of several nobody knows which counts") {
        fs::create_directories(path / "state.4");
        const auto directory = DataDirectory::open(path);
        REQUIRE_FALSE(directory);
        CHECK(directory.error().code == base::Errc::corrupt);
        CHECK(directory.error().detail.find("no file " + (path / "current").string()) !=
              std::string::npos);
        CHECK(fs::exists(path / "state.3"));
    }
}

TEST_CASE("a data directory is held by one process") {
    const TemporaryDirectory home;
    const fs::path path = home / "data";
    const DataDirectory directory = opened(path);
    const auto second = DataDirectory::open(path);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == base::Errc::invalid);
    CHECK(second.error().detail.find(path.string() + " is in use by another process") !=
          std::string::npos);
}

TEST_CASE("`current` must name a state that is there") {
    const TemporaryDirectory home;
    const fs::path path = home / "data";
    fs::create_directories(path);
    const std::string content = GENERATE("", "state.3\n", "../state\n", "state.x", "state.1\nmore");
    std::ofstream(path / "current") << content;
    const auto directory = DataDirectory::open(path);
    REQUIRE_FALSE(directory);
    CHECK(directory.error().code == base::Errc::corrupt);
    CHECK(directory.error().detail.find((path / "current").string()) != std::string::npos);
}

TEST_CASE("nobody waits for the other end of a FIFO that stands where a file should") {
    const TemporaryDirectory home;
    const fs::path path = home / "fifo";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const auto read = node::read_file(path.string(), 100);
    CHECK((!read || read->empty()));
}
