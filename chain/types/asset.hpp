#pragma once

#include "chain/types/name.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace chain {

// Up to 7 letters A-Z, the first in the lowest byte.
struct SymbolCode {
    std::uint64_t value = 0;

    friend constexpr auto operator<=>(const SymbolCode&, const SymbolCode&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.value); }
    [[nodiscard]] std::string to_string() const;
    // Letters A-Z only (symbol_type_exception otherwise); empty is zero, as in nodeos.
    [[nodiscard]] static base::Result<SymbolCode> from_string(std::string_view text);
};

// A code and the number of decimals: precision in byte 0, the code above. Text "4,SYS".
struct Symbol {
    std::uint64_t value = 0;

    static constexpr std::uint8_t kPrecisionMax = 18;

    friend constexpr auto operator<=>(const Symbol&, const Symbol&) = default;
    [[nodiscard]] constexpr std::uint8_t precision() const {
        return static_cast<std::uint8_t>(value & 0xFFU);
    }
    [[nodiscard]] constexpr SymbolCode code() const { return {value >> 8U}; }
    // symbol_type_exception: precision above 18, or a byte of the code that is no letter.
    [[nodiscard]] base::Result<void> validate() const;
    [[nodiscard]] std::string to_string() const;
    // symbol_type_exception, with nodeos' texts.
    [[nodiscard]] static base::Result<Symbol> from_string(std::string_view text);
};

// An amount in the smallest unit of its symbol. Text "1.0000 SYS".
struct Asset {
    std::int64_t amount = 0;
    Symbol symbol;

    static constexpr std::int64_t kAmountMax = (1LL << 62U) - 1;

    friend constexpr auto operator<=>(const Asset&, const Asset&) = default;
    // asset_type_exception: the magnitude; symbol_type_exception: the symbol.
    [[nodiscard]] base::Result<void> validate() const;
    [[nodiscard]] std::string to_string() const;
    // asset_type_exception, symbol_type_exception or parse_error_exception, as nodeos.
    [[nodiscard]] static base::Result<Asset> from_string(std::string_view text);
};

// An asset and the contract that issues it.
struct ExtendedAsset {
    Asset quantity;
    Name contract;

    friend constexpr auto operator<=>(const ExtendedAsset&, const ExtendedAsset&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.quantity, self.contract); }
};

void encode(base::Writer& out, Symbol symbol);
void encode(base::Writer& out, const Asset& asset);
// Symbol and Asset are validated when decoded; SymbolCode is not, as in nodeos.
void decode(base::Reader& in, Symbol& symbol, std::string_view field);
void decode(base::Reader& in, Asset& asset, std::string_view field);

}  // namespace chain
