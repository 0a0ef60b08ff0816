#include "chain/state/row_scan.hpp"

#include "chain/state/gaps.hpp"

namespace chain {

namespace {

bool starts_with(base::ByteView key, base::ByteView prefix) {
    return key.size() >= prefix.size() && base::equal(key.first(prefix.size()), prefix);
}

}  // namespace

RowScan::RowScan(const StateView& state, Table table, base::ByteView prefix, base::ByteView from)
    : state_(state), table_(table), prefix_(base::to_bytes(prefix)), from_(base::to_bytes(from)) {}

std::optional<Row> RowScan::next() {
    std::optional<Row> row = state_.at_or_after(table_, from_);
    if (!row || !starts_with(row->key, prefix_)) return std::nullopt;
    from_ = key_after(row->key);
    return row;
}

}  // namespace chain
