#include "node/snapshots/stopped_node.hpp"

#include "node/disk/file.hpp"
#include "node/snapshots/needed_snapshot.hpp"
#include "node/snapshots/snapshot_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

// A data directory that is there, held against the node.
base::Result<DataDirectory> hold(const fs::path& data_dir, FileCalls& files) {
    if (files.is_directory(data_dir.string())) return DataDirectory::open(data_dir, files);
    return fail(Errc::not_found, "there is no data directory " + data_dir.string());
}

base::Result<void> copy_one(const fs::path& from, const fs::path& to, FileCalls& files) {
    constexpr std::size_t kStep = std::size_t{4} << 20U;
    const auto source = File::open(from.string(), O_RDONLY | O_NONBLOCK, 0, files);
    if (!source) return fail(source.error());
    auto copy = File::open(to.string(), O_WRONLY | O_CREAT | O_TRUNC, 0644, files);
    if (!copy) return fail(copy.error());
    const auto size = source->size();
    base::Result<void> done = size ? base::Result<void>() : fail(size.error());
    for (std::uint64_t at = 0; done && at < *size; at += kStep) {
        const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(kStep, *size - at));
        const auto bytes = source->read_at(at, step);
        done = bytes ? copy->write_at(at, *bytes) : fail(bytes.error());
    }
    if (done) done = copy->sync();
    if (done) return {};
    return fail(done.error().code,
                from.string() + " to " + to.string() + ": " + done.error().detail);
}

base::Result<void> copy_all(const SnapshotFolder& from, const fs::path& to) {
    FileCalls& files = from.files();
    auto made = make_directories((to / SnapshotFolder::kChunks).string(), files);
    if (!made) return made;
    for (const fs::path& name : from.file_names()) {
        auto copied = copy_one(from.path() / name, to / name, files);
        if (!copied) return copied;
    }
    auto synced = sync_directory_of((to / SnapshotFolder::kChunks / ".").string(), files);
    return synced ? sync_directory_of((to / ".").string(), files) : synced;
}

// Removes what a copy left that was cut short; what else is there is somebody's.
base::Result<void> clear_part(const fs::path& part, FileCalls& files) {
    if (!files.exists(part.string())) return {};
    const auto refuse = [&](const fs::path& what) {
        return fail(Errc::invalid,
                    what.string() +
                        " is in the way, and no part of a snapshot: the copy is made "
                        "there first; move it, or name another folder");
    };
    if (!files.is_directory(part.string())) return refuse(part);
    for (const fs::path& below : {fs::path(), fs::path(SnapshotFolder::kChunks)}) {
        const auto names = list_directory((part / below).string(), files);
        if (!names && names.error().code == Errc::not_found) continue;
        if (!names) return refuse(part / below);
        for (const std::string& name : *names) {
            if (!is_snapshot_file(below / name)) return refuse(part / below / name);
        }
    }
    return remove_tree(part.string(), files);
}

}  // namespace

fs::path snapshots_in(const fs::path& data_dir) {
    return data_dir / "snapshots";
}

base::Result<StoppedNode> open_stopped_node(const fs::path& data_dir, const Disk& disk) {
    FileCalls& files = disk.files;
    auto directory = hold(data_dir, files);
    if (!directory) return fail(directory.error());
    auto file = read_genesis(data_dir, {}, files);
    if (!file) return fail(file.error());
    if (!files.exists(directory->state().string())) {
        return fail(Errc::not_found,
                    data_dir.string() + " has no state yet: start its node, or load a snapshot");
    }
    RocksDbStorage::Options database;
    database.directory = directory->state().string();
    database.env = disk.env;
    auto storage = RocksDbStorage::open(database);
    if (!storage) return fail(storage.error());
    return StoppedNode{*std::move(directory), *std::move(file), *std::move(storage)};
}

base::Result<SnapshotStore::Listed> create_snapshot(const fs::path& data_dir,
                                                    const base::Log& log,
                                                    const Disk& disk) {
    const auto node = open_stopped_node(data_dir, disk);
    if (!node) return fail(node.error());
    const base::Storage& storage = *node->storage;
    const auto store = SnapshotStore::open(snapshots_in(data_dir), log, disk.files);
    if (!store) return fail(store.error());
    const auto capture = capture_final(storage.snapshot());
    if (!capture) return fail(capture.error());
    const std::atomic<bool> never = false;
    SnapshotWriter writer(
        **store, [&] { return storage.snapshot(); }, never);
    // Nothing becomes final any more: what there is no proof for now, there never is.
    auto made = writer.write(*capture,
                             {.chain_id = node->file.genesis.chain_id(),
                              .bytes_per_second = 0,
                              .keep = true,
                              .proof_patience = std::chrono::milliseconds(0)});
    if (made || made.error().code != Errc::would_block) return made;
    return fail(Errc::unavailable,
                fmt::format("no snapshot of block {} is made, the last final one of this node: its "
                            "certificate alone does not prove it, as where a change of the "
                            "schedule is pending; start the node, and stop it some blocks later",
                            capture->block->header.height));
}

base::Result<std::vector<SnapshotStore::Listed>> list_snapshots(const fs::path& data_dir,
                                                                const base::Log& log,
                                                                const Disk& disk) {
    const auto directory = hold(data_dir, disk.files);
    if (!directory) return fail(directory.error());
    const auto store = SnapshotStore::open(snapshots_in(data_dir), log, disk.files);
    if (!store) return fail(store.error());
    return (*store)->list();
}

base::Result<void> remove_snapshot(const fs::path& data_dir,
                                   const std::string& name,
                                   const base::Log& log,
                                   const Disk& disk) {
    const auto directory = hold(data_dir, disk.files);
    if (!directory) return fail(directory.error());
    const auto store = SnapshotStore::open(snapshots_in(data_dir), log, disk.files);
    if (!store) return fail(store.error());
    if (disk.files.get().exists(directory->state().string())) {
        RocksDbStorage::Options database;
        database.directory = directory->state().string();
        database.env = disk.env;
        const auto storage = RocksDbStorage::open(database);
        if (!storage) return fail(storage.error());
        if (auto free = check_removal(**store, name, **storage); !free) return free;
    }
    return (*store)->remove(name);
}

base::Result<void> export_snapshot(const SnapshotFolder& from, const fs::path& to) {
    FileCalls& files = from.files();
    fs::path target = fs::absolute(to).lexically_normal();
    if (!target.has_filename()) target = target.parent_path();  // There was a slash at its end.
    if (files.exists(target.string())) {
        return fail(Errc::invalid,
                    target.string() + " is there already; name a folder that is not");
    }
    fs::path part = target;
    part += ".part";
    if (auto cleared = clear_part(part, files); !cleared) return cleared;
    auto copied = copy_all(from, part);
    if (copied) copied = rename_file(part.string(), target.string(), files);
    if (copied) return sync_directory_of(target.string(), files);
    (void)remove_tree(part.string(), files);  // Else the next one does.
    return copied;
}

}  // namespace node
