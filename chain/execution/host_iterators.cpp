#include "chain/execution/host_iterators.hpp"

#include "chain/types/exception.hpp"

namespace chain::host {

namespace {

constexpr std::int32_t end_of(std::uint32_t index) {
    return -(static_cast<std::int32_t>(index) + 2);
}

}  // namespace

std::uint32_t IteratorCache::index_of(const TableId& table) {
    const auto next = static_cast<std::uint32_t>(tables_.size());
    const auto [at, added] = live_tables_.try_emplace(table, next);
    if (added) tables_.push_back({table});
    return at->second;
}

std::int32_t IteratorCache::add_table(const TableId& table) {
    return end_of(index_of(table));
}

std::int32_t IteratorCache::add_row(const TableId& table, std::uint64_t primary, Value value) {
    const std::uint32_t index = index_of(table);
    const auto next = static_cast<std::int32_t>(rows_.size());
    const auto [at, added] = live_rows_.try_emplace({index, primary}, next);
    if (added) rows_.push_back({index, primary, std::move(value)});
    return at->second;
}

base::Result<IteratorCache::Row*> IteratorCache::get(std::int32_t iterator) {
    if (iterator == kNone) return fail(Exception::invalid_table_iterator, "invalid iterator");
    if (iterator < 0) {
        return fail(Exception::table_operation_not_permitted, "dereference of end iterator");
    }
    const auto index = static_cast<std::size_t>(iterator);
    if (index >= rows_.size()) {
        return fail(Exception::invalid_table_iterator, "iterator out of range");
    }
    if (rows_[index].removed) {
        return fail(Exception::table_operation_not_permitted, "dereference of deleted object");
    }
    return &rows_[index];
}

base::Result<const TableId*> IteratorCache::table_of_end(std::int32_t iterator) const {
    if (iterator >= kNone) return fail(Exception::invalid_table_iterator, "not an end iterator");
    // In 64 bits: the negative of the lowest number does not fit in 32.
    const std::int64_t index = -std::int64_t{iterator} - 2;
    if (index >= static_cast<std::int64_t>(tables_.size())) {
        return fail(Exception::invalid_table_iterator, "not a valid end iterator");
    }
    const KnownTable& table = tables_[static_cast<std::size_t>(index)];
    return table.removed ? nullptr : &table.id;
}

void IteratorCache::remove(std::int32_t iterator) {
    Row& row = rows_[static_cast<std::size_t>(iterator)];
    live_rows_.erase({row.table, row.primary});
    row.removed = true;
    row.value.reset();
}

void IteratorCache::forget_table(const TableId& table) {
    const auto at = live_tables_.find(table);
    if (at == live_tables_.end()) return;
    tables_[at->second].removed = true;
    live_tables_.erase(at);
}

}  // namespace chain::host
