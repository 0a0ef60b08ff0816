#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace p2p {

// Where a peer stands in tables, 0 to 63; given anew when it is free again.
using PeerSlot = std::uint32_t;
inline constexpr std::size_t kPeersMax = 64;

class PeerSet {
  public:
    [[nodiscard]] static PeerSet of(PeerSlot slot) {
        PeerSet set;
        set.add(slot);
        return set;
    }
    void add(PeerSlot slot) { bits_ |= bit(slot); }
    void remove(PeerSlot slot) { bits_ &= ~bit(slot); }
    void add(const PeerSet& others) { bits_ |= others.bits_; }
    [[nodiscard]] bool has(PeerSlot slot) const { return (bits_ & bit(slot)) != 0; }
    [[nodiscard]] bool empty() const { return bits_ == 0; }
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (std::uint64_t left = bits_; left != 0; left &= left - 1)
            visit(static_cast<PeerSlot>(std::countr_zero(left)));
    }

  private:
    static std::uint64_t bit(PeerSlot slot) { return std::uint64_t{1} << slot; }
    std::uint64_t bits_ = 0;
};

// Things by id, with who has them: the newest so many, of so many bytes. The oldest give way, and
// the new ones take their memory: a full table allocates nothing.
template <class Value>
class SeenTable : base::Pinned {
  public:
    struct Limits {
        std::size_t entries;
        std::size_t bytes;
    };
    struct Entry {
        Value value{};
        PeerSet holders;
        std::size_t bytes = 0;
        // The table's: its place in the order of arrival.
        base::Hash256 id;
        Entry* older = nullptr;
        Entry* newer = nullptr;
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
        while (oldest_ != nullptr &&
               (entries_.size() >= limits_.entries || bytes_ + bytes > limits_.bytes)) {
            erase(oldest_->id);
        }
        Entry& entry = add(id);
        entry.value = std::move(value);
        entry.holders = {};
        entry.bytes = bytes;
        entry.id = id;
        entry.older = newest_;
        entry.newer = nullptr;
        (newest_ == nullptr ? oldest_ : newest_->newer) = &entry;
        newest_ = &entry;
        bytes_ += bytes;
        return entry;
    }
    void erase(const base::Hash256& id) {
        const auto at = entries_.find(id);
        if (at == entries_.end()) return;
        Entry& entry = at->second;
        bytes_ -= entry.bytes;
        (entry.older == nullptr ? oldest_ : entry.older->newer) = entry.newer;
        (entry.newer == nullptr ? newest_ : entry.newer->older) = entry.older;
        entry.value = {};  // What it holds goes now.
        spare_.push_back(entries_.extract(at));
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
        for (Entry* entry = newest_; entry != nullptr && count > 0; entry = entry->older) {
            if (!pick(*entry)) continue;
            take(entry->id, *entry);
            --count;
        }
    }

  private:
    using Entries = std::map<base::Hash256, Entry>;

    Entry& add(const base::Hash256& id) {
        if (spare_.empty()) return entries_[id];
        typename Entries::node_type node = std::move(spare_.back());
        spare_.pop_back();
        node.key() = id;
        return entries_.insert(std::move(node)).position->second;
    }

    Limits limits_;
    Entries entries_;
    std::vector<typename Entries::node_type> spare_;
    Entry* oldest_ = nullptr;
    Entry* newest_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace p2p
