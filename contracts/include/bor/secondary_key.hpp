#pragma once

#include <bor/crypto.hpp>
#include <bor/name.hpp>

#include <array>

// How each type of secondary key is stored: one set of ten host functions per kind of index.

namespace bor {

template <class Key>
struct SecondaryKey;

#define BOR_SECONDARY_KEY(type, kind)                                                       \
    template <>                                                                             \
    struct SecondaryKey<type> {                                                             \
        static int32_t store(                                                               \
            uint64_t scope, uint64_t table, uint64_t payer, uint64_t id, const type& key) { \
            return host::db_##kind##_store(scope, table, payer, id, &key);                  \
        }                                                                                   \
        static void update(int32_t iterator, uint64_t payer, const type& key) {             \
            host::db_##kind##_update(iterator, payer, &key);                                \
        }                                                                                   \
        static void remove(int32_t iterator) {                                              \
            host::db_##kind##_remove(iterator);                                             \
        }                                                                                   \
        static int32_t next(int32_t iterator, uint64_t* id) {                               \
            return host::db_##kind##_next(iterator, id);                                    \
        }                                                                                   \
        static int32_t previous(int32_t iterator, uint64_t* id) {                           \
            return host::db_##kind##_previous(iterator, id);                                \
        }                                                                                   \
        static int32_t find_primary(                                                        \
            uint64_t code, uint64_t scope, uint64_t table, type& key, uint64_t id) {        \
            return host::db_##kind##_find_primary(code, scope, table, &key, id);            \
        }                                                                                   \
        static int32_t find_secondary(                                                      \
            uint64_t code, uint64_t scope, uint64_t table, const type& key, uint64_t* id) { \
            return host::db_##kind##_find_secondary(code, scope, table, &key, id);          \
        }                                                                                   \
        static int32_t lower_bound(                                                         \
            uint64_t code, uint64_t scope, uint64_t table, type& key, uint64_t* id) {       \
            return host::db_##kind##_lowerbound(code, scope, table, &key, id);              \
        }                                                                                   \
        static int32_t upper_bound(                                                         \
            uint64_t code, uint64_t scope, uint64_t table, type& key, uint64_t* id) {       \
            return host::db_##kind##_upperbound(code, scope, table, &key, id);              \
        }                                                                                   \
        static int32_t end(uint64_t code, uint64_t scope, uint64_t table) {                 \
            return host::db_##kind##_end(code, scope, table);                               \
        }                                                                                   \
        static type lowest();                                                               \
    };

BOR_SECONDARY_KEY(uint64_t, idx64)
BOR_SECONDARY_KEY(uint128_t, idx128)
BOR_SECONDARY_KEY(double, idx_double)
BOR_SECONDARY_KEY(long double, idx_long_double)
#undef BOR_SECONDARY_KEY

inline uint64_t SecondaryKey<uint64_t>::lowest() {
    return 0;
}
inline uint128_t SecondaryKey<uint128_t>::lowest() {
    return 0;
}
inline double SecondaryKey<double>::lowest() {
    return -__builtin_huge_val();
}
inline long double SecondaryKey<long double>::lowest() {
    return -__builtin_huge_vall();
}

// A 256-bit key is two words of 128 bits, the bytes of the digest being big-endian.
template <>
struct SecondaryKey<Checksum256> {
    using Words = std::array<uint128_t, 2>;

    static Words to_words(const Checksum256& key) {
        Words words{};
        for (std::size_t i = 0; i < 32; ++i)
            words[i / 16] = words[i / 16] << 8 | key.bytes[i];
        return words;
    }
    static void from_words(const Words& words, Checksum256& key) {
        for (std::size_t i = 0; i < 32; ++i) {
            key.bytes[i] = static_cast<uint8_t>(words[i / 16] >> (120 - 8 * (i % 16)));
        }
    }
    static int32_t store(
        uint64_t scope, uint64_t table, uint64_t payer, uint64_t id, const Checksum256& key) {
        const Words words = to_words(key);
        return host::db_idx256_store(scope, table, payer, id, words.data(), 2);
    }
    static void update(int32_t iterator, uint64_t payer, const Checksum256& key) {
        const Words words = to_words(key);
        host::db_idx256_update(iterator, payer, words.data(), 2);
    }
    static void remove(int32_t iterator) { host::db_idx256_remove(iterator); }
    static int32_t next(int32_t iterator, uint64_t* id) {
        return host::db_idx256_next(iterator, id);
    }
    static int32_t previous(int32_t iterator, uint64_t* id) {
        return host::db_idx256_previous(iterator, id);
    }
    static int32_t find_primary(
        uint64_t code, uint64_t scope, uint64_t table, Checksum256& key, uint64_t id) {
        Words words{};
        const int32_t found = host::db_idx256_find_primary(code, scope, table, words.data(), 2, id);
        if (found >= 0) from_words(words, key);
        return found;
    }
    static int32_t find_secondary(
        uint64_t code, uint64_t scope, uint64_t table, const Checksum256& key, uint64_t* id) {
        const Words words = to_words(key);
        return host::db_idx256_find_secondary(code, scope, table, words.data(), 2, id);
    }
    static int32_t lower_bound(
        uint64_t code, uint64_t scope, uint64_t table, Checksum256& key, uint64_t* id) {
        Words words = to_words(key);
        const int32_t found = host::db_idx256_lowerbound(code, scope, table, words.data(), 2, id);
        if (found >= 0) from_words(words, key);
        return found;
    }
    static int32_t upper_bound(
        uint64_t code, uint64_t scope, uint64_t table, Checksum256& key, uint64_t* id) {
        Words words = to_words(key);
        const int32_t found = host::db_idx256_upperbound(code, scope, table, words.data(), 2, id);
        if (found >= 0) from_words(words, key);
        return found;
    }
    static int32_t end(uint64_t code, uint64_t scope, uint64_t table) {
        return host::db_idx256_end(code, scope, table);
    }
    static Checksum256 lowest() { return {}; }
};

}  // namespace bor
