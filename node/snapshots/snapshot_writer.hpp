#pragma once

#include "chain/state/changes.hpp"
#include "node/snapshots/snapshot_store.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace node {

// The state after a final block: what the storage had at that block or before, and what the blocks
// since changed, the oldest first.
struct StateCapture {
    chain::BlockPtr block;
    std::shared_ptr<const base::StorageView> before;
    std::vector<std::shared_ptr<const chain::ChangeSet>> changes;
};

// Of the final block whose state the view has. not_found: that is genesis, of which no snapshot is
// made; corrupt: its block is missing.
[[nodiscard]] base::Result<StateCapture> capture_final(
    std::shared_ptr<const base::StorageView> storage);

// Makes a snapshot from a capture, beside a node that works: without a flush and without a lock, in
// one pass over the rows.
//
// Thread: one of its own. Errors: unavailable: the disk is full or failing, or it was stopped.
// corrupt: the rows do not give the digest of the header. In every case nothing is left behind.
class SnapshotWriter {
  public:
    struct Options {
        chain::ChainId chain_id;
        std::uint64_t bytes_per_second = 0;  // Of rows; 0: no limit.
        bool keep = false;                   // Somebody asked for it.
        // How long a proof that the block is final is waited for.
        std::chrono::milliseconds proof_patience = std::chrono::seconds(60);
    };

    // `now`: a view of the node's storage at the moment of the call. All outlive this.
    SnapshotWriter(SnapshotStore& store,
                   std::function<std::shared_ptr<const base::StorageView>()> now,
                   const std::atomic<bool>& stop)
        : store_(store), now_(std::move(now)), stop_(stop) {}

    // The snapshot, listed; one that is there already is made anew only in part, and is the same.
    [[nodiscard]] base::Result<SnapshotStore::Listed> write(const StateCapture& capture,
                                                            const Options& options);

  private:
    [[nodiscard]] base::Result<void> check_room() const;
    [[nodiscard]] base::Result<SnapshotStore::Listed> write_all(const StateCapture& capture,
                                                                const Options& options);
    [[nodiscard]] base::Result<genesis::Manifest> write_rows(const StateCapture& capture,
                                                             const Options& options,
                                                             const std::filesystem::path& folder);
    // And the view that it was made from, which has its links.
    struct Proved {
        std::shared_ptr<const base::StorageView> storage;
        genesis::SnapshotProof proof;
    };
    [[nodiscard]] base::Result<Proved> wait_for_proof(chain::Height height,
                                                      const Options& options) const;
    // Part by part: there may be more than memory should hold.
    [[nodiscard]] base::Result<void> write_links(const Proved& proved,
                                                 const std::filesystem::path& folder) const;

    SnapshotStore& store_;
    std::function<std::shared_ptr<const base::StorageView>()> now_;
    const std::atomic<bool>& stop_;
};

}  // namespace node
