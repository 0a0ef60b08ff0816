#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"

#include <array>
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
    void remove(const PeerSet& others) { bits_ &= ~others.bits_; }
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

// Which peers are gone. A departure costs nothing, however many entries have marks of that peer, so
// a peer that comes and goes cannot stall the node: an entry keeps how many departures it knows of,
// and loses the marks of peers that left later when it is looked at next.
class Departures {
  public:
    [[nodiscard]] std::uint64_t count() const { return count_; }
    // This peer is gone; its slot may be another's next.
    void note(PeerSlot slot) { last_.at(slot) = ++count_; }
    // Whether nobody has left this slot since there were so many.
    [[nodiscard]] bool is_since(PeerSlot slot, std::uint64_t known) const {
        return last_.at(slot) <= known;
    }
    // Those whose marks an entry that knows of so many must lose.
    [[nodiscard]] PeerSet since(std::uint64_t known) const {
        PeerSet gone;
        if (known == count_) return gone;
        for (PeerSlot slot = 0; slot < kPeersMax; ++slot)
            if (last_[slot] > known) gone.add(slot);
        return gone;
    }

  private:
    std::array<std::uint64_t, kPeersMax> last_{};  // From each slot.
    std::uint64_t count_ = 0;
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
        PeerSet told;  // Peers that heard of it from us, and may not have it.
        std::size_t bytes = 0;
        // The table's: its place in the order of arrival, and the last departure that it knows of.
        base::Hash256 id;
        std::uint64_t departures = 0;
        Entry* older = nullptr;
        Entry* newer = nullptr;
    };

    explicit SeenTable(Limits limits) : limits_(limits) {}

    [[nodiscard]] Entry* find(const base::Hash256& id) {
        const auto at = entries_.find(id);
        return at == entries_.end() ? nullptr : &current(at->second);
    }
    // Its value; null: it is not here.
    [[nodiscard]] const Value* look(const base::Hash256& id) const {
        const auto at = entries_.find(id);
        return at == entries_.end() ? nullptr : &at->second.value;
    }
    // Whether it is here and this peer has it.
    [[nodiscard]] bool has(const base::Hash256& id, PeerSlot slot) const {
        const auto at = entries_.find(id);
        return at != entries_.end() && at->second.holders.has(slot) &&
               departures_.is_since(slot, at->second.departures);
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
        entry.told = {};
        entry.bytes = bytes;
        entry.id = id;
        entry.departures = departures_.count();
        entry.older = newest_;
        entry.newer = nullptr;
        (newest_ == nullptr ? oldest_ : newest_->newer) = &entry;
        newest_ = &entry;
        bytes_ += bytes;
        return entry;
    }
    // The entry that was inserted before all others; null: there is none.
    [[nodiscard]] Entry* oldest() { return oldest_ == nullptr ? nullptr : &current(*oldest_); }
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
    // This peer is gone; its slot may be another's next.
    void forget(PeerSlot slot) { departures_.note(slot); }
    // The newest first, at most `count`, of those that `pick(entry)` takes.
    template <class Pick, class Take>
    void newest(std::size_t count, const Pick& pick, const Take& take) {
        for (Entry* entry = newest_; entry != nullptr && count > 0; entry = entry->older) {
            if (!pick(current(*entry))) continue;
            take(entry->id, *entry);
            --count;
        }
    }

  private:
    using Entries = std::map<base::Hash256, Entry>;

    // Without the marks of peers that are gone since it was looked at.
    Entry& current(Entry& entry) const {
        const PeerSet gone = departures_.since(entry.departures);
        entry.holders.remove(gone);
        entry.told.remove(gone);
        entry.departures = departures_.count();
        return entry;
    }
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
    Departures departures_;
};

}  // namespace p2p
