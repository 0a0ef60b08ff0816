#pragma once

#include "base/pinned.hpp"
#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_iterators.hpp"

#include <array>
#include <cstdint>
#include <map>

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

// Refuses writes where there must be none, in nodeos' words; `verb` is store, update or remove.
[[nodiscard]] base::Result<void> may_write(const ApplyContext& context, std::string_view verb);
// table_access_violation: the table is another contract's.
[[nodiscard]] base::Result<void> may_change(const ApplyContext& context, const TableId& table);
[[nodiscard]] base::Error not_unique();
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
