#include "node/core/arrivals.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace node {

std::size_t Arrivals::bytes_of(const chain::Block& block) {
    constexpr std::size_t kHeaderBytes = 1'024;
    std::size_t bytes = kHeaderBytes;
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction);
        // Twice: packed and, before long, decoded.
        bytes += packed == nullptr ? kHeaderBytes : 2 * chain::packed_bytes(*packed);
    }
    return bytes;
}

bool Arrivals::add(Arrival arrival) {
    const std::size_t bytes = bytes_of(*arrival.block);
    if (entries_.size() >= kBlocksMax || bytes_ + bytes > kBytesMax) return false;
    bytes_ += bytes;
    const Key key = key_of(*arrival.block);
    if (arrival.ticket != 0) tickets_.emplace(arrival.ticket, key);
    CHECK(entries_.emplace(key, std::move(arrival)).second);
    return true;
}

Arrival Arrivals::take(const Key& key) {
    const auto found = entries_.find(key);
    CHECK(found != entries_.end());
    Arrival arrival = std::move(found->second);
    tickets_.erase(arrival.ticket);
    bytes_ -= bytes_of(*arrival.block);
    entries_.erase(found);
    return arrival;
}

bool Arrivals::hold(const Key& key, base::Timestamp until) {
    const chain::Name producer = entries_.at(key).block->header.producer;
    const bool has_one = std::ranges::any_of(entries_, [&](const auto& entry) {
        const Arrival& other = entry.second;
        return entry.first != key && other.not_before != base::Timestamp{} &&
               other.block->header.producer == producer;
    });
    if (!has_one) entries_.at(key).not_before = until;
    return !has_one;
}

const Arrival* Arrivals::find(const Key& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
}

bool Arrivals::has_twins(const chain::BlockHeader& header, const chain::BlockId& id) const {
    const auto found = let_in_.find({header.slot, header.producer});
    if (found == let_in_.end()) return false;
    return found->second.size() >= 2 && std::ranges::find(found->second, id) == found->second.end();
}

void Arrivals::let_in(const chain::BlockHeader& header, const chain::BlockId& id) {
    std::vector<chain::BlockId>& ids = let_in_[{header.slot, header.producer}];
    if (ids.size() < 2 && std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    if (let_in_.size() > kSlotsMax) let_in_.erase(let_in_.begin());
}

void Arrivals::forget_slots_up_to(chain::Slot slot) {
    let_in_.erase(let_in_.begin(), let_in_.lower_bound({slot + 1, chain::Name{}}));
}

Arrival* Arrivals::find_ticket(std::uint64_t ticket) {
    const auto found = tickets_.find(ticket);
    if (found == tickets_.end()) return nullptr;
    Arrival& arrival = entries_.at(found->second);
    tickets_.erase(found);
    return &arrival;
}

void Arrivals::refuse(const chain::BlockId& id, const std::string& reason) {
    if (!refused_.emplace(id, reason).second) return;
    refused_order_.push_back(id);
    if (refused_order_.size() <= kRefusedMax) return;
    refused_.erase(refused_order_.front());
    refused_order_.pop_front();
}

const std::string* Arrivals::find_refused(const chain::BlockId& id) const {
    const auto found = refused_.find(id);
    return found == refused_.end() ? nullptr : &found->second;
}

}  // namespace node
