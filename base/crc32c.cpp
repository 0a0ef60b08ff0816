#include "base/crc32c.hpp"

namespace base {

namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Reflected.

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value >> 1U) ^ ((value & 1U) != 0 ? kPolynomial : 0U);
        }
        table[i] = value;
    }
    return table;
}

constexpr auto kTable = make_table();

}  // namespace

std::uint32_t crc32c(ByteView bytes) {
    std::uint32_t value = ~0U;
    for (const std::byte byte : bytes) {
        value = (value >> 8U) ^ kTable[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
    }
    return ~value;
}

}  // namespace base
