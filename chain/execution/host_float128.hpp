#pragma once

#include <cstdint>

namespace chain::host {

// Arithmetic of contracts that their compiler leaves to the host: 128-bit integers and
// quadruple precision. A contract passes 128 bits as two i64, low half first.

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

// A quadruple-precision number as bits: binary128, little-endian.
struct Float128 {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    friend bool operator==(const Float128&, const Float128&) = default;
};

[[nodiscard]] constexpr UInt128 join(std::uint64_t low, std::uint64_t high) {
    return (static_cast<UInt128>(high) << 64U) | low;
}

[[nodiscard]] constexpr bool is_nan(Float128 value) {
    const std::uint64_t magnitude = value.high & 0x7FFF'FFFF'FFFF'FFFFU;
    return magnitude > 0x7FFF'0000'0000'0000U ||
           (magnitude == 0x7FFF'0000'0000'0000U && value.low != 0);
}
[[nodiscard]] constexpr bool is_nan64(std::uint64_t bits) {
    return (bits & 0x7FFF'FFFF'FFFF'FFFFU) > 0x7FF0'0000'0000'0000U;
}

// Rounded to nearest, ties to even. A result that is no number is the canonical one: positive,
// quiet, no payload; so every machine and compiler agrees.
[[nodiscard]] Float128 add(Float128 a, Float128 b);
[[nodiscard]] Float128 subtract(Float128 a, Float128 b);
[[nodiscard]] Float128 multiply(Float128 a, Float128 b);
[[nodiscard]] Float128 divide(Float128 a, Float128 b);
// -1, 0 or 1; `unordered` when either is no number.
[[nodiscard]] std::int32_t order(Float128 a, Float128 b, std::int32_t unordered);

[[nodiscard]] Float128 from_float32(std::uint32_t bits);
[[nodiscard]] Float128 from_float64(std::uint64_t bits);
[[nodiscard]] Float128 from_integer(std::int64_t value);
[[nodiscard]] Float128 from_unsigned(std::uint64_t value);
[[nodiscard]] std::uint32_t to_float32(Float128 value);
[[nodiscard]] std::uint64_t to_float64(Float128 value);
[[nodiscard]] std::uint64_t float64_of(std::int32_t value);
[[nodiscard]] std::uint64_t float64_of(Int128 value);
[[nodiscard]] std::uint64_t float64_of(UInt128 value);

// Rounded to the 64 bits of an x87 number, where there are such; for printing only.
[[nodiscard]] long double to_extended(Float128 value);

// A floating point number taken apart: (-1)^negative * significand * 2^exponent.
struct Parts {
    bool negative = false;
    bool finite = true;
    std::int32_t exponent = 0;
    UInt128 significand = 0;
};
[[nodiscard]] Parts parts_of(Float128 value);
[[nodiscard]] Parts parts_of_float32(std::uint32_t bits);
[[nodiscard]] Parts parts_of_float64(std::uint64_t bits);

// To integers of 32 and 64 bits as Leap does it: rounded to nearest, ties to even; what does
// not fit becomes the smallest (signed) or largest (unsigned) number.
[[nodiscard]] std::int32_t round_int32(Float128 value);
[[nodiscard]] std::int64_t round_int64(Float128 value);
[[nodiscard]] std::uint32_t round_uint32(Float128 value);
[[nodiscard]] std::uint64_t round_uint64(Float128 value);
// To integers of 128 bits as compilers do it: towards zero; what does not fit becomes the
// nearest that does, and the unsigned one of a negative number is zero.
[[nodiscard]] Int128 truncate_int128(const Parts& value);
[[nodiscard]] UInt128 truncate_uint128(const Parts& value);

}  // namespace chain::host
