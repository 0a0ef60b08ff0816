#include "node/snapshots/snapshot_fetch.hpp"

#include "base/crypto/hash.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/chunk_workers.hpp"
#include "node/snapshots/packing.hpp"
#include "node/snapshots/state_build.hpp"

#include <fmt/format.h>

#include <atomic>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

constexpr unsigned kMode = 0644;

// The chunks that are not there yet, by several threads.
class ChunkFetch {
  public:
    ChunkFetch(SnapshotSource& source, const SnapshotFolder& folder, const LoadOptions& options)
        : source_(source), folder_(folder), options_(options), workers_(folder) {}

    base::Result<void> run() {
        const auto fetch_one = [this](std::size_t index) { return fetch(index); };
        const std::size_t chunks = folder_.manifest().chunks.size();
        auto done = workers_.run(options_.workers, chunks, fetch_one, options_.show);
        if (!done) return done;
        const fs::path inside = folder_.path() / SnapshotFolder::kChunks / ".";
        return sync_directory_of(inside.string(), files());
    }

  private:
    [[nodiscard]] FileCalls& files() const { return options_.disk.files; }

    base::Result<void> fetch(std::size_t index) {
        if (options_.is_stopped && options_.is_stopped()) return fail(stopped_early());
        const genesis::ChunkInfo& info = folder_.manifest().chunks[index];
        const fs::path path = folder_.chunk_path(index);
        if (!files().exists(path.string())) {
            if (auto done = fetch(info, path); !done) return done;
        }
        workers_.count(info);
        return {};
    }

    base::Result<void> fetch(const genesis::ChunkInfo& info, const fs::path& path) {
        const std::string file =
            std::string(SnapshotFolder::kChunks) + "/" + chunk_file_name(info.sha256);
        const auto packed = source_.read(file, packed_bytes_max(info.bytes));
        if (!packed) return fail(packed.error());
        const auto bytes = unpack_chunk(*packed, info.bytes);
        if (!bytes) {
            return fail(bytes.error().code, source_.place_of(file) + ": " + bytes.error().detail);
        }
        if (base::crypto::sha256(*bytes) != info.sha256) {
            return fail(Errc::invalid,
                        source_.place_of(file) + ": its content has another SHA-256 than its name");
        }
        // Equal chunks of one snapshot may be fetched at once: each file has a name of its own.
        const std::string part = fmt::format("{}.{}", path.string(), ++parts_);
        if (auto done = write_file(part, *packed, kMode, files()); !done) return done;
        return rename_file(part, path.string(), files());
    }

    SnapshotSource& source_;
    const SnapshotFolder& folder_;
    const LoadOptions& options_;
    ChunkWorkers workers_;
    std::atomic<std::size_t> parts_ = 0;  // Written so far.
};

base::Result<void> fetch_file(SnapshotSource& source,
                              const std::string& file,
                              std::size_t bytes_max,
                              const fs::path& folder,
                              FileCalls& files) {
    const auto bytes = source.read(file, bytes_max);
    if (!bytes) return fail(bytes.error());
    return write_file((folder / file).string(), *bytes, kMode, files);
}

// Ends with the first that is not there.
base::Result<void> fetch_links(SnapshotSource& source, const fs::path& folder, FileCalls& files) {
    for (std::size_t part = 0;; ++part) {
        const std::string file = links_file_name(part);
        auto done = fetch_file(source, file, genesis::kLinksBytesMax, folder, files);
        if (done) continue;
        if (done.error().code != Errc::not_found) return done;
        // Of an earlier attempt.
        return remove_tree((folder / file).string(), files);
    }
}

}  // namespace

base::Result<fs::path> fetch_snapshot(SnapshotSource& source, const LoadOptions& options) {
    FileCalls& files = options.disk.files;
    if (auto free = check_loadable(options); !free) return fail(free.error());
    const auto file = read_genesis(options.data_dir, options.genesis_json, files);
    if (!file) return fail(file.error());
    const auto trust = trust_of(file->genesis, options);
    if (!trust) return fail(trust.error());
    const std::string name = SnapshotFolder::kManifest;
    const auto packed = source.read(name, SnapshotFolder::kManifestBytesMax);
    if (!packed && packed.error().code == Errc::not_found) {
        return fail(Errc::not_found,
                    fmt::format("{} is not there: the address must be that of a snapshot's folder",
                                source.place_of(name)));
    }
    if (!packed) return fail(packed.error());
    const auto manifest = genesis::decode_manifest(*packed);
    if (!manifest) {
        return fail(manifest.error().code, source.place_of(name) + ": " + manifest.error().detail);
    }
    const fs::path path = joining_in(options.data_dir) /
                          joining_name(manifest->head.height, base::crypto::sha256(*packed));
    auto made = make_directories((path / SnapshotFolder::kChunks).string(), files);
    if (made) made = write_file((path / name).string(), *packed, kMode, files);
    if (made) made = fetch_links(source, path, files);
    if (made) {
        made =
            fetch_file(source, SnapshotFolder::kProof, SnapshotFolder::kProofBytesMax, path, files);
    }
    if (!made) return fail(made.error());
    const auto folder = SnapshotFolder::open(path, files);
    if (!folder) return fail(folder.error());
    const auto checked = check_parts(*folder, *trust, options.is_stopped);
    if (!checked) {
        return fail(checked.error().code,
                    fmt::format("{}, from {}", checked.error().detail, source.place_of("")));
    }
    auto room = StateBuild::check_room(*folder, options.data_dir, files);
    if (!room) return fail(room.error());
    if (auto done = ChunkFetch(source, *folder, options).run(); !done) return fail(done.error());
    return path;
}

}  // namespace node
