#pragma once

#include "chain/types/block.hpp"
#include "p2p/seen.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <vector>

namespace p2p {

// What a block takes, in a message with nothing left out or in memory; about.
[[nodiscard]] std::size_t packed_bytes(const chain::Block& block);

// Blocks that wait for their parent.
//
// Bounded in blocks and bytes. When there is no room, the peer that takes most of it gives way, so
// that nobody keeps out the blocks of others.
class Orphans {
  public:
    static constexpr std::size_t kBlocksMax = 64;
    static constexpr std::size_t kBytesMax = std::size_t{64} << 20U;

    struct Orphan {
        PeerSlot from = 0;
        chain::BlockPtr block;
        base::Timestamp until{};
        std::size_t bytes = 0;
    };

    // False: it is not kept, since this peer has the most.
    bool add(PeerSlot from, const chain::BlockPtr& block, base::Timestamp until);
    // Null: it is not here.
    [[nodiscard]] const chain::Block* find(const chain::BlockId& id) const;
    [[nodiscard]] std::vector<Orphan> take_children(const chain::BlockId& parent);
    void drop(base::Timestamp now, chain::Height final_height);
    void forget(PeerSlot slot);

  private:
    using Entries = std::map<chain::BlockId, Orphan>;
    struct Used {
        std::size_t blocks = 0;
        std::size_t bytes = 0;
    };

    [[nodiscard]] bool make_room(PeerSlot from, std::size_t bytes);
    Entries::iterator erase(Entries::iterator at);

    Entries entries_;
    std::multimap<chain::BlockId, chain::BlockId> children_;  // By parent.
    std::array<Used, kPeersMax> used_{};
    std::size_t bytes_ = 0;
};

}  // namespace p2p
