#pragma once

#include "base/bytes.hpp"

#include <string>

namespace node {

// RFC 4648, with padding.
[[nodiscard]] inline std::string to_base64(base::ByteView bytes) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t left = bytes.size() - i;
        std::uint32_t group = std::to_integer<std::uint32_t>(bytes[i]) << 16U;
        if (left > 1) group |= std::to_integer<std::uint32_t>(bytes[i + 1]) << 8U;
        if (left > 2) group |= std::to_integer<std::uint32_t>(bytes[i + 2]);
        text.push_back(kDigits[(group >> 18U) & 0x3FU]);
        text.push_back(kDigits[(group >> 12U) & 0x3FU]);
        text.push_back(left > 1 ? kDigits[(group >> 6U) & 0x3FU] : '=');
        text.push_back(left > 2 ? kDigits[group & 0x3FU] : '=');
    }
    return text;
}

}  // namespace node
