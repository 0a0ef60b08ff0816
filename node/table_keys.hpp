#pragma once

#include "base/result.hpp"
#include "chain/execution/rows.hpp"
#include "chain/types/name.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace node {

// Keys of contract tables in the texts of get_table_rows: key_type, encode_type, bounds and
// next_key (nodeos' keytype_converter, with its error texts).

// A 64-bit key: a number, else a name, else a symbol or its code.
// chain_type_exception: none of them; the text names `field`.
[[nodiscard]] base::Result<std::uint64_t> parse_key64(const std::string& text,
                                                      std::string_view field);

// One of an index's key types, with what its texts look like.
enum class KeyKind : std::uint8_t {
    name,
    i64,
    i128,
    i256,
    float64,
    float128,
    sha256,
    ripemd160,
};

// contract_table_query_exception: no such type, or none given.
[[nodiscard]] base::Result<KeyKind> parse_key_kind(const std::string& key_type);

// The tables of an index and how long its keys are.
struct IndexTable {
    chain::Table table;
    std::size_t key_bytes;
};
[[nodiscard]] IndexTable index_table(KeyKind kind);

// A bound as the ordered part of an index row's key: 8, 16 or 32 bytes. `is_hex`: encode_type.
[[nodiscard]] base::Result<base::Bytes> parse_bound(KeyKind kind,
                                                    bool is_hex,
                                                    const std::string& text,
                                                    std::string_view field);
// The text of a key as stored in an index row's value, for next_key.
[[nodiscard]] std::string key_text(KeyKind kind, bool is_hex, base::ByteView stored);

// Decimal digits of a 128-bit number.
[[nodiscard]] std::string to_decimal(chain::Uint128 value);

}  // namespace node
