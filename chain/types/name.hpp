#pragma once

#include "chain/types/codec.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace chain {

// An Antelope name: up to 13 characters of ".12345a-z", 5 bits each from the top, the 13th of
// 4 bits. Ordered as an integer, which is the order of tables. Zero is the empty name.
// Source: reference "Binary formats".
struct Name {
    std::uint64_t value = 0;

    friend constexpr auto operator<=>(const Name&, const Name&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.value); }
    [[nodiscard]] constexpr bool empty() const { return value == 0; }
    // Without trailing dots.
    [[nodiscard]] std::string to_string() const;
    // name_type_exception: longer than 13, a character outside the set, or not normalized.
    [[nodiscard]] static base::Result<Name> from_string(std::string_view text);
};

namespace name_detail {

// The 5 bits of a character; 0 for one outside the set, as nodeos has it.
constexpr std::uint64_t symbol_of(char letter) {
    if (letter >= 'a' && letter <= 'z') return static_cast<std::uint64_t>(letter - 'a') + 6;
    if (letter >= '1' && letter <= '5') return static_cast<std::uint64_t>(letter - '1') + 1;
    return 0;
}

// At most the first 13 characters count.
constexpr std::uint64_t bits_of(std::string_view text) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < text.size() && i < 12; ++i) {
        bits |= (symbol_of(text[i]) & 0x1FU) << (64 - 5 * (i + 1));
    }
    if (text.size() > 12) bits |= symbol_of(text[12]) & 0x0FU;
    return bits;
}

void literal_is_no_name();  // Not constant: its call stops the compilation.

}  // namespace name_detail

inline namespace literals {

// "eosio.token"_n. A text that is no name does not compile.
consteval Name operator""_n(const char* text, std::size_t size) {
    const std::string_view view(text, size);
    if (size > 13) name_detail::literal_is_no_name();
    for (const char letter : view) {
        if (letter != '.' && name_detail::symbol_of(letter) == 0) name_detail::literal_is_no_name();
    }
    if (size == 13 && name_detail::symbol_of(text[12]) > 15) name_detail::literal_is_no_name();
    return Name{name_detail::bits_of(view)};
}

}  // namespace literals

}  // namespace chain
