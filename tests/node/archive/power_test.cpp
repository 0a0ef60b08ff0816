#include "chain/state/proof_store.hpp"
#include "node/snapshots/snapshot_load.hpp"
#include "node/snapshots/stopped_node.hpp"
#include "tests/node/archive/fixture.hpp"
#include "tests/node/snapshots/fixture.hpp"
#include "tests/sim/files/disk_calls.hpp"
#include "tests/sim/files/disk_environment.hpp"

// On the simulated disk: an export that ends after each of its calls, by a kill or a power cut,
// goes on where it was. And a data directory that began with a snapshot, filled down to the first
// block.

namespace {

using chain::Height;
using sim::DiskCalls;
using sim::DiskFiles;
using test::Chain;

constexpr const char* kArchive = "/m/archive";
constexpr const char* kGenesis = "/m/genesis.json";
constexpr const char* kData = "/m/data";
const auto kSilent = [](const node::ArchiveFile&) {};

base::Result<node::Exported> export_all(Chain& chain, node::FileCalls& files) {
    return node::export_archive({chain.node().storage(), chain.node().genesis().chain_id()},
                                kArchive,
                                {.file_blocks = 5},
                                files,
                                kSilent);
}

// Whatever is listed is whole, and begins with the first block.
Height check_whole(Chain& chain, node::FileCalls& files) {
    const auto folder = node::ArchiveFolder::open(kArchive, files);
    if (!folder) {
        REQUIRE(folder.error().code == base::Errc::not_found);
        return 0;
    }
    Height last = 0;
    for (const node::ArchiveFile& file : folder->files()) {
        REQUIRE(file.first == last + 1);
        REQUIRE(folder->blocks(file, chain.node().genesis().chain_id()));
        last = file.last;
    }
    return last;
}

}  // namespace

TEST_CASE("an export that ends anywhere leaves whole files and goes on there", "[power]") {
    Chain chain;
    const Height final = chain::stored_final(chain.node().storage()).value().height;
    bool is_done = false;
    std::size_t call = 0;
    for (; !is_done; ++call) {
        REQUIRE(call < 500);
        is_done = true;
        for (const bool is_power : {false, true}) {
            CAPTURE(call, is_power);
            DiskFiles files("/m");
            files.stop_after(call);
            Height reached = 0;
            {
                DiskCalls calls(files);
                const auto done = node::export_archive(
                    {chain.node().storage(), chain.node().genesis().chain_id()},
                    kArchive,
                    {.file_blocks = 5},
                    calls,
                    [&](const node::ArchiveFile& file) { reached = file.last; });
                is_done = is_done && done.has_value();
            }
            sim::Chance chance(call);
            is_power ? files.cut_power(chance) : files.end_process();
            DiskCalls calls(files);
            REQUIRE(check_whole(chain, calls) >= reached);
            const auto done = export_all(chain, calls);
            if (!done) FAIL(done.error().detail);
            REQUIRE(check_whole(chain, calls) == final);
        }
    }
    CHECK(call > 15);
}

TEST_CASE("a directory that began with a snapshot is filled down to the first block") {
    Chain chain;
    DiskFiles files("/m");
    DiskCalls calls(files);
    const node::Disk disk{calls, sim::make_environment(files)};
    const genesis::Genesis& genesis = chain.node().genesis();
    const std::string json = genesis::to_json(genesis);
    REQUIRE(node::write_file_atomically(kGenesis, base::as_bytes(json), 0644, calls));
    REQUIRE(export_all(chain, calls));
    support::SilentLog silent;
    const auto store =
        node::SnapshotStore::open("/m/snapshots", base::Log(silent, "snapshot"), calls);
    REQUIRE(store);
    const auto listed = chain.write(chain.capture(9, 1), **store);
    if (!listed) FAIL(listed.error().detail);
    node::LoadOptions how;
    how.disk = disk;
    how.data_dir = kData;
    how.genesis_json = kGenesis;
    how.workers = 1;
    REQUIRE(node::load_snapshot((*store)->path_of(*listed), how));

    const auto archive = node::ArchiveFolder::open(kArchive, calls);
    REQUIRE(archive);
    const auto filled = node::import_archive(
        kData, *archive, 1, [](Height) {}, disk);
    if (!filled) FAIL(filled.error().detail);
    CHECK(filled->before > 1);
    CHECK(filled->earliest == 1);
    CHECK(filled->final == 9);
    const test::Opened opened(kData, genesis, disk);
    CHECK(opened.chain->finalized()->header.height == 9);
    test::check_contiguous(*opened.storage, 1);
    const chain::ProofMaker maker(*opened.storage);
    const chain::BlockReader reader(*opened.storage);
    for (Height height = 1; height <= 9; ++height) {
        const auto block = reader.at(height).value();
        const bool is_told = height > 1;  // Genesis never became final.
        if (is_told)
            CHECK(chain::encode_block(*block) == chain::encode_block(*chain.block(height)));
        for (const auto& receipt : block->transactions) {
            const auto& packed = std::get<chain::PackedTransaction>(receipt.transaction);
            const auto id = chain::decode_transaction(packed).value()->id;
            CHECK(reader.height_of_transaction(id).value() == height);
        }
        CHECK_FALSE(reader.traces(height).value());
        // A proof needs the nodes over all ids below the certified block.
        const auto& certified = reader.at(9).value()->header;
        if (height <= chain::ids_below(certified)) {
            const auto path = maker.path_of(height, certified);
            REQUIRE(path);
            CHECK(chain::verify(*path, block->id, certified.finality_root));
        }
    }
}
