#include "chain/state/row_cache.hpp"

#include "chain/state/key_mix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace chain {

namespace {

constexpr std::size_t kGroup = 16;           // Rows put side by side.
constexpr std::size_t kRowBytesUsual = 256;  // Of a row with all that keeps it.
constexpr std::size_t kOverhead = 160;       // Of an entry besides its value's bytes.

}  // namespace

RowCache::RowCache(std::size_t bytes_max, std::uint64_t seed)
    : bytes_max_(bytes_max),
      seed_(seed),
      slots_(std::bit_ceil(std::max<std::size_t>(bytes_max / kRowBytesUsual, kWays))) {}

std::uint64_t RowCache::mix(Table table, base::ByteView key) const {
    return key_mix(stir(seed_, static_cast<std::uint64_t>(table)), key);
}

const RowCache::Slot* RowCache::set_of(std::uint64_t mix) const {
    const std::size_t sets = slots_.size() / kWays;
    return &slots_[(mix & (sets - 1)) * kWays];
}

RowCache::Slot* RowCache::set_of(std::uint64_t mix) {
    const std::size_t sets = slots_.size() / kWays;
    return &slots_[(mix & (sets - 1)) * kWays];
}

std::size_t RowCache::cost(const Entry& entry) {
    const base::ByteView key = entry.key;
    return kOverhead + (key.size() > StoredKey::kInline ? key.size() : 0) +
           (entry.value ? entry.value->capacity() : 0);
}

const Value* RowCache::find(Table table, base::ByteView key) const {
    const std::uint64_t mixed = mix(table, key);
    const Slot* set = set_of(mixed);
    for (std::size_t way = 0; way < kWays; ++way) {
        const Slot& slot = set[way];
        if (slot.mix != mixed || !slot.entry) continue;
        const Entry& entry = *slot.entry;
        if (entry.table != table || !base::equal(entry.key, key)) continue;
        entry.used = true;
        return &entry.value;
    }
    return nullptr;
}

void RowCache::put(Table table, base::ByteView key, Value value) {
    put(table, key, mix(table, key), std::move(value));
}

// Each pass asks for what the next one needs, for all of the group.
void RowCache::put_group(Table table, std::span<const Change* const> group) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): written below.
    std::array<std::uint64_t, kGroup> mixes;
    for (std::size_t i = 0; i < group.size(); ++i) {
        mixes[i] = mix(table, group[i]->key);
        const Slot* set = set_of(mixes[i]);
        __builtin_prefetch(set);
        __builtin_prefetch(set + kWays / 2);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
        const Slot* set = set_of(mixes[i]);
        for (std::size_t way = 0; way < kWays; ++way) {
            if (set[way].mix == mixes[i]) __builtin_prefetch(set[way].entry.get());
        }
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
        put(table, group[i]->key, mixes[i], group[i]->value);
    }
}

void RowCache::put_all(Table table, const Changes& changes) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): written before it is read.
    std::array<const Change*, kGroup> group;
    std::size_t filled = 0;
    for (const Change& change : changes) {
        group[filled++] = &change;
        if (filled < kGroup) continue;
        put_group(table, group);
        filled = 0;
    }
    put_group(table, std::span(group).first(filled));
}

void RowCache::put(Table table, base::ByteView key, std::uint64_t mixed, Value value) {
    Slot* set = set_of(mixed);
    Slot* place = nullptr;
    for (std::size_t way = 0; way < kWays; ++way) {
        Slot& slot = set[way];
        if (slot.entry && slot.mix == mixed && slot.entry->table == table &&
            base::equal(slot.entry->key, key)) {
            bytes_ -= cost(*slot.entry);
            slot.entry->value = std::move(value);
            bytes_ += cost(*slot.entry);
            shrink();
            return;
        }
        if (!slot.entry && place == nullptr) place = &slot;
    }
    // The set is full: the first that was not used since the last time makes room.
    for (std::size_t way = 0; way < kWays && place == nullptr; ++way) {
        if (!std::exchange(set[way].entry->used, false)) place = &set[way];
    }
    if (place == nullptr) place = &set[mixed >> 61U];
    drop(*place);
    place->mix = mixed;
    place->entry = std::make_unique<Entry>(table, true, StoredKey(key), std::move(value));
    bytes_ += cost(*place->entry);
    shrink();
}

void RowCache::drop(Slot& slot) {
    if (!slot.entry) return;
    bytes_ -= cost(*slot.entry);
    slot.entry.reset();
}

void RowCache::shrink() {
    while (bytes_ > bytes_max_) {
        Slot& slot = slots_[hand_];
        hand_ = (hand_ + 1) & (slots_.size() - 1);
        if (slot.entry && !std::exchange(slot.entry->used, false)) drop(slot);
    }
}

void RowCache::clear() {
    for (Slot& slot : slots_) {
        drop(slot);
    }
}

}  // namespace chain
