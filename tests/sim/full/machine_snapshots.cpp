#include "tests/sim/full/machine_snapshots.hpp"

#include "base/check.hpp"
#include "base/crypto/hash.hpp"
#include "genesis/snapshot_chunk.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/packing.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace sim::full {

namespace fs = std::filesystem;
using node::SnapshotFolder;

namespace {

constexpr std::size_t kFileBytesMax = std::size_t{64} << 20U;

std::string chunk_name(const base::Hash256& sha256) {
    return (fs::path(SnapshotFolder::kChunks) / node::chunk_file_name(sha256)).string();
}

genesis::Manifest manifest_of(const SnapshotCopy& copy) {
    return genesis::decode_manifest(copy.files.at(SnapshotFolder::kManifest)).value();
}

void set_manifest(SnapshotCopy& copy, const genesis::Manifest& manifest) {
    base::Bytes bytes = genesis::encode_manifest(manifest);
    copy.id = base::crypto::sha256(bytes);
    copy.files[SnapshotFolder::kManifest] = std::move(bytes);
}

// Another value in the last row of the largest chunk; `with_lanes`: and what that adds up to.
bool forge_row(SnapshotCopy& copy, bool with_lanes) {
    genesis::Manifest manifest = manifest_of(copy);
    const auto info = std::ranges::max_element(manifest.chunks, {}, &genesis::ChunkInfo::bytes);
    auto bytes = node::unpack_chunk(copy.files.at(chunk_name(info->sha256)), info->bytes).value();
    bytes.back() ^= std::byte{1};
    const auto rows = genesis::chunk_rows(bytes, info->entries);
    if (!rows) return false;  // That was no value.
    genesis::ChunkCutter cutter;
    for (const genesis::ChunkRow& row : *rows)
        CHECK(!cutter.add(row.key, row.value).value());
    const genesis::Chunk forged = *cutter.finish();
    info->sha256 = forged.info.sha256;
    if (with_lanes) info->lanes = forged.info.lanes;
    copy.files[chunk_name(info->sha256)] = node::pack_chunk(bytes);
    set_manifest(copy, manifest);
    return true;
}

void forge_chunk(SnapshotCopy& copy) {
    const genesis::Manifest manifest = manifest_of(copy);
    const genesis::ChunkInfo& info = manifest.chunks.back();
    base::Bytes& packed = copy.files.at(chunk_name(info.sha256));
    auto bytes = node::unpack_chunk(packed, info.bytes).value();
    bytes.front() ^= std::byte{1};
    packed = node::pack_chunk(bytes);
}

// What a node would believe after its next start.
bool forge_agreement(SnapshotCopy& copy) {
    base::Bytes& file = copy.files.at(SnapshotFolder::kProof);
    genesis::ProofPart part = genesis::decode_proof_part(file).value();
    for (chain::BlockPtr& block : part.agreement.blocks) {
        chain::Witness witness = block->witness;
        if (!witness.justify) continue;
        witness.justify->signatures.back().compact.back() ^= std::byte{1};
        block = chain::make_block({block->header, block->signature}, block->transactions, witness);
        file = genesis::encode_proof_part(part);
        return true;
    }
    return false;
}

}  // namespace

// --- Copies ---

base::Result<SnapshotCopy> copy_of(const SnapshotFolder& folder) {
    SnapshotCopy copy{folder.head().height, folder.id(), folder.head().rules_version, {}};
    for (const fs::path& name : folder.file_names()) {
        auto bytes =
            node::read_file((folder.path() / name).string(), kFileBytesMax, folder.files());
        if (!bytes) return base::fail(bytes.error());
        copy.files.emplace(name.string(), *std::move(bytes));
    }
    return copy;
}

base::Result<void> write_copy(const SnapshotCopy& copy,
                              const fs::path& folder,
                              node::FileCalls& calls) {
    auto done = node::make_directories((folder / SnapshotFolder::kChunks).string(), calls);
    for (const auto& [name, bytes] : copy.files) {
        if (done) done = node::write_file((folder / name).string(), bytes, 0644, calls);
    }
    for (const fs::path& inside : {folder / SnapshotFolder::kChunks / ".", folder / "."}) {
        if (done) done = node::sync_directory_of(inside.string(), calls);
    }
    return done;
}

std::optional<SnapshotCopy> forge(const SnapshotCopy& copy, Forgery how) {
    SnapshotCopy forged = copy;
    bool is_done = true;
    if (how == Forgery::chunk) forge_chunk(forged);
    if (how == Forgery::row) is_done = forge_row(forged, /*with_lanes=*/false);
    if (how == Forgery::lanes) is_done = forge_row(forged, /*with_lanes=*/true);
    if (how == Forgery::agreement) is_done = forge_agreement(forged);
    return is_done ? std::optional(std::move(forged)) : std::nullopt;
}

// --- A machine's own ---

bool MachineSnapshots::on_finalized(const node::effect::Finalized& finalized) {
    if (before_ != finalized.before) {
        before_ = finalized.before;
        since_.clear();
    }
    since_.push_back(finalized.block->changes);
    const chain::BlockPtr& block = finalized.block->block;
    const bool is_wanted = block->header.height % every_ == 0 && !capture_;
    if (is_wanted) capture_ = node::StateCapture{block, before_, since_};
    if (finalized.certificate) {
        before_.reset();
        since_.clear();
    }
    return is_wanted;
}

base::Result<node::SnapshotStore::Listed> MachineSnapshots::make() {
    CHECK(capture_);
    const std::atomic<bool> never = false;
    node::SnapshotWriter writer(
        *store_, [this] { return storage_.snapshot(); }, never);
    auto made = writer.write(
        *capture_, {.chain_id = chain_id_, .proof_patience = std::chrono::milliseconds(0)});
    if (!made && made.error().code == base::Errc::would_block) return made;
    capture_.reset();
    if (!made) return made;
    if (auto kept = store_->keep_newest(kKept); !kept) return base::fail(kept.error());
    return made;
}

p2p::input::SnapshotsChanged MachineSnapshots::names() const {
    p2p::input::SnapshotsChanged changed;
    for (const node::SnapshotStore::Listed& each : store_->list())
        changed.snapshots.push_back({each.head.height, each.id});
    return changed;
}

base::Result<void> MachineSnapshots::forge(const node::SnapshotStore::Listed& listed, Forgery how) {
    const fs::path path = store_->path_of(listed);
    const auto folder = SnapshotFolder::open(path, store_->files());
    if (!folder) return base::fail(folder.error());
    const auto copy = copy_of(*folder);
    if (!copy) return base::fail(copy.error());
    const auto forged = sim::full::forge(*copy, how);
    if (!forged) return {};
    if (forged->id == copy->id) return write_copy(*forged, path, store_->files());
    const auto next = store_->begin();
    if (!next) return base::fail(next.error());
    if (auto written = write_copy(*forged, *next, store_->files()); !written) return written;
    if (auto taken = store_->take_over(*next, /*keep=*/false); !taken) {
        return base::fail(taken.error());
    }
    return store_->remove(listed.name);
}

}  // namespace sim::full
