#pragma once

#include "node/disk/data_directory.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/snapshots/genesis_file.hpp"
#include "node/snapshots/snapshot_store.hpp"

#include <filesystem>
#include <memory>

namespace node {

// The data directory of a node that does not run, held against its start.
struct StoppedNode {
    DataDirectory directory;
    GenesisFile file;
    std::unique_ptr<RocksDbStorage> storage;
};
// invalid: it runs. not_found: there is no such directory, or no state in it.
[[nodiscard]] base::Result<StoppedNode> open_stopped_node(const std::filesystem::path& data_dir,
                                                          const Disk& disk = {});

// What is done with the snapshots of a node that does not run. invalid: it runs.

// Of its final block; kept until somebody removes it.
[[nodiscard]] base::Result<SnapshotStore::Listed> create_snapshot(
    const std::filesystem::path& data_dir, const base::Log& log, const Disk& disk = {});
[[nodiscard]] base::Result<std::vector<SnapshotStore::Listed>> list_snapshots(
    const std::filesystem::path& data_dir, const base::Log& log, const Disk& disk = {});
base::Result<void> remove_snapshot(const std::filesystem::path& data_dir,
                                   const std::string& name,
                                   const base::Log& log,
                                   const Disk& disk = {});
// A copy with files of its own at `to`, which is not there yet, on the same disk: all or nothing,
// durable. It is made beside it, in `to`.part; what a copy left there that was cut short is
// removed. invalid: there is something else.
base::Result<void> export_snapshot(const SnapshotFolder& from, const std::filesystem::path& to);

[[nodiscard]] std::filesystem::path snapshots_in(const std::filesystem::path& data_dir);

}  // namespace node
