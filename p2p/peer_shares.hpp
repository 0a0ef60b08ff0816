#pragma once

#include "chain/types/block.hpp"
#include "p2p/seen.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace p2p {

// What a transaction takes, and a block, in a message with nothing left out; about.
[[nodiscard]] std::size_t packed_bytes(const chain::PackedTransaction& transaction);
[[nodiscard]] std::size_t packed_bytes(const chain::Block& block);
// What it takes in memory, which is several times as much where a block has many small parts: a
// transaction without what its receipt holds of it, a block with all.
[[nodiscard]] std::size_t memory_of(const chain::PackedTransaction& transaction);
[[nodiscard]] std::size_t memory_of(const chain::Block& block);

// What each peer takes of a table that is bounded in blocks and bytes. When there is no room, the
// peer that takes most of it gives way, so that nobody keeps out the blocks of others.
class PeerShares {
  public:
    struct Amount {
        std::size_t blocks = 0;
        std::size_t bytes = 0;
    };

    explicit PeerShares(const Amount& bounds) : bounds_(bounds) {}

    void add(PeerSlot from, std::size_t bytes);
    void remove(PeerSlot from, std::size_t bytes);
    // A block that is there takes so much more. False: that is more than there may be.
    [[nodiscard]] bool grow(PeerSlot from, std::size_t bytes);
    // For another block.
    [[nodiscard]] bool has_room(std::size_t bytes) const;
    // Where there is no room for another block of this peer: whose block gives way to it. Nothing:
    // this peer has the most, or would have.
    [[nodiscard]] std::optional<PeerSlot> find_most(PeerSlot from, std::size_t bytes) const;

  private:
    Amount bounds_;
    Amount all_;
    std::array<Amount, kPeersMax> used_{};
};

}  // namespace p2p
