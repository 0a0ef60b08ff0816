#pragma once

#include <bor/bor.hpp>

// Scripts over the database's host functions. They print every iterator and key that they are
// given, and leave no row behind.

namespace database {

using bor::Name;
using bor::print;
using bor::operator""_n;

constexpr uint64_t kTable = "rows"_n.value;
constexpr uint64_t kScope = "scope"_n.value;

// Reads the whole row at `iterator`.
inline bor::Bytes row_at(int32_t iterator) {
    bor::Bytes data(static_cast<std::size_t>(bor::host::db_get_i64(iterator, nullptr, 0)));
    bor::host::db_get_i64(iterator, data.data(), data.size());
    return data;
}

inline void primary(uint64_t self) {
    using namespace bor::host;  // NOLINT(google-build-using-namespace): what is tested.
    print("none: ", db_find_i64(self, kScope, kTable, 20));
    print(" ", db_lowerbound_i64(self, kScope, kTable, 0));
    print(" ", db_end_i64(self, kScope, kTable), "\n");
    const int32_t first = db_store_i64(kScope, kTable, self, 10, "ten", 3);
    const int32_t second = db_store_i64(kScope, kTable, self, 20, "twenty", 6);
    const int32_t third = db_store_i64(kScope, kTable, self, 30, "", 0);
    print("store: ", first, " ", second, " ", third, "\n");
    print("find: ", db_find_i64(self, kScope, kTable, 20));
    print(" ", db_find_i64(self, kScope, kTable, 99), "\n");
    print("lowerbound: ", db_lowerbound_i64(self, kScope, kTable, 15));
    print(" ", db_lowerbound_i64(self, kScope, kTable, 20));
    print(" ", db_lowerbound_i64(self, kScope, kTable, 31), "\n");
    print("upperbound: ", db_upperbound_i64(self, kScope, kTable, 15));
    print(" ", db_upperbound_i64(self, kScope, kTable, 20));
    print(" ", db_upperbound_i64(self, kScope, kTable, 30), "\n");
    uint64_t id = 77;
    print("next: ", db_next_i64(first, &id), "=", id);
    print(" ", db_next_i64(third, &id), "=", id);
    print(" ", db_next_i64(db_end_i64(self, kScope, kTable), &id), "=", id, "\n");
    print("previous: ", db_previous_i64(db_end_i64(self, kScope, kTable), &id), "=", id);
    print(" ", db_previous_i64(second, &id), "=", id);
    print(" ", db_previous_i64(first, &id), "=", id, "\n");
    char part[4] = "...";
    print("get: ", db_get_i64(second, part, 2), " ", static_cast<const char*>(part));
    print(" ", row_at(third).size(), "\n");
    db_update_i64(second, 0, "2", 1);
    print("update: ", row_at(second), "\n");
    db_remove_i64(first);
    print("remove: ", db_lowerbound_i64(self, kScope, kTable, 0), "\n");
    db_remove_i64(second);
    db_remove_i64(third);
    print("empty: ", db_find_i64(self, kScope, kTable, 20));
    print(" ", db_end_i64(self, kScope, kTable), "\n");
}

// Three keys, the smallest first; `between` is greater than the first and less than the second.
template <class Key>
struct Keys {
    Key low, between, middle, high;
};

template <class Key>
void secondary(uint64_t self, const Keys<Key>& keys) {
    using Access = bor::SecondaryKey<Key>;
    Key key = keys.middle;
    uint64_t id = 77;
    print("none: ", Access::find_secondary(self, kScope, kTable, keys.low, &id));
    print(" ", Access::lower_bound(self, kScope, kTable, key, &id));
    print(" ", Access::end(self, kScope, kTable), " ", id, "\n");
    const int32_t high = Access::store(kScope, kTable, self, 1, keys.high);
    const int32_t low = Access::store(kScope, kTable, self, 2, keys.low);
    const int32_t middle = Access::store(kScope, kTable, self, 3, keys.middle);
    print("store: ", high, " ", low, " ", middle, "\n");
    print("find: ", Access::find_secondary(self, kScope, kTable, keys.middle, &id), "=", id);
    print(" ", Access::find_secondary(self, kScope, kTable, keys.between, &id), "=", id, "\n");
    print("primary: ", Access::find_primary(self, kScope, kTable, key, 1));
    print(" ", key == keys.high);
    print(" ", Access::find_primary(self, kScope, kTable, key, 9), " ", key == keys.high, "\n");
    key = keys.between;
    print("lowerbound: ", Access::lower_bound(self, kScope, kTable, key, &id), "=", id);
    print(" ", key == keys.middle, "\n");
    print("upperbound: ", Access::upper_bound(self, kScope, kTable, key, &id), "=", id);
    print(" ", key == keys.high);
    print(" ", Access::upper_bound(self, kScope, kTable, key, &id), "=", id, "\n");
    print("next: ", Access::next(low, &id), "=", id, " ", Access::next(high, &id), "=", id, "\n");
    const int32_t end = Access::end(self, kScope, kTable);
    print("previous: ", Access::previous(end, &id), "=", id);
    print(" ", Access::previous(low, &id), "=", id, "\n");
    Access::update(low, 0, keys.high);
    print("update: ", Access::find_secondary(self, kScope, kTable, keys.high, &id), "=", id);
    print(" ", Access::next(high, &id), "=", id, "\n");
    Access::remove(high);
    Access::remove(low);
    Access::remove(middle);
    print("empty: ", Access::find_secondary(self, kScope, kTable, keys.low, &id), "\n");
}

inline bor::Checksum256 digest(uint8_t first, uint8_t last) {
    bor::Checksum256 made;
    made.bytes[0] = first;
    made.bytes[31] = last;
    return made;
}

// Runs the script for one kind of index: 0 is the primary.
inline void run(uint64_t self, uint8_t kind) {
    constexpr auto kWord = bor::uint128_t{1} << 64;
    if (kind == 0) primary(self);
    if (kind == 1) secondary<uint64_t>(self, {1, 2, 3, UINT64_MAX});
    if (kind == 2) secondary<bor::uint128_t>(self, {1, 2, kWord, kWord + 1});
    if (kind == 3) {
        secondary<bor::Checksum256>(self, {digest(0, 9), digest(1, 0), digest(1, 1), digest(2, 0)});
    }
    if (kind == 4) secondary<double>(self, {-1.5, 0.0, 0.25, 1e300});
    if (kind == 5) secondary<long double>(self, {-1.5L, 0.0L, 0.25L, 1e300L});
}

// Uses of iterators and rows that fail the transaction.
inline void fail(uint64_t self, uint8_t kind) {
    using namespace bor::host;  // NOLINT(google-build-using-namespace): what is tested.
    const int32_t row = db_store_i64(kScope, kTable, self, 1, "row", 3);
    double number = __builtin_nan("");
    uint64_t id = 0;
    switch (kind) {
        case 0:
            db_get_i64(-1, nullptr, 0);
            break;
        case 1:
            db_get_i64(db_end_i64(self, kScope, kTable), nullptr, 0);
            break;
        case 2:
            db_get_i64(row + 1, nullptr, 0);
            break;
        case 3:
            db_remove_i64(row), db_remove_i64(row);
            break;
        case 4:
            db_remove_i64(row), db_get_i64(row, nullptr, 0);
            break;
        case 5:
            db_update_i64(db_end_i64(self, kScope, kTable), self, "x", 1);
            break;
        case 6:
            db_store_i64(kScope, kTable, self, 1, "again", 5);
            break;
        case 7:
            db_store_i64(kScope, kTable, 0, 2, "no payer", 8);
            break;
        case 8:
            db_store_i64(kScope, kTable, "nobody"_n.value, 2, "x", 1);
            break;
        case 9:
            db_previous_i64(-1, &id);
            break;
        case 10:
            db_next_i64(row + 5, &id);
            break;
        case 11:
            db_idx_double_store(kScope, kTable, self, 1, &number);
            break;
        case 12:
            db_idx_double_find_secondary(self, kScope, kTable, &number, &id);
            break;
        case 13:
            db_idx256_store(kScope, kTable, self, 1, nullptr, 3);
            break;
        case 14:
            db_idx64_remove(0);
            break;
        case 15:
            db_idx64_next(-1, &id);
            break;
        default:
            bor::check(false, "no such case");
    }
    bor::check(false, "the host let it pass");
}

}  // namespace database
