#pragma once

#include "chain/types/block.hpp"
#include "p2p/seen.hpp"

#include <array>
#include <cstddef>
#include <map>

namespace p2p {

// The blocks that we know of and lack, by id, with who may be asked for them. Ids begin with the
// height, so parents come first.
//
// Bounded, and for what one peer names: when there is no room, the peer that named most gives way.
class Wants {
  public:
    static constexpr std::size_t kMax = 8'192;
    static constexpr std::size_t kOfPeerMax = 1'024;

    struct Want {
        PeerSet candidates{};
        PeerSet tried{};
        PeerSet first{};  // In a hurry: one of them is asked beside another peer.
        base::Timestamp due{};
        std::uint64_t departures = 0;  // How many are known here.
        std::size_t beside = 0;        // How many more are asked at once, next time.
    };
    using Entries = std::map<chain::BlockId, Want>;

    // `from` show that they have it; nobody: whoever is known to. What is wanted already keeps its
    // time.
    void add(const chain::BlockId& id, PeerSet from, base::Timestamp due);
    // This peer sent a child of the block, or a copy that cannot be put together: it is asked at
    // once, whichever peer was asked before.
    void hurry(const chain::BlockId& id, PeerSlot sender, base::Timestamp now);
    [[nodiscard]] Entries& entries() { return entries_; }
    // Without peers that are gone since it was looked at.
    Want& current(Want& want) const;
    Entries::iterator erase(Entries::iterator at);
    void erase(const chain::BlockId& id);
    void forget(PeerSlot slot);

  private:
    [[nodiscard]] bool make_room(PeerSet from);

    Entries entries_;
    std::array<std::size_t, kPeersMax> named_{};  // By candidate.
    Departures departures_;
};

}  // namespace p2p
