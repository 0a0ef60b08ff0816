#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "node/joining/snapshot_pieces.hpp"
#include "node/joining/snapshot_receiver.hpp"
#include "node/worker_pool.hpp"
#include "p2p/network.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>

namespace node {

// Carries out what p2p asks of snapshots, off the core thread: pieces of ours for peers, and a
// snapshot of theirs for this node, up to a state beside the one that counts.
//
// Threads: one reads for peers, one receives, and workers check chunks; public functions are for
// any. Bounds are p2p's: so many questions of each peer, so many pieces on their way.
class SnapshotExchange : base::Pinned {
  public:
    // All may be called from any thread of this, until stop() returns.
    struct World {
        std::function<void(p2p::Input)> tell;            // To p2p.
        std::function<genesis::Checkpoint()> own_final;  // Of the node.
        std::function<base::Result<std::filesystem::path>()> next_state;
        std::function<void()> made;  // made() has something: the node is to be opened anew.
    };

    // The store outlives this.
    SnapshotExchange(SnapshotStore& store,
                     const SnapshotReceiver::Options& options,
                     World world,
                     const base::Log& log);
    ~SnapshotExchange();

    // ReadSnapshot, KeepSnapshot, CheckSnapshot or LoadSnapshot. Does not block.
    void carry_out(p2p::Effect asked);
    // Tells p2p what the store has; what was received up to this final block is removed.
    void start(chain::Height own_final);
    void stop();

    // A state that was made, whole and durable, and of which snapshot.
    struct Made {
        std::filesystem::path state;
        p2p::SnapshotPoint snapshot;
    };
    [[nodiscard]] std::optional<Made> made() const;
    // What was received becomes a snapshot of this node's own. After stop().
    base::Result<void> take_over(const Made& made);

  private:
    void tell_snapshots();
    void load(const p2p::SnapshotPoint& snapshot);

    SnapshotStore& store_;
    const World world_;
    const base::Log log_;
    SnapshotPieces pieces_;
    SnapshotReceiver receiver_;
    mutable std::mutex mutex_;
    std::optional<Made> made_;
    WorkerPool reader_{1};
    WorkerPool receiving_{1};
    WorkerPool checking_;
};

}  // namespace node
