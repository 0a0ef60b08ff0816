#pragma once

#include "base/pinned.hpp"
#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_iterators.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace chain {

// What host functions remember of contract tables during one action and its notifications:
// iterators of each kind of table, and the tables' own rows. Nobody else changes contract
// tables meanwhile.
class HostDatabase : base::Pinned {
  public:
    // The kinds of tables, each with numbers of its own for its iterators.
    enum class Kind : std::uint8_t { primary, index64, index128, index256, binary64, binary128 };
    static constexpr std::size_t kKinds = 6;

    [[nodiscard]] host::IteratorCache& iterators(Kind kind) {
        return iterators_[static_cast<std::size_t>(kind)];
    }

    [[nodiscard]] bool table_exists(ApplyContext& context, const TableId& table);
    // A row more; the first makes the table and bills `payer` for it.
    [[nodiscard]] base::Result<void> count_row(ApplyContext& context,
                                               const TableId& table,
                                               Name payer);
    // A row less; with the last one the table goes and its payer gets the bytes back.
    [[nodiscard]] base::Result<void> discount_row(ApplyContext& context, const TableId& table);

  private:
    struct Table {
        bool exists = false;
        TableRow row;
    };
    [[nodiscard]] base::Result<Table*> load(ApplyContext& context, const TableId& table);

    std::array<host::IteratorCache, kKinds> iterators_;
    std::map<TableId, Table> tables_;
};

namespace host {

// The rows of one kind of tables as host functions see them.
struct HostRows {
    ApplyContext& context;
    HostDatabase::Kind kind = HostDatabase::Kind::primary;
    Table table = Table::contract_row;  // Where each row is by its primary key.
    HostDatabase& database = context.database();
    IteratorCache& cache = database.iterators(kind);

    [[nodiscard]] StateDelta& state() const { return context.state(); }
    [[nodiscard]] const base::Bytes& value_of(IteratorCache::Row& row) const;
    // The iterator of the end of a table; kNone: there is no such table.
    [[nodiscard]] std::int32_t end_of(const TableId& where) const;
    // A row found in order, with its iterator; nothing when it is not of this table.
    struct Found {
        std::int32_t iterator;
        std::uint64_t primary;
    };
    [[nodiscard]] std::optional<Found> add_found(const TableId& where,
                                                 const std::optional<chain::Row>& row) const;

    // Puts a new row, for which `payer` pays so many bytes, and returns its iterator.
    [[nodiscard]] base::Result<std::int32_t> add(const TableId& where,
                                                 std::uint64_t primary,
                                                 Name payer,
                                                 std::int64_t bytes,
                                                 base::Bytes value) const;
    // A row that is to be changed; `verb` is update or remove.
    [[nodiscard]] base::Result<IteratorCache::Row*> get_own(std::int32_t iterator,
                                                            std::string_view verb) const;
};

// Refuses a new row where there must be none or nobody pays, in nodeos' words.
[[nodiscard]] base::Result<void> may_store(const ApplyContext& context, Name payer);
// A key behind every row of the table.
[[nodiscard]] RowKey key_behind(const TableId& table);
// Moves what a row costs from one payer to another, or charges the difference.
struct RamChange {
    Name old_payer;
    std::int64_t old_bytes = 0;
    Name payer;
    std::int64_t bytes = 0;
};
[[nodiscard]] base::Result<void> bill(ApplyContext& context, const RamChange& change);

}  // namespace host

}  // namespace chain
