#include "chain/chain_manager.hpp"
#include "genesis/snapshot_chunk.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/snapshots/packing.hpp"
#include "node/snapshots/snapshot_load.hpp"
#include "node/snapshots/snapshot_writer.hpp"
#include "tests/support/one_node.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>

// A node makes blocks; snapshots are made of them as the node makes them, on a real disk, and
// loaded into data directories, which then hold the chain at that block: it goes on with the next
// one. What was tampered with is refused by name, and leaves the directory as it was.

namespace {

namespace fs = std::filesystem;
using node::SnapshotFolder;
using node::SnapshotStore;

// A node with some blocks, and what was told of them.
class Source {
  public:
    Source() {
        node_.on_finalized = [this](const node::effect::Finalized& told) { take(told); };
        for (chain::Slot slot = 1; slot <= 12; ++slot) {
            if (slot % 3 == 0) {
                const std::string name = "account" + std::string(1, static_cast<char>('a' + slot));
                node_.submit(node_.new_account(name));
            }
            node_.tick_at(slot);
        }
        const auto json = genesis::to_json(node_.genesis());
        std::ofstream(genesis_file()) << json;
        auto store = SnapshotStore::open(home_ / "snapshots", base::Log(silent_, "snapshot"));
        REQUIRE(store);
        store_ = *std::move(store);
    }

    // Of a block, from the storage of `blocks` before it.
    [[nodiscard]] node::StateCapture capture(chain::Height height, chain::Height blocks) const {
        node::StateCapture made;
        made.block = told_.at(height).block->block;
        made.before = told_.at(height - blocks + 1).before;
        for (chain::Height each = height - blocks + 1; each <= height; ++each)
            made.changes.push_back(told_.at(each).block->changes);
        return made;
    }
    base::Result<SnapshotStore::Listed> write(const node::StateCapture& capture) {
        const std::atomic<bool> never = false;
        node::SnapshotWriter writer(
            *store_, [this] { return node_.storage().snapshot(); }, never);
        return writer.write(capture,
                            {.chain_id = node_.genesis().chain_id(),
                             .proof_patience = std::chrono::milliseconds(0)});
    }
    SnapshotFolder written(chain::Height height) {
        const auto listed = write(capture(height, 1));
        if (!listed) FAIL(listed.error().detail);
        return *SnapshotFolder::open(store_->path_of(*listed));
    }

    [[nodiscard]] std::string genesis_file() const { return home_ / "genesis.json"; }
    [[nodiscard]] std::string path(const std::string& name) const { return home_ / name; }
    [[nodiscard]] node::LoadOptions into(const std::string& name) const {
        node::LoadOptions how;
        how.data_dir = home_ / name;
        how.genesis_json = genesis_file();
        return how;
    }
    support::OneNode& node() { return node_; }
    SnapshotStore& store() { return *store_; }
    [[nodiscard]] const chain::BlockPtr& block(chain::Height height) const {
        return told_.at(height).block->block;
    }
    [[nodiscard]] chain::Height last() const { return told_.rbegin()->first; }

  private:
    void take(const node::effect::Finalized& told) {
        told_.insert_or_assign(told.block->block->header.height, told);
    }

    TemporaryDirectory home_;
    support::SilentLog silent_;
    support::OneNode node_;
    std::map<chain::Height, node::effect::Finalized> told_;
    std::unique_ptr<SnapshotStore> store_;
};

// The chain that a data directory holds.
struct Opened {
    explicit Opened(const fs::path& data_dir, const genesis::Genesis& genesis)
        : engine(chain::host_table(), chain::vm::Engine::Options{}, machine),
          executor(engine, chain::host_table()) {
        node::RocksDbStorage::Options disk;
        disk.directory = node::DataDirectory::state_in(data_dir)->string();
        auto made = node::RocksDbStorage::open(disk);
        if (!made) FAIL(made.error().detail);
        storage = *std::move(made);
        chain::StateManager::Options state;
        state.on_fault = [](const base::Error& error) { FAIL(error.detail); };
        auto read =
            chain::ChainManager::open(node::identity_of(genesis), {*storage, executor, state});
        if (!read) FAIL(read.error().detail);
        chain = *std::move(read);
    }

    node::ContractMachine machine;
    chain::vm::Engine engine;
    chain::Executor executor;
    std::unique_ptr<node::RocksDbStorage> storage;
    std::unique_ptr<chain::ChainManager> chain;
};

std::map<std::string, std::string> contents(const fs::path& path) {
    std::map<std::string, std::string> found;
    if (!fs::exists(path)) return found;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
        if (!entry.is_regular_file() || entry.path().filename() == "lock") continue;
        std::ifstream in(entry.path(), std::ios::binary);
        found[entry.path().string()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return found;
}

void check_loads(Source& source, const SnapshotFolder& folder, const std::string& name) {
    const auto head = node::load_snapshot(folder.path(), source.into(name));
    if (!head) FAIL(head.error().detail);
    const Opened opened(source.path(name), source.node().genesis());
    const chain::Height height = folder.head().height;
    CHECK(opened.chain->finalized()->id == source.block(height)->id);
    // The rows are all there: the following blocks give the digests of their headers.
    for (chain::Height next = height + 1; next <= source.last(); ++next) {
        const auto executed = opened.chain->replay(source.block(next));
        if (!executed) FAIL(executed.error().detail);
    }
}

void check_refused(const fs::path& path, const node::LoadOptions& how, std::string_view why) {
    const auto before = contents(how.data_dir);
    const auto head = node::load_snapshot(path, how);
    REQUIRE_FALSE(head);
    INFO(head.error().detail);
    CHECK(head.error().detail.find(why) != std::string::npos);
    CHECK(contents(how.data_dir) == before);
}

}  // namespace

TEST_CASE("a data directory that was loaded holds the chain at the snapshot's block") {
    Source source;
    for (const chain::Height height : {2U, 5U, source.last()})
        check_loads(source, source.written(height), "data" + std::to_string(height));
}

TEST_CASE("a snapshot is the same from whatever storage before its block it is made") {
    Source source;
    for (chain::Height height = 6; height <= source.last(); ++height) {
        const SnapshotFolder plain = source.written(height);
        for (chain::Height blocks = 2; blocks <= 5; ++blocks) {
            const auto listed = source.write(source.capture(height, blocks));
            if (!listed) FAIL(listed.error().detail);
            CHECK(listed->id == plain.id());
        }
    }
    // Of the storage's own final block, without any change on top.
    const auto capture = node::capture_final(source.node().storage().snapshot());
    REQUIRE(capture);
    const auto listed = source.write(*capture);
    REQUIRE(listed);
    CHECK(listed->id == source.written(source.last()).id());
}

TEST_CASE("equal chunks of two snapshots are one file") {
    Source source;
    const SnapshotFolder first = source.written(5);
    const SnapshotFolder second = source.written(6);
    std::size_t shared = 0;
    for (std::size_t i = 0; i < second.manifest().chunks.size(); ++i) {
        for (std::size_t j = 0; j < first.manifest().chunks.size(); ++j) {
            if (first.manifest().chunks[j].sha256 != second.manifest().chunks[i].sha256) continue;
            CHECK(fs::equivalent(first.chunk_path(j), second.chunk_path(i)));
            ++shared;
        }
    }
    CHECK(shared > 0);
    REQUIRE(source.store().remove(first.name()));
    CHECK(node::verify_snapshot(second, source.into("none")));
}

TEST_CASE("rows that do not give the header's digest are never listed") {
    Source source;
    node::StateCapture capture = source.capture(8, 2);
    capture.changes.pop_back();
    const auto listed = source.write(capture);
    REQUIRE_FALSE(listed);
    CHECK(listed.error().code == base::Errc::corrupt);
    CHECK(listed.error().detail.find("the rows at block 8 give the digest") != std::string::npos);
    CHECK(source.store().list().empty());
    CHECK_FALSE(fs::exists(source.store().directory() / ".making"));
}

TEST_CASE("a snapshot is not loaded into a directory that has a chain") {
    Source source;
    const SnapshotFolder folder = source.written(5);
    check_loads(source, folder, "data");
    check_refused(folder.path(), source.into("data"), "has a state already");
    const auto held = node::DataDirectory::open(source.path("held"));
    REQUIRE(held);
    check_refused(folder.path(), source.into("held"), "in use by another process");
}

TEST_CASE("what a load left that was cut short does not count") {
    Source source;
    const SnapshotFolder folder = source.written(5);
    const fs::path left = fs::path(source.path("data")) / "state.1.loading" / "tables";
    fs::create_directories(left);
    std::ofstream(left / "0.table") << "half";
    check_loads(source, folder, "data");
    CHECK_FALSE(fs::exists(left));
}

TEST_CASE("a checkpoint must be in the history of a snapshot") {
    Source source;
    const SnapshotFolder folder = source.written(5);
    for (const chain::Height height : {2U, 4U, 5U}) {
        node::LoadOptions how = source.into("data" + std::to_string(height));
        how.checkpoint = genesis::Checkpoint{height, source.block(height)->id};
        CHECK(node::verify_snapshot(folder, how));
        how.checkpoint->block.bytes[20] ^= std::byte{1};
        const auto verified = node::verify_snapshot(folder, how);
        REQUIRE_FALSE(verified);
        const std::string name = "checkpoint " + std::to_string(height) + ":";
        CHECK(verified.error().detail.find(name) != std::string::npos);
        check_refused(folder.path(), how, name);
    }
    node::LoadOptions how = source.into("above");
    how.checkpoint = genesis::Checkpoint{6, source.block(6)->id};
    check_refused(folder.path(), how, "checkpoint 6 is above block 5");
}

TEST_CASE("a chunk that is not the manifest's is refused by the name of its file") {
    Source source;
    const SnapshotFolder folder = source.written(source.last());
    std::size_t largest = 0;
    for (std::size_t i = 0; i < folder.manifest().chunks.size(); ++i) {
        if (folder.manifest().chunks[i].bytes > folder.manifest().chunks[largest].bytes) {
            largest = i;
        }
    }
    const fs::path chunk = folder.chunk_path(largest);
    const std::string name = chunk.filename().string();
    const node::LoadOptions how = source.into("data");
    fs::create_directories(how.data_dir);
    const base::Bytes good = *folder.chunk(largest);
    const auto put = [&](base::ByteView packed) {
        fs::remove(chunk);
        std::ofstream(chunk, std::ios::binary)
            .write(reinterpret_cast<const char*>(packed.data()),
                   static_cast<std::streamsize>(packed.size()));
    };
    const base::Bytes packed = node::pack_chunk(good);
    SECTION("cut short") {
        put(base::ByteView(packed).first(packed.size() - 1));
    }
    SECTION("another byte, well packed") {
        base::Bytes other = good;
        other.back() ^= std::byte{1};
        put(node::pack_chunk(other));
    }
    SECTION("another length") {
        base::Bytes other = good;
        other.push_back(std::byte{1});
        put(node::pack_chunk(other));
    }
    SECTION("missing") {
        fs::remove(chunk);
    }
    check_refused(folder.path(), how, name);
    CHECK_FALSE(node::verify_snapshot(folder, how));
}

TEST_CASE("rows out of order are refused though all hashes and the digest fit") {
    Source source;
    const SnapshotFolder folder = source.written(source.last());
    genesis::Manifest forged = folder.manifest();
    std::swap(forged.chunks.at(1), forged.chunks.at(2));
    const fs::path file = folder.path() / SnapshotFolder::kManifest;
    const base::Bytes bytes = genesis::encode_manifest(forged);
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const node::LoadOptions how = source.into("data");
    fs::create_directories(how.data_dir);
    check_refused(folder.path(), how, "does not come after the last one of chunk 1");
}

TEST_CASE("a snapshot of another chain is refused before anything is read") {
    Source source;
    const SnapshotFolder folder = source.written(5);
    genesis::Genesis other = source.node().genesis();
    other.parameters.max_missed += 1;
    const std::string file = source.path("other.json");
    std::ofstream(file) << genesis::to_json(other);
    node::LoadOptions how = source.into("data");
    how.genesis_json = file;
    check_refused(folder.path(), how, "the snapshot is of chain");
    CHECK_FALSE(fs::exists(how.data_dir / "genesis.json"));
}
