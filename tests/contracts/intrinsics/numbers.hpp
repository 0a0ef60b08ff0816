#pragma once

#include <bor/bor.hpp>

// Arithmetic that compilers leave to host functions (128-bit integers, long double), and the
// machine's own floating point. Results are printed as raw bytes, so that nothing is rounded.

namespace numbers {

using bor::int128_t;
using bor::print;
using bor::uint128_t;

template <class T>
void show(const char* label, const T& value) {
    print(label, "=");
    bor::host::printhex(&value, sizeof(T));
    print("\n");
}

// Builtins that clang never calls by itself, and other compilers do.
extern "C" {
void BOR_HOST_AS(__lshlti3, host_lshlti3)(uint128_t*, uint64_t low, uint64_t high, uint32_t shift);
void BOR_HOST_AS(__negtf2, host_negtf2)(long double*, uint64_t low, uint64_t high);
int32_t BOR_HOST_AS(__cmptf2, host_cmptf2)(long double, long double);
double BOR_HOST_AS(__floatsidf, host_floatsidf)(int32_t);
}

inline void integers(int128_t a, int128_t b, uint32_t shift) {
    const auto ua = static_cast<uint128_t>(a);
    const auto ub = static_cast<uint128_t>(b);
    // A divisor of its own, or the compiler makes the remainder from the quotient.
    const volatile int128_t modulus = b;
    const volatile uint128_t umodulus = ub;
    show("mul", a * b);
    show("div", a / b);
    show("mod", a % modulus);
    show("udiv", ua / ub);
    show("umod", ua % umodulus);
    show("shl", ua << (shift & 127));
    show("shr", ua >> (shift & 127));
    show("sar", a >> (shift & 127));
    uint128_t shifted = 0;
    host_lshlti3(&shifted, static_cast<uint64_t>(ua), static_cast<uint64_t>(ua >> 64), shift & 127);
    show("shl of the host", shifted);
    show("to double", static_cast<double>(a));
    show("unsigned to double", static_cast<double>(ua));
    print("signed ", a, " unsigned ", ua, "\n");
}

inline void quads(long double a, long double b) {
    show("add", a + b);
    show("sub", a - b);
    show("mul", a * b);
    show("div", a / b);
    uint64_t words[2] = {};
    __builtin_memcpy(words, &a, sizeof(words));
    long double negative = 0;
    host_negtf2(&negative, words[0], words[1]);
    show("neg", negative);
    print("compare ", a == b, " ", a != b, " ", a<b, " ", a <= b, " ", a> b, " ", a >= b);
    print(" ", host_cmptf2(a, b), " ", __builtin_isunordered(a, b) != 0, "\n");
    show("to double", static_cast<double>(a));
    show("to float", static_cast<float>(a));
}

// Conversions of a number that fits into 31 bits.
inline void conversions(long double quad, double x) {
    show("i32", static_cast<int32_t>(quad));
    show("i64", static_cast<int64_t>(quad));
    show("i128", static_cast<int128_t>(quad));
    show("u32", static_cast<uint32_t>(quad));
    show("u64", static_cast<uint64_t>(quad));
    show("u128", static_cast<uint128_t>(quad));
    show("f64 i128", static_cast<int128_t>(x));
    show("f64 u128", static_cast<uint128_t>(x));
    show("f32 i128", static_cast<int128_t>(static_cast<float>(x)));
    show("f32 u128", static_cast<uint128_t>(static_cast<float>(x)));
    const auto whole = static_cast<int64_t>(x);
    show("from f64", static_cast<long double>(x));
    show("from f32", static_cast<long double>(static_cast<float>(x)));
    show("from i32", static_cast<long double>(static_cast<int32_t>(whole)));
    show("from u32", static_cast<long double>(static_cast<uint32_t>(whole)));
    show("from i64", static_cast<long double>(whole));
    show("from u64", static_cast<long double>(static_cast<uint64_t>(whole)));
    show("i32 to f64", host_floatsidf(static_cast<int32_t>(whole)));
}

// Every floating point instruction; NaN results are canonical.
inline void floats(double x, double y) {
    const auto fx = static_cast<float>(x);
    const auto fy = static_cast<float>(y);
    show("add", x + y);
    show("sub", x - y);
    show("mul", x * y);
    show("div", x / y);
    show("sqrt", __builtin_sqrt(x));
    show("floor", __builtin_floor(x));
    show("ceil", __builtin_ceil(x));
    show("trunc", __builtin_trunc(x));
    show("nearest", __builtin_rint(x));
    show("abs", __builtin_fabs(x));
    show("copysign", __builtin_copysign(x, y));
    show("f32 add", fx + fy);
    show("f32 sub", fx - fy);
    show("f32 mul", fx * fy);
    show("f32 div", fx / fy);
    show("f32 sqrt", __builtin_sqrtf(fx));
    show("f32 floor", __builtin_floorf(fx));
    show("f32 ceil", __builtin_ceilf(fx));
    show("f32 trunc", __builtin_truncf(fx));
    show("f32 nearest", __builtin_rintf(fx));
    show("f32 abs", __builtin_fabsf(fx));
    show("f32 copysign", __builtin_copysignf(fx, fy));
    show("promote", static_cast<double>(fx));
    print("compare ", x == y, " ", x != y, " ", x<y, " ", x <= y, " ", x> y, " ", x >= y, "\n");
}

}  // namespace numbers
