#include "p2p/peer_shares.hpp"

#include <algorithm>

namespace p2p {

std::size_t packed_bytes(const chain::PackedTransaction& transaction) {
    return transaction.net_bytes_unprunable() + transaction.net_bytes_prunable();
}

std::size_t packed_bytes(const chain::Block& block) {
    constexpr std::size_t kRest = std::size_t{64} << 10U;  // Header, witness and counts.
    constexpr std::size_t kReceipt = 64;
    std::size_t bytes = kRest;
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        bytes += kReceipt;
        if (const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction)) {
            bytes += packed_bytes(*packed);
        }
    }
    return bytes;
}

void PeerShares::add(PeerSlot from, std::size_t bytes) {
    for (Amount* amount : {&used_.at(from), &all_}) {
        ++amount->blocks;
        amount->bytes += bytes;
    }
}

void PeerShares::remove(PeerSlot from, std::size_t bytes) {
    for (Amount* amount : {&used_.at(from), &all_}) {
        --amount->blocks;
        amount->bytes -= bytes;
    }
}

bool PeerShares::grow(PeerSlot from, std::size_t bytes) {
    if (all_.bytes + bytes > bounds_.bytes) return false;
    used_.at(from).bytes += bytes;
    all_.bytes += bytes;
    return true;
}

bool PeerShares::has_room(std::size_t bytes) const {
    return all_.blocks < bounds_.blocks && all_.bytes + bytes <= bounds_.bytes;
}

std::optional<PeerSlot> PeerShares::find_most(PeerSlot from, std::size_t bytes) const {
    const bool lacks_blocks = all_.blocks >= bounds_.blocks;
    const auto part = lacks_blocks ? &Amount::blocks : &Amount::bytes;
    const auto most = std::ranges::max_element(used_, {}, part);
    const std::size_t ours = used_.at(from).*part + (lacks_blocks ? 1 : bytes);
    if (ours >= (*most).*part) return std::nullopt;
    return static_cast<PeerSlot>(most - used_.begin());
}

}  // namespace p2p
