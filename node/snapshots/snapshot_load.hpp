#pragma once

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
    std::filesystem::path data_dir;
    std::filesystem::path genesis_json;  // Empty: the data directory has one.
    std::optional<genesis::Checkpoint> checkpoint;
    std::vector<base::Hash256> recoveries;  // recover-from.
    unsigned workers = 2;
    ShowProgress show;
};

// The head of what was loaded. invalid: the directory has a chain, or somebody works there, or the
// snapshot is not what it should be; unavailable: the disk is full or failing. Says what to do.
[[nodiscard]] base::Result<genesis::SnapshotHead> load_snapshot(const std::filesystem::path& path,
                                                                const LoadOptions& options);

// The same checks, and nothing is written: `data_dir` is for its genesis file alone. A checkpoint
// below the block is found among the rows.
base::Result<void> verify_snapshot(const SnapshotFolder& folder, const LoadOptions& options);

// HEIGHT:ID, where the ID begins with the height.
[[nodiscard]] base::Result<genesis::Checkpoint> checkpoint_from(const std::string& text);

}  // namespace node
