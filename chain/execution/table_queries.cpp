#include "base/check.hpp"
#include "chain/execution/queries.hpp"

#include <limits>

namespace chain {

namespace {

constexpr std::size_t kPrefixBytes = 24;  // code, scope, table.

bool in_table(base::ByteView key, const TableId& table, std::size_t size) {
    return key.size() == size && base::equal(key.first(kPrefixBytes), table_key(table));
}

std::optional<PrimaryEntry> to_primary(std::optional<Row> row, const TableId& table) {
    if (!row || !in_table(row->key, table, kPrefixBytes + 8)) return std::nullopt;
    return PrimaryEntry{.primary = key_u64(row->key, kPrefixBytes),
                        .payer = row_payer(*row->value),
                        .row = std::move(row->value)};
}

std::optional<SecondaryEntry> to_secondary(const std::optional<Row>& row,
                                           Table index,
                                           const TableId& table) {
    const std::size_t width = secondary_bytes(index);
    if (!row || !in_table(row->key, table, kPrefixBytes + width + 8)) return std::nullopt;
    const base::ByteView key = row->key;
    return SecondaryEntry{.ordered = base::to_bytes(key.subspan(kPrefixBytes, width)),
                          .primary = key_u64(key, kPrefixBytes + width),
                          .payer = row_payer(*row->value),
                          .secondary = base::to_bytes(row_value(*row->value))};
}

std::optional<TableEntry> to_table(const std::optional<Row>& row, Name code) {
    if (!row || row->key.size() != kPrefixBytes || key_u64(row->key, 0) != code.value) {
        return std::nullopt;
    }
    const auto table = decode_table(*row->value);
    CHECK(table);
    return TableEntry{.id = {code, Name{key_u64(row->key, 8)}, Name{key_u64(row->key, 16)}},
                      .row = *table};
}

// A key after every row of the table.
RowKey after_table(const TableId& table) {
    RowKey key = table_key(table);
    for (int i = 0; i < 6; ++i) {
        key.u64(std::numeric_limits<std::uint64_t>::max());
    }
    return key;
}

}  // namespace

std::optional<PrimaryEntry> primary_find(const StateView& state,
                                         const TableId& table,
                                         std::uint64_t primary) {
    Value row = state.find(Table::contract_row, row_key(table, primary));
    if (!row) return std::nullopt;
    const Name payer = row_payer(*row);
    return PrimaryEntry{.primary = primary, .payer = payer, .row = std::move(row)};
}

std::optional<PrimaryEntry> primary_at_or_after(const StateView& state,
                                                const TableId& table,
                                                std::uint64_t primary) {
    return to_primary(state.at_or_after(Table::contract_row, row_key(table, primary)), table);
}

std::optional<PrimaryEntry> primary_before(const StateView& state,
                                           const TableId& table,
                                           std::optional<std::uint64_t> primary) {
    const RowKey key = primary ? row_key(table, *primary) : after_table(table);
    return to_primary(state.before(Table::contract_row, key), table);
}

std::size_t secondary_bytes(Table index) {
    switch (index) {
        case Table::index64:
        case Table::index_double:
            return 8;
        case Table::index128:
        case Table::index_long_double:
            return 16;
        case Table::index256:
            return 32;
        default:
            break;
    }
    CHECK(false);
    return 0;
}

std::optional<SecondaryEntry> secondary_at_or_after(const StateView& state,
                                                    Table index,
                                                    const TableId& table,
                                                    base::ByteView ordered,
                                                    std::uint64_t primary) {
    CHECK(ordered.size() == secondary_bytes(index));
    const RowKey key = table_key(table).raw(ordered).u64(primary);
    return to_secondary(state.at_or_after(index, key), index, table);
}

std::optional<SecondaryEntry> secondary_before(const StateView& state,
                                               Table index,
                                               const TableId& table,
                                               base::ByteView ordered,
                                               std::uint64_t primary) {
    if (ordered.empty()) return to_secondary(state.before(index, after_table(table)), index, table);
    CHECK(ordered.size() == secondary_bytes(index));
    const RowKey key = table_key(table).raw(ordered).u64(primary);
    return to_secondary(state.before(index, key), index, table);
}

std::optional<TableEntry> table_at_or_after(const StateView& state, const TableId& from) {
    return to_table(state.at_or_after(Table::contract_table, table_key(from)), from.code);
}

std::optional<TableEntry> table_before(const StateView& state, const TableId& from) {
    return to_table(state.before(Table::contract_table, table_key(from)), from.code);
}

}  // namespace chain
