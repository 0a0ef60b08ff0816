#include "node/disk/file.hpp"
#include "node/snapshots/snapshot_fetch.hpp"
#include "tests/node/snapshots/fixture.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

// A snapshot that is fetched file by file from somewhere: what was fetched is not fetched again,
// and what is not what it should be is refused with the place that it came from.

namespace {

namespace fs = std::filesystem;
using node::SnapshotFolder;
using node::SnapshotStore;

// A folder on this disk, of which the test changes what is given.
class Folder final : public node::SnapshotSource {
  public:
    explicit Folder(fs::path path) : path_(std::move(path)) {}

    base::Result<base::Bytes> read(const std::string& file, std::size_t bytes_max) override {
        const std::scoped_lock lock(mutex_);
        asked.insert(file);
        if (file == broken) return base::fail(base::Errc::unavailable, "the line is cut");
        auto bytes = node::read_file((path_ / file).string(), bytes_max);
        if (bytes && file == flipped) bytes->back() ^= std::byte{1};
        if (bytes && file == swapped) {
            return node::read_file((path_ / other).string(), bytes_max);
        }
        return bytes;
    }
    [[nodiscard]] std::string place_of(const std::string& file) const override {
        return "far:" + file;
    }

    std::string broken, flipped, swapped, other;
    std::set<std::string> asked;

  private:
    fs::path path_;
    std::mutex mutex_;
};

class World {
  public:
    World() {
        std::ofstream(home_ / "genesis.json") << genesis::to_json(chain_.node().genesis());
        auto store = SnapshotStore::open(home_ / "snapshots", base::Log(silent_, "snapshot"));
        REQUIRE(store);
        store_ = *std::move(store);
        const auto listed = chain_.write(chain_.capture(9, 1), *store_);
        if (!listed) FAIL(listed.error().detail);
        path = store_->path_of(*listed);
        how.data_dir = home_ / "data";
        how.genesis_json = home_ / "genesis.json";
        const auto folder = SnapshotFolder::open(path);
        for (const auto& chunk : folder->manifest().chunks)
            chunks.push_back("chunks/" + node::chunk_file_name(chunk.sha256));
        REQUIRE(chunks.size() > 3);
    }
    void refuses(Folder& folder, base::Errc code, const std::string& text) const {
        const auto fetched = node::fetch_snapshot(folder, how);
        REQUIRE_FALSE(fetched);
        CHECK(fetched.error().code == code);
        CHECK_THAT(fetched.error().detail, Catch::Contains(text));
    }

    fs::path path;
    node::LoadOptions how;
    std::vector<std::string> chunks;

  private:
    test::Chain chain_;
    TemporaryDirectory home_;
    support::SilentLog silent_;
    std::unique_ptr<SnapshotStore> store_;
};

}  // namespace

TEST_CASE("a snapshot that is fetched is loaded like the one that it was") {
    World world;
    Folder folder(world.path);
    const auto fetched = node::fetch_snapshot(folder, world.how);
    if (!fetched) FAIL(fetched.error().detail);
    CHECK(SnapshotFolder::open(*fetched)->id() == SnapshotFolder::open(world.path)->id());
    const auto good = node::load_snapshot(*fetched, world.how);
    if (!good) FAIL(good.error().detail);
    CHECK(good->head.height == 9);
    folder.asked.clear();
    world.refuses(folder, base::Errc::invalid, "has a state already");
    CHECK(folder.asked.empty());
}

TEST_CASE("what was fetched before the line was cut is not fetched again") {
    World world;
    Folder folder(world.path);
    world.how.workers = 1;
    folder.broken = world.chunks[2];
    world.refuses(folder, base::Errc::unavailable, "the line is cut");
    CHECK(folder.asked.contains(world.chunks[1]));
    folder.broken.clear();
    folder.asked.clear();
    REQUIRE(node::fetch_snapshot(folder, world.how));
    CHECK_FALSE(folder.asked.contains(world.chunks[0]));
    CHECK_FALSE(folder.asked.contains(world.chunks[1]));
    CHECK(folder.asked.contains(world.chunks[2]));
}

TEST_CASE("what is not what it should be is named with the place that it came from") {
    World world;
    Folder folder(world.path);
    SECTION("a chunk") {
        folder.flipped = world.chunks[1];
        world.refuses(folder, base::Errc::malformed, "far:" + world.chunks[1]);
    }
    SECTION("a chunk in the place of another of its size or not") {
        folder.swapped = world.chunks[1];
        folder.other = world.chunks[2];
        const auto fetched = node::fetch_snapshot(folder, world.how);
        REQUIRE_FALSE(fetched);
        CHECK_THAT(fetched.error().detail, Catch::Contains("far:" + world.chunks[1]));
    }
    SECTION("the proof: no chunk is asked for") {
        folder.flipped = SnapshotFolder::kProof;
        const auto fetched = node::fetch_snapshot(folder, world.how);
        REQUIRE_FALSE(fetched);
        CHECK_THAT(fetched.error().detail, Catch::Contains("from far:"));
        for (const std::string& chunk : world.chunks)
            CHECK_FALSE(folder.asked.contains(chunk));
    }
    SECTION("the manifest") {
        folder.flipped = SnapshotFolder::kManifest;
        const auto fetched = node::fetch_snapshot(folder, world.how);
        REQUIRE_FALSE(fetched);
        CHECK_THAT(fetched.error().detail, Catch::Contains("from far:"));
    }
    SECTION("there is no snapshot") {
        Folder empty(world.path / "chunks");
        world.refuses(empty, base::Errc::not_found, "far:manifest.bin is not there");
    }
    CHECK_FALSE(fs::exists(world.how.data_dir / "state"));
}
