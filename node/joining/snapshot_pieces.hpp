#pragma once

#include "base/pinned.hpp"
#include "node/snapshots/snapshot_store.hpp"
#include "p2p/network.hpp"

#include <optional>

namespace node {

// Reads pieces of this node's snapshots for peers.
//
// Thread: one. What is not there, or cannot be read, is answered as not known: it is nobody's
// fault.
class SnapshotPieces : base::Pinned {
  public:
    // The store outlives this.
    SnapshotPieces(SnapshotStore& store, const base::Log& log) : store_(store), log_(log) {}

    [[nodiscard]] p2p::input::SnapshotRead read(const p2p::effect::ReadSnapshot& asked);

  private:
    struct Piece {
        std::uint32_t count = 0;  // Of its part.
        base::Bytes bytes;
    };
    [[nodiscard]] const SnapshotFolder* find(const base::Hash256& manifest);
    [[nodiscard]] base::Result<Piece> read(const SnapshotFolder& folder,
                                           const p2p::SnapshotPiece& piece) const;

    SnapshotStore& store_;
    const base::Log log_;
    std::optional<SnapshotFolder> open_;  // That was asked for last.
};

}  // namespace node
