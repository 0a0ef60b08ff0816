#include "base/crypto/hash.hpp"
#include "chain/meta_keys.hpp"
#include "chain/state/proof_store.hpp"
#include "genesis/snapshot_chunk.hpp"
#include "node/snapshots/packing.hpp"
#include "node/snapshots/snapshot_load.hpp"
#include "node/snapshots/snapshot_writer.hpp"
#include "node/snapshots/state_build.hpp"
#include "node/snapshots/stopped_node.hpp"
#include "tests/node/snapshots/fixture.hpp"
#include "tests/support/memory_storage.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

// A node makes blocks; snapshots are made of them as the node makes them, on a real disk, and
// loaded into data directories, which then hold the chain at that block: it goes on with the next
// one. What was tampered with is refused by name, and leaves the directory as it was.

namespace {

namespace fs = std::filesystem;
using node::SnapshotFolder;
using node::SnapshotStore;
using test::Chain;
using test::Opened;

// Snapshots of it on a real disk.
class Source : public Chain {
  public:
    Source() {
        const auto json = genesis::to_json(node().genesis());
        std::ofstream(genesis_file()) << json;
        auto store = SnapshotStore::open(home_ / "snapshots", base::Log(silent_, "snapshot"));
        REQUIRE(store);
        store_ = *std::move(store);
    }

    base::Result<SnapshotStore::Listed> write(const node::StateCapture& capture) {
        return Chain::write(capture, *store_);
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
    SnapshotStore& store() { return *store_; }

  private:
    TemporaryDirectory home_;
    support::SilentLog silent_;
    std::unique_ptr<SnapshotStore> store_;
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

TEST_CASE("a chunk that went bad on the disk is not taken over by the next snapshot") {
    Source source;
    const SnapshotFolder first = source.written(5);
    for (std::size_t i = 0; i < first.manifest().chunks.size(); ++i) {
        std::fstream file(first.chunk_path(i), std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(fs::file_size(first.chunk_path(i)) / 2));
        file.put('\xA5');
    }
    REQUIRE_FALSE(node::verify_snapshot(first, source.into("none")));
    const SnapshotFolder second = source.written(6);
    const auto good = node::verify_snapshot(second, source.into("none"));
    if (!good) FAIL(good.error().detail);
}

TEST_CASE("a copy has files of its own, and takes nobody else's place") {
    Source source;
    const SnapshotFolder folder = source.written(5);
    const auto verified = [&](const std::string& name) {
        const auto copy = SnapshotFolder::open(source.path(name));
        if (!copy) FAIL(copy.error().detail);
        CHECK(fs::hard_link_count(copy->chunk_path(0)) == 1);
        CHECK(node::verify_snapshot(*copy, source.into("none")));
        CHECK_FALSE(fs::exists(source.path(name) + ".part"));
    };
    SECTION("with a slash at its end") {
        const auto done = node::export_snapshot(folder, source.path("copy/"));
        if (!done) FAIL(done.error().detail);
        verified("copy");
    }
    SECTION("beside a copy that was cut short") {
        fs::create_directories(source.path("copy.part/chunks"));
        std::ofstream(source.path("copy.part/proof.bin")) << "half";
        REQUIRE(node::export_snapshot(folder, source.path("copy")));
        verified("copy");
    }
    SECTION("but not beside what is no copy") {
        const auto refused = [&] {
            const auto done = node::export_snapshot(folder, source.path("copy"));
            REQUIRE_FALSE(done);
            CHECK(done.error().detail.find("copy.part") != std::string::npos);
            CHECK_FALSE(fs::exists(source.path("copy")));
        };
        std::ofstream(source.path("copy.part")) << "mine";
        refused();
        CHECK(fs::file_size(source.path("copy.part")) == 4);
        fs::remove(source.path("copy.part"));
        fs::create_directories(source.path("copy.part/chunks"));
        std::ofstream(source.path("copy.part/thesis.tex")) << "mine";
        refused();
        CHECK(fs::exists(source.path("copy.part/thesis.tex")));
    }
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

TEST_CASE("a chain whose time was set back is loaded by who confirms that, with its file") {
    Source source;
    const genesis::Recovery recovery = source.set_time_back();
    const SnapshotFolder folder = source.written(source.last());
    node::LoadOptions how = source.into("data");
    fs::create_directories(how.data_dir);
    check_refused(folder.path(), how, "'recover-from' does not name");
    const auto put = [&](const fs::path& file, const genesis::Recovery& each) {
        std::ofstream(file, std::ios::trunc) << genesis::to_text(each);
    };
    const fs::path file = how.data_dir / genesis::kRecoveryFile;
    how.recoveries = {recovery.id()};
    SECTION("with that of the data directory") {
        put(file, recovery);
        REQUIRE(node::verify_snapshot(folder, how));
        const auto head = node::load_snapshot(folder.path(), how);
        if (!head) FAIL(head.error().detail);
        const Opened opened(how.data_dir, source.node().genesis());
        CHECK(opened.chain->finalized()->id == source.block(source.last())->id);
    }
    SECTION("with one that lies elsewhere") {
        how.recovery_files = {source.path("elsewhere")};
        check_refused(folder.path(), how, "elsewhere");
        put(how.recovery_files[0], recovery);
        const auto head = node::load_snapshot(folder.path(), how);
        if (!head) FAIL(head.error().detail);
    }
    SECTION("not with another one, or one that members have not signed") {
        genesis::Recovery other = recovery;
        other.retimes.at(0).first += 1;
        put(file, other);
        check_refused(folder.path(), how, "which 'recover-from' does not name");
        other = recovery;
        other.signatures.clear();
        put(file, other);
        check_refused(folder.path(), how, "0 of 1 members have signed");
    }
}

TEST_CASE("how old a snapshot is, is judged by the newest block that it proves") {
    Source source;
    const SnapshotFolder folder = source.written(5);
    node::LoadOptions how = source.into("none");
    // The proof was made when the last one was final.
    const auto last =
        source.node().genesis().times.time_of(source.block(source.last())->header.slot);
    const auto judged = [&](std::chrono::seconds later) {
        how.now = last.to_timestamp() + later;
        const auto good = node::verify_snapshot(folder, how);
        if (!good) FAIL(good.error().detail);
        CHECK(good->freshness.time == last);
        CHECK(good->freshness.behind_seconds == later.count());
        return good->freshness;
    };
    CHECK_FALSE(judged(std::chrono::minutes(10)).is_stale());
    const auto stale = judged(std::chrono::seconds(601));
    CHECK(stale.is_stale());
    CHECK_FALSE(stale.is_ahead());
    CHECK(node::describe(stale).find("0:10:01 behind the clock: stale") != std::string::npos);
    const auto ahead = judged(-std::chrono::hours(26));
    CHECK_FALSE(ahead.is_stale());
    CHECK(ahead.is_ahead());
    CHECK(node::describe(ahead).find("26:00:00 ahead of the clock") != std::string::npos);
    CHECK_FALSE(judged(-std::chrono::minutes(10)).is_ahead());
}

namespace {

// It leads on from nothing, and its certificate is of nobody.
chain::Link forged_link(const genesis::Genesis& genesis) {
    chain::ScheduleLink link;
    link.proposing.height = 3;
    link.proposing.schedule_change = genesis.schedule;
    link.proposing.schedule_change->version = 1;
    link.finality.certified = link.proposing;
    link.finality.certificate.bitmaps = {{std::byte{1}}};
    link.finality.certificate.signatures = {support::key_of(66).sign({})};
    return link;
}

}  // namespace

TEST_CASE("links that were not followed are not stored, whenever they come into the folder") {
    Source source;
    const SnapshotFolder folder = source.written(source.last());
    node::LoadOptions how = source.into("data");
    const base::Bytes part = genesis::pack_links({forged_link(source.node().genesis())}).at(0);
    const auto put = [&](base::ByteView bytes) {
        std::ofstream(folder.path() / "links-0.bin", std::ios::binary | std::ios::trunc)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    };
    // When all chunks were checked.
    how.show = [&](const node::ChunkProgress&) { put(part); };
    const auto good = node::load_snapshot(folder.path(), how);
    if (!good) FAIL(good.error().detail);
    const Opened opened(how.data_dir, source.node().genesis());
    CHECK_FALSE(chain::has_link(*opened.storage, 1).value());
    CHECK(folder.followed_links(0, base::crypto::sha256(part)));
    put(base::ByteView(part).first(part.size() - 1));
    const auto other = folder.followed_links(0, base::crypto::sha256(part));
    REQUIRE_FALSE(other);
    CHECK(other.error().detail.find("links-0.bin changed while") != std::string::npos);
}

TEST_CASE(
    "a state that takes another's place has what that has of the node, and not of its chain") {
    Source source;
    const SnapshotFolder folder = source.written(8);
    const auto checked = node::check_parts(folder, node::trust_in(source.node().genesis()));
    REQUIRE(checked);
    node::StateBuild state(source.path("next"), {});
    REQUIRE(state.fill(folder, 1, nullptr, nullptr));
    REQUIRE(state.complete(folder, *checked));
    const auto rows = [](const base::Storage& storage) {
        std::map<std::string, std::string> found;
        const auto read = storage.scan(base::Family::meta, {}, [&](auto key, auto value) {
            found.emplace(base::as_text(key), base::as_text(value));
            return true;
        });
        REQUIRE(read);
        return found;
    };
    auto expected = rows(state.storage());
    support::MemoryStorage old;
    base::Batch batch;
    const auto put = [&](std::string_view key, std::string_view value) {
        batch.put(base::Family::meta, chain::meta_key(key), base::to_bytes(base::as_bytes(value)));
    };
    for (const char* each : {"journal_mark/1", "journal_mark/2", "evidence/3", "amnesia/4"}) {
        put(each, each);
        expected.emplace(each, each);
    }
    for (const char* each : {"chain_id", "final_certificate", "journal_marks", "schedules", "a"})
        put(each, each);
    REQUIRE(old.commit(batch, true));
    genesis::Checkpoint forked{5, source.block(5)->id};
    forked.block.bytes[31] ^= std::byte{1};
    for (const genesis::Checkpoint& own : {genesis::Checkpoint{8, source.block(8)->id}, forked}) {
        CHECK_FALSE(state.replace(old, own, 8));
    }
    CHECK_FALSE(rows(state.storage()).contains("evidence/3"));
    REQUIRE(state.replace(old, {5, source.block(5)->id}, 8));
    CHECK(rows(state.storage()) == expected);
}

TEST_CASE("a load that is told to stop leaves the directory as it was") {
    Source source;
    const SnapshotFolder folder = source.written(source.last());
    node::LoadOptions how = source.into("data");
    fs::create_directories(how.data_dir);
    int asked = 0;
    SECTION("before the links") {
        how.is_stopped = [] { return true; };
    }
    SECTION("at the second chunk") {
        how.workers = 1;
        how.is_stopped = [&] { return ++asked > 2; };
    }
    check_refused(folder.path(), how, "stopped before it was done");
    CHECK_FALSE(fs::exists(how.data_dir / "current"));
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

TEST_CASE("schedules that the rows do not say are refused, loaded or only verified") {
    Source source;
    const SnapshotFolder folder = source.written(5);
    auto part = folder.proof();
    REQUIRE(part);
    // Nothing in the blocks and certificates of the part speaks against it.
    chain::ScheduleState& said = part->agreement.schedules;
    said.proposed = std::make_shared<const chain::Schedule>(
        chain::Schedule{said.active->version + 1, said.active->entries});
    said.proposed_at = part->agreement.blocks.front()->header.height;
    const base::Bytes bytes = genesis::encode_proof_part(*part);
    std::ofstream(folder.path() / SnapshotFolder::kProof, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const node::LoadOptions how = source.into("data");
    fs::create_directories(how.data_dir);
    check_refused(folder.path(), how, "its rows say other schedules");
    const auto verified = node::verify_snapshot(folder, how);
    REQUIRE_FALSE(verified);
    CHECK(verified.error().detail.find("its rows say other schedules") != std::string::npos);
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
