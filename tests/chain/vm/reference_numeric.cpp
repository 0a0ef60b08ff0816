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
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using I32 = std::int32_t;
using I64 = std::int64_t;
using F32 = float;
using F64 = double;

template <class T>
T value_of(U64 slot) {
    T out{};
    std::memcpy(&out, &slot, sizeof(out));
    return out;
}

template <class T>
U64 slot_of(T value) {
    U64 out = 0;
    std::memcpy(&out, &value, sizeof(value));
    return out;
}

template <class T>
U64 canonical(T value) {
    if (!std::isnan(value)) return slot_of(value);
    return sizeof(T) == 4 ? 0x7FC00000U : 0x7FF8000000000000U;
}

// Comparisons and tests.
template <class T, class Relation>
U64 compare(U64 a, U64 b, Trap&) {
    return Relation{}(value_of<T>(a), value_of<T>(b)) ? 1 : 0;
}

template <class T>
U64 eqz(U64 a, U64, Trap&) {
    return value_of<T>(a) == 0 ? 1 : 0;
}

// Integers. T is unsigned unless the sign matters.
template <class T, class Operation>
U64 integer(U64 a, U64 b, Trap&) {
    return slot_of(static_cast<T>(Operation{}(value_of<T>(a), value_of<T>(b))));
}

template <class T>
U64 clz(U64 a, U64, Trap&) {
    return static_cast<U64>(std::countl_zero(value_of<T>(a)));
}

template <class T>
U64 ctz(U64 a, U64, Trap&) {
    return static_cast<U64>(std::countr_zero(value_of<T>(a)));
}

template <class T>
U64 popcnt(U64 a, U64, Trap&) {
    return static_cast<U64>(std::popcount(value_of<T>(a)));
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
U64 div(U64 a, U64 b, Trap& trap) {
    const T x = value_of<T>(a);
    const T y = value_of<T>(b);
    return is_divisor(x, y, trap) ? slot_of(static_cast<T>(x / y)) : 0;
}

template <class T>
U64 rem(U64 a, U64 b, Trap& trap) {
    const T x = value_of<T>(a);
    const T y = value_of<T>(b);
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) return 0;  // No overflow here.
    return is_divisor(x, y, trap) ? slot_of(static_cast<T>(x % y)) : 0;
}

// The number of bits to shift by.
template <class T>
int distance(U64 slot) {
    return static_cast<int>(slot % (8 * sizeof(T)));
}

template <class T>
U64 shl(U64 a, U64 b, Trap&) {
    return slot_of(static_cast<T>(value_of<T>(a) << distance<T>(b)));
}

template <class T>
U64 shr(U64 a, U64 b, Trap&) {
    return slot_of(static_cast<T>(value_of<T>(a) >> distance<T>(b)));
}

template <class T>
U64 rotl(U64 a, U64 b, Trap&) {
    return slot_of(std::rotl(value_of<T>(a), distance<T>(b)));
}

template <class T>
U64 rotr(U64 a, U64 b, Trap&) {
    return slot_of(std::rotr(value_of<T>(a), distance<T>(b)));
}

// Floating point.
template <class T>
constexpr U64 kSign = U64{1} << (8 * sizeof(T) - 1);

template <class T>
U64 abs(U64 a, U64, Trap&) {
    return a & ~kSign<T>;
}

template <class T>
U64 neg(U64 a, U64, Trap&) {
    return a ^ kSign<T>;
}

template <class T>
U64 copysign(U64 a, U64 b, Trap&) {
    return (a & ~kSign<T>) | (b & kSign<T>);
}

template <class T, T (*Operation)(T)>
U64 unary(U64 a, U64, Trap&) {
    return canonical(Operation(value_of<T>(a)));
}

template <class T, class Operation>
U64 arithmetic(U64 a, U64 b, Trap&) {
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
U64 trunc(U64 a, U64, Trap& trap) {
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
U64 convert(U64 a, U64, Trap&) {
    return slot_of(static_cast<To>(value_of<From>(a)));
}

template <class To, class From>
U64 resize(U64 a, U64, Trap&) {
    return canonical(static_cast<To>(value_of<From>(a)));
}

U64 same(U64 a, U64, Trap&) {
    return a;
}

constexpr std::array kTable{
    // 0x45: tests and comparisons of i32, i64, f32, f64.
    Numeric{1, Class::plain, eqz<U32>},
    Numeric{2, Class::plain, compare<U32, std::equal_to<>>},
    Numeric{2, Class::plain, compare<U32, std::not_equal_to<>>},
    Numeric{2, Class::plain, compare<I32, std::less<>>},
    Numeric{2, Class::plain, compare<U32, std::less<>>},
    Numeric{2, Class::plain, compare<I32, std::greater<>>},
    Numeric{2, Class::plain, compare<U32, std::greater<>>},
    Numeric{2, Class::plain, compare<I32, std::less_equal<>>},
    Numeric{2, Class::plain, compare<U32, std::less_equal<>>},
    Numeric{2, Class::plain, compare<I32, std::greater_equal<>>},
    Numeric{2, Class::plain, compare<U32, std::greater_equal<>>},
    Numeric{1, Class::plain, eqz<U64>},
    Numeric{2, Class::plain, compare<U64, std::equal_to<>>},
    Numeric{2, Class::plain, compare<U64, std::not_equal_to<>>},
    Numeric{2, Class::plain, compare<I64, std::less<>>},
    Numeric{2, Class::plain, compare<U64, std::less<>>},
    Numeric{2, Class::plain, compare<I64, std::greater<>>},
    Numeric{2, Class::plain, compare<U64, std::greater<>>},
    Numeric{2, Class::plain, compare<I64, std::less_equal<>>},
    Numeric{2, Class::plain, compare<U64, std::less_equal<>>},
    Numeric{2, Class::plain, compare<I64, std::greater_equal<>>},
    Numeric{2, Class::plain, compare<U64, std::greater_equal<>>},
    Numeric{2, Class::floating, compare<F32, std::equal_to<>>},
    Numeric{2, Class::floating, compare<F32, std::not_equal_to<>>},
    Numeric{2, Class::floating, compare<F32, std::less<>>},
    Numeric{2, Class::floating, compare<F32, std::greater<>>},
    Numeric{2, Class::floating, compare<F32, std::less_equal<>>},
    Numeric{2, Class::floating, compare<F32, std::greater_equal<>>},
    Numeric{2, Class::floating, compare<F64, std::equal_to<>>},
    Numeric{2, Class::floating, compare<F64, std::not_equal_to<>>},
    Numeric{2, Class::floating, compare<F64, std::less<>>},
    Numeric{2, Class::floating, compare<F64, std::greater<>>},
    Numeric{2, Class::floating, compare<F64, std::less_equal<>>},
    Numeric{2, Class::floating, compare<F64, std::greater_equal<>>},
    // 0x67: i32.
    Numeric{1, Class::plain, clz<U32>},
    Numeric{1, Class::plain, ctz<U32>},
    Numeric{1, Class::plain, popcnt<U32>},
    Numeric{2, Class::plain, integer<U32, std::plus<>>},
    Numeric{2, Class::plain, integer<U32, std::minus<>>},
    Numeric{2, Class::plain, integer<U32, std::multiplies<>>},
    Numeric{2, Class::divide, div<I32>},
    Numeric{2, Class::divide, div<U32>},
    Numeric{2, Class::divide, rem<I32>},
    Numeric{2, Class::divide, rem<U32>},
    Numeric{2, Class::plain, integer<U32, std::bit_and<>>},
    Numeric{2, Class::plain, integer<U32, std::bit_or<>>},
    Numeric{2, Class::plain, integer<U32, std::bit_xor<>>},
    Numeric{2, Class::plain, shl<U32>},
    Numeric{2, Class::plain, shr<I32>},
    Numeric{2, Class::plain, shr<U32>},
    Numeric{2, Class::plain, rotl<U32>},
    Numeric{2, Class::plain, rotr<U32>},
    // 0x79: i64.
    Numeric{1, Class::plain, clz<U64>},
    Numeric{1, Class::plain, ctz<U64>},
    Numeric{1, Class::plain, popcnt<U64>},
    Numeric{2, Class::plain, integer<U64, std::plus<>>},
    Numeric{2, Class::plain, integer<U64, std::minus<>>},
    Numeric{2, Class::plain, integer<U64, std::multiplies<>>},
    Numeric{2, Class::divide, div<I64>},
    Numeric{2, Class::divide, div<U64>},
    Numeric{2, Class::divide, rem<I64>},
    Numeric{2, Class::divide, rem<U64>},
    Numeric{2, Class::plain, integer<U64, std::bit_and<>>},
    Numeric{2, Class::plain, integer<U64, std::bit_or<>>},
    Numeric{2, Class::plain, integer<U64, std::bit_xor<>>},
    Numeric{2, Class::plain, shl<U64>},
    Numeric{2, Class::plain, shr<I64>},
    Numeric{2, Class::plain, shr<U64>},
    Numeric{2, Class::plain, rotl<U64>},
    Numeric{2, Class::plain, rotr<U64>},
    // 0x8B: f32.
    Numeric{1, Class::floating, abs<F32>},
    Numeric{1, Class::floating, neg<F32>},
    Numeric{1, Class::floating, unary<F32, std::ceil>},
    Numeric{1, Class::floating, unary<F32, std::floor>},
    Numeric{1, Class::floating, unary<F32, std::trunc>},
    Numeric{1, Class::floating, unary<F32, std::nearbyint>},
    Numeric{1, Class::root, unary<F32, std::sqrt>},
    Numeric{2, Class::floating, arithmetic<F32, std::plus<>>},
    Numeric{2, Class::floating, arithmetic<F32, std::minus<>>},
    Numeric{2, Class::floating, arithmetic<F32, std::multiplies<>>},
    Numeric{2, Class::root, arithmetic<F32, std::divides<>>},
    Numeric{2, Class::floating, arithmetic<F32, Min<F32>>},
    Numeric{2, Class::floating, arithmetic<F32, Max<F32>>},
    Numeric{2, Class::floating, copysign<F32>},
    // 0x99: f64.
    Numeric{1, Class::floating, abs<F64>},
    Numeric{1, Class::floating, neg<F64>},
    Numeric{1, Class::floating, unary<F64, std::ceil>},
    Numeric{1, Class::floating, unary<F64, std::floor>},
    Numeric{1, Class::floating, unary<F64, std::trunc>},
    Numeric{1, Class::floating, unary<F64, std::nearbyint>},
    Numeric{1, Class::root, unary<F64, std::sqrt>},
    Numeric{2, Class::floating, arithmetic<F64, std::plus<>>},
    Numeric{2, Class::floating, arithmetic<F64, std::minus<>>},
    Numeric{2, Class::floating, arithmetic<F64, std::multiplies<>>},
    Numeric{2, Class::root, arithmetic<F64, std::divides<>>},
    Numeric{2, Class::floating, arithmetic<F64, Min<F64>>},
    Numeric{2, Class::floating, arithmetic<F64, Max<F64>>},
    Numeric{2, Class::floating, copysign<F64>},
    // 0xA7: conversions.
    Numeric{1, Class::plain, convert<U32, U64>},  // i32.wrap_i64
    Numeric{1, Class::floating, trunc<I32, F32>},
    Numeric{1, Class::floating, trunc<U32, F32>},
    Numeric{1, Class::floating, trunc<I32, F64>},
    Numeric{1, Class::floating, trunc<U32, F64>},
    Numeric{1, Class::plain, convert<I64, I32>},  // i64.extend_i32_s
    Numeric{1, Class::plain, convert<U64, U32>},
    Numeric{1, Class::floating, trunc<I64, F32>},
    Numeric{1, Class::floating, trunc<U64, F32>},
    Numeric{1, Class::floating, trunc<I64, F64>},
    Numeric{1, Class::floating, trunc<U64, F64>},
    Numeric{1, Class::floating, convert<F32, I32>},
    Numeric{1, Class::floating, convert<F32, U32>},
    Numeric{1, Class::floating, convert<F32, I64>},
    Numeric{1, Class::floating, convert<F32, U64>},
    Numeric{1, Class::floating, resize<F32, F64>},  // f32.demote_f64
    Numeric{1, Class::floating, convert<F64, I32>},
    Numeric{1, Class::floating, convert<F64, U32>},
    Numeric{1, Class::floating, convert<F64, I64>},
    Numeric{1, Class::floating, convert<F64, U64>},
    Numeric{1, Class::floating, resize<F64, F32>},  // f64.promote_f32
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
