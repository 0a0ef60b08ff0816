#include "chain/execution/host_float128.hpp"

#include <bit>
#include <limits>

namespace chain::host {

namespace {

// The compiler's own quadruple precision; its runtime library rounds correctly and keeps no
// state but the rounding mode, which this program never sets.
__extension__ using Native = __float128;

constexpr Float128 kNaN{0, 0x7FFF'8000'0000'0000U};
constexpr std::uint64_t kNaN64 = 0x7FF8'0000'0000'0000U;
constexpr std::uint32_t kNaN32 = 0x7FC0'0000U;

Native native(Float128 value) {
    return std::bit_cast<Native>(value);
}

Float128 bits(Native value) {
    const auto out = std::bit_cast<Float128>(value);
    return is_nan(out) ? kNaN : out;
}

std::uint64_t bits64(double value) {
    const auto out = std::bit_cast<std::uint64_t>(value);
    return is_nan64(out) ? kNaN64 : out;
}

// The magnitude rounded to an integer; nothing fits from 2^65 on, so that is enough.
struct Rounded {
    bool fits = false;
    UInt128 magnitude = 0;
};

Rounded round_even(const Parts& value) {
    if (!value.finite) return {};
    if (value.exponent >= 0) {
        // binary128 has 113 bits: with a positive exponent it is at least 2^112.
        return {value.significand == 0, 0};
    }
    const auto shift = static_cast<std::uint32_t>(-value.exponent);
    if (shift > 127) return {true, 0};  // Below one half: 113 bits shifted by more.
    const UInt128 whole = value.significand >> shift;
    const UInt128 half = static_cast<UInt128>(1) << (shift - 1);
    const UInt128 rest = value.significand & ((half << 1U) - 1);
    const bool up = rest > half || (rest == half && (whole & 1U) != 0);
    return {true, whole + (up ? 1U : 0U)};
}

template <class T>
T round_signed(Float128 value) {
    constexpr T kLowest = std::numeric_limits<T>::min();
    const Parts parts = parts_of(value);
    const Rounded rounded = round_even(parts);
    const auto limit = static_cast<UInt128>(std::numeric_limits<T>::max());
    if (!rounded.fits || rounded.magnitude > limit + (parts.negative ? 1U : 0U)) return kLowest;
    const auto magnitude = static_cast<std::uint64_t>(rounded.magnitude);
    return static_cast<T>(parts.negative ? std::uint64_t{0} - magnitude : magnitude);
}

template <class T>
T round_unsigned(Float128 value) {
    constexpr T kHighest = std::numeric_limits<T>::max();
    const Parts parts = parts_of(value);
    const Rounded rounded = round_even(parts);
    if (!rounded.fits || rounded.magnitude > kHighest) return kHighest;
    if (parts.negative && rounded.magnitude != 0) return kHighest;
    return static_cast<T>(rounded.magnitude);
}

// The magnitude without its fraction, modulo 2^128; the exponent of its top bit is below 128.
UInt128 truncated(const Parts& value) {
    if (value.exponent >= 0) return value.significand << static_cast<std::uint32_t>(value.exponent);
    const auto shift = static_cast<std::uint32_t>(-value.exponent);
    return shift > 127 ? 0 : value.significand >> shift;
}

// The position of the top bit: the number is in [2^n, 2^(n+1)).
std::int32_t top_exponent(const Parts& value) {
    const auto high = static_cast<std::uint64_t>(value.significand >> 64U);
    const auto low = static_cast<std::uint64_t>(value.significand);
    const int top = high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(low);
    return top + value.exponent;
}

struct Layout {
    std::int32_t exponent_bits;
    std::int32_t fraction_bits;
};

Parts take_apart(UInt128 value, Layout layout) {
    const auto fraction_bits = static_cast<std::uint32_t>(layout.fraction_bits);
    const auto exponent_bits = static_cast<std::uint32_t>(layout.exponent_bits);
    const std::uint32_t exponent_mask = (1U << exponent_bits) - 1;
    const auto exponent = static_cast<std::uint32_t>(value >> fraction_bits) & exponent_mask;
    const UInt128 one = static_cast<UInt128>(1) << fraction_bits;
    const UInt128 fraction = value & (one - 1);
    Parts parts;
    parts.negative = ((value >> (fraction_bits + exponent_bits)) & 1U) != 0;
    parts.finite = exponent != exponent_mask;
    parts.significand = exponent == 0 ? fraction : fraction | one;
    const std::int32_t bias = (1 << (layout.exponent_bits - 1)) - 1;
    const std::int32_t biased = exponent == 0 ? 1 : static_cast<std::int32_t>(exponent);
    parts.exponent = biased - bias - layout.fraction_bits;
    return parts;
}

}  // namespace

Float128 add(Float128 a, Float128 b) {
    return bits(native(a) + native(b));
}
Float128 subtract(Float128 a, Float128 b) {
    return bits(native(a) - native(b));
}
Float128 multiply(Float128 a, Float128 b) {
    return bits(native(a) * native(b));
}
Float128 divide(Float128 a, Float128 b) {
    return bits(native(a) / native(b));
}

std::int32_t order(Float128 a, Float128 b, std::int32_t unordered) {
    if (is_nan(a) || is_nan(b)) return unordered;
    if (native(a) < native(b)) return -1;
    return native(a) == native(b) ? 0 : 1;
}

Float128 from_float32(std::uint32_t value) {
    return bits(static_cast<Native>(std::bit_cast<float>(value)));
}
Float128 from_float64(std::uint64_t value) {
    return bits(static_cast<Native>(std::bit_cast<double>(value)));
}
Float128 from_integer(std::int64_t value) {
    return bits(static_cast<Native>(value));
}
Float128 from_unsigned(std::uint64_t value) {
    return bits(static_cast<Native>(value));
}

std::uint32_t to_float32(Float128 value) {
    if (is_nan(value)) return kNaN32;
    return std::bit_cast<std::uint32_t>(static_cast<float>(native(value)));
}
std::uint64_t to_float64(Float128 value) {
    return bits64(static_cast<double>(native(value)));
}
std::uint64_t float64_of(std::int32_t value) {
    return bits64(static_cast<double>(value));
}
std::uint64_t float64_of(Int128 value) {
    return bits64(static_cast<double>(value));
}
std::uint64_t float64_of(UInt128 value) {
    return bits64(static_cast<double>(value));
}

long double to_extended(Float128 value) {
    return static_cast<long double>(native(value));
}

Parts parts_of(Float128 value) {
    return take_apart(join(value.low, value.high), {15, 112});
}
Parts parts_of_float32(std::uint32_t value) {
    return take_apart(value, {8, 23});
}
Parts parts_of_float64(std::uint64_t value) {
    return take_apart(value, {11, 52});
}

std::int32_t round_int32(Float128 value) {
    return round_signed<std::int32_t>(value);
}
std::int64_t round_int64(Float128 value) {
    return round_signed<std::int64_t>(value);
}
std::uint32_t round_uint32(Float128 value) {
    return round_unsigned<std::uint32_t>(value);
}
std::uint64_t round_uint64(Float128 value) {
    return round_unsigned<std::uint64_t>(value);
}

Int128 truncate_int128(const Parts& value) {
    constexpr UInt128 kSignBit = static_cast<UInt128>(1) << 127U;
    if (value.significand == 0 && value.finite) return 0;
    if (!value.finite || top_exponent(value) >= 128) {
        return static_cast<Int128>(value.negative ? kSignBit : kSignBit - 1);
    }
    // From 2^127 on the top bit becomes the sign, as in the library that Leap uses.
    const UInt128 magnitude = truncated(value);
    return static_cast<Int128>(value.negative ? 0 - magnitude : magnitude);
}

UInt128 truncate_uint128(const Parts& value) {
    if (value.negative || (value.finite && value.significand == 0)) return 0;
    if (!value.finite || top_exponent(value) >= 128) return ~static_cast<UInt128>(0);
    return truncated(value);
}

}  // namespace chain::host
