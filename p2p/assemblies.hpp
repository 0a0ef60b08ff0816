#pragma once

#include "chain/types/block.hpp"
#include "p2p/messages.hpp"
#include "p2p/peer_shares.hpp"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace p2p {

// A transaction that a block names in the place of holding it.
struct Named {
    base::Hash256 id;
    std::size_t place = 0;  // In the block.
    SharedBytes message{};  // With it; null: it is not here.
};
[[nodiscard]] std::vector<Named> named_by(const chain::Block& block);

// A pushed block some of whose transactions are missing. Nobody has looked yet at its signature,
// or whether its producer owns its slot.
struct Assembly {
    PeerSlot from = 0;
    chain::Block block;
    std::map<base::Hash256, std::size_t> missing{};  // Their places in it.
    base::Timestamp due{};
    std::size_t bytes = 0;  // The table's.
};

// Such blocks. Bounded in blocks and bytes of memory (PeerShares); a block that gave way is asked
// for whole.
class Assemblies {
  public:
    static constexpr std::size_t kBlocksMax = 16;
    static constexpr std::size_t kBytesMax = std::size_t{32} << 20U;

    using Entries = std::map<chain::BlockId, Assembly>;
    struct Gone {
        chain::BlockId id;
        PeerSlot from = 0;
    };

    [[nodiscard]] bool contains(const chain::BlockId& id) const { return entries_.contains(id); }
    [[nodiscard]] Entries& entries() { return entries_; }
    // False: it is not kept, since this peer has the most. `gone`: what gave way.
    [[nodiscard]] bool add(const chain::BlockId& id, Assembly assembly, std::vector<Gone>& gone);
    // Puts a transaction in its place, which was missing. False: that is more than there may be.
    [[nodiscard]] bool fill(Assembly& assembly,
                            std::size_t place,
                            chain::PackedTransaction transaction);
    Entries::iterator erase(Entries::iterator at);
    void erase(const chain::BlockId& id);
    void forget(PeerSlot slot);

  private:
    [[nodiscard]] bool make_room(PeerSlot from, std::size_t bytes, std::vector<Gone>& gone);

    Entries entries_;
    PeerShares shares_{{.blocks = kBlocksMax, .bytes = kBytesMax}};
};

}  // namespace p2p
