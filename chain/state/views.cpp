#include "chain/state/views.hpp"

#include "base/check.hpp"
#include "chain/state/key_mix.hpp"

#include <utility>

namespace chain {

namespace {

constexpr std::size_t kTableBytes = 2;

std::uint16_t table_number(base::ByteView stored) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(stored[0]) << 8U |
                                      std::to_integer<unsigned>(stored[1]));
}

// Ids of transactions are asked for once, so as not to run them twice: each would take the place
// of a row that is asked for again.
constexpr bool passes_cache(Table table) {
    return table == Table::transaction_id;
}

}  // namespace

base::Bytes stored_key(Table table, base::ByteView key) {
    const auto number = static_cast<std::uint16_t>(table);
    base::Bytes stored;
    stored.reserve(kTableBytes + key.size());
    stored.push_back(static_cast<std::byte>(number >> 8U));
    stored.push_back(static_cast<std::byte>(number & 0xFFU));
    stored.insert(stored.end(), key.begin(), key.end());
    return stored;
}

StoredView::StoredView(std::shared_ptr<const base::StorageView> storage,
                       FaultSink on_fault,
                       std::shared_ptr<FinalRows> cache)
    : storage_(std::move(storage)), on_fault_(std::move(on_fault)), cache_(std::move(cache)) {
    CHECK(storage_ != nullptr && on_fault_ != nullptr);
    if (cache_) moment_ = cache_->moment;
}

Value StoredView::find(Table table, base::ByteView key) const {
    if (!is_cached() || passes_cache(table)) return read(table, key);
    if (const Value* known = cache_->rows.find(table, key)) return *known;
    Value value = read(table, key);
    cache_->rows.put(table, key, value);
    return value;
}

Value StoredView::read(Table table, base::ByteView key) const {
    base::Result<std::optional<base::Bytes>> found =
        storage_->get(base::Family::state, stored_key(table, key));
    if (!found) {
        on_fault_(found.error());
        return nullptr;
    }
    if (!*found) return nullptr;
    return std::make_shared<const base::Bytes>(std::move(**found));
}

std::optional<Row> StoredView::row_of(Table table,
                                      base::Result<std::optional<base::StoredRow>> found) const {
    if (!found) {
        on_fault_(found.error());
        return std::nullopt;
    }
    if (!*found) return std::nullopt;
    base::StoredRow& row = **found;
    const bool ours =
        row.key.size() >= kTableBytes && table_number(row.key) == static_cast<std::uint16_t>(table);
    if (!ours) return std::nullopt;
    row.key.erase(row.key.begin(), row.key.begin() + kTableBytes);
    return Row{std::move(row.key), std::make_shared<const base::Bytes>(std::move(row.value))};
}

std::optional<Row> StoredView::read_up(Table table, base::ByteView key) const {
    return row_of(table, storage_->at_or_after(base::Family::state, stored_key(table, key)));
}

std::optional<Row> StoredView::read_down(Table table, base::ByteView key) const {
    return row_of(table, storage_->before(base::Family::state, stored_key(table, key)));
}

// A search in the database passes every row that was erased there lately. With a cache each
// such stretch is passed once; and where the row at its end is known, nothing is searched.
std::optional<Row> StoredView::at_or_after(Table table, base::ByteView key) const {
    if (!is_cached()) return read_up(table, key);
    Gaps& gaps = cache_->gaps.of(table);
    const std::optional<Gaps::Gap> gap = gaps.around(key);
    if (gap && !gap->to) return std::nullopt;
    const base::ByteView from = gap ? *gap->to : key;
    if (const Value* known = cache_->rows.find(table, from); known != nullptr && *known) {
        return Row{base::to_bytes(from), *known};
    }
    std::optional<Row> row = read_up(table, from);
    if (row && !passes_cache(table)) cache_->rows.put(table, row->key, row->value);
    if (!row) {
        gaps.add(key, std::nullopt);
    } else if (!base::equal(row->key, from)) {
        gaps.add(key, base::ByteView(row->key));
    }
    return row;
}

std::optional<Row> StoredView::before(Table table, base::ByteView key) const {
    if (!is_cached()) return read_down(table, key);
    Gaps& gaps = cache_->gaps.of(table);
    const std::optional<Gaps::Gap> gap = gaps.ahead_of(key);
    std::optional<Row> row = read_down(table, gap ? gap->from : key);
    if (row && !passes_cache(table)) cache_->rows.put(table, row->key, row->value);
    gaps.add(row ? key_after(row->key) : base::Bytes(), key);
    return row;
}

void FinalRows::absorb(const ChangeSet& changes) {
    for (const auto& [table, entries] : changes.tables()) {
        if (!passes_cache(table)) rows.put_all(table, entries);
    }
    gaps.cut(changes);
    ++moment;
}

LayeredView::LayeredView(Layers layers, std::shared_ptr<const StateView> below)
    : layers_(std::move(layers)), below_(std::move(below)) {
    CHECK(below_ != nullptr);
}

Value LayeredView::find(Table table, base::ByteView key) const {
    const std::uint64_t mix = key_mix(0, key);
    for (const auto& layer : layers_) {
        if (const Change* change = layer->of(table).find(key, mix)) return change->value;
    }
    return below_->find(table, key);
}

// Merges the layers; the newest has the last word on a key.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
std::optional<Row> LayeredView::at_or_after(Table table, base::ByteView key) const {
    struct Cursor {
        Changes::Iterator at;
        Changes::Iterator end;
    };
    std::vector<Cursor> cursors;  // The newest layer first, as are the layers.
    cursors.reserve(layers_.size());
    for (const auto& layer : layers_) {
        const Changes& changes = layer->of(table);
        if (changes.empty()) continue;
        cursors.push_back({changes.lower_bound(key), changes.end()});
    }
    std::optional<Row> row = below_->at_or_after(table, key);
    while (true) {
        const Change* first = nullptr;
        for (const Cursor& cursor : cursors) {
            if (cursor.at == cursor.end) continue;
            if (first == nullptr || base::compare(cursor.at->key, first->key) < 0) {
                first = &*cursor.at;
            }
        }
        if (first == nullptr) return row;
        const auto order = row ? base::compare(first->key, row->key) : std::strong_ordering::less;
        if (order > 0) return row;
        if (first->value) return Row{base::to_bytes(first->key), first->value};
        // Erased: look behind it, in all layers.
        for (Cursor& cursor : cursors) {
            if (cursor.at != cursor.end && base::equal(cursor.at->key, first->key)) ++cursor.at;
        }
        if (order == 0) row = below_->at_or_after(table, key_after(first->key));
    }
}

// As at_or_after(), downwards.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
std::optional<Row> LayeredView::before(Table table, base::ByteView key) const {
    struct Cursor {
        Changes::Iterator at;  // One behind the change that is looked at.
        Changes::Iterator begin;
    };
    std::vector<Cursor> cursors;
    cursors.reserve(layers_.size());
    for (const auto& layer : layers_) {
        const Changes& changes = layer->of(table);
        if (changes.empty()) continue;
        cursors.push_back({changes.lower_bound(key), changes.begin()});
    }
    const auto looked_at = [](const Cursor& cursor) {
        Changes::Iterator at = cursor.at;
        return &*--at;
    };
    std::optional<Row> row = below_->before(table, key);
    while (true) {
        const Change* last = nullptr;
        for (const Cursor& cursor : cursors) {
            if (cursor.at == cursor.begin) continue;
            const Change* change = looked_at(cursor);
            if (last == nullptr || base::compare(change->key, last->key) > 0) last = change;
        }
        if (last == nullptr) return row;
        const auto order = row ? base::compare(last->key, row->key) : std::strong_ordering::greater;
        if (order < 0) return row;
        if (last->value) return Row{base::to_bytes(last->key), last->value};
        for (Cursor& cursor : cursors) {
            if (cursor.at == cursor.begin) continue;
            if (base::equal(looked_at(cursor)->key, last->key)) --cursor.at;
        }
        if (order == 0) row = below_->before(table, last->key);
    }
}

}  // namespace chain
