#include "chain/abi/wide.hpp"

#include "chain/types/exception.hpp"

#include <algorithm>

namespace chain::abi {

namespace {

constexpr Wide kSignBit = Wide{1} << 127U;

tl::unexpected<base::Error> no_number() {
    return fail(Exception::parse_error_exception, "Couldn't parse a 128-bit integer");
}

// 16 for what is no digit.
unsigned digit_of(char letter) {
    if (letter >= '0' && letter <= '9') return static_cast<unsigned>(letter - '0');
    if (letter >= 'a' && letter <= 'f') return static_cast<unsigned>(letter - 'a') + 10;
    if (letter >= 'A' && letter <= 'F') return static_cast<unsigned>(letter - 'A') + 10;
    return 16;
}

}  // namespace

Wide read_wide(base::Reader& in) {
    const std::uint64_t low = in.u64("value");
    return Wide{in.u64("value")} << 64U | low;
}

void write_wide(base::Writer& out, Wide value) {
    out.u64(static_cast<std::uint64_t>(value));
    out.u64(static_cast<std::uint64_t>(value >> 64U));
}

std::string uint128_to_string(Wide value) {
    std::string text;
    do {
        text.push_back(static_cast<char>('0' + static_cast<int>(value % 10)));
        value /= 10;
    } while (value != 0);
    std::ranges::reverse(text);
    return text;
}

std::string int128_to_string(Wide bits) {
    return (bits & kSignBit) == 0 ? uint128_to_string(bits) : "-" + uint128_to_string(0 - bits);
}

base::Result<Wide> uint128_from_string(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (hexadecimal) text.remove_prefix(2);
    const unsigned radix = hexadecimal ? 16 : 10;
    if (text.empty()) return no_number();
    Wide value = 0;
    for (const char letter : text) {
        const unsigned digit = digit_of(letter);
        if (digit >= radix || value > (~Wide{0} - digit) / radix) return no_number();
        value = value * radix + digit;
    }
    return value;
}

base::Result<Wide> int128_from_string(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    auto value = uint128_from_string(text);
    if (!value) return value;
    if (*value > kSignBit - (negative ? 0 : 1)) return no_number();
    return negative ? 0 - *value : *value;
}

}  // namespace chain::abi
