#pragma once

#include "base/result.hpp"
#include "chain/execution/rows.hpp"
#include "chain/state/state.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace chain::host {

// The iterators that contracts hold on tables of one kind, numbered as nodeos numbers them:
// rows 0, 1, 2... and ends of tables -2, -3... in the order in which they were first seen;
// -1 stands for a table that does not exist.
//
// Invariants: a live row has one number, and its table is among the tables; a number is never
// used again, not even after its row is gone.
class IteratorCache {
  public:
    static constexpr std::int32_t kNone = -1;

    struct Row {
        std::uint32_t table = 0;  // Index among the tables.
        std::uint64_t primary = 0;
        Value value;  // As in the state; null: to be read again, or removed.
        bool removed = false;
    };

    // The number of the end of `table`, new or known.
    std::int32_t add_table(const TableId& table);
    // The number of a row of a table that is known, new or known. `value` may be null.
    std::int32_t add_row(const TableId& table, std::uint64_t primary, Value value);

    // Errors as nodeos': the number is none, an end, too high, or of a removed row.
    [[nodiscard]] base::Result<Row*> get(std::int32_t iterator);
    // The table whose end this is; null when it was removed since. Errors: no such end.
    [[nodiscard]] base::Result<const TableId*> table_of_end(std::int32_t iterator) const;
    [[nodiscard]] const TableId& table_of(const Row& row) const { return tables_[row.table].id; }

    // The row is gone. `iterator` is one that get() found.
    void remove(std::int32_t iterator);
    // The table has no rows left and is gone: a new one of this name is another table.
    void forget_table(const TableId& table);

  private:
    struct KnownTable {
        TableId id;
        bool removed = false;
    };
    [[nodiscard]] std::uint32_t index_of(const TableId& table);

    std::vector<KnownTable> tables_;
    std::map<TableId, std::uint32_t> live_tables_;
    std::vector<Row> rows_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::int32_t> live_rows_;
};

}  // namespace chain::host
