#pragma once

#include "base/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace p2p {

// Where a peer stands in tables, 0 to 63; given anew when it is free again.
using PeerSlot = std::uint32_t;
inline constexpr std::size_t kPeersMax = 64;

class PeerSet {
  public:
    void add(PeerSlot slot) { bits_ |= bit(slot); }
    void remove(PeerSlot slot) { bits_ &= ~bit(slot); }
    void add(const PeerSet& others) { bits_ |= others.bits_; }
    [[nodiscard]] bool has(PeerSlot slot) const { return (bits_ & bit(slot)) != 0; }

  private:
    static std::uint64_t bit(PeerSlot slot) { return std::uint64_t{1} << slot; }
    std::uint64_t bits_ = 0;
};

// Things by id, with who has them: the newest so many, of so many bytes. The oldest give way.
template <class Value>
class SeenTable {
  public:
    struct Limits {
        std::size_t entries;
        std::size_t bytes;
    };
    struct Entry {
        Value value;
        PeerSet holders;
        std::size_t bytes = 0;
        std::uint64_t sequence = 0;
    };

    explicit SeenTable(Limits limits) : limits_(limits) {}

    [[nodiscard]] Entry* find(const base::Hash256& id) {
        const auto at = entries_.find(id);
        return at == entries_.end() ? nullptr : &at->second;
    }
    [[nodiscard]] const Entry* find(const base::Hash256& id) const {
        const auto at = entries_.find(id);
        return at == entries_.end() ? nullptr : &at->second;
    }
    // The entry of an id that is not there; the pointer holds until the next insert or erase.
    Entry& insert(const base::Hash256& id, Value value, std::size_t bytes = 0) {
        while (!order_.empty() &&
               (entries_.size() >= limits_.entries || bytes_ + bytes > limits_.bytes)) {
            erase(order_.begin()->second);
        }
        Entry& entry = entries_[id];
        entry = {std::move(value), {}, bytes, next_sequence_++};
        order_[entry.sequence] = id;
        bytes_ += bytes;
        return entry;
    }
    void erase(const base::Hash256& id_in_table) {
        const base::Hash256 id = id_in_table;  // May be a reference into what goes.
        const auto at = entries_.find(id);
        if (at == entries_.end()) return;
        bytes_ -= at->second.bytes;
        order_.erase(at->second.sequence);
        entries_.erase(at);
    }
    template <class Visit>
    void for_each(const Visit& visit) {
        for (auto& [id, entry] : entries_)
            visit(entry);
    }
    void forget(PeerSlot slot) {
        for (auto& [id, entry] : entries_)
            entry.holders.remove(slot);
    }
    // The newest first, at most `count`, of those that `pick(entry)` takes.
    template <class Pick, class Take>
    void newest(std::size_t count, const Pick& pick, const Take& take) {
        for (auto at = order_.rbegin(); at != order_.rend() && count > 0; ++at) {
            Entry& entry = entries_.find(at->second)->second;
            if (!pick(entry)) continue;
            take(at->second, entry);
            --count;
        }
    }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    Limits limits_;
    std::map<base::Hash256, Entry> entries_;
    std::map<std::uint64_t, base::Hash256> order_;
    std::size_t bytes_ = 0;
    std::uint64_t next_sequence_ = 0;
};

}  // namespace p2p
