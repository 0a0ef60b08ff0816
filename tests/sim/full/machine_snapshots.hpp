#pragma once

#include "node/core/core.hpp"
#include "node/disk/file_calls.hpp"
#include "node/joining/snapshot_pieces.hpp"
#include "node/joining/snapshot_receiver.hpp"
#include "node/snapshots/snapshot_store.hpp"
#include "node/snapshots/snapshot_writer.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim::full {

// A snapshot as somebody copied it: its files by their names.
struct SnapshotCopy {
    chain::Height height = 0;
    base::Hash256 id{};
    std::uint32_t rules_version = 0;
    std::map<std::string, base::Bytes> files;
};
[[nodiscard]] base::Result<SnapshotCopy> copy_of(const node::SnapshotFolder& folder);
// Makes the folder, and these files in it.
base::Result<void> write_copy(const SnapshotCopy& copy,
                              const std::filesystem::path& folder,
                              node::FileCalls& calls);

// What a liar gives away: each fits its own hashes, and must be refused by name.
enum class Forgery : std::uint8_t {
    chunk,      // A chunk that is not the manifest's.
    row,        // A row is another, and the lanes of its chunk are as they were;
    lanes,      // or they are those of the rows: then their sum is not the digest.
    agreement,  // The last block's witness has a certificate that nobody signed.
};
inline constexpr std::size_t kForgeries = 4;
// Nothing: this snapshot has nothing that could be forged so.
[[nodiscard]] std::optional<SnapshotCopy> forge(const SnapshotCopy& copy, Forgery how);

// The snapshots that a machine makes, gives and gets while it runs, by the node's own classes.
class MachineSnapshots : base::Pinned {
  public:
    static constexpr std::size_t kKept = 2;

    // All outlive it. `every`: of heights.
    MachineSnapshots(std::unique_ptr<node::SnapshotStore> store,
                     const base::Storage& storage,
                     const node::SnapshotReceiver::Options& how,
                     chain::Height every,
                     const base::Log& log)
        : store_(std::move(store)),
          storage_(storage),
          chain_id_(how.trust.chain.chain_id),
          every_(every),
          pieces_(*store_, log),
          receiver_(how, *store_, log) {}

    // As SnapshotService does. True: there is one to make.
    [[nodiscard]] bool on_finalized(const node::effect::Finalized& finalized);
    // Of what was captured. would_block: it is not proved to be final yet, ask again. Nothing: that
    // was made.
    [[nodiscard]] base::Result<node::SnapshotStore::Listed> make();
    // It is not made.
    void give_up() { capture_.reset(); }
    [[nodiscard]] node::SnapshotStore& store() { return *store_; }
    [[nodiscard]] const node::SnapshotStore& store() const { return *store_; }
    [[nodiscard]] node::SnapshotPieces& pieces() { return pieces_; }
    [[nodiscard]] node::SnapshotReceiver& receiver() { return receiver_; }
    // What p2p is to be told.
    [[nodiscard]] p2p::input::SnapshotsChanged names() const;
    // Gives another in the place of this one, which a liar has made of it.
    base::Result<void> forge(const node::SnapshotStore::Listed& listed, Forgery how);

  private:
    std::unique_ptr<node::SnapshotStore> store_;
    const base::Storage& storage_;
    const chain::ChainId chain_id_;
    const chain::Height every_;
    node::SnapshotPieces pieces_;
    node::SnapshotReceiver receiver_;
    // Of the blocks that became final together, up to now.
    std::shared_ptr<const base::StorageView> before_;
    std::vector<std::shared_ptr<const chain::ChangeSet>> since_;
    std::optional<node::StateCapture> capture_;
};

}  // namespace sim::full
