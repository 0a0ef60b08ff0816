#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace chain {

// The ordered key spaces of the ledger's state. Part of every entry's hash (spec 03, "State
// digest") and of the snapshot order: never renumber.
enum class Table : std::uint16_t {
    global = 1,           // Parameters, counters, schedules, peaks: one row a name.
    account = 2,          // name -> account, resources and sequence counters in one row.
    permission = 3,       // account, permission name -> permission.
    permission_link = 4,  // account, code, action -> permission name.
    code = 5,             // code hash -> code and its number of users.
    abi = 6,              // account -> ABI bytes.
    contract_table = 7,   // code, scope, table -> payer, row count.
    contract_row = 8,     // code, scope, table, primary key -> payer, value.
    index64 = 9,          // Secondary rows, by key: code, scope, table, secondary, primary.
    index128 = 10,
    index256 = 11,
    index_double = 12,
    index_long_double = 13,
    index64_primary = 14,  // The same, by primary key: code, scope, table, primary.
    index128_primary = 15,
    index256_primary = 16,
    index_double_primary = 17,
    index_long_double_primary = 18,
    transaction_id = 19,  // expiration, id: recent transactions, against duplicates.
    block_id = 20,        // height modulo 65,536 -> id (TAPOS).
    allowed = 21,         // name -> what genesis-restricted rights the account holds.
    producer = 22,        // name -> registration, votes, misses.
    member = 23,
    node = 24,
};

// A row's bytes: immutable, shared between the deltas, the cache and reading threads.
using Value = std::shared_ptr<const base::Bytes>;

struct Row {
    base::Bytes key;
    Value value;
};

// A consistent reading view of the state at one block (or in the middle of one).
//
// Thread: a finished view is immutable and may be read by any thread.
class StateView {
  public:
    virtual ~StateView() = default;

    // The row of this key; null when there is none.
    [[nodiscard]] virtual Value find(Table table, base::ByteView key) const = 0;
    // The first row of `table` whose key is at or after `key`.
    [[nodiscard]] virtual std::optional<Row> at_or_after(Table table, base::ByteView key) const = 0;
    // The last row of `table` whose key is before `key`.
    [[nodiscard]] virtual std::optional<Row> before(Table table, base::ByteView key) const = 0;
};

// Changes on top of a parent view: of one block, one transaction, or one action.
//
// Forks are other leaves of the tree of deltas; a transaction works on a delta of its own
// that is merged into its block's or dropped. Reads see the own changes first.
// Thread: one writer; immutable and shared once the block is finished.
class StateDelta final : public StateView, base::Pinned {
  public:
    // An absent value is a row erased here that may exist in the parent.
    using Changes = std::map<base::Bytes, Value, base::BytesLess>;

    // `parent` outlives this delta. From another StateDelta write StateDelta::on(parent), since
    // StateDelta(parent) would name the copy constructor, which does not exist.
    explicit StateDelta(const StateView& parent);
    // Shares the ownership of an immutable parent (a block on its parent block).
    explicit StateDelta(std::shared_ptr<const StateView> parent);
    ~StateDelta() override;
    [[nodiscard]] static StateDelta on(const StateView& parent) { return StateDelta(parent); }

    void put(Table table, base::ByteView key, base::Bytes value);
    void erase(Table table, base::ByteView key);

    [[nodiscard]] Value find(Table table, base::ByteView key) const override;
    [[nodiscard]] std::optional<Row> at_or_after(Table table, base::ByteView key) const override;
    [[nodiscard]] std::optional<Row> before(Table table, base::ByteView key) const override;

    // Moves every change of `child`, whose parent is this, into this. `child` is empty after.
    void merge(StateDelta& child);
    void clear();

    [[nodiscard]] const StateView& parent() const { return *parent_; }
    // The changes of one table, in key order.
    [[nodiscard]] const Changes& changes(Table table) const;
    // All tables that have changes, in order.
    [[nodiscard]] const std::map<Table, Changes>& tables() const { return tables_; }

  private:
    std::shared_ptr<const StateView> owned_parent_;
    const StateView* parent_;
    std::map<Table, Changes> tables_;
};

}  // namespace chain
