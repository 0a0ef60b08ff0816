#include "base/bytes.hpp"

namespace base {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// -1 when `c` is no hexadecimal digit.
int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::string to_hex(ByteView bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const std::byte byte : bytes) {
        const auto value = std::to_integer<unsigned>(byte);
        text.push_back(kDigits[value >> 4U]);
        text.push_back(kDigits[value & 15U]);
    }
    return text;
}

Result<Bytes> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) {
        return fail(Errc::malformed,
                    "odd number of hexadecimal digits: " + std::to_string(text.size()));
    }
    Bytes bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = digit_value(text[i]);
        const int low = digit_value(text[i + 1]);
        if (high < 0 || low < 0) {
            return fail(
                Errc::malformed,
                "invalid hexadecimal digit at offset " + std::to_string(high < 0 ? i : i + 1));
        }
        bytes.push_back(static_cast<std::byte>(high * 16 + low));
    }
    return bytes;
}

}  // namespace base
