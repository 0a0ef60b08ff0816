// NaN: what arithmetic makes is always the positive quiet NaN without payload; abs, neg, copysign
// and reinterpretation only move bits (spec 03, "Contracts").
#include "reference_numeric.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

namespace reference {

namespace {

using chain::vm::Trap;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using f32 = float;
using f64 = double;

template <class T>
T value_of(u64 slot) {
    T out{};
    std::memcpy(&out, &slot, sizeof(out));
    return out;
}

template <class T>
u64 slot_of(T value) {
    u64 out = 0;
    std::memcpy(&out, &value, sizeof(value));
    return out;
}

template <class T>
u64 canonical(T value) {
    if (!std::isnan(value)) return slot_of(value);
    return sizeof(T) == 4 ? 0x7FC00000U : 0x7FF8000000000000U;
}

// Comparisons and tests.
template <class T, class Relation>
u64 compare(u64 a, u64 b, Trap&) {
    return Relation{}(value_of<T>(a), value_of<T>(b)) ? 1 : 0;
}

template <class T>
u64 eqz(u64 a, u64, Trap&) {
    return value_of<T>(a) == 0 ? 1 : 0;
}

// Integers. T is unsigned unless the sign matters.
template <class T, class Operation>
u64 integer(u64 a, u64 b, Trap&) {
    return slot_of(static_cast<T>(Operation{}(value_of<T>(a), value_of<T>(b))));
}

template <class T>
u64 clz(u64 a, u64, Trap&) {
    return static_cast<u64>(std::countl_zero(value_of<T>(a)));
}

template <class T>
u64 ctz(u64 a, u64, Trap&) {
    return static_cast<u64>(std::countr_zero(value_of<T>(a)));
}

template <class T>
u64 popcnt(u64 a, u64, Trap&) {
    return static_cast<u64>(std::popcount(value_of<T>(a)));
}

template <class T>
bool is_divisor(T a, T b, Trap& trap) {
    if (b == 0) trap = Trap::divide_by_zero;
    if constexpr (std::is_signed_v<T>) {
        if (a == std::numeric_limits<T>::min() && b == -1) trap = Trap::integer_overflow;
    }
    return trap == Trap::none;
}

template <class T>
u64 div(u64 a, u64 b, Trap& trap) {
    const T x = value_of<T>(a);
    const T y = value_of<T>(b);
    return is_divisor(x, y, trap) ? slot_of(static_cast<T>(x / y)) : 0;
}

template <class T>
u64 rem(u64 a, u64 b, Trap& trap) {
    const T x = value_of<T>(a);
    const T y = value_of<T>(b);
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) return 0;  // No overflow here.
    return is_divisor(x, y, trap) ? slot_of(static_cast<T>(x % y)) : 0;
}

// The number of bits to shift by.
template <class T>
int distance(u64 slot) {
    return static_cast<int>(slot % (8 * sizeof(T)));
}

template <class T>
u64 shl(u64 a, u64 b, Trap&) {
    return slot_of(static_cast<T>(value_of<T>(a) << distance<T>(b)));
}

template <class T>
u64 shr(u64 a, u64 b, Trap&) {
    return slot_of(static_cast<T>(value_of<T>(a) >> distance<T>(b)));
}

template <class T>
u64 rotl(u64 a, u64 b, Trap&) {
    return slot_of(std::rotl(value_of<T>(a), distance<T>(b)));
}

template <class T>
u64 rotr(u64 a, u64 b, Trap&) {
    return slot_of(std::rotr(value_of<T>(a), distance<T>(b)));
}

// Floating point.
template <class T>
constexpr u64 kSign = u64{1} << (8 * sizeof(T) - 1);

template <class T>
u64 abs(u64 a, u64, Trap&) {
    return a & ~kSign<T>;
}

template <class T>
u64 neg(u64 a, u64, Trap&) {
    return a ^ kSign<T>;
}

template <class T>
u64 copysign(u64 a, u64 b, Trap&) {
    return (a & ~kSign<T>) | (b & kSign<T>);
}

template <class T, T (*Operation)(T)>
u64 unary(u64 a, u64, Trap&) {
    return canonical(Operation(value_of<T>(a)));
}

template <class T, class Operation>
u64 arithmetic(u64 a, u64 b, Trap&) {
    return canonical(static_cast<T>(Operation{}(value_of<T>(a), value_of<T>(b))));
}

template <class T>
struct Min {
    T operator()(T x, T y) const {
        if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
        if (x == y) return std::signbit(x) ? x : y;  // -0 is less than +0.
        return x < y ? x : y;
    }
};

template <class T>
struct Max {
    T operator()(T x, T y) const {
        if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
        if (x == y) return std::signbit(x) ? y : x;
        return x > y ? x : y;
    }
};

// Conversions.
// Rounded towards zero, the number must lie within To. The bounds are powers of two, which both
// kinds of floating point have exactly.
template <class To, class From>
u64 trunc(u64 a, u64, Trap& trap) {
    const From whole = std::trunc(value_of<From>(a));
    const From end = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    const From begin = std::is_signed_v<To> ? -end : From{0};
    if (std::isnan(whole)) {
        trap = Trap::invalid_conversion;
    } else if (whole < begin || whole >= end) {
        trap = Trap::integer_overflow;
    } else {
        return slot_of(static_cast<To>(whole));
    }
    return 0;
}

template <class To, class From>
u64 convert(u64 a, u64, Trap&) {
    return slot_of(static_cast<To>(value_of<From>(a)));
}

template <class To, class From>
u64 resize(u64 a, u64, Trap&) {
    return canonical(static_cast<To>(value_of<From>(a)));
}

u64 same(u64 a, u64, Trap&) {
    return a;
}

constexpr std::array kTable{
    // 0x45: tests and comparisons of i32, i64, f32, f64.
    Numeric{1, Class::plain, eqz<u32>},
    Numeric{2, Class::plain, compare<u32, std::equal_to<>>},
    Numeric{2, Class::plain, compare<u32, std::not_equal_to<>>},
    Numeric{2, Class::plain, compare<i32, std::less<>>},
    Numeric{2, Class::plain, compare<u32, std::less<>>},
    Numeric{2, Class::plain, compare<i32, std::greater<>>},
    Numeric{2, Class::plain, compare<u32, std::greater<>>},
    Numeric{2, Class::plain, compare<i32, std::less_equal<>>},
    Numeric{2, Class::plain, compare<u32, std::less_equal<>>},
    Numeric{2, Class::plain, compare<i32, std::greater_equal<>>},
    Numeric{2, Class::plain, compare<u32, std::greater_equal<>>},
    Numeric{1, Class::plain, eqz<u64>},
    Numeric{2, Class::plain, compare<u64, std::equal_to<>>},
    Numeric{2, Class::plain, compare<u64, std::not_equal_to<>>},
    Numeric{2, Class::plain, compare<i64, std::less<>>},
    Numeric{2, Class::plain, compare<u64, std::less<>>},
    Numeric{2, Class::plain, compare<i64, std::greater<>>},
    Numeric{2, Class::plain, compare<u64, std::greater<>>},
    Numeric{2, Class::plain, compare<i64, std::less_equal<>>},
    Numeric{2, Class::plain, compare<u64, std::less_equal<>>},
    Numeric{2, Class::plain, compare<i64, std::greater_equal<>>},
    Numeric{2, Class::plain, compare<u64, std::greater_equal<>>},
    Numeric{2, Class::floating, compare<f32, std::equal_to<>>},
    Numeric{2, Class::floating, compare<f32, std::not_equal_to<>>},
    Numeric{2, Class::floating, compare<f32, std::less<>>},
    Numeric{2, Class::floating, compare<f32, std::greater<>>},
    Numeric{2, Class::floating, compare<f32, std::less_equal<>>},
    Numeric{2, Class::floating, compare<f32, std::greater_equal<>>},
    Numeric{2, Class::floating, compare<f64, std::equal_to<>>},
    Numeric{2, Class::floating, compare<f64, std::not_equal_to<>>},
    Numeric{2, Class::floating, compare<f64, std::less<>>},
    Numeric{2, Class::floating, compare<f64, std::greater<>>},
    Numeric{2, Class::floating, compare<f64, std::less_equal<>>},
    Numeric{2, Class::floating, compare<f64, std::greater_equal<>>},
    // 0x67: i32.
    Numeric{1, Class::plain, clz<u32>},
    Numeric{1, Class::plain, ctz<u32>},
    Numeric{1, Class::plain, popcnt<u32>},
    Numeric{2, Class::plain, integer<u32, std::plus<>>},
    Numeric{2, Class::plain, integer<u32, std::minus<>>},
    Numeric{2, Class::plain, integer<u32, std::multiplies<>>},
    Numeric{2, Class::divide, div<i32>},
    Numeric{2, Class::divide, div<u32>},
    Numeric{2, Class::divide, rem<i32>},
    Numeric{2, Class::divide, rem<u32>},
    Numeric{2, Class::plain, integer<u32, std::bit_and<>>},
    Numeric{2, Class::plain, integer<u32, std::bit_or<>>},
    Numeric{2, Class::plain, integer<u32, std::bit_xor<>>},
    Numeric{2, Class::plain, shl<u32>},
    Numeric{2, Class::plain, shr<i32>},
    Numeric{2, Class::plain, shr<u32>},
    Numeric{2, Class::plain, rotl<u32>},
    Numeric{2, Class::plain, rotr<u32>},
    // 0x79: i64.
    Numeric{1, Class::plain, clz<u64>},
    Numeric{1, Class::plain, ctz<u64>},
    Numeric{1, Class::plain, popcnt<u64>},
    Numeric{2, Class::plain, integer<u64, std::plus<>>},
    Numeric{2, Class::plain, integer<u64, std::minus<>>},
    Numeric{2, Class::plain, integer<u64, std::multiplies<>>},
    Numeric{2, Class::divide, div<i64>},
    Numeric{2, Class::divide, div<u64>},
    Numeric{2, Class::divide, rem<i64>},
    Numeric{2, Class::divide, rem<u64>},
    Numeric{2, Class::plain, integer<u64, std::bit_and<>>},
    Numeric{2, Class::plain, integer<u64, std::bit_or<>>},
    Numeric{2, Class::plain, integer<u64, std::bit_xor<>>},
    Numeric{2, Class::plain, shl<u64>},
    Numeric{2, Class::plain, shr<i64>},
    Numeric{2, Class::plain, shr<u64>},
    Numeric{2, Class::plain, rotl<u64>},
    Numeric{2, Class::plain, rotr<u64>},
    // 0x8B: f32.
    Numeric{1, Class::floating, abs<f32>},
    Numeric{1, Class::floating, neg<f32>},
    Numeric{1, Class::floating, unary<f32, std::ceil>},
    Numeric{1, Class::floating, unary<f32, std::floor>},
    Numeric{1, Class::floating, unary<f32, std::trunc>},
    Numeric{1, Class::floating, unary<f32, std::nearbyint>},
    Numeric{1, Class::root, unary<f32, std::sqrt>},
    Numeric{2, Class::floating, arithmetic<f32, std::plus<>>},
    Numeric{2, Class::floating, arithmetic<f32, std::minus<>>},
    Numeric{2, Class::floating, arithmetic<f32, std::multiplies<>>},
    Numeric{2, Class::root, arithmetic<f32, std::divides<>>},
    Numeric{2, Class::floating, arithmetic<f32, Min<f32>>},
    Numeric{2, Class::floating, arithmetic<f32, Max<f32>>},
    Numeric{2, Class::floating, copysign<f32>},
    // 0x99: f64.
    Numeric{1, Class::floating, abs<f64>},
    Numeric{1, Class::floating, neg<f64>},
    Numeric{1, Class::floating, unary<f64, std::ceil>},
    Numeric{1, Class::floating, unary<f64, std::floor>},
    Numeric{1, Class::floating, unary<f64, std::trunc>},
    Numeric{1, Class::floating, unary<f64, std::nearbyint>},
    Numeric{1, Class::root, unary<f64, std::sqrt>},
    Numeric{2, Class::floating, arithmetic<f64, std::plus<>>},
    Numeric{2, Class::floating, arithmetic<f64, std::minus<>>},
    Numeric{2, Class::floating, arithmetic<f64, std::multiplies<>>},
    Numeric{2, Class::root, arithmetic<f64, std::divides<>>},
    Numeric{2, Class::floating, arithmetic<f64, Min<f64>>},
    Numeric{2, Class::floating, arithmetic<f64, Max<f64>>},
    Numeric{2, Class::floating, copysign<f64>},
    // 0xA7: conversions.
    Numeric{1, Class::plain, convert<u32, u64>},  // i32.wrap_i64
    Numeric{1, Class::floating, trunc<i32, f32>},
    Numeric{1, Class::floating, trunc<u32, f32>},
    Numeric{1, Class::floating, trunc<i32, f64>},
    Numeric{1, Class::floating, trunc<u32, f64>},
    Numeric{1, Class::plain, convert<i64, i32>},  // i64.extend_i32_s
    Numeric{1, Class::plain, convert<u64, u32>},
    Numeric{1, Class::floating, trunc<i64, f32>},
    Numeric{1, Class::floating, trunc<u64, f32>},
    Numeric{1, Class::floating, trunc<i64, f64>},
    Numeric{1, Class::floating, trunc<u64, f64>},
    Numeric{1, Class::floating, convert<f32, i32>},
    Numeric{1, Class::floating, convert<f32, u32>},
    Numeric{1, Class::floating, convert<f32, i64>},
    Numeric{1, Class::floating, convert<f32, u64>},
    Numeric{1, Class::floating, resize<f32, f64>},  // f32.demote_f64
    Numeric{1, Class::floating, convert<f64, i32>},
    Numeric{1, Class::floating, convert<f64, u32>},
    Numeric{1, Class::floating, convert<f64, i64>},
    Numeric{1, Class::floating, convert<f64, u64>},
    Numeric{1, Class::floating, resize<f64, f32>},  // f64.promote_f32
    Numeric{1, Class::plain, same},                 // i32.reinterpret_f32 and the other three.
    Numeric{1, Class::plain, same},
    Numeric{1, Class::plain, same},
    Numeric{1, Class::plain, same},
};

constexpr std::uint8_t kFirst = 0x45;
static_assert(kFirst + kTable.size() == 0xC0);

}  // namespace

const Numeric& numeric(std::uint8_t opcode) {
    static constexpr Numeric kNone;
    if (opcode < kFirst || opcode - kFirst >= static_cast<int>(kTable.size())) return kNone;
    return kTable[opcode - std::size_t{kFirst}];
}

}  // namespace reference
