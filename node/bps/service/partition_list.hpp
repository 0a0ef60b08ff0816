#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/types/transaction.hpp"
#include "node/bps/core/partition_id.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bps {

// The directories of partitions in that of the broker, "<topic id>-<partition>", and which of them
// were made: a directory that is lost is told from one that was never there.
//
// In the broker's directory: `partitions`, the chain's id, the log ids of those that were made, and
// a CRC-32C. Where it is not there, those count of which there is a directory.
//
// Thread: that of the broker. Errors name the path. unavailable: the disk.
class PartitionList {
  public:
    // invalid: the directory is of another chain. corrupt: not such a file.
    [[nodiscard]] static base::Result<PartitionList> open(std::string directory,
                                                          const chain::ChainId& chain);

    [[nodiscard]] const std::string& directory() const { return directory_; }
    [[nodiscard]] std::string path_of(PartitionId id) const;
    [[nodiscard]] bool has(PartitionId id) const { return listed_.contains(id); }
    // corrupt: it is listed, and its directory is gone.
    [[nodiscard]] base::Result<void> check(PartitionId id) const;
    // Both are on the disk with the next save().
    void add(PartitionId id);
    void remove(PartitionId id);
    // Writes nothing where nothing has changed.
    base::Result<void> save();
    // The partitions that have a directory, listed or not, in no order.
    [[nodiscard]] base::Result<std::vector<PartitionId>> on_disk() const;

  private:
    PartitionList(std::string directory, const chain::ChainId& chain)
        : directory_(std::move(directory)), chain_(chain) {}

    base::Result<void> read(base::ByteView file);
    [[nodiscard]] std::string path() const { return directory_ + "/partitions"; }

    std::string directory_;
    chain::ChainId chain_;
    std::set<PartitionId> listed_;
    bool is_changed_ = false;
};

}  // namespace bps
