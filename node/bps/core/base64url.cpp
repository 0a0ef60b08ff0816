#include "node/bps/core/base64url.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace bps {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr unsigned kDigitBits = 6;
constexpr unsigned kByteBits = 8;

}  // namespace

std::string to_base64url(base::ByteView bytes) {
    std::string text;
    text.reserve((bytes.size() * kByteBits + kDigitBits - 1) / kDigitBits);
    std::uint32_t bits = 0;
    unsigned count = 0;  // Of the lowest bits that are not written yet.
    for (const std::byte byte : bytes) {
        bits = bits << kByteBits | std::to_integer<std::uint32_t>(byte);
        count += kByteBits;
        for (; count >= kDigitBits; count -= kDigitBits)
            text.push_back(kDigits[bits >> (count - kDigitBits) & 0x3FU]);
    }
    if (count > 0) text.push_back(kDigits[bits << (kDigitBits - count) & 0x3FU]);
    return text;
}

base::Result<base::Bytes> from_base64url(std::string_view text) {
    base::Bytes bytes;
    bytes.reserve(text.size() * kDigitBits / kByteBits);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t digit = kDigits.find(text[i]);
        if (digit == std::string_view::npos) {
            return base::fail(base::Errc::malformed,
                              fmt::format("letter {} is not of base64url without padding", i + 1));
        }
        bits = bits << kDigitBits | static_cast<std::uint32_t>(digit);
        count += kDigitBits;
        if (count < kByteBits) continue;
        count -= kByteBits;
        bytes.push_back(static_cast<std::byte>(bits >> count & 0xFFU));
    }
    if (count >= kDigitBits || (bits & ((1U << count) - 1)) != 0) {
        return base::fail(base::Errc::malformed,
                          fmt::format("{} letters of base64url whose last bits are no byte and "
                                      "are not 0",
                                      text.size()));
    }
    return bytes;
}

}  // namespace bps
