#pragma once

#include "base/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

// Numbers in what peers send each other: little-endian, of as many bytes as are given, 8 at most.
namespace transport {

inline void store_number(std::span<std::byte> out, std::uint64_t value) {
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::byte>(value >> (8 * i) & 0xFFU);
}

[[nodiscard]] inline std::uint64_t load_number(base::ByteView bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    return value;
}

}  // namespace transport
