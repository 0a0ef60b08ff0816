#include "p2p/peer_shares.hpp"

#include <algorithm>

namespace p2p {

namespace {
// Of an allocation, with what the allocator adds.
std::size_t heap(std::size_t bytes) {
    constexpr std::size_t kAllocator = 32;
    return bytes == 0 ? 0 : bytes + kAllocator;
}

// Lists grow by doubling, so what they have room for counts.
template <class T>
std::size_t heap_of(const std::vector<T>& list) {
    return heap(list.capacity() * sizeof(T));
}

std::size_t heap_of(const std::vector<chain::Signature>& signatures) {
    std::size_t bytes = heap(signatures.capacity() * sizeof(chain::Signature));
    for (const chain::Signature& signature : signatures)
        bytes += heap(signature.auth_data.size()) + heap(signature.client_json.size());
    return bytes;
}

std::size_t heap_of(const std::optional<chain::Certificate>& certificate) {
    if (!certificate) return 0;
    std::size_t bytes = heap_of(certificate->bitmaps) + heap_of(certificate->signatures);
    for (const base::Bytes& bitmap : certificate->bitmaps)
        bytes += heap(bitmap.size());
    return bytes;
}

std::size_t heap_of(const std::optional<chain::Schedule>& schedule) {
    if (!schedule) return 0;
    std::size_t bytes = heap_of(schedule->entries);
    for (const chain::ScheduleEntry& entry : schedule->entries) {
        bytes += heap(entry.signing_key.relying_party.size());
        bytes += heap(entry.vote_key.relying_party.size());
    }
    return bytes;
}
}  // namespace

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

std::size_t memory_of(const chain::PackedTransaction& transaction) {
    return heap_of(transaction.signatures) + heap(transaction.packed_trx.size()) +
           heap(transaction.packed_context_free_data.size());
}

std::size_t memory_of(const chain::Block& block) {
    std::size_t bytes = heap(sizeof(block)) + heap_of(block.transactions);
    bytes += heap(block.signature.auth_data.size()) + heap(block.signature.client_json.size());
    bytes += heap_of(block.header.schedule_change);
    bytes += heap_of(block.witness.justify) + heap_of(block.witness.finalized);
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        if (const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction)) {
            bytes += memory_of(*packed);
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
