#pragma once

#include "chain/types/block.hpp"
#include "p2p/peer_shares.hpp"

#include <cstddef>
#include <map>
#include <vector>

namespace p2p {

// Blocks that wait for their parent. Bounded in blocks and bytes of memory (PeerShares).
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

    [[nodiscard]] bool make_room(PeerSlot from, std::size_t bytes);
    Entries::iterator erase(Entries::iterator at);

    Entries entries_;
    std::multimap<chain::BlockId, chain::BlockId> children_;  // By parent.
    PeerShares shares_{{.blocks = kBlocksMax, .bytes = kBytesMax}};
};

}  // namespace p2p
