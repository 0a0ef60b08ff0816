#include "chain/state/changes.hpp"

#include "chain/state/key_mix.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

namespace chain {

namespace {

const Changes kNoChanges;

std::size_t common_prefix(base::ByteView a, base::ByteView b, std::size_t limit) {
    const std::size_t most = std::min({a.size(), b.size(), limit});
    if (most == 0 || std::memcmp(a.data(), b.data(), most) == 0) return most;
    const auto differ =
        std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin());
    return static_cast<std::size_t>(differ.first - a.begin());
}

constexpr std::size_t kKeysPerWord = 4;
constexpr std::size_t kFirstChunk = 4;   // What a transaction changes in a table, mostly.
constexpr std::size_t kFirstTables = 6;  // And in how many tables.

std::size_t filter_word(std::uint64_t mix, std::size_t words) {
    return (mix >> 12U) & (words - 1);
}

std::uint64_t filter_bits(std::uint64_t mix) {
    return std::uint64_t{1} << (mix & 63U) | std::uint64_t{1} << (mix >> 6U & 63U);
}

}  // namespace

// Of inline_ only what counts is written.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
StoredKey::StoredKey(base::ByteView bytes) : size_(static_cast<std::uint32_t>(bytes.size())) {
    std::byte* to = inline_.data();
    if (bytes.size() > kInline) {
        heap_ = std::make_unique<std::byte[]>(bytes.size());
        to = heap_.get();
    }
    std::copy(bytes.begin(), bytes.end(), to);
}

Changes::Iterator& Changes::Iterator::operator++() {
    if (++slot_ == owner_->chunks_[chunk_].size()) {
        ++chunk_;
        slot_ = 0;
    }
    return *this;
}

Changes::Iterator& Changes::Iterator::operator--() {
    if (slot_ == 0) {
        --chunk_;
        slot_ = owner_->chunks_[chunk_].size();
    }
    --slot_;
    return *this;
}

// Eight bytes after the common ones, as a number that is ordered as they are. A shorter key
// is filled with zeros, so equal numbers say nothing and the keys must be compared.
std::uint64_t Changes::head_of(base::ByteView key) const {
    const std::size_t left = key.size() - common_;
    if (left >= sizeof(std::uint64_t)) [[likely]] {
        std::uint64_t little = 0;
        std::memcpy(&little, key.data() + common_, sizeof(little));
        return __builtin_bswap64(little);
    }
    std::uint64_t head = 0;
    for (std::size_t i = 0; i < left; ++i) {
        head |= std::to_integer<std::uint64_t>(key[common_ + i]) << (56 - 8 * i);
    }
    return head;
}

// The last chunk whose first key is not after `key`; the first chunk if there is none.
std::size_t Changes::chunk_for(std::uint64_t head, base::ByteView key) const {
    std::size_t low = 0;
    std::size_t high = heads_.size();
    while (high - low > 1) {
        const std::size_t middle = low + (high - low) / 2;
        const bool after = heads_[middle] != head
                               ? heads_[middle] > head
                               : base::compare(chunks_[middle][0].change->key, key) > 0;
        (after ? high : low) = middle;
    }
    return low;
}

Changes::Place Changes::locate(base::ByteView key) const {
    if (size_ == 0) return {0, 0, false};
    const base::ByteView first = first_key();
    if (const std::size_t same = common_prefix(first, key, common_); same < common_) {
        // The key is outside of all of ours.
        const bool ahead = same == key.size() || key[same] < first[same];
        return {ahead ? 0 : chunks_.size(), 0, false};
    }
    const std::uint64_t head = head_of(key);
    const std::size_t chunk = chunk_for(head, key);
    const Chunk& slots = chunks_[chunk];
    const auto slot = std::partition_point(slots.begin(), slots.end(), [&](const Slot& other) {
        return other.head != head ? other.head < head : base::compare(other.change->key, key) < 0;
    });
    if (slot == slots.end()) return {chunk + 1, 0, false};
    const bool found = slot->head == head && base::equal(slot->change->key, key);
    return {chunk, static_cast<std::size_t>(slot - slots.begin()), found};
}

const Change* Changes::find(base::ByteView key) const {
    return find(key, filter_.empty() ? 0 : key_mix(0, key));
}

const Change* Changes::find(base::ByteView key, std::uint64_t mix) const {
    if (!filter_.empty()) {
        const std::uint64_t bits = filter_bits(mix);
        if ((filter_[filter_word(mix, filter_.size())] & bits) != bits) return nullptr;
    }
    const Place place = locate(key);
    return place.found ? chunks_[place.chunk][place.slot].change.get() : nullptr;
}

Changes::Iterator Changes::lower_bound(base::ByteView key) const {
    const Place place = locate(key);
    return {this, place.chunk, place.slot};
}

// Shortens the common beginning to what `key` shares, which happens at most once a byte of it.
void Changes::make_room_for(base::ByteView key) {
    if (size_ == 0) {
        common_ = key.size();
        return;
    }
    const std::size_t same = common_prefix(first_key(), key, common_);
    if (same == common_) return;
    common_ = same;
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        for (Slot& slot : chunks_[i]) {
            slot.head = head_of(slot.change->key);
        }
        heads_[i] = chunks_[i][0].head;
    }
}

// Cuts a full chunk in two and says where `place` is now. Keys that come in order leave full
// chunks behind; others cut in the middle.
Changes::Place Changes::split(Place place) {
    Chunk& lower = chunks_[place.chunk];
    const std::size_t keep = place.slot == kChunk ? kChunk : kChunk / 2;
    Chunk upper;
    upper.reserve(kChunk);
    std::move(
        lower.begin() + static_cast<std::ptrdiff_t>(keep), lower.end(), std::back_inserter(upper));
    lower.resize(keep);
    const std::uint64_t head = upper.empty() ? 0 : upper[0].head;
    const auto behind = static_cast<std::ptrdiff_t>(place.chunk + 1);
    heads_.insert(heads_.begin() + behind, head);
    chunks_.insert(chunks_.begin() + behind, std::move(upper));
    if (place.slot >= keep) return {place.chunk + 1, place.slot - keep, false};
    return place;
}

void Changes::add_to_filter(base::ByteView key) {
    const std::uint64_t mix = key_mix(0, key);
    filter_[filter_word(mix, filter_.size())] |= filter_bits(mix);
}

void Changes::insert(Place place, std::unique_ptr<Change> change) {
    ++size_;
    if (size_ > kChunk) {
        if (size_ > filter_.size() * kKeysPerWord) {
            filter_.assign(std::bit_ceil(2 * size_ / kKeysPerWord), 0);
            for (const Change& each : *this)
                add_to_filter(each.key);
        }
        add_to_filter(change->key);
    }
    Slot slot{head_of(change->key), std::move(change)};
    if (chunks_.empty()) {
        heads_.push_back(slot.head);
        Chunk& first = chunks_.emplace_back();
        first.reserve(kFirstChunk);
        first.push_back(std::move(slot));
        return;
    }
    // In front of a chunk is also behind all of the one before it: append there.
    if (place.slot == 0 && place.chunk > 0) {
        --place.chunk;
        place.slot = chunks_[place.chunk].size();
    }
    if (chunks_[place.chunk].size() == kChunk) place = split(place);
    if (place.slot == 0) heads_[place.chunk] = slot.head;
    Chunk& chunk = chunks_[place.chunk];
    chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(place.slot), std::move(slot));
}

void Changes::set(base::ByteView key, Value value) {
    make_room_for(key);
    const Place place = locate(key);
    if (place.found) {
        chunks_[place.chunk][place.slot].change->value = std::move(value);
        return;
    }
    insert(place, std::make_unique<Change>(StoredKey(key), std::move(value)));
}

void Changes::set(std::unique_ptr<Change> change) {
    make_room_for(change->key);
    const Place place = locate(change->key);
    if (place.found) {
        chunks_[place.chunk][place.slot].change = std::move(change);
        return;
    }
    insert(place, std::move(change));
}

void Changes::merge(Changes&& newer) {
    if (empty()) {
        std::swap(*this, newer);
        return;
    }
    for (Chunk& chunk : newer.chunks_) {
        for (Slot& slot : chunk) {
            set(std::move(slot.change));
        }
    }
    newer = Changes();
}

const Changes& ChangeSet::of(Table table) const {
    for (const TableChanges& each : tables_) {
        if (each.table == table) return each.changes;
    }
    return kNoChanges;
}

Changes& ChangeSet::at(Table table) {
    if (tables_.empty()) tables_.reserve(kFirstTables);
    auto place = tables_.begin();
    while (place != tables_.end() && place->table < table) {
        ++place;
    }
    if (place == tables_.end() || place->table != table) {
        place = tables_.insert(place, TableChanges{table, {}});
    }
    return place->changes;
}

std::size_t ChangeSet::size() const {
    std::size_t count = 0;
    for (const TableChanges& each : tables_) {
        count += each.changes.size();
    }
    return count;
}

void ChangeSet::merge(ChangeSet&& newer) {
    for (TableChanges& each : newer.tables_) {
        at(each.table).merge(std::move(each.changes));
    }
    newer.clear();
}

void ChangeSet::merge(const ChangeSet& newer) {
    for (const TableChanges& each : newer.tables_) {
        Changes& changes = at(each.table);
        for (const Change& change : each.changes) {
            changes.set(change.key, change.value);
        }
    }
}

}  // namespace chain
