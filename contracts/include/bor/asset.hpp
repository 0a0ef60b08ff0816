#pragma once

#include <bor/datastream.hpp>
#include <bor/name.hpp>

#include <limits>
#include <string>

namespace bor {

// Up to seven letters A-Z, the first in the lowest byte.
struct SymbolCode {
    uint64_t value = 0;

    constexpr SymbolCode() = default;
    constexpr explicit SymbolCode(uint64_t raw_value) : value(raw_value) {}
    constexpr explicit SymbolCode(std::string_view text) {
        if (text.size() > 7) check(false, "string is too long to be a valid symbol_code");
        for (std::size_t i = text.size(); i > 0; --i) {
            const char letter = text[i - 1];
            if (letter < 'A' || letter > 'Z') {
                check(false, "only uppercase letters allowed in symbol_code string");
            }
            value = value << 8 | static_cast<uint64_t>(letter);
        }
    }
    [[nodiscard]] constexpr uint64_t raw() const { return value; }
    [[nodiscard]] constexpr bool is_valid() const {
        uint64_t rest = value;
        if (rest == 0 || rest >> 56 != 0) return false;
        for (; rest != 0; rest >>= 8) {
            const uint64_t letter = rest & 255;
            if (letter < 'A' || letter > 'Z') return false;
        }
        return true;
    }
    [[nodiscard]] std::string to_string() const {
        std::string text;
        for (uint64_t rest = value; rest != 0; rest >>= 8)
            text += static_cast<char>(rest & 255);
        return text;
    }
    constexpr bool operator==(const SymbolCode&) const = default;
    BOR_FIELDS(value)
};

// The number of decimals in the low byte, the code above it.
struct Symbol {
    uint64_t value = 0;

    constexpr Symbol() = default;
    constexpr Symbol(std::string_view code, uint8_t precision)
        : value(SymbolCode(code).value << 8 | precision) {}
    [[nodiscard]] constexpr uint64_t raw() const { return value; }
    [[nodiscard]] constexpr SymbolCode code() const { return SymbolCode(value >> 8); }
    [[nodiscard]] constexpr uint8_t precision() const { return static_cast<uint8_t>(value); }
    [[nodiscard]] constexpr bool is_valid() const { return code().is_valid(); }
    constexpr bool operator==(const Symbol&) const = default;
    BOR_FIELDS(value)
};

// An amount of a token. Arithmetic fails the transaction on different symbols and on overflow.
struct Asset {
    static constexpr int64_t kMaxAmount = (int64_t{1} << 62) - 1;

    int64_t amount = 0;
    Symbol symbol;

    [[nodiscard]] constexpr bool is_amount_within_range() const {
        return -kMaxAmount <= amount && amount <= kMaxAmount;
    }
    [[nodiscard]] constexpr bool is_valid() const {
        return is_amount_within_range() && symbol.is_valid();
    }
    Asset& operator+=(const Asset& other) {
        check(other.symbol == symbol, "attempt to add asset with different symbol");
        amount += other.amount;
        check(-kMaxAmount <= amount, "addition underflow");
        check(amount <= kMaxAmount, "addition overflow");
        return *this;
    }
    Asset& operator-=(const Asset& other) {
        check(other.symbol == symbol, "attempt to subtract asset with different symbol");
        amount -= other.amount;
        check(-kMaxAmount <= amount, "subtraction underflow");
        check(amount <= kMaxAmount, "subtraction overflow");
        return *this;
    }
    constexpr bool operator==(const Asset&) const = default;
    [[nodiscard]] std::string to_string() const;
    BOR_FIELDS(amount, symbol)
};

// "-1.0500 SYS"
inline std::string Asset::to_string() const {
    const bool negative = amount < 0;
    uint64_t rest = negative ? 0 - static_cast<uint64_t>(amount) : static_cast<uint64_t>(amount);
    std::string digits;
    for (unsigned places = 0; rest != 0 || places <= symbol.precision(); ++places) {
        if (places == symbol.precision() && places != 0) digits += '.';
        digits += static_cast<char>('0' + rest % 10);
        rest /= 10;
    }
    if (negative) digits += '-';
    return std::string(digits.rbegin(), digits.rend()) + ' ' + symbol.code().to_string();
}

// An asset and the account of the contract that keeps it.
struct ExtendedAsset {
    Asset quantity;
    Name contract;
    constexpr bool operator==(const ExtendedAsset&) const = default;
    BOR_FIELDS(quantity, contract)
};

}  // namespace bor
