#pragma once

#include <bor/check.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

namespace bor {

// A 64-bit name: twelve letters of .12345a-z with five bits each, the first in the top bits,
// and a thirteenth of .12345a-j in the low four bits.
struct Name {
    uint64_t value = 0;

    constexpr Name() = default;
    constexpr explicit Name(uint64_t raw) : value(raw) {}
    // Fails the transaction (or the compilation) on a letter outside the alphabet.
    constexpr explicit Name(std::string_view text) : value(parse(text)) {}

    constexpr bool operator==(const Name&) const = default;
    constexpr auto operator<=>(const Name&) const = default;
    constexpr explicit operator bool() const { return value != 0; }

    [[nodiscard]] std::string to_string() const;

    auto fields() { return std::tie(value); }
    auto fields() const { return std::tie(value); }

  private:
    static constexpr uint64_t digit(char letter) {
        if (letter == '.') return 0;
        if (letter >= '1' && letter <= '5') return static_cast<uint64_t>(letter - '1') + 1;
        if (letter >= 'a' && letter <= 'z') return static_cast<uint64_t>(letter - 'a') + 6;
        check(false, "character is not in allowed character set for names");
        return 0;
    }
    static constexpr uint64_t parse(std::string_view text) {
        if (text.size() > 13) check(false, "string is too long to be a valid name");
        uint64_t raw = 0;
        for (std::size_t i = 0; i < text.size() && i < 12; ++i) {
            raw |= digit(text[i]) << (59 - 5 * i);
        }
        if (text.size() == 13) {
            const uint64_t last = digit(text[12]);
            if (last > 15) {
                check(false, "thirteenth character in name cannot be a letter that comes after j");
            }
            raw |= last;
        }
        return raw;
    }
};

inline std::string Name::to_string() const {
    constexpr std::string_view kLetters = ".12345abcdefghijklmnopqrstuvwxyz";
    std::string text(13, '.');
    for (std::size_t i = 0; i < 12; ++i)
        text[i] = kLetters[(value >> (59 - 5 * i)) & 31];
    text[12] = kLetters[value & 15];
    const std::size_t last = text.find_last_not_of('.');
    text.resize(last == std::string::npos ? 0 : last + 1);
    return text;
}

// "transfer"_n, checked when compiling.
consteval Name operator""_n(const char* text, std::size_t size) {
    return Name(std::string_view(text, size));
}

inline constexpr Name kSamePayer{};

}  // namespace bor
