#include "chain/execution/host_database.hpp"

#include "base/check.hpp"
#include "chain/execution/host_groups.hpp"

#include <limits>

namespace chain {

HostDatabase& ApplyContext::database() {
    if (database_ == nullptr) database_ = std::make_shared<HostDatabase>();
    return *database_;
}

base::Result<HostDatabase::Table*> HostDatabase::load(ApplyContext& context, const TableId& table) {
    const auto [at, added] = tables_.try_emplace(table);
    if (added) {
        const Value stored = context.state().find(chain::Table::contract_table, table_key(table));
        if (stored != nullptr) {
            base::Result<TableRow> row = decode_table(*stored);
            if (!row) return base::fail(std::move(row).error());
            at->second = {true, *row};
        }
    }
    return &at->second;
}

bool HostDatabase::table_exists(ApplyContext& context, const TableId& table) {
    const base::Result<Table*> loaded = load(context, table);
    return loaded.has_value() && (*loaded)->exists;
}

base::Result<void> HostDatabase::count_row(ApplyContext& context,
                                           const TableId& table,
                                           Name payer) {
    const base::Result<Table*> loaded = load(context, table);
    if (!loaded) return base::fail(loaded.error());
    Table& known = **loaded;
    if (!known.exists) {
        if (!context.update_db_usage(payer, ram::kTable)) return host::done(false);
        known = {true, {payer, 0}};
    }
    ++known.row.rows;
    context.state().put(chain::Table::contract_table, table_key(table), encode_table(known.row));
    return {};
}

base::Result<void> HostDatabase::discount_row(ApplyContext& context, const TableId& table) {
    const base::Result<Table*> loaded = load(context, table);
    if (!loaded) return base::fail(loaded.error());
    Table& known = **loaded;
    CHECK(known.exists && known.row.rows > 0);
    --known.row.rows;
    if (known.row.rows > 0) {
        context.state().put(
            chain::Table::contract_table, table_key(table), encode_table(known.row));
        return {};
    }
    known.exists = false;
    context.state().erase(chain::Table::contract_table, table_key(table));
    for (host::IteratorCache& cache : iterators_) {
        cache.forget_table(table);
    }
    return host::done(context.update_db_usage(known.row.payer, -ram::kTable));
}

namespace host {

base::Result<void> may_write(const ApplyContext& context, std::string_view verb) {
    if (!context.read_only()) return {};
    return fail(
        Exception::table_operation_not_permitted,
        "cannot " + std::string(verb) + " a db record when executing a readonly transaction");
}

base::Result<void> may_change(const ApplyContext& context, const TableId& table) {
    if (table.code == context.receiver()) return {};
    return fail(Exception::table_access_violation, "db access violation");
}

base::Error not_unique() {
    return make_error(Exception::std_exception,
                      "rethrow could not insert object, most likely a uniqueness constraint was "
                      "violated: ");
}

base::Result<void> bill(ApplyContext& context, const RamChange& change) {
    if (change.old_payer != change.payer) {
        return done(context.update_db_usage(change.old_payer, -change.old_bytes) &&
                    context.update_db_usage(change.payer, change.bytes));
    }
    if (change.old_bytes == change.bytes) return {};
    return done(context.update_db_usage(change.payer, change.bytes - change.old_bytes));
}

namespace {

using base::Result;
using std::int32_t;
using std::uint64_t;
using Row = IteratorCache::Row;

constexpr std::size_t kRowBytesMax = 1024 * 1024;  // Spec 03, "Limits stated".

// For the bytes of a row, which are known once it is found.
Result<void> pay_for_bytes(const Call& call, Cost cost, std::size_t bytes) {
    const Price& price = call.price(cost);
    return call.charge(price.of(bytes) - price.base);
}

// Passes on an iterator, when the bytes of the row that was found for it are paid.
Result<int32_t> paid_iterator(const Call& call,
                              const std::optional<chain::Row>& found,
                              int32_t iterator) {
    if (!found) return iterator;
    if (auto paid = pay_for_bytes(call, Cost::iterate, found->value->size()); !paid) {
        return base::fail(paid.error());
    }
    return iterator;
}

// The primary tables as host functions see them.
struct Primary {
    ApplyContext& context;
    HostDatabase& database = context.database();
    IteratorCache& cache = database.iterators(HostDatabase::Kind::primary);

    [[nodiscard]] StateDelta& state() const { return context.state(); }

    [[nodiscard]] const base::Bytes& value_of(Row& row) const {
        if (row.value == nullptr) {
            row.value =
                state().find(Table::contract_row, row_key(cache.table_of(row), row.primary));
            CHECK(row.value != nullptr);
        }
        return *row.value;
    }

    // The iterator of a row found in order, if it belongs to `table`.
    [[nodiscard]] std::optional<int32_t> add_found(const TableId& table,
                                                   const std::optional<chain::Row>& found) const {
        if (!found) return std::nullopt;
        const RowKey prefix = table_key(table);
        const base::ByteView key = found->key;
        if (!base::equal(key.first(prefix.view().size()), prefix)) return std::nullopt;
        return cache.add_row(table, key_u64(key, prefix.view().size()), found->value);
    }

    // First row at or after `primary`, or the end.
    [[nodiscard]] Result<int32_t> search(const Call& call,
                                         const TableId& table,
                                         uint64_t primary) const {
        if (!database.table_exists(context, table)) return IteratorCache::kNone;
        const int32_t end = cache.add_table(table);
        const auto found = state().at_or_after(Table::contract_row, row_key(table, primary));
        return paid_iterator(call, found, add_found(table, found).value_or(end));
    }
};

struct TableArgs {
    uint64_t code;
    uint64_t scope;
    uint64_t table;

    [[nodiscard]] TableId id() const { return {Name{code}, Name{scope}, Name{table}}; }
};

Result<void> check_row_size(base::ByteView value) {
    if (value.size() <= kRowBytesMax) return {};
    return fail(Exception::db_api_exception,
                "a table row of " + std::to_string(value.size()) + " bytes exceeds the limit of " +
                    std::to_string(kRowBytesMax) + " bytes");
}

int64_t row_bytes(base::ByteView value) {
    return static_cast<int64_t>(value.size()) + ram::kRow;
}

// NOLINTNEXTLINE(readability-function-size): the parameters of the intrinsic.
Result<int32_t> store(
    const Call& call, uint64_t scope, uint64_t table, uint64_t payer, uint64_t id, Input value) {
    ApplyContext& context = call.context;
    if (auto allowed = may_write(context, "store"); !allowed) return base::fail(allowed.error());
    if (payer == 0) {
        return fail(Exception::invalid_table_payer,
                    "must specify a valid account to pay for new record");
    }
    if (auto fits = check_row_size(value.bytes); !fits) return base::fail(fits.error());
    const Primary primary{context};
    const TableId where{context.receiver(), Name{scope}, Name{table}};
    const RowKey key = row_key(where, id);
    if (context.state().find(Table::contract_row, key) != nullptr) return base::fail(not_unique());
    if (auto counted = primary.database.count_row(context, where, Name{payer}); !counted) {
        return base::fail(counted.error());
    }
    if (!context.update_db_usage(Name{payer}, row_bytes(value.bytes))) {
        return base::fail(done(false).error());
    }
    context.state().put(Table::contract_row, key, encode_row(Name{payer}, value.bytes));
    primary.cache.add_table(where);
    return primary.cache.add_row(where, id, nullptr);
}

Result<void> update(const Call& call, int32_t iterator, uint64_t new_payer, Input value) {
    ApplyContext& context = call.context;
    if (auto allowed = may_write(context, "update"); !allowed) return allowed;
    const Primary primary{context};
    const Result<Row*> found = primary.cache.get(iterator);
    if (!found) return base::fail(found.error());
    Row& row = **found;
    const TableId& table = primary.cache.table_of(row);
    if (auto allowed = may_change(context, table); !allowed) return allowed;
    if (auto fits = check_row_size(value.bytes); !fits) return fits;
    const base::Bytes& old = primary.value_of(row);
    const Name old_payer = row_payer(old);
    const Name payer = new_payer == 0 ? old_payer : Name{new_payer};
    const RamChange change{old_payer, row_bytes(row_value(old)), payer, row_bytes(value.bytes)};
    if (auto paid = pay_for_bytes(call, Cost::row_write, old.size()); !paid) return paid;
    if (auto billed = bill(context, change); !billed) return billed;
    context.state().put(
        Table::contract_row, row_key(table, row.primary), encode_row(payer, value.bytes));
    row.value.reset();
    return {};
}

Result<void> remove(const Call& call, int32_t iterator) {
    ApplyContext& context = call.context;
    if (auto allowed = may_write(context, "remove"); !allowed) return allowed;
    const Primary primary{context};
    const Result<Row*> found = primary.cache.get(iterator);
    if (!found) return base::fail(found.error());
    Row& row = **found;
    const TableId table = primary.cache.table_of(row);
    if (auto allowed = may_change(context, table); !allowed) return allowed;
    const base::Bytes& old = primary.value_of(row);
    if (auto paid = pay_for_bytes(call, Cost::row_write, old.size()); !paid) return paid;
    if (!context.update_db_usage(row_payer(old), -row_bytes(row_value(old)))) return done(false);
    context.state().erase(Table::contract_row, row_key(table, row.primary));
    primary.cache.remove(iterator);
    return primary.database.discount_row(context, table);
}

Result<int32_t> get(const Call& call, int32_t iterator, Output out) {
    const Primary primary{call.context};
    const Result<Row*> found = primary.cache.get(iterator);
    if (!found) return base::fail(found.error());
    return copy_out(row_value(primary.value_of(**found)), out);
}

Result<int32_t> next(const Call& call, int32_t iterator, Out<uint64_t> out) {
    if (iterator < IteratorCache::kNone) return IteratorCache::kNone;
    const Primary primary{call.context};
    const Result<Row*> found = primary.cache.get(iterator);
    if (!found) return base::fail(found.error());
    const Row row = **found;
    const TableId table = primary.cache.table_of(row);
    const int32_t end = primary.cache.add_table(table);
    if (row.primary == std::numeric_limits<uint64_t>::max()) return end;
    const auto after =
        primary.state().at_or_after(Table::contract_row, row_key(table, row.primary + 1));
    const auto result = primary.add_found(table, after);
    if (!result) return end;
    out.set(key_u64(after->key, after->key.size() - sizeof(uint64_t)));
    return paid_iterator(call, after, *result);
}

Result<int32_t> previous(const Call& call, int32_t iterator, Out<uint64_t> out) {
    const Primary primary{call.context};
    std::optional<TableId> table;
    RowKey bound;
    if (iterator < IteratorCache::kNone) {
        const auto ended = primary.cache.table_of_end(iterator);
        if (!ended) return base::fail(ended.error());
        if (*ended == nullptr) return IteratorCache::kNone;
        table = **ended;
        // After the last possible row.
        bound = row_key(*table, std::numeric_limits<uint64_t>::max()).raw(base::as_bytes("\xFF"));
    } else {
        const Result<Row*> found = primary.cache.get(iterator);
        if (!found) return base::fail(found.error());
        table = primary.cache.table_of(**found);
        bound = row_key(*table, (*found)->primary);
    }
    const auto before = primary.state().before(Table::contract_row, bound);
    const auto result = primary.add_found(*table, before);
    if (!result) return IteratorCache::kNone;
    out.set(key_u64(before->key, before->key.size() - sizeof(uint64_t)));
    return paid_iterator(call, before, *result);
}

Result<int32_t> find(const Call& call, uint64_t code, uint64_t scope, uint64_t table, uint64_t id) {
    const Primary primary{call.context};
    const TableId where = TableArgs{code, scope, table}.id();
    Value value = primary.state().find(Table::contract_row, row_key(where, id));
    // A row is proof of its table, which then need not be read.
    if (value == nullptr && !primary.database.table_exists(call.context, where)) {
        return IteratorCache::kNone;
    }
    const int32_t end = primary.cache.add_table(where);
    if (value != nullptr) {
        if (auto paid = pay_for_bytes(call, Cost::state, value->size()); !paid) {
            return base::fail(paid.error());
        }
    }
    return value == nullptr ? end : primary.cache.add_row(where, id, std::move(value));
}

Result<int32_t> lowerbound(
    const Call& call, uint64_t code, uint64_t scope, uint64_t table, uint64_t id) {
    return Primary{call.context}.search(call, TableArgs{code, scope, table}.id(), id);
}

Result<int32_t> end(const Call& call, uint64_t code, uint64_t scope, uint64_t table) {
    const Primary primary{call.context};
    const TableId where = TableArgs{code, scope, table}.id();
    if (!primary.database.table_exists(call.context, where)) return IteratorCache::kNone;
    return primary.cache.add_table(where);
}

Result<int32_t> upperbound(
    const Call& call, uint64_t code, uint64_t scope, uint64_t table, uint64_t id) {
    if (id == std::numeric_limits<uint64_t>::max()) return end(call, code, scope, table);
    return Primary{call.context}.search(call, TableArgs{code, scope, table}.id(), id + 1);
}

}  // namespace

void add_primary(Functions& out) {
    add<&store, Access::context_aware, Cost::row_write>(out, "db_store_i64");
    add<&update, Access::context_aware, Cost::row_write>(out, "db_update_i64");
    add<&remove, Access::context_aware, Cost::row_write>(out, "db_remove_i64");
    add<&get, Access::context_aware, Cost::row_read>(out, "db_get_i64");
    add<&next, Access::context_aware, Cost::iterate>(out, "db_next_i64");
    add<&previous, Access::context_aware, Cost::iterate>(out, "db_previous_i64");
    add<&find, Access::context_aware, Cost::state>(out, "db_find_i64");
    add<&lowerbound, Access::context_aware, Cost::iterate>(out, "db_lowerbound_i64");
    add<&upperbound, Access::context_aware, Cost::iterate>(out, "db_upperbound_i64");
    add<&end, Access::context_aware, Cost::state>(out, "db_end_i64");
}

}  // namespace host

}  // namespace chain
