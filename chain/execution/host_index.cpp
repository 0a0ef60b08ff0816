#include "base/check.hpp"
#include "chain/execution/host_database.hpp"
#include "chain/execution/host_float128.hpp"
#include "chain/execution/host_groups.hpp"

#include <cstring>

namespace chain::host {

namespace {

using Row = IteratorCache::Row;

// A kind of secondary index. `Key` is the secondary key in the contract's memory, `append`
// writes it in the order of the index, `allowed` refuses what has no order.
struct Index64 {
    using Key = uint64_t;
    static constexpr auto kKind = HostDatabase::Kind::index64;
    static constexpr Table kTable = Table::index64;
    static constexpr Table kPrimaryTable = Table::index64_primary;
    static constexpr std::int64_t kRam = ram::kIndex64;
    static RowKey& append(RowKey& key, Key secondary) { return key.u64(secondary); }
    static bool allowed(Key) { return true; }
};

struct Index128 {
    using Key = Uint128;
    static constexpr auto kKind = HostDatabase::Kind::index128;
    static constexpr Table kTable = Table::index128;
    static constexpr Table kPrimaryTable = Table::index128_primary;
    static constexpr std::int64_t kRam = ram::kIndex128;
    static RowKey& append(RowKey& key, Key secondary) { return key.u128(secondary); }
    static bool allowed(Key) { return true; }
};

struct Index256 {
    using Key = Key256;
    static constexpr auto kKind = HostDatabase::Kind::index256;
    static constexpr Table kTable = Table::index256;
    static constexpr Table kPrimaryTable = Table::index256_primary;
    static constexpr std::int64_t kRam = ram::kIndex256;
    static RowKey& append(RowKey& key, const Key& secondary) {
        return key.u128(secondary[0]).u128(secondary[1]);
    }
    static bool allowed(const Key&) { return true; }
};

struct IndexDouble {
    using Key = uint64_t;  // Bits.
    static constexpr auto kKind = HostDatabase::Kind::binary64;
    static constexpr Table kTable = Table::index_double;
    static constexpr Table kPrimaryTable = Table::index_double_primary;
    static constexpr std::int64_t kRam = ram::kIndexDouble;
    static RowKey& append(RowKey& key, Key bits) { return key.u64(ordered_double(bits)); }
    static bool allowed(Key bits) { return !is_nan64(bits); }
};

struct IndexLongDouble {
    using Key = Float128;
    static constexpr auto kKind = HostDatabase::Kind::binary128;
    static constexpr Table kTable = Table::index_long_double;
    static constexpr Table kPrimaryTable = Table::index_long_double_primary;
    static constexpr std::int64_t kRam = ram::kIndexLongDouble;
    static RowKey& append(RowKey& key, Key bits) {
        return key.u128(ordered_long_double(join(bits.low, bits.high)));
    }
    static bool allowed(Key bits) { return !is_nan(bits); }
};

// How a secondary key is passed: by reference, but 256 bits as an array of two numbers.
template <class Key>
struct Passing {
    using Given = In<Key>;
    using Changed = Out<Key>;
    static Result<Key> get(const Given& in) { return in.value; }
    static Result<Key> get(const Changed& in) { return in.get(); }
    static void set(const Changed& out, const Key& key) { out.set(key); }
};

template <>
struct Passing<Key256> {
    using Given = InputItems<sizeof(Uint128)>;
    using Changed = OutputItems<sizeof(Uint128)>;

    static Result<Key256> from_bytes(base::ByteView bytes) {
        constexpr std::size_t kItems = 2;
        const std::size_t items = bytes.size() / sizeof(Uint128);
        if (items != kItems) {
            return fail(Exception::db_api_exception,
                        "invalid size of secondary key array for idx256: given " +
                            std::to_string(items) + " bytes but expected " +
                            std::to_string(kItems) + " bytes");
        }
        Key256 key;
        std::memcpy(key.data(), bytes.data(), bytes.size());
        return key;
    }
    static Result<Key256> get(const Given& in) { return from_bytes(in.bytes); }
    static Result<Key256> get(const Changed& in) { return from_bytes(in.bytes); }
    static void set(const Changed& out, const Key256& key) {
        std::memcpy(out.bytes.data(), key.data(), sizeof(key));
    }
};

// Rows of one kind of index as host functions see them.
template <class Index>
struct Secondary : HostRows {
    using Key = typename Index::Key;

    explicit Secondary(ApplyContext& apply_context)
        : HostRows{apply_context, Index::kKind, Index::kPrimaryTable} {}

    [[nodiscard]] static RowKey key_of(const TableId& table, const Key& secondary) {
        RowKey key = table_key(table);
        Index::append(key, secondary);
        return key;
    }
    [[nodiscard]] static RowKey key_of(const TableId& table, const Key& secondary, uint64_t id) {
        return key_of(table, secondary).u64(id);
    }
    // After every row of this secondary key.
    [[nodiscard]] static RowKey key_after(const TableId& table, const Key& secondary) {
        return key_of(table, secondary, ~uint64_t{0}).u16(0);
    }
    // The secondary key as it was given, out of a row's value.
    [[nodiscard]] static Key secondary_of(const base::Bytes& value) {
        const base::ByteView bytes = row_value(value);
        CHECK(bytes.size() == sizeof(Key));
        Key key;
        std::memcpy(&key, bytes.data(), sizeof(Key));
        return key;
    }
    [[nodiscard]] static base::Bytes encode(Name payer, const Key& secondary) {
        return encode_row(payer, std::as_bytes(std::span(&secondary, 1)));
    }
};

Result<void> not_a_number() {
    return fail(Exception::transaction_exception,
                "NaN is not an allowed value for a secondary key");
}

// The host functions of one index.
template <class Index>
struct IndexFunctions {
    using Key = typename Index::Key;
    using Pass = Passing<Key>;
    using Given = typename Pass::Given;
    using Changed = typename Pass::Changed;
    using Rows = Secondary<Index>;

    template <class Passed>
    static Result<Key> read_key(const Passed& passed) {
        Result<Key> key = Pass::get(passed);
        if (key && !Index::allowed(*key)) return base::fail(not_a_number().error());
        return key;
    }

    // NOLINTNEXTLINE(readability-function-size): the parameters of the intrinsic.
    static Result<int32_t> store(const Call& call,
                                 uint64_t scope,
                                 uint64_t table,
                                 uint64_t payer,
                                 uint64_t id,
                                 Given given) {
        ApplyContext& context = call.context;
        const Result<Key> key = read_key(given);
        if (!key) return base::fail(key.error());
        if (auto allowed = may_store(context, Name{payer}); !allowed) {
            return base::fail(allowed.error());
        }
        const Rows rows(context);
        const TableId where{context.receiver(), Name{scope}, Name{table}};
        base::Bytes value = Rows::encode(Name{payer}, *key);
        auto added = rows.add(where, id, Name{payer}, Index::kRam, value);
        if (added) rows.state().put(Index::kTable, Rows::key_of(where, *key, id), std::move(value));
        return added;
    }

    static Result<void> update(const Call& call,
                               int32_t iterator,
                               uint64_t new_payer,
                               Given given) {
        ApplyContext& context = call.context;
        const Result<Key> key = read_key(given);
        if (!key) return base::fail(key.error());
        const Rows rows(context);
        const Result<Row*> found = rows.get_own(iterator, "update");
        if (!found) return base::fail(found.error());
        Row& row = **found;
        const TableId& table = rows.cache.table_of(row);
        const base::Bytes& old = rows.value_of(row);
        const Name old_payer = row_payer(old);
        const Name payer = new_payer == 0 ? old_payer : Name{new_payer};
        const RamChange change{old_payer, Index::kRam, payer, Index::kRam};
        if (auto billed = bill(context, change); !billed) return billed;
        const RowKey old_key = Rows::key_of(table, Rows::secondary_of(old), row.primary);
        const RowKey new_key = Rows::key_of(table, *key, row.primary);
        if (!base::equal(old_key, new_key)) rows.state().erase(Index::kTable, old_key);
        rows.state().put(Index::kTable, new_key, Rows::encode(payer, *key));
        rows.state().put(
            Index::kPrimaryTable, row_key(table, row.primary), Rows::encode(payer, *key));
        row.value.reset();
        return {};
    }

    static Result<void> remove(const Call& call, int32_t iterator) {
        ApplyContext& context = call.context;
        const Rows rows(context);
        const Result<Row*> found = rows.get_own(iterator, "remove");
        if (!found) return base::fail(found.error());
        Row& row = **found;
        const TableId table = rows.cache.table_of(row);
        const base::Bytes& old = rows.value_of(row);
        if (!context.update_db_usage(row_payer(old), -Index::kRam)) return done(false);
        const RowKey key = Rows::key_of(table, Rows::secondary_of(old), row.primary);
        rows.state().erase(Index::kTable, key);
        rows.state().erase(Index::kPrimaryTable, row_key(table, row.primary));
        rows.cache.remove(iterator);
        return rows.database.discount_row(context, table);
    }

    // NOLINTNEXTLINE(readability-function-size): the parameters of the intrinsic.
    static Result<int32_t> find_secondary(const Call& call,
                                          uint64_t code,
                                          uint64_t scope,
                                          uint64_t table,
                                          Given given,
                                          Out<uint64_t> primary) {
        const Result<Key> key = read_key(given);
        if (!key) return base::fail(key.error());
        const Rows rows(call.context);
        const TableId where{Name{code}, Name{scope}, Name{table}};
        const int32_t end = rows.end_of(where);
        if (end == IteratorCache::kNone) return end;
        const RowKey wanted = Rows::key_of(where, *key);
        const auto row = rows.state().at_or_after(Index::kTable, wanted);
        const std::size_t size = wanted.view().size();
        if (!row || !base::equal(base::ByteView(row->key).first(size), wanted)) return end;
        const auto found = rows.add_found(where, row);
        primary.set(found->primary);
        return found->iterator;
    }

    // NOLINTNEXTLINE(readability-function-size): the parameters of the intrinsic.
    static Result<int32_t> find_primary(const Call& call,
                                        uint64_t code,
                                        uint64_t scope,
                                        uint64_t table,
                                        Changed secondary,
                                        uint64_t id) {
        // Of 256 bits the size is checked here; what the key is does not matter.
        if (auto size = Pass::get(secondary); !size) return base::fail(size.error());
        const Rows rows(call.context);
        const TableId where{Name{code}, Name{scope}, Name{table}};
        const int32_t end = rows.end_of(where);
        if (end == IteratorCache::kNone) return end;
        Value value = rows.state().find(Index::kPrimaryTable, row_key(where, id));
        if (value == nullptr) return end;
        Pass::set(secondary, Rows::secondary_of(*value));
        return rows.cache.add_row(where, id, std::move(value));
    }

    // The first row at or after `from` in the order of the index.
    static Result<int32_t> search(const Rows& rows,
                                  const TableId& where,
                                  const RowKey& from,
                                  Changed secondary,
                                  Out<uint64_t> primary) {
        const int32_t end = rows.end_of(where);
        if (end == IteratorCache::kNone) return end;
        const auto row = rows.state().at_or_after(Index::kTable, from);
        const auto found = rows.add_found(where, row);
        if (!found) return end;
        primary.set(found->primary);
        Pass::set(secondary, Rows::secondary_of(*row->value));
        return found->iterator;
    }

    // NOLINTNEXTLINE(readability-function-size): the parameters of the intrinsic.
    static Result<int32_t> lowerbound(const Call& call,
                                      uint64_t code,
                                      uint64_t scope,
                                      uint64_t table,
                                      Changed secondary,
                                      Out<uint64_t> primary) {
        const Result<Key> key = read_key(secondary);
        if (!key) return base::fail(key.error());
        const TableId where{Name{code}, Name{scope}, Name{table}};
        return search(Rows(call.context), where, Rows::key_of(where, *key), secondary, primary);
    }

    // NOLINTNEXTLINE(readability-function-size): the parameters of the intrinsic.
    static Result<int32_t> upperbound(const Call& call,
                                      uint64_t code,
                                      uint64_t scope,
                                      uint64_t table,
                                      Changed secondary,
                                      Out<uint64_t> primary) {
        const Result<Key> key = read_key(secondary);
        if (!key) return base::fail(key.error());
        const TableId where{Name{code}, Name{scope}, Name{table}};
        return search(Rows(call.context), where, Rows::key_after(where, *key), secondary, primary);
    }

    static Result<int32_t> end(const Call& call, uint64_t code, uint64_t scope, uint64_t table) {
        return Rows(call.context).end_of({Name{code}, Name{scope}, Name{table}});
    }

    // The key of the row that an iterator stands for.
    static Result<RowKey> key_at(const Rows& rows, int32_t iterator, TableId& table) {
        const Result<Row*> found = rows.cache.get(iterator);
        if (!found) return base::fail(found.error());
        Row& row = **found;
        table = rows.cache.table_of(row);
        return Rows::key_of(table, Rows::secondary_of(rows.value_of(row)), row.primary);
    }

    static Result<int32_t> next(const Call& call, int32_t iterator, Out<uint64_t> primary) {
        if (iterator < IteratorCache::kNone) return IteratorCache::kNone;
        const Rows rows(call.context);
        TableId table;
        Result<RowKey> key = key_at(rows, iterator, table);
        if (!key) return base::fail(key.error());
        const auto found =
            rows.add_found(table, rows.state().at_or_after(Index::kTable, key->u16(0)));
        if (!found) return rows.cache.add_table(table);
        primary.set(found->primary);
        return found->iterator;
    }

    static Result<int32_t> previous(const Call& call, int32_t iterator, Out<uint64_t> primary) {
        const Rows rows(call.context);
        TableId table;
        RowKey bound;
        if (iterator < IteratorCache::kNone) {
            const auto ended = rows.cache.table_of_end(iterator);
            if (!ended) return base::fail(ended.error());
            if (*ended == nullptr) return IteratorCache::kNone;
            table = **ended;
            bound = key_behind(table);
        } else {
            const Result<RowKey> key = key_at(rows, iterator, table);
            if (!key) return base::fail(key.error());
            bound = *key;
        }
        const auto found = rows.add_found(table, rows.state().before(Index::kTable, bound));
        if (!found) return IteratorCache::kNone;
        primary.set(found->primary);
        return found->iterator;
    }
};

template <class Index>
void add_index(Functions& out, const std::string& prefix) {
    using F = IndexFunctions<Index>;
    add<&F::store, Access::context_aware, Cost::index_write>(out, prefix + "store");
    add<&F::update, Access::context_aware, Cost::index_write>(out, prefix + "update");
    add<&F::remove, Access::context_aware, Cost::index_write>(out, prefix + "remove");
    add<&F::find_secondary, Access::context_aware, Cost::iterate>(out, prefix + "find_secondary");
    add<&F::find_primary, Access::context_aware, Cost::state>(out, prefix + "find_primary");
    add<&F::lowerbound, Access::context_aware, Cost::iterate>(out, prefix + "lowerbound");
    add<&F::upperbound, Access::context_aware, Cost::iterate>(out, prefix + "upperbound");
    add<&F::end, Access::context_aware, Cost::state>(out, prefix + "end");
    add<&F::next, Access::context_aware, Cost::iterate>(out, prefix + "next");
    add<&F::previous, Access::context_aware, Cost::iterate>(out, prefix + "previous");
}

}  // namespace

void add_secondary(Functions& out) {
    add_index<Index64>(out, "db_idx64_");
    add_index<Index128>(out, "db_idx128_");
    add_index<Index256>(out, "db_idx256_");
    add_index<IndexDouble>(out, "db_idx_double_");
    add_index<IndexLongDouble>(out, "db_idx_long_double_");
}

}  // namespace chain::host
