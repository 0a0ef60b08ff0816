#include "node/joining/snapshot_receiver.hpp"

#include "base/crypto/hash.hpp"
#include "genesis/snapshot_chunk.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;
using p2p::SnapshotPart;
using p2p::SnapshotVerdict;

namespace {

constexpr std::size_t kHeightDigits = 10;
constexpr std::size_t kIdDigits = 64;

// Of a folder's name; nothing: it is none of ours.
std::optional<p2p::SnapshotPoint> point_of(const std::string& name) {
    if (name.size() != kHeightDigits + 1 + kIdDigits || name[kHeightDigits] != '-') return {};
    const std::string digits = name.substr(0, kHeightDigits);
    if (digits.find_first_not_of("0123456789") != std::string::npos) return {};
    const std::uint64_t height = std::stoull(digits);
    if (height > UINT32_MAX) return {};
    const auto bytes = base::from_hex(std::string_view(name).substr(kHeightDigits + 1));
    if (!bytes) return {};
    const auto id = base::to_hash<32>(*bytes);
    if (!id) return {};
    return p2p::SnapshotPoint{static_cast<chain::Height>(height), *id};
}

std::string file_of(const p2p::SnapshotPiece& piece) {
    if (piece.part == SnapshotPart::links) return links_file_name(piece.index);
    return piece.part == SnapshotPart::proof ? SnapshotFolder::kProof : SnapshotFolder::kManifest;
}

// A page goes to its place; links have files of their own. What is cut short by a crash is found
// out when all of it is checked; it is synced before the node relies on it (sync_parts()).
base::Result<void> write_page(const fs::path& path,
                              const p2p::SnapshotPiece& piece,
                              base::ByteView bytes,
                              FileCalls& files) {
    auto file = File::open(path.string(), O_WRONLY | O_CREAT, 0644, files);
    if (!file) return fail(file.error());
    const bool is_paged = piece.part != SnapshotPart::links;
    return file->write_at(is_paged ? std::uint64_t{piece.index} * p2p::kSnapshotPageBytes : 0,
                          bytes);
}

// Links, proof and manifest; chunks were synced one by one.
base::Result<void> sync_parts(const SnapshotFolder& folder) {
    for (const fs::path& name : folder.file_names()) {
        if (name.has_parent_path()) continue;
        auto file = File::open((folder.path() / name).string(), O_WRONLY, 0, folder.files());
        if (!file) return fail(file.error());
        if (auto synced = file->sync(); !synced) return synced;
    }
    return sync_directory_of((folder.path() / SnapshotFolder::kManifest).string(), folder.files());
}

// What stays, though it should go, is found wrong again.
void remove_parts(const fs::path& folder, FileCalls& files) {
    const auto names = list_directory(folder.string(), files);
    if (!names) return;
    for (const std::string& name : *names) {
        const std::string path = (folder / name).string();
        if (!files.is_directory(path)) files.unlink(path);
    }
}

bool has_chunks(const fs::path& folder, FileCalls& files) {
    const auto names = list_directory((folder / SnapshotFolder::kChunks).string(), files);
    return names && !names->empty();
}

SnapshotVerdict verdict_of(const base::Error& error) {
    return error.code == Errc::unavailable ? SnapshotVerdict::unavailable
                                           : SnapshotVerdict::bad_piece;
}

}  // namespace

fs::path SnapshotReceiver::path_of(const p2p::SnapshotPoint& snapshot) const {
    return options_.directory / joining_name(snapshot.height, snapshot.manifest);
}

std::optional<p2p::SnapshotPoint> SnapshotReceiver::begun_in(const fs::path& directory,
                                                             FileCalls& files) {
    std::optional<p2p::SnapshotPoint> newest;
    const auto names = list_directory(directory.string(), files);
    if (!names) return newest;
    for (const std::string& name : *names) {
        const auto point = point_of(name);
        const bool is_newest = point && (!newest || *newest < *point);
        if (is_newest && has_chunks(directory / name, files)) newest = point;
    }
    return newest;
}

std::shared_ptr<const SnapshotReceiver::Checked> SnapshotReceiver::checked() const {
    const std::scoped_lock lock(mutex_);
    return checked_;
}

void SnapshotReceiver::set_checked(std::shared_ptr<const Checked> checked) {
    const std::scoped_lock lock(mutex_);
    checked_ = std::move(checked);
}

base::Result<std::vector<fs::path>> SnapshotReceiver::others(const fs::path& path) const {
    std::vector<fs::path> others;
    const auto names = list_directory(options_.directory.string(), files());
    if (!names && names.error().code == Errc::not_found) return others;
    if (!names) return fail(names.error());
    for (const std::string& name : *names) {
        if (options_.directory / name != path) others.push_back(options_.directory / name);
    }
    return others;
}

// Of others only what has chunks is of use: it was found good.
base::Result<void> SnapshotReceiver::begin(const fs::path& path) const {
    auto made = make_directories((path / SnapshotFolder::kChunks).string(), files());
    if (!made) return made;
    const auto others = this->others(path);
    if (!others) return fail(others.error());
    for (const fs::path& other : *others) {
        if (!has_chunks(other, files())) (void)remove_tree(other.string(), files());
    }
    return {};
}

// --- Pieces ---

p2p::input::SnapshotKept SnapshotReceiver::keep(const p2p::effect::KeepSnapshot& piece) {
    if (piece.piece.manifest != looked_at_.manifest) {
        return {piece.piece, SnapshotVerdict::unavailable, "another one is fetched"};
    }
    const fs::path path = path_of(looked_at_);
    auto done = write_page(path / file_of(piece.piece), piece.piece, *piece.bytes, files());
    if (!done) return {piece.piece, SnapshotVerdict::unavailable, done.error().detail};
    if (piece.piece.part == SnapshotPart::links) {
        unfollowed_.insert(piece.piece.index);
        if (auto good = follow_links(path); !good) {
            return {piece.piece, blame(path, good.error()), good.error().detail};
        }
    }
    return {piece.piece, SnapshotVerdict::good, {}};
}

// There may be many GiB of links: who sends wrong ones is found out at the first, and fills no
// disk.
base::Result<void> SnapshotReceiver::follow_links(const fs::path& path) {
    if (!walk_) walk_.emplace(options_.trust.chain);
    while (unfollowed_.contains(followed_)) {
        const auto done = follow_part(path, followed_, *walk_, files());
        if (!done) return fail(done.error());
        if (!*done) {
            return fail(Errc::unavailable,
                        (path / links_file_name(followed_)).string() +
                            " is not there any more, though it was written");
        }
        unfollowed_.erase(followed_++);
    }
    return {};
}

p2p::input::SnapshotKept SnapshotReceiver::keep_chunk(const p2p::effect::KeepSnapshot& piece) {
    const auto checked = this->checked();
    const std::uint32_t index = piece.piece.index;
    const bool is_ours = checked != nullptr && checked->folder.id() == piece.piece.manifest &&
                         index < checked->folder.manifest().chunks.size();
    if (!is_ours) return {piece.piece, SnapshotVerdict::unavailable, "another one is fetched"};
    const genesis::ChunkInfo& info = checked->folder.manifest().chunks[index];
    const auto named = [&](const base::Error& error) {
        return fmt::format("chunk {} of the snapshot of block {}: {}",
                           chunk_file_name(info.sha256),
                           checked->folder.head().height,
                           error.detail);
    };
    const auto bytes = unpack_chunk(*piece.bytes, info.bytes);
    if (!bytes) return {piece.piece, SnapshotVerdict::bad_piece, named(bytes.error())};
    const auto rows = genesis::check_chunk(*bytes, info);
    if (!rows) {
        const bool is_senders = rows.error().code == Errc::malformed;
        return {piece.piece,
                is_senders ? SnapshotVerdict::bad_piece : SnapshotVerdict::bad_manifest,
                named(rows.error())};
    }
    const fs::path path = checked->folder.chunk_path(index);
    auto written = write_file_atomically(path.string(), *piece.bytes, 0644, files());
    if (written) return {piece.piece, SnapshotVerdict::good, {}};
    return {piece.piece, SnapshotVerdict::unavailable, written.error().detail};
}

// --- What is there ---

// Chunks of others that were begun are taken over, then those are removed; chunks of the node's own
// snapshots are shared with them.
base::Result<void> SnapshotReceiver::take_over_chunks(const SnapshotFolder& folder) const {
    const auto others = this->others(folder.path());
    if (!others) return fail(others.error());
    for (std::size_t i = 0; i < folder.manifest().chunks.size(); ++i) {
        const fs::path chunk = folder.chunk_path(i);
        const std::string path = chunk.string();
        if (files().exists(path)) continue;
        for (const fs::path& other : *others) {
            const fs::path theirs = other / SnapshotFolder::kChunks / chunk.filename();
            if (!files().exists(path)) files().rename(theirs.string(), path);
        }
        const auto ours = store_.find_chunk(folder.manifest().chunks[i].sha256);
        if (ours && !files().exists(path)) files().link(ours->string(), path);
    }
    auto synced =
        sync_directory_of((folder.path() / SnapshotFolder::kChunks / ".").string(), files());
    if (!synced) return synced;
    for (const fs::path& other : *others)
        (void)remove_tree(other.string(), files());
    return {};
}

p2p::input::SnapshotChecked SnapshotReceiver::check(const p2p::SnapshotPoint& snapshot) {
    const fs::path path = path_of(snapshot);
    const auto say = [&](SnapshotVerdict verdict, std::string text) {
        const bool stays = verdict == SnapshotVerdict::unavailable;
        if (!stays) remove_parts(path, files());
        p2p::input::SnapshotChecked checked;
        checked.manifest = snapshot.manifest;
        checked.verdict = verdict;
        checked.text = std::move(text);
        return checked;
    };
    set_checked(nullptr);
    looked_at_ = snapshot;
    walk_.reset();
    followed_ = 0;
    unfollowed_.clear();
    if (auto begun = begin(path); !begun) {
        return say(SnapshotVerdict::unavailable, begun.error().detail);
    }
    if (!files().exists((path / SnapshotFolder::kManifest).string()) ||
        !files().exists((path / SnapshotFolder::kProof).string())) {
        return say(SnapshotVerdict::absent, {});
    }
    auto folder = SnapshotFolder::open(path, files());
    if (!folder) return say(verdict_of(folder.error()), folder.error().detail);
    if (folder->id() != snapshot.manifest || folder->head().height != snapshot.height) {
        return say(SnapshotVerdict::bad_piece,
                   fmt::format("its manifest is that of block {}, {}",
                               folder->head().height,
                               base::to_hex(folder->id().view())));
    }
    auto parts = check_parts(*folder, options_.trust);
    if (!parts) return say(blame(path, parts.error()), parts.error().detail);
    if (auto room = StateBuild::check_room(*folder, options_.data_dir, files()); !room) {
        return say(SnapshotVerdict::unavailable, room.error().detail);
    }
    if (auto taken = take_over_chunks(*folder); !taken) {
        return say(SnapshotVerdict::unavailable, taken.error().detail);
    }
    p2p::input::SnapshotChecked good;
    good.manifest = snapshot.manifest;
    chain::SlotTimes times = options_.times;
    times.retimes = parts->agreement.retimes;
    good.final_time = times.time_of(parts->proof.finality.certified.slot).to_timestamp();
    const auto& chunks = folder->manifest().chunks;
    good.chunks = static_cast<std::uint32_t>(chunks.size());
    good.bytes = folder->head().bytes;
    good.rows = folder->head().rows;
    for (std::uint32_t i = 0; i < good.chunks; ++i) {
        if (!files().exists(folder->chunk_path(i).string())) good.missing.push_back(i);
    }
    set_checked(std::make_shared<const Checked>(Checked{*std::move(folder), *std::move(parts)}));
    return good;
}

// Whose fault it is that links, proof, agreement part and manifest do not fit together. A header's
// id is of all of it: where the manifest names the block of this very header, and its lanes do not
// give the header's digest, no other proof makes it right.
SnapshotVerdict SnapshotReceiver::blame(const fs::path& path, const base::Error& error) const {
    if (error.code == Errc::unavailable) return SnapshotVerdict::unavailable;
    const auto folder = SnapshotFolder::open(path, files());
    if (!folder) return SnapshotVerdict::bad_piece;
    if (folder->head().chain_id != options_.trust.chain.chain_id) {
        return SnapshotVerdict::bad_manifest;
    }
    // Who runs a newer release says the truth of a chain that goes on under newer rules.
    if (folder->head().rules_version > chain::kRulesKnown) return SnapshotVerdict::useless;
    const auto part = folder->proof();
    if (!part) return SnapshotVerdict::bad_piece;
    const chain::BlockHeader& header = part->proof.header;
    if (header.id() == folder->head().block) {
        const auto good =
            genesis::check_manifest(folder->manifest(), options_.trust.chain.chain_id, header);
        if (!good) return SnapshotVerdict::bad_manifest;
    }
    const auto& checkpoint = options_.trust.checkpoint;
    if (checkpoint && checkpoint->height > header.height) return SnapshotVerdict::useless;
    return SnapshotVerdict::bad_piece;
}

// --- The state ---

// Each chunk was good when it came. One that is not any more is fetched again; if there is none,
// they do not fit together.
SnapshotVerdict SnapshotReceiver::blame_chunks(const SnapshotFolder& folder) const {
    SnapshotVerdict verdict = SnapshotVerdict::bad_manifest;
    for (std::size_t i = 0; i < folder.manifest().chunks.size(); ++i) {
        const auto bytes = folder.chunk(i);
        if (bytes && base::crypto::sha256(*bytes) == folder.manifest().chunks[i].sha256) continue;
        files().unlink(folder.chunk_path(i).string());
        log_.warn("a chunk is not what was stored, it is fetched again: {}",
                  folder.chunk_path(i).string());
        verdict = SnapshotVerdict::absent;
    }
    return verdict;
}

base::Result<void> SnapshotReceiver::fill(StateBuild& state, const SnapshotFolder& folder) const {
    const auto show = [this](const ChunkProgress& done) {
        log_.info("loading chunks={}/{} bytes={}/{} ms={}",
                  done.chunks,
                  done.chunks_all,
                  done.bytes,
                  done.bytes_all,
                  done.passed.count());
    };
    return state.fill(folder, options_.workers, show, [this] { return is_stopped_.load(); });
}

p2p::input::SnapshotLoaded SnapshotReceiver::load(const p2p::SnapshotPoint& snapshot,
                                                  const fs::path& next,
                                                  const genesis::Checkpoint& own) {
    const auto say = [&](SnapshotVerdict verdict, std::string text) {
        return p2p::input::SnapshotLoaded{snapshot.manifest, verdict, std::move(text)};
    };
    const auto checked = this->checked();
    if (checked == nullptr || checked->folder.id() != snapshot.manifest) {
        return say(SnapshotVerdict::absent, "it was not checked");
    }
    const SnapshotFolder& folder = checked->folder;
    if (own.height >= snapshot.height) {
        return say(SnapshotVerdict::useless,
                   fmt::format("the snapshot of block {} is not above the own final block {}",
                               snapshot.height,
                               own.height));
    }
    StateBuild state(next, options_.disk);
    if (auto filled = fill(state, folder); !filled) {
        const bool is_disk = filled.error().code == Errc::unavailable;
        return say(is_disk ? SnapshotVerdict::unavailable : blame_chunks(folder),
                   filled.error().detail);
    }
    if (own.height > 1) {
        auto good = state.check_block(own, snapshot.height, "forked: the own final block");
        if (!good) return say(SnapshotVerdict::useless, good.error().detail);
    }
    if (auto done = state.complete(folder, checked->parts); !done) {
        // The rows are right: they give the digest. What lies beside them is not.
        const SnapshotVerdict verdict = verdict_of(done.error());
        if (verdict == SnapshotVerdict::bad_piece) remove_parts(folder.path(), files());
        return say(verdict, done.error().detail);
    }
    // The store names the folder when the node begins with the state: then all of it is durable.
    auto durable = state.close();
    if (durable) durable = sync_parts(folder);
    if (!durable) return say(SnapshotVerdict::unavailable, durable.error().detail);
    state.keep();
    return say(SnapshotVerdict::good, {});
}

void SnapshotReceiver::forget_up_to(chain::Height height) const {
    const auto all = others({});
    if (!all) return;
    for (const fs::path& path : *all) {
        const auto point = point_of(path.filename().string());
        if (!point || point->height <= height) (void)remove_tree(path.string(), files());
    }
}

}  // namespace node
