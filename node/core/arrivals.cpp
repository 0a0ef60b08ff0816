#include "node/core/arrivals.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <ranges>

namespace node {

std::size_t Arrivals::bytes_of(const chain::Block& block) {
    constexpr std::size_t kReceiptBytes = 1'024;
    std::size_t bytes = kBlockBytes;
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction);
        // Twice: packed and, before long, decoded.
        bytes += packed == nullptr ? kReceiptBytes : 2 * chain::packed_bytes(*packed);
    }
    return bytes;
}

bool Arrivals::has_room_for(const chain::Block& block) const {
    return bytes_ + bytes_of(block) <= kBytesMax;
}

std::optional<Arrivals::Key> Arrivals::in_the_way_of(const chain::Block& block) const {
    const auto most = std::ranges::max_element(
        bytes_of_producer_, {}, &decltype(bytes_of_producer_)::value_type::second);
    if (most == bytes_of_producer_.end()) return std::nullopt;
    const auto own = bytes_of_producer_.find(block.header.producer);
    const std::size_t before = own == bytes_of_producer_.end() ? 0 : own->second;
    if (before + bytes_of(block) >= most->second) return std::nullopt;
    for (const auto& [key, arrival] : std::views::reverse(entries_)) {
        if (arrival.block->header.producer == most->first) return key;
    }
    return std::nullopt;
}

std::optional<Arrivals::Key> Arrivals::third_in_the_way_of(const chain::Block& block,
                                                           transport::ChannelId from) const {
    struct Share {
        std::size_t waiting = 0;
        const Entries::value_type* oldest = nullptr;
    };
    std::map<transport::ChannelId, Share> shares;
    for (const auto& entry : entries_) {
        const Arrival& arrival = entry.second;
        if (!arrival.gives_up_at || arrival.block->header.producer != block.header.producer)
            continue;
        Share& share = shares[arrival.channel];
        ++share.waiting;
        const bool is_older =
            share.oldest == nullptr || arrival.gives_up_at < share.oldest->second.gives_up_at;
        if (is_older) share.oldest = &entry;
    }
    if (shares.empty()) return std::nullopt;
    const auto own = shares.find(from);
    if (own != shares.end() && own->second.waiting >= thirds_max_) return own->second.oldest->first;
    if (has_room_for(block)) return std::nullopt;
    const auto most =
        std::ranges::max_element(shares, {}, [](const auto& item) { return item.second.waiting; });
    return most->second.oldest->first;
}

void Arrivals::add(Arrival arrival) {
    CHECK(has_room_for(*arrival.block));
    const std::size_t bytes = bytes_of(*arrival.block);
    bytes_ += bytes;
    bytes_of_producer_[arrival.block->header.producer] += bytes;
    const Key key = key_of(*arrival.block);
    if (arrival.ticket != 0) tickets_.emplace(arrival.ticket, key);
    CHECK(entries_.emplace(key, std::move(arrival)).second);
}

Arrival Arrivals::take(const Key& key) {
    const auto found = entries_.find(key);
    CHECK(found != entries_.end());
    Arrival arrival = std::move(found->second);
    tickets_.erase(arrival.ticket);
    const std::size_t bytes = bytes_of(*arrival.block);
    bytes_ -= bytes;
    const auto of_producer = bytes_of_producer_.find(arrival.block->header.producer);
    of_producer->second -= bytes;
    if (of_producer->second == 0) bytes_of_producer_.erase(of_producer);
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

std::vector<Arrivals::Key> Arrivals::uncertified(const Key& key) const {
    std::vector<Key> keys;
    Key next = key;
    for (const Arrival* arrival = find(next); arrival != nullptr; arrival = find(next)) {
        if (arrival->gives_up_at) keys.push_back(next);
        next = {next.first - 1, arrival->block->header.previous};
    }
    return keys;
}

void Arrivals::release(const Key& key, std::uint64_t ticket) {
    Arrival& arrival = entries_.at(key);
    arrival.gives_up_at.reset();
    arrival.ticket = ticket;
    if (ticket != 0) tickets_.emplace(ticket, key);
}

bool Arrivals::mark_certified(const Key& key) {
    auto at = entries_.find(key);
    const bool is_any = at != entries_.end() && !at->second.is_certified;
    while (at != entries_.end() && !at->second.is_certified) {
        at->second.is_certified = true;
        at = entries_.find({at->first.first - 1, at->second.block->header.previous});
    }
    return is_any;
}

std::vector<Arrivals::Turn> Arrivals::in_turn(chain::Slot recent) const {
    std::vector<Turn> turns;
    turns.reserve(entries_.size());
    for (const auto& [key, arrival] : entries_) {
        Rank rank = arrival.block->header.slot >= recent ? Rank::recent : Rank::old;
        if (arrival.is_certified) rank = Rank::certified;
        turns.push_back({rank, key});
    }
    std::ranges::stable_sort(turns, {}, &Turn::rank);
    return turns;
}

base::Duration Arrivals::cost_of(const chain::Block& block) {
    constexpr std::uint32_t kLeast = 100;  // Whatever it says.
    base::Duration cost{};
    for (const chain::TransactionReceipt& receipt : block.transactions)
        cost += std::chrono::microseconds(std::max(kLeast, receipt.cpu_usage_us));
    return cost;
}

bool Arrivals::has_twins(const chain::BlockHeader& header,
                         const chain::BlockId& id,
                         bool is_schedule_known) const {
    const OfSlots& let_in = let_in_.at(is_schedule_known ? 1 : 0);
    const std::pair key{header.slot, header.producer};
    const auto found = let_in.find(key);
    if (found == let_in.end()) {
        // Those of the lowest slots are forgotten, not how many there were.
        return let_in.size() >= kSlotsMax && key < let_in.begin()->first;
    }
    return found->second.size() >= 2 && std::ranges::find(found->second, id) == found->second.end();
}

void Arrivals::let_in(const chain::BlockHeader& header,
                      const chain::BlockId& id,
                      bool is_schedule_known) {
    OfSlots& let_in = let_in_.at(is_schedule_known ? 1 : 0);
    std::vector<chain::BlockId>& ids = let_in[{header.slot, header.producer}];
    if (ids.size() < 2 && std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    if (let_in.size() > kSlotsMax) let_in.erase(let_in.begin());
}

void Arrivals::forget_slots_up_to(chain::Slot slot) {
    for (OfSlots& let_in : let_in_)
        let_in.erase(let_in.begin(), let_in.lower_bound({slot + 1, chain::Name{}}));
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
