#pragma once

#include "genesis/join_line.hpp"
#include "node/disk/data_directory.hpp"
#include "node/snapshots/genesis_file.hpp"
#include "node/snapshots/snapshot_check.hpp"

#include <filesystem>

namespace node {

// Makes a data directory begin with a snapshot (spec 05, "Join"): all but the chunks is checked,
// then the chunks on workers, each written as a sorted table beside the database; what is whole and
// durable takes its place by one atomic replacement of the file `current`. Whatever goes wrong
// before that, also a power cut, leaves the directory's state as it was.
struct LoadOptions {
    Disk disk;
    std::filesystem::path data_dir;
    std::filesystem::path genesis_json;  // Empty: the data directory has one.
    std::optional<genesis::Checkpoint> checkpoint;
    std::vector<base::Hash256> recoveries;  // recover-from.
    // Of those that gave the chain other times; none: the data directory has that of the last, if
    // there is one. A new first schedule needs no file, its link has it.
    std::vector<std::filesystem::path> recovery_files;
    unsigned workers = 2;
    ShowProgress show;
    IsStopped is_stopped;
    std::optional<base::Timestamp> now;  // By which its age is judged; empty: the system's clock.
};

// A snapshot that was found good. How old it is decides nothing: whoever names a folder may know
// why, and a node that is behind the clock says so until it has caught up.
struct GoodSnapshot {
    genesis::SnapshotHead head;
    genesis::Freshness freshness;
};
// For people: how far behind the clock, and what follows.
[[nodiscard]] std::string describe(const genesis::Freshness& freshness);

// What a snapshot is checked against: of the options the checkpoint and the recoveries, with the
// file of the recovery. invalid: that file is not what it should be.
[[nodiscard]] base::Result<SnapshotTrust> trust_of(const genesis::Genesis& genesis,
                                                   const LoadOptions& options);

// Whether a snapshot may be loaded: invalid: the directory has a state, or somebody works there.
[[nodiscard]] base::Result<void> check_loadable(const LoadOptions& options);

// invalid: the directory has a chain, or somebody works there, or the snapshot is not what it
// should be; unavailable: the disk is full or failing, or it was stopped. Says what to do.
[[nodiscard]] base::Result<GoodSnapshot> load_snapshot(const std::filesystem::path& path,
                                                       const LoadOptions& options);

// The same checks, and nothing is written: of `data_dir` the files of genesis and recovery are
// read. A checkpoint below the block is found among the rows.
[[nodiscard]] base::Result<GoodSnapshot> verify_snapshot(const SnapshotFolder& folder,
                                                         const LoadOptions& options);

}  // namespace node
