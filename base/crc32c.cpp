#include "base/crc32c.hpp"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include <array>
#include <cstring>

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

#if defined(__x86_64__)

// A sum goes on over so many bytes of zero by these tables, one for each of its bytes.
constexpr std::size_t kStride = 1024;

constexpr std::array<std::array<std::uint32_t, 256>, 4> make_strides() {
    std::array<std::array<std::uint32_t, 256>, 4> strides{};
    for (unsigned bit = 0; bit < 32; ++bit) {
        std::uint32_t value = std::uint32_t{1} << bit;
        for (std::size_t i = 0; i < kStride; ++i)
            value = (value >> 8U) ^ kTable[value & 0xFFU];
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            if ((byte >> (bit % 8) & 1U) != 0) strides[bit / 8][byte] ^= value;
        }
    }
    return strides;
}

constexpr auto kStrides = make_strides();

std::uint32_t over_stride(std::uint32_t value) {
    return kStrides[0][value & 0xFFU] ^ kStrides[1][value >> 8U & 0xFFU] ^
           kStrides[2][value >> 16U & 0xFFU] ^ kStrides[3][value >> 24U];
}

std::uint64_t word_at(ByteView bytes, std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    return word;
}

// Eight bytes an instruction, and three sums side by side, since each instruction waits three
// cycles for the one before.
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(ByteView bytes) {
    std::uint64_t value = std::uint32_t{~0U};
    for (; bytes.size() >= 3 * kStride; bytes = bytes.subspan(3 * kStride)) {
        std::uint64_t second = 0;
        std::uint64_t third = 0;
        for (std::size_t at = 0; at < kStride; at += sizeof(std::uint64_t)) {
            value = _mm_crc32_u64(value, word_at(bytes, at));
            second = _mm_crc32_u64(second, word_at(bytes, kStride + at));
            third = _mm_crc32_u64(third, word_at(bytes, 2 * kStride + at));
        }
        const auto both = over_stride(static_cast<std::uint32_t>(value)) ^ second;
        value = over_stride(static_cast<std::uint32_t>(both)) ^ third;
    }
    for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t)))
        value = _mm_crc32_u64(value, word_at(bytes, 0));
    auto rest = static_cast<std::uint32_t>(value);
    for (const std::byte byte : bytes)
        rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(byte));
    return ~rest;
}

std::uint32_t (*choose())(ByteView) {
    return __builtin_cpu_supports("sse4.2") != 0 ? &crc32c_by_instruction : &crc32c_by_table;
}

#else

std::uint32_t (*choose())(ByteView) {
    return &crc32c_by_table;
}

#endif

}  // namespace

std::uint32_t crc32c(ByteView bytes) {
    static const auto kChosen = choose();
    return kChosen(bytes);
}

std::uint32_t crc32c_by_table(ByteView bytes) {
    std::uint32_t value = ~0U;
    for (const std::byte byte : bytes) {
        value = (value >> 8U) ^ kTable[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
    }
    return ~value;
}

}  // namespace base
