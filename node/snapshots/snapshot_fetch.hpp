#pragma once

#include "node/snapshots/snapshot_load.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace node {

// Where the files of a snapshot are that is not on this machine: a web server, as a rule.
//
// Thread: read() is called by several at once.
class SnapshotSource {
  public:
    virtual ~SnapshotSource() = default;

    // A file of it, by its path below the snapshot's folder. not_found: there is none. malformed:
    // it has more than `bytes_max` bytes. unavailable: nobody answers, though it was tried again.
    [[nodiscard]] virtual base::Result<base::Bytes> read(const std::string& file,
                                                         std::size_t bytes_max) = 0;
    // For messages: where that file is.
    [[nodiscard]] virtual std::string place_of(const std::string& file) const = 0;
};

// Fetches a snapshot into `joining` of the data directory, and returns its folder there: manifest,
// links and proof, which are checked, then the chunks on `options.workers` threads, each compared
// with its SHA-256. A chunk has its name there only when it is right and durable, so that what was
// cut goes on; what a node that joins by its peers has fetched is used, too. The rows are not
// looked at: load_snapshot() does.
//
// invalid: the data directory has a chain, or the snapshot is not what it should be; says where the
// file came from. unavailable: the source, or the disk; or it was stopped.
[[nodiscard]] base::Result<std::filesystem::path> fetch_snapshot(SnapshotSource& source,
                                                                 const LoadOptions& options);

}  // namespace node
