#include "node/snapshots/stopped_node.hpp"

#include "node/disk/data_directory.hpp"
#include "node/disk/file.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/snapshots/genesis_file.hpp"
#include "node/snapshots/needed_snapshot.hpp"
#include "node/snapshots/snapshot_writer.hpp"

#include <atomic>
#include <fcntl.h>
#include <system_error>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

// A data directory that is there, held against the node.
base::Result<DataDirectory> hold(const fs::path& data_dir) {
    if (fs::is_directory(data_dir)) return DataDirectory::open(data_dir);
    return fail(Errc::not_found, "there is no data directory " + data_dir.string());
}

base::Result<void> copy_one(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::copy_file(from, to, error);
    if (error) {
        return fail(Errc::unavailable,
                    from.string() + " to " + to.string() + ": " + error.message());
    }
    auto file = File::open(to.string(), O_WRONLY);
    if (!file) return fail(file.error());
    return file->sync();
}

base::Result<void> copy_all(const SnapshotFolder& from, const fs::path& to) {
    std::error_code error;
    fs::create_directories(to / SnapshotFolder::kChunks, error);
    if (error) return fail(Errc::unavailable, to.string() + ": " + error.message());
    std::vector<fs::path> files{SnapshotFolder::kManifest, SnapshotFolder::kProof};
    for (std::size_t part = 0; fs::exists(from.path() / links_file_name(part), error); ++part)
        files.emplace_back(links_file_name(part));
    for (std::size_t i = 0; i < from.manifest().chunks.size(); ++i)
        files.push_back(fs::path(SnapshotFolder::kChunks) / from.chunk_path(i).filename());
    for (const fs::path& file : files) {
        if (fs::exists(to / file, error)) continue;  // Two equal chunks.
        if (auto copied = copy_one(from.path() / file, to / file); !copied) return copied;
    }
    auto synced = sync_directory_of((to / SnapshotFolder::kChunks / ".").string());
    return synced ? sync_directory_of((to / ".").string()) : synced;
}

}  // namespace

fs::path snapshots_in(const fs::path& data_dir) {
    return data_dir / "snapshots";
}

base::Result<SnapshotStore::Listed> create_snapshot(const fs::path& data_dir,
                                                    const base::Log& log) {
    const auto directory = hold(data_dir);
    if (!directory) return fail(directory.error());
    const auto file = read_genesis(data_dir, {});
    if (!file) return fail(file.error());
    std::error_code error;
    if (!fs::exists(directory->state(), error)) {
        return fail(Errc::not_found,
                    data_dir.string() + " has no state yet: start its node, or load a snapshot");
    }
    RocksDbStorage::Options disk;
    disk.directory = directory->state().string();
    const auto storage = RocksDbStorage::open(disk);
    if (!storage) return fail(storage.error());
    const auto store = SnapshotStore::open(snapshots_in(data_dir), log);
    if (!store) return fail(store.error());
    const auto capture = capture_final((*storage)->snapshot());
    if (!capture) return fail(capture.error());
    const std::atomic<bool> never = false;
    SnapshotWriter writer(
        **store, [&] { return (*storage)->snapshot(); }, never);
    // Nothing becomes final any more: what there is no proof for now, there never is.
    return writer.write(*capture,
                        {.chain_id = file->genesis.chain_id(),
                         .bytes_per_second = 0,
                         .keep = true,
                         .proof_patience = std::chrono::milliseconds(0)});
}

base::Result<std::vector<SnapshotStore::Listed>> list_snapshots(const fs::path& data_dir,
                                                                const base::Log& log) {
    const auto directory = hold(data_dir);
    if (!directory) return fail(directory.error());
    const auto store = SnapshotStore::open(snapshots_in(data_dir), log);
    if (!store) return fail(store.error());
    return (*store)->list();
}

base::Result<void> remove_snapshot(const fs::path& data_dir,
                                   const std::string& name,
                                   const base::Log& log) {
    const auto directory = hold(data_dir);
    if (!directory) return fail(directory.error());
    const auto store = SnapshotStore::open(snapshots_in(data_dir), log);
    if (!store) return fail(store.error());
    std::error_code error;
    if (fs::exists(directory->state(), error)) {
        RocksDbStorage::Options disk;
        disk.directory = directory->state().string();
        const auto storage = RocksDbStorage::open(disk);
        if (!storage) return fail(storage.error());
        if (auto free = check_removal(**store, name, **storage); !free) return free;
    }
    return (*store)->remove(name);
}

base::Result<void> export_snapshot(const SnapshotFolder& from, const fs::path& to) {
    if (fs::exists(to)) {
        return fail(Errc::invalid, to.string() + " is there already; name a folder that is not");
    }
    const fs::path target = fs::absolute(to).lexically_normal();
    fs::path part = target;
    part += ".part";
    std::error_code error;
    fs::remove_all(part, error);
    auto copied = copy_all(from, part);
    if (copied) {
        fs::rename(part, target, error);
        if (error) copied = fail(Errc::unavailable, target.string() + ": " + error.message());
    }
    if (copied) return sync_directory_of(target.string());
    fs::remove_all(part, error);
    return copied;
}

}  // namespace node
