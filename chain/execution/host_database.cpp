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

namespace {

// `verb` is store, update or remove.
base::Result<void> may_write(const ApplyContext& context, std::string_view verb) {
    if (!context.read_only()) return {};
    return fail(
        Exception::table_operation_not_permitted,
        "cannot " + std::string(verb) + " a db record when executing a readonly transaction");
}

}  // namespace

base::Result<void> may_store(const ApplyContext& context, Name payer) {
    if (auto allowed = may_write(context, "store"); !allowed) return allowed;
    if (!payer.empty()) return {};
    return fail(Exception::invalid_table_payer,
                "must specify a valid account to pay for new record");
}

RowKey key_behind(const TableId& table) {
    // Longer than any key, and all ones.
    std::array<std::byte, sizeof(Key256) + sizeof(std::uint64_t) + 1> ones{};
    ones.fill(std::byte{0xFF});
    return table_key(table).raw(ones);
}

const base::Bytes& HostRows::value_of(IteratorCache::Row& row) const {
    if (row.value == nullptr) {
        row.value = state().find(table, row_key(cache.table_of(row), row.primary));
        CHECK(row.value != nullptr);
    }
    return *row.value;
}

std::int32_t HostRows::end_of(const TableId& where) const {
    if (!database.table_exists(context, where)) return IteratorCache::kNone;
    return cache.add_table(where);
}

std::optional<HostRows::Found> HostRows::add_found(const TableId& where,
                                                   const std::optional<chain::Row>& row) const {
    if (!row) return std::nullopt;
    const RowKey prefix = table_key(where);
    const base::ByteView key = row->key;
    if (!base::equal(key.first(prefix.view().size()), prefix)) return std::nullopt;
    const std::uint64_t primary = key_u64(key, key.size() - sizeof(std::uint64_t));
    return Found{cache.add_row(where, primary, row->value), primary};
}

base::Result<std::int32_t> HostRows::add(const TableId& where,
                                         std::uint64_t primary,
                                         Name payer,
                                         std::int64_t bytes,
                                         base::Bytes value) const {
    const RowKey key = row_key(where, primary);
    if (state().find(table, key) != nullptr) {
        return fail(Exception::std_exception,
                    "rethrow could not insert object, most likely a uniqueness constraint was "
                    "violated: ");
    }
    if (auto counted = database.count_row(context, where, payer); !counted) {
        return base::fail(counted.error());
    }
    if (!context.update_db_usage(payer, bytes)) return base::fail(done(false).error());
    state().put(table, key, std::move(value));
    cache.add_table(where);
    return cache.add_row(where, primary, nullptr);
}

base::Result<IteratorCache::Row*> HostRows::get_own(std::int32_t iterator,
                                                    std::string_view verb) const {
    if (auto allowed = may_write(context, verb); !allowed) return base::fail(allowed.error());
    auto row = cache.get(iterator);
    if (!row || cache.table_of(**row).code == context.receiver()) return row;
    return fail(Exception::table_access_violation, "db access violation");
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

HostRows primary_rows(const Call& call) {
    return {call.context};
}

// First row at or after `primary`, or the end.
Result<int32_t> search(const Call& call, const TableId& where, uint64_t primary) {
    const HostRows rows = primary_rows(call);
    const int32_t end = rows.end_of(where);
    if (end == IteratorCache::kNone) return end;
    const auto row = rows.state().at_or_after(rows.table, row_key(where, primary));
    const auto found = rows.add_found(where, row);
    return paid_iterator(call, row, found ? found->iterator : end);
}

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
    if (auto allowed = may_store(call.context, Name{payer}); !allowed) {
        return base::fail(allowed.error());
    }
    if (auto fits = check_row_size(value.bytes); !fits) return base::fail(fits.error());
    const TableId where{call.context.receiver(), Name{scope}, Name{table}};
    return primary_rows(call).add(
        where, id, Name{payer}, row_bytes(value.bytes), encode_row(Name{payer}, value.bytes));
}

Result<void> update(const Call& call, int32_t iterator, uint64_t new_payer, Input value) {
    const HostRows rows = primary_rows(call);
    const Result<Row*> found = rows.get_own(iterator, "update");
    if (!found) return base::fail(found.error());
    Row& row = **found;
    if (auto fits = check_row_size(value.bytes); !fits) return fits;
    const base::Bytes& old = rows.value_of(row);
    const Name old_payer = row_payer(old);
    const Name payer = new_payer == 0 ? old_payer : Name{new_payer};
    const RamChange change{old_payer, row_bytes(row_value(old)), payer, row_bytes(value.bytes)};
    if (auto paid = pay_for_bytes(call, Cost::row_write, old.size()); !paid) return paid;
    if (auto billed = bill(call.context, change); !billed) return billed;
    const RowKey key = row_key(rows.cache.table_of(row), row.primary);
    rows.state().put(rows.table, key, encode_row(payer, value.bytes));
    row.value.reset();
    return {};
}

Result<void> remove(const Call& call, int32_t iterator) {
    const HostRows rows = primary_rows(call);
    const Result<Row*> found = rows.get_own(iterator, "remove");
    if (!found) return base::fail(found.error());
    Row& row = **found;
    const TableId table = rows.cache.table_of(row);
    const base::Bytes& old = rows.value_of(row);
    if (auto paid = pay_for_bytes(call, Cost::row_write, old.size()); !paid) return paid;
    if (!call.context.update_db_usage(row_payer(old), -row_bytes(row_value(old)))) {
        return done(false);
    }
    rows.state().erase(rows.table, row_key(table, row.primary));
    rows.cache.remove(iterator);
    return rows.database.discount_row(call.context, table);
}

Result<int32_t> get(const Call& call, int32_t iterator, Output out) {
    const HostRows rows = primary_rows(call);
    const Result<Row*> found = rows.cache.get(iterator);
    if (!found) return base::fail(found.error());
    return copy_out(row_value(rows.value_of(**found)), out);
}

Result<int32_t> next(const Call& call, int32_t iterator, Out<uint64_t> out) {
    if (iterator < IteratorCache::kNone) return IteratorCache::kNone;
    const HostRows rows = primary_rows(call);
    const Result<Row*> at = rows.cache.get(iterator);
    if (!at) return base::fail(at.error());
    const uint64_t primary = (*at)->primary;
    const TableId table = rows.cache.table_of(**at);
    const int32_t end = rows.cache.add_table(table);
    if (primary == std::numeric_limits<uint64_t>::max()) return end;
    const auto row = rows.state().at_or_after(rows.table, row_key(table, primary + 1));
    const auto found = rows.add_found(table, row);
    if (!found) return end;
    out.set(found->primary);
    return paid_iterator(call, row, found->iterator);
}

Result<int32_t> previous(const Call& call, int32_t iterator, Out<uint64_t> out) {
    const HostRows rows = primary_rows(call);
    TableId table;
    RowKey bound;
    if (iterator < IteratorCache::kNone) {
        const auto ended = rows.cache.table_of_end(iterator);
        if (!ended) return base::fail(ended.error());
        if (*ended == nullptr) return IteratorCache::kNone;
        table = **ended;
        bound = key_behind(table);
    } else {
        const Result<Row*> at = rows.cache.get(iterator);
        if (!at) return base::fail(at.error());
        table = rows.cache.table_of(**at);
        bound = row_key(table, (*at)->primary);
    }
    const auto row = rows.state().before(rows.table, bound);
    const auto found = rows.add_found(table, row);
    if (!found) return IteratorCache::kNone;
    out.set(found->primary);
    return paid_iterator(call, row, found->iterator);
}

Result<int32_t> find(const Call& call, uint64_t code, uint64_t scope, uint64_t table, uint64_t id) {
    const HostRows rows = primary_rows(call);
    const TableId where{Name{code}, Name{scope}, Name{table}};
    Value value = rows.state().find(rows.table, row_key(where, id));
    if (value == nullptr) return rows.end_of(where);
    // A row is proof of its table, which then need not be read.
    rows.cache.add_table(where);
    if (auto paid = pay_for_bytes(call, Cost::state, value->size()); !paid) {
        return base::fail(paid.error());
    }
    return rows.cache.add_row(where, id, std::move(value));
}

Result<int32_t> lowerbound(
    const Call& call, uint64_t code, uint64_t scope, uint64_t table, uint64_t id) {
    return search(call, {Name{code}, Name{scope}, Name{table}}, id);
}

Result<int32_t> end(const Call& call, uint64_t code, uint64_t scope, uint64_t table) {
    return primary_rows(call).end_of({Name{code}, Name{scope}, Name{table}});
}

Result<int32_t> upperbound(
    const Call& call, uint64_t code, uint64_t scope, uint64_t table, uint64_t id) {
    if (id == std::numeric_limits<uint64_t>::max()) return end(call, code, scope, table);
    return search(call, {Name{code}, Name{scope}, Name{table}}, id + 1);
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
