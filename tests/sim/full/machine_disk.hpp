#pragma once

#include "genesis/genesis.hpp"
#include "node/core/core.hpp"
#include "node/disk/data_directory.hpp"
#include "node/disk/journals.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/pruning/pruning.hpp"
#include "tests/sim/chance.hpp"
#include "tests/sim/files/disk_calls.hpp"
#include "tests/sim/files/disk_environment.hpp"
#include "tests/sim/full/machine_snapshots.hpp"
#include "tests/sim/promises.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim::full {

// The disk of one machine, and what bor-node has open on it while it runs: RocksDB and the files of
// the safety journals, by the node's own classes.
class MachineDisk : base::Pinned {
  public:
    // With the journals of these keys, as they are made with them.
    MachineDisk(const genesis::Genesis& genesis, std::vector<base::crypto::PublicKey> keys);
    ~MachineDisk();

    // As bor-node does at its start. Returns the journals that are whole.
    [[nodiscard]] base::Result<consensus::Journals> open(const base::Log& log, std::uint64_t seed);
    // As its disk thread does.
    base::Result<void> write(const node::effect::Write& write);
    // The process is gone, in the middle of this write, or of none.
    void kill(const node::effect::Write* write);
    // The same, and what was not durable is gone, too, or a part of it. `loses_synced`: the rows,
    // or the journals, lose the last write that was durable, too.
    void cut_power(const node::effect::Write* write, Chance& chance, bool loses_synced);

    // From the next open() on as little of the past stays as a node may do with that has a snapshot
    // of its final block.
    void set_prunes() { prunes_ = true; }
    // The lowest block of the history, if it has risen since the last call.
    [[nodiscard]] std::optional<chain::Height> take_pruned() {
        return std::exchange(pruned_, std::nullopt);
    }

    // What was open, after the process is gone: snapshots of the storage must be gone, too.
    void close();

    // --- While no process runs ---
    void lose_journals();
    // Another disk, with nothing on it.
    void replace();
    // Journals for these keys, which take the place of those before.
    void renew(std::vector<base::crypto::PublicKey> keys);
    [[nodiscard]] std::shared_ptr<const DiskFiles::Image> copy() const { return files_.image(); }
    void put_back(const DiskFiles::Image& image);

    // All but the journals and the snapshots: the next open() begins anew.
    void lose_state();
    // As 'bor-cli snapshot load' does, into a directory that has no state.
    base::Result<void> load(const SnapshotCopy& copy);
    // The state is replaced by a newer one, as bor-node does with a snapshot of peers; what the
    // node has beside the chain must be there afterwards. `calls`: after so many that change
    // something the process is gone. False: the snapshot is not newer, or the process was gone.
    base::Result<bool> replace_state(const SnapshotCopy& copy, std::optional<std::size_t> calls);

    // --- At any time ---
    // Until what the storage does by itself is done.
    void wait() { files_.jobs()->wait_for_all(); }
    // The next `count` writes that are waited for find the disk full.
    void fill(int count) { writes_to_fail_ = count; }
    void flip_bit(Chance& chance);
    // From now on nothing can be read or written.
    void break_all();
    // It is broken, or something on it is not what was written.
    [[nodiscard]] bool is_bad() const { return is_broken_ || is_flipped_; }
    [[nodiscard]] bool is_broken() const { return is_broken_; }

    [[nodiscard]] base::Storage& storage() const { return *storage_; }
    // Of the process that runs.
    [[nodiscard]] node::FileCalls& calls() const { return *calls_; }
    [[nodiscard]] node::Disk disk() { return {*calls_, make_environment(files_)}; }
    [[nodiscard]] static std::filesystem::path snapshots();
    [[nodiscard]] static std::filesystem::path joining();
    [[nodiscard]] static std::filesystem::path data_dir();
    [[nodiscard]] base::Result<std::filesystem::path> next_state() const {
        return directory_->next_state();
    }
    [[nodiscard]] base::Result<genesis::Checkpoint> own_final() const;
    // The one that was made there, of a snapshot of this height, takes the state's place from the
    // next open() on.
    base::Result<void> take_state(const std::filesystem::path& made, chain::Height height);
    // As the thread does that prunes, where it does: of what is below this snapshot.
    base::Result<void> prune(chain::Height snapshot);
    // What the durable pages of journals promised, ever.
    [[nodiscard]] const Promises& promises() const { return promises_; }

  private:
    base::Result<void> open_storage();
    base::Result<void> carry_out(const node::effect::Write& write);
    base::Result<void> write_rows(const node::effect::Write& write);
    base::Result<void> write_pages(const node::effect::Write& write, bool replacing);
    base::Result<void> make_first_state();
    void make_journals();
    void make_requests();
    void note_promises();
    base::Result<void> begin_life();
    base::Result<void> make_replacement(const SnapshotCopy& copy);
    [[nodiscard]] base::Result<std::map<base::Bytes, base::Bytes>> own_rows() const;
    void begin(const node::effect::Write* write);

    const genesis::Genesis& genesis_;
    std::vector<base::crypto::PublicKey> keys_;
    DiskFiles files_;
    Promises promises_;
    Chance chance_{0};  // Of the process.
    std::unique_ptr<DiskCalls> calls_;
    std::optional<node::DataDirectory> directory_;
    std::string state_;  // Where its rows are.
    std::unique_ptr<node::RocksDbStorage> storage_;
    bool prunes_ = false;
    std::unique_ptr<node::Pruning> pruning_;  // Null: it does not prune.
    base::Timestamp pruning_time_{};
    std::optional<chain::Height> pruned_;
    node::JournalLogs logs_;
    std::map<consensus::KeyTag, base::Bytes> last_pages_;
    int writes_to_fail_ = 0;
    int flushes_ = 0;  // Of this database.
    bool is_broken_ = false;
    bool is_flipped_ = false;
};

}  // namespace sim::full
