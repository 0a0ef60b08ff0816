#pragma once

#include "base/pinned.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/snapshots/snapshot_check.hpp"

#include <filesystem>
#include <memory>

namespace node {

// A state that is made of a snapshot, in a directory of its own (spec 05, "Join"): it counts once
// DataDirectory::switch_to() has named it. Unless it is kept, it is removed in the end.
//
// Thread: one. Errors: unavailable: the disk is full or failing; else the snapshot is
// not what it should be.
class StateBuild : base::Pinned {
  public:
    StateBuild(std::filesystem::path path, const Disk& disk)
        : path_(std::move(path)), disk_(disk) {}
    ~StateBuild();

    // unavailable: the device has not room for the rows and 1 GiB; says how much there is.
    [[nodiscard]] static base::Result<void> check_room(const SnapshotFolder& folder,
                                                       const std::filesystem::path& data_dir,
                                                       FileCalls& files);

    // Writes the rows of all chunks as sorted tables, on workers, each checked, and makes a
    // database of them. unavailable: also, it was stopped, which is asked on any thread.
    base::Result<void> fill(const SnapshotFolder& folder,
                            unsigned workers,
                            const ShowProgress& show,
                            const IsStopped& is_stopped);
    // One that is complete, and closed.
    base::Result<void> open();
    // Compares the rows with `checked`, and adds what is beside them.
    base::Result<void> complete(const SnapshotFolder& folder, const CheckedSnapshot& checked);
    // Makes it ready to take the place of another state of this node, `old`, which nobody changes
    // any more: takes over what that has beside the chain, without which the node could break a
    // promise or forget evidence. Durable. invalid: its block is not above `own`, the final block
    // of the old one, or not of the same chain.
    base::Result<void> replace(const base::Storage& old,
                               const genesis::Checkpoint& own,
                               chain::Height height);
    // Of the database, which is open between fill() and close().
    [[nodiscard]] RocksDbStorage& storage() { return *storage_; }
    // All of it is durable, names too.
    base::Result<void> close();
    void keep() { kept_ = true; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    // Whether the rows know this block below that of the snapshot. invalid:
    // they have another one there; or it is too far below to tell. `what` names it.
    [[nodiscard]] base::Result<void> check_block(const genesis::Checkpoint& block,
                                                 chain::Height height,
                                                 std::string_view what) const;

  private:
    [[nodiscard]] std::filesystem::path tables() const { return path_ / "tables"; }
    [[nodiscard]] std::filesystem::path table(std::size_t group) const;
    base::Result<void> store_links(const SnapshotFolder& folder, const CheckedSnapshot& checked);

    std::filesystem::path path_;
    Disk disk_;
    std::unique_ptr<RocksDbStorage> storage_;
    bool kept_ = false;
};

// Where a state has the id of a block below it.
[[nodiscard]] base::Bytes block_row_key(const genesis::Checkpoint& block);
// `id`: what is there; null: nothing.
[[nodiscard]] base::Result<void> check_block_row(const genesis::Checkpoint& block,
                                                 chain::Height height,
                                                 const base::Bytes* id,
                                                 std::string_view what);

}  // namespace node
