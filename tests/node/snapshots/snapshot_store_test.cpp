#include "node/snapshots/snapshot_store.hpp"

#include "genesis/snapshot_chunk.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/packing.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <fstream>

// Which snapshots a node has: those that were finished, also after a new start; the newest few and
// those that somebody asked for; and where equal chunks of theirs lie.

namespace {

namespace fs = std::filesystem;
using node::SnapshotFolder;
using node::SnapshotStore;

class SilentLog final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return false; }
    void write(base::Level /*level*/,
               std::string_view /*component*/,
               std::string_view /*line*/) override {}
};

std::unique_ptr<SnapshotStore> opened(const std::string& path) {
    static SilentLog sink;
    auto store = SnapshotStore::open(path, base::Log(sink, "snapshot"));
    if (!store) FAIL(store.error().detail);
    return std::move(*store);
}

genesis::Chunk chunk_of(std::uint8_t number) {
    genesis::ChunkCutter cutter;
    const base::Bytes key{std::byte{0}, std::byte{2}, std::byte{number}};
    REQUIRE(cutter.add(key, base::Bytes(100, std::byte{number})));
    return *cutter.finish();
}

void write(const fs::path& path, base::ByteView bytes) {
    REQUIRE(node::write_file_atomically(path.string(), bytes, 0644));
}

// Of one row that depends on `number`.
SnapshotStore::Listed make(SnapshotStore& store,
                           chain::Height height,
                           std::uint8_t number,
                           bool keep = false) {
    const auto folder = store.begin();
    REQUIRE(folder);
    const genesis::Chunk chunk = chunk_of(number);
    genesis::Manifest manifest;
    manifest.head.height = height;
    manifest.head.block.bytes[3] = static_cast<std::byte>(height);  // It begins with the height.
    manifest.head.rules_version = 1;
    manifest.head.rows = 1;
    manifest.head.bytes = chunk.info.bytes;
    manifest.chunks.push_back(chunk.info);
    write(*folder / SnapshotFolder::kManifest, genesis::encode_manifest(manifest));
    write(*folder / SnapshotFolder::kProof, {});
    write(*folder / SnapshotFolder::kChunks / node::chunk_file_name(chunk.info.sha256),
          node::pack_chunk(chunk.bytes));
    auto listed = store.take_over(*folder, keep);
    if (!listed) FAIL(listed.error().detail);
    return *listed;
}

std::vector<chain::Height> heights(const SnapshotStore& store) {
    std::vector<chain::Height> found;
    for (const auto& each : store.list())
        found.push_back(each.head.height);
    return found;
}

}  // namespace

TEST_CASE("a snapshot is listed once it is whole, also after a new start") {
    const TemporaryDirectory home;
    const std::string path = home / "snapshots";
    {
        const auto store = opened(path);
        CHECK(store->list().empty());
        make(*store, 20, 1);
        make(*store, 10, 2, /*keep=*/true);
        CHECK(heights(*store) == std::vector<chain::Height>{10, 20});
        // The next one is cut short.
        const auto folder = store->begin();
        REQUIRE(folder);
        write(*folder / SnapshotFolder::kProof, {});
    }
    const auto store = opened(path);
    CHECK(heights(*store) == std::vector<chain::Height>{10, 20});
    CHECK(store->find(10)->is_kept);
    CHECK_FALSE(store->find(20)->is_kept);
    CHECK(store->find(20)->head.rows == 1);
    CHECK_FALSE(store->find(15));
    for (const auto& entry : fs::directory_iterator(path))
        CHECK_FALSE(entry.path().filename().string().starts_with('.'));
}

TEST_CASE("a start removes what a making or a removal left, and nothing of somebody else") {
    const TemporaryDirectory home;
    const fs::path path = home / "snapshots";
    std::string name;
    {
        const auto store = opened(path);
        name = make(*store, 10, 1, /*keep=*/true).name;
    }
    using Names = std::vector<std::string>;
    const std::string gone = "0000000011-00112233445566aa";
    const Names own{".making", ".removing-" + gone, gone + ".kept", name + ".kept.next"};
    const Names others{".git", ".removing-mine", "mine", "mine.kept"};
    for (const Names& names : {own, others}) {
        for (const std::string& each : names) {
            if (each.ends_with("kept") || each.ends_with("next")) {
                std::ofstream(path / each) << "";
            } else {
                fs::create_directories(path / each / "chunks");
            }
        }
    }
    // Also a mark of one that is not there: nobody asked for the next one of that name.
    CHECK(heights(*opened(path)) == std::vector<chain::Height>{10});
    for (const std::string& each : own) {
        INFO(each);
        CHECK_FALSE(fs::exists(path / each));
    }
    for (const std::string& each : others) {
        INFO(each);
        CHECK(fs::exists(path / each));
    }
    CHECK(fs::exists(path / (name + ".kept")));
}

TEST_CASE("the newest are kept, and those that somebody asked for") {
    const TemporaryDirectory home;
    const auto store = opened(home / "snapshots");
    for (chain::Height height = 2; height <= 7; ++height)
        make(*store, height, static_cast<std::uint8_t>(height), /*keep=*/height == 3);
    REQUIRE(store->keep_newest(2));
    CHECK(heights(*store) == std::vector<chain::Height>{3, 6, 7});
    CHECK(heights(*opened(home / "snapshots")) == std::vector<chain::Height>{3, 6, 7});
    REQUIRE(store->remove(store->find(3)->name));
    CHECK(heights(*store) == std::vector<chain::Height>{6, 7});
    const auto unknown = store->remove("0000000002-aaaa");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code == base::Errc::not_found);
    CHECK(unknown.error().detail.find("0000000002-aaaa") != std::string::npos);
}

TEST_CASE("a chunk of a snapshot is found by its hash as long as one has it") {
    const TemporaryDirectory home;
    const auto store = opened(home / "snapshots");
    const auto first = make(*store, 10, 7);
    const auto second = make(*store, 20, 7);
    const base::Hash256 sha256 = chunk_of(7).info.sha256;
    CHECK_FALSE(store->find_chunk(chunk_of(8).info.sha256));
    REQUIRE(store->remove(first.name));
    const auto found = store->find_chunk(sha256);
    REQUIRE(found);
    CHECK(fs::exists(*found));
    REQUIRE(store->remove(second.name));
    CHECK_FALSE(store->find_chunk(sha256));
}

TEST_CASE("what is taken over twice is there once") {
    const TemporaryDirectory home;
    const auto store = opened(home / "snapshots");
    const auto first = make(*store, 10, 7);
    const auto second = make(*store, 10, 7, /*keep=*/true);
    CHECK(first.name == second.name);
    CHECK(store->list().size() == 1);
    CHECK(store->find(10)->is_kept);
}

TEST_CASE("a folder that lacks a file or has another name is not listed") {
    const TemporaryDirectory home;
    const std::string path = home / "snapshots";
    {
        const auto store = opened(path);
        const auto one = make(*store, 10, 1);
        const auto other = make(*store, 20, 2);
        make(*store, 30, 3);
        fs::remove_all(store->path_of(one) / SnapshotFolder::kChunks);
        fs::rename(store->path_of(other), fs::path(path) / "0000000021-0000000000000000");
    }
    CHECK(heights(*opened(path)) == std::vector<chain::Height>{30});
}
