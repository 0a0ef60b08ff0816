#include "node/table_keys.hpp"

#include "chain/types/asset.hpp"
#include "chain/types/exception.hpp"

#include <boost/multiprecision/cpp_int.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace node {

using chain::Exception;
using chain::Uint128;

namespace {

using Uint256 = boost::multiprecision::uint256_t;

base::Error bad_bound(std::string_view field, const std::string& text) {
    return chain::make_error(
        Exception::parse_error_exception,
        fmt::format("Could not convert {} string '{}' to key type.", field, text));
}

template <class T>
T load(base::ByteView bytes) {
    T value{};
    std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
    return value;
}

bool is_hexadecimal(std::string_view text) {
    return text.starts_with("0x") || text.starts_with("0X");
}

// Digits of `base` only, below 2^256. Nothing: something else.
std::optional<Uint256> parse_number(std::string_view text) {
    const bool hex = is_hexadecimal(text);
    if (hex) text.remove_prefix(2);
    if (text.empty() || text.size() > 78) return std::nullopt;
    boost::multiprecision::cpp_int value = 0;
    for (const char letter : text) {
        int digit = -1;
        if (letter >= '0' && letter <= '9') digit = letter - '0';
        if (hex && letter >= 'a' && letter <= 'f') digit = letter - 'a' + 10;
        if (hex && letter >= 'A' && letter <= 'F') digit = letter - 'A' + 10;
        if (digit < 0) return std::nullopt;
        value = value * (hex ? 16 : 10) + digit;
    }
    if ((value >> 256) != 0) return std::nullopt;
    return Uint256(value);
}

Uint128 low_half(const Uint256& value) {
    const auto low = static_cast<std::uint64_t>(value & 0xFFFFFFFFFFFFFFFFULL);
    const auto high = static_cast<std::uint64_t>((value >> 64) & 0xFFFFFFFFFFFFFFFFULL);
    return (static_cast<Uint128>(high) << 64U) | low;
}

std::optional<double> parse_double(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (value != value) return std::nullopt;  // NaN is no key.
    return value;
}

// The bits of an IEEE quadruple with the value of a double.
Uint128 widen(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const Uint128 sign = static_cast<Uint128>(bits >> 63U) << 127U;
    std::uint64_t exponent = (bits >> 52U) & 0x7FFU;
    std::uint64_t fraction = bits & 0xFFFFFFFFFFFFFULL;
    if (exponent == 0 && fraction == 0) return sign;
    constexpr std::uint64_t kBiasGap = 16383 - 1023;
    std::uint64_t wide = exponent + kBiasGap;
    if (exponent == 0x7FF) wide = 0x7FFF;
    if (exponent == 0) {  // Subnormal: a normal quadruple.
        const int shift = std::countl_zero(fraction) - 11;
        fraction = (fraction << static_cast<unsigned>(shift)) & 0xFFFFFFFFFFFFFULL;
        wide = kBiasGap + 1 - static_cast<std::uint64_t>(shift);
    }
    return sign | (static_cast<Uint128>(wide) << 112U) | (static_cast<Uint128>(fraction) << 60U);
}

// The double next to a quadruple, truncated.
double narrow(Uint128 bits) {
    const auto sign = static_cast<std::uint64_t>(bits >> 127U) << 63U;
    const auto exponent = static_cast<std::int64_t>((bits >> 112U) & 0x7FFFU) - 16383 + 1023;
    const auto fraction = static_cast<std::uint64_t>(bits >> 60U) & 0xFFFFFFFFFFFFFULL;
    if (exponent <= 0) return std::bit_cast<double>(sign);
    if (exponent >= 0x7FF) return std::bit_cast<double>(sign | (0x7FFULL << 52U));
    return std::bit_cast<double>(sign | (static_cast<std::uint64_t>(exponent) << 52U) | fraction);
}

base::Bytes bytes_of(const chain::RowKey& key) {
    return base::to_bytes(key.view());
}

base::Result<base::Bytes> parse_hash(std::size_t size,
                                     const std::string& text,
                                     std::string_view field) {
    auto bytes = base::from_hex(text);
    for (const char letter : text) {
        const bool is_digit = std::isxdigit(static_cast<unsigned char>(letter)) != 0;
        if (!is_digit) {
            return chain::fail(Exception::exception,
                               fmt::format("Invalid hex character '{}'", letter));
        }
    }
    if (!bytes || bytes->size() != size) return base::fail(bad_bound(field, text));
    bytes->resize(32);  // A short hash lies at the front, as contracts store it.
    return bytes;
}

base::Result<base::Bytes> parse_i256(const std::string& text, std::string_view field) {
    // 0x...: what next_key gives, in the order of the index. Decimal: a number whose low half
    // comes first, as in nodeos.
    if (is_hexadecimal(text)) return parse_hash(32, text.substr(2), field);
    const auto number = parse_number(text);
    if (!number) return base::fail(bad_bound(field, text));
    return bytes_of(chain::RowKey().u128(low_half(*number)).u128(low_half(*number >> 128)));
}

base::Result<base::Bytes> parse_float(KeyKind kind,
                                      const std::string& text,
                                      std::string_view field) {
    if (kind == KeyKind::float128 && is_hexadecimal(text)) {
        const auto bits = parse_number(text);
        if (!bits || (*bits >> 128) != 0) return base::fail(bad_bound(field, text));
        return bytes_of(chain::RowKey().u128(chain::ordered_long_double(low_half(*bits))));
    }
    const auto value = parse_double(text);
    if (!value) return chain::fail(Exception::parse_error_exception, "Couldn't parse double");
    if (kind == KeyKind::float64) {
        const auto bits = std::bit_cast<std::uint64_t>(*value);
        return bytes_of(chain::RowKey().u64(chain::ordered_double(bits)));
    }
    return bytes_of(chain::RowKey().u128(chain::ordered_long_double(widen(*value))));
}

std::string hex_of(Uint128 value) {
    const chain::RowKey key = chain::RowKey().u128(value);
    return base::to_hex(key.view());
}

}  // namespace

base::Result<std::uint64_t> parse_key64(const std::string& text, std::string_view field) {
    std::string_view digits = text;
    while (!digits.empty() && digits.front() == ' ')
        digits.remove_prefix(1);
    while (!digits.empty() && digits.back() == ' ')
        digits.remove_suffix(1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
    if (is_number && !digits.empty()) return number;
    if (auto name = chain::Name::from_string(digits)) return name->value;
    if (digits.find(',') != std::string_view::npos) {
        if (auto symbol = chain::Symbol::from_string(digits)) return symbol->value;
    }
    if (auto code = chain::SymbolCode::from_string(digits)) return code->value;
    return chain::fail(
        Exception::chain_type_exception,
        fmt::format("Could not convert {} string '{}' to any of the following: uint64_t, valid "
                    "name, or valid symbol (with or without the precision)",
                    field,
                    text));
}

base::Result<KeyKind> parse_key_kind(const std::string& key_type) {
    if (key_type == "i64") return KeyKind::i64;
    if (key_type == "name") return KeyKind::name;
    if (key_type == "i128") return KeyKind::i128;
    if (key_type == "i256") return KeyKind::i256;
    if (key_type == "float64") return KeyKind::float64;
    if (key_type == "float128") return KeyKind::float128;
    if (key_type == "sha256") return KeyKind::sha256;
    if (key_type == "ripemd160") return KeyKind::ripemd160;
    return chain::fail(Exception::contract_table_query_exception,
                       key_type.empty() ? "key type required for non-primary index"
                                        : "Unsupported secondary index type: " + key_type);
}

IndexTable index_table(KeyKind kind) {
    switch (kind) {
        case KeyKind::name:
        case KeyKind::i64:
            return {chain::Table::index64, 8};
        case KeyKind::i128:
            return {chain::Table::index128, 16};
        case KeyKind::float64:
            return {chain::Table::index_double, 8};
        case KeyKind::float128:
            return {chain::Table::index_long_double, 16};
        case KeyKind::i256:
        case KeyKind::sha256:
        case KeyKind::ripemd160:
            break;
    }
    return {chain::Table::index256, 32};
}

base::Result<base::Bytes> parse_bound(KeyKind kind,
                                      bool is_hex,
                                      const std::string& text,
                                      std::string_view field) {
    switch (kind) {
        case KeyKind::name: {
            auto name = chain::Name::from_string(text);
            if (!name) return base::fail(name.error());
            return bytes_of(chain::RowKey().name(*name));
        }
        case KeyKind::i64: {
            auto number = parse_key64(text, field);
            if (!number) return base::fail(number.error());
            return bytes_of(chain::RowKey().u64(*number));
        }
        case KeyKind::i128: {
            const auto number = parse_number(text);
            if (!number || (*number >> 128) != 0) return base::fail(bad_bound(field, text));
            return bytes_of(chain::RowKey().u128(low_half(*number)));
        }
        case KeyKind::i256:
            return is_hex ? parse_hash(32, text, field) : parse_i256(text, field);
        case KeyKind::sha256:
            return parse_hash(32, text, field);
        case KeyKind::ripemd160:
            return parse_hash(20, text, field);
        case KeyKind::float64:
        case KeyKind::float128:
            break;
    }
    return parse_float(kind, text, field);
}

std::string to_decimal(Uint128 value) {
    std::string digits;
    do {
        digits.push_back(static_cast<char>('0' + static_cast<int>(value % 10)));
        value /= 10;
    } while (value != 0);
    std::ranges::reverse(digits);
    return digits;
}

std::string key_text(KeyKind kind, bool is_hex, base::ByteView stored) {
    switch (kind) {
        case KeyKind::name:
            return chain::Name{load<std::uint64_t>(stored)}.to_string();
        case KeyKind::i64:
            return std::to_string(load<std::uint64_t>(stored));
        case KeyKind::i128: {
            const auto value = load<Uint128>(stored);
            return is_hex ? "0x" + hex_of(value) : to_decimal(value);
        }
        case KeyKind::float64:
            return fmt::format("{:.17f}", load<double>(stored));
        case KeyKind::float128: {
            const auto bits = load<Uint128>(stored);
            return is_hex ? "0x" + hex_of(bits) : fmt::format("{:.17f}", narrow(bits));
        }
        case KeyKind::i256:
        case KeyKind::sha256:
        case KeyKind::ripemd160:
            break;
    }
    const auto words = load<chain::Key256>(stored);
    const std::string hex = hex_of(words[0]) + hex_of(words[1]);
    if (kind == KeyKind::ripemd160) return hex.substr(0, 40);
    return kind == KeyKind::i256 && !is_hex ? "0x" + hex : hex;
}

}  // namespace node
