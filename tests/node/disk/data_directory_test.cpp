#include "node/disk/data_directory.hpp"

#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

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
    CHECK(directory.next_state().value() == path / "state.1");
}

TEST_CASE("after a switch the new state counts and the others go") {
    const TemporaryDirectory home;
    const fs::path path = home / "data";
    {
        DataDirectory directory = opened(path);
        for (const char* name : {"state", "state.1", "state.x", "state.01", "snapshots"})
            fs::create_directories(path / name);
        const fs::path next = directory.next_state().value();
        CHECK(next == path / "state.2");
        fs::create_directories(next);
        // Before the switch a new start throws it away.
        REQUIRE(directory.remove_others());
        CHECK_FALSE(fs::exists(next));
        CHECK(fs::exists(path / "state"));
        fs::create_directories(next);
        REQUIRE(directory.switch_to(next));
        CHECK(directory.state() == next);
    }
    const DataDirectory directory = opened(path);
    CHECK(directory.state() == path / "state.2");
    REQUIRE(directory.remove_others());
    CHECK_FALSE(fs::exists(path / "state"));
    CHECK_FALSE(fs::exists(path / "state.1"));
    for (const char* kept : {"state.2", "state.x", "state.01", "snapshots"})
        CHECK(fs::exists(path / kept));
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
