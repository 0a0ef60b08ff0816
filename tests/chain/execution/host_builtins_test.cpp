// 128-bit integers and quadruple precision, against values worked out by hand and the
// compiler's own arithmetic.
#include "base/rng.hpp"
#include "chain/execution/host_float128.hpp"
#include "host_fixture.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <ostream>

using chain::Exception;
using chain::host::Float128;
using chain::host::Int128;
using chain::host::UInt128;
using host_test::failed;
using host_test::Host;

namespace {

using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;

constexpr uint32_t kOut = 1000;
constexpr uint64_t kOnes = ~uint64_t{0};
constexpr uint64_t kTop = uint64_t{1} << 63U;

// 1.0, -1.0 and so on as quadruples.
Float128 quad(double value) {
    return chain::host::from_float64(std::bit_cast<uint64_t>(value));
}
const Float128 kNaN{0, 0x7FFF'8000'0000'0000U};
const Float128 kInfinity{0, 0x7FFF'0000'0000'0000U};

struct Wide {
    uint64_t low;
    uint64_t high;
    bool operator==(const Wide&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Wide& wide) {
    return out << std::hex << wide.high << ':' << wide.low;
}

Wide integer(std::string_view name, Wide a, Wide b) {
    Host host;
    REQUIRE(host.call(name, {kOut, a.low, a.high, b.low, b.high}).has_value());
    return host.read<Wide>(kOut);
}
Wide shifted(std::string_view name, Wide a, uint32_t count) {
    Host host;
    REQUIRE(host.call(name, {kOut, a.low, a.high, count}).has_value());
    return host.read<Wide>(kOut);
}
Float128 quad_of(std::string_view name, Float128 a, Float128 b) {
    Host host;
    REQUIRE(host.call(name, {kOut, a.low, a.high, b.low, b.high}).has_value());
    return host.read<Float128>(kOut);
}
uint64_t number(std::string_view name, Float128 a) {
    Host host;
    const auto result = host.call(name, {a.low, a.high});
    REQUIRE(result.has_value());
    return *result;
}
Wide wide_of(std::string_view name, Float128 a) {
    Host host;
    REQUIRE(host.call(name, {kOut, a.low, a.high}).has_value());
    return host.read<Wide>(kOut);
}
Wide wide_from(std::string_view name, uint64_t bits) {
    Host host;
    REQUIRE(host.call(name, {kOut, bits}).has_value());
    return host.read<Wide>(kOut);
}
uint64_t bits(double value) {
    return std::bit_cast<uint64_t>(value);
}
uint64_t bits(float value) {
    return std::bit_cast<uint32_t>(value);
}
int32_t compared(std::string_view name, Float128 a, Float128 b) {
    Host host;
    return host.i32(name, {a.low, a.high, b.low, b.high});
}

}  // namespace

TEST_CASE("128-bit integers are multiplied and divided") {
    CHECK(integer("__multi3", {kOnes, 0}, {kOnes, 0}) == Wide{1, kOnes - 1});
    CHECK(integer("__multi3", {kOnes, kOnes}, {7, 0}) == Wide{kOnes - 6, kOnes});
    CHECK(integer("__udivti3", {0, 1}, {2, 0}) == Wide{kTop, 0});
    CHECK(integer("__umodti3", {5, 1}, {0, 1}) == Wide{5, 0});
    // -7 / 2 and -7 % 2 towards zero.
    CHECK(integer("__divti3", {kOnes - 6, kOnes}, {2, 0}) == Wide{kOnes - 2, kOnes});
    CHECK(integer("__modti3", {kOnes - 6, kOnes}, {2, 0}) == Wide{kOnes, kOnes});
}

TEST_CASE("the quotient that overflows wraps around") {
    CHECK(integer("__divti3", {0, kTop}, {kOnes, kOnes}) == Wide{0, kTop});
    CHECK(integer("__modti3", {0, kTop}, {kOnes, kOnes}) == Wide{0, 0});
    CHECK(integer("__divti3", {7, 0}, {kOnes, kOnes}) == Wide{kOnes - 6, kOnes});
}

TEST_CASE("division by zero fails the action") {
    for (const char* name : {"__divti3", "__udivti3", "__modti3", "__umodti3"}) {
        Host host;
        CHECK_FALSE(host.call(name, {kOut, 1, 0, 0, 0}).has_value());
        CHECK(host.failure() == failed(Exception::arithmetic_exception, "divide by zero"));
    }
}

TEST_CASE("128-bit integers are shifted") {
    CHECK(shifted("__ashlti3", {1, 0}, 64) == Wide{0, 1});
    CHECK(shifted("__lshlti3", {3, 0}, 127) == Wide{0, kTop});
    CHECK(shifted("__lshrti3", {0, kTop}, 127) == Wide{1, 0});
    CHECK(shifted("__ashrti3", {0, kTop}, 127) == Wide{kOnes, kOnes});
    CHECK(shifted("__ashrti3", {8, 0}, 2) == Wide{2, 0});
    CHECK(shifted("__ashlti3", {9, 9}, 0) == Wide{9, 9});
    CHECK(shifted("__ashlti3", {1, 0}, 129) == Wide{2, 0});
}

TEST_CASE("quadruples are added, subtracted, multiplied and divided") {
    CHECK(quad_of("__addtf3", quad(1.5), quad(2.25)) == quad(3.75));
    CHECK(quad_of("__subtf3", quad(1.5), quad(2.25)) == quad(-0.75));
    CHECK(quad_of("__multf3", quad(-1.5), quad(2.0)) == quad(-3.0));
    // One third needs all 113 bits.
    CHECK(quad_of("__divtf3", quad(1.0), quad(3.0)) ==
          Float128{0x5555'5555'5555'5555U, 0x3FFD'5555'5555'5555U});
    CHECK(quad_of("__divtf3", quad(1.0), quad(0.0)) == kInfinity);
}

TEST_CASE("what is no number is the canonical one") {
    CHECK(quad_of("__divtf3", quad(0.0), quad(0.0)) == kNaN);
    CHECK(quad_of("__subtf3", kInfinity, kInfinity) == kNaN);
    CHECK(quad_of("__addtf3", {1, 0xFFFF'0000'0000'0000U}, quad(1.0)) == kNaN);
    CHECK(number("__trunctfdf2", {5, 0xFFFF'1111'0000'0000U}) == 0x7FF8'0000'0000'0000U);
    CHECK(number("__trunctfsf2", {5, 0xFFFF'1111'0000'0000U}) == 0x7FC0'0000U);
    CHECK(wide_from("__extendsftf2", 0xFF80'0001U) == Wide{0, kNaN.high});
    CHECK(wide_from("__extenddftf2", 0xFFF0'0000'0000'0001U) == Wide{0, kNaN.high});
}

TEST_CASE("negation changes the sign of anything") {
    Host host;
    REQUIRE(host.call("__negtf2", {kOut, 5, 0xFFFF'1111'0000'0000U}).has_value());
    CHECK(host.read<Float128>(kOut) == Float128{5, 0x7FFF'1111'0000'0000U});
    REQUIRE(host.call("__negtf2", {kOut, 0, 0}).has_value());
    CHECK(host.read<Float128>(kOut) == quad(-0.0));
}

TEST_CASE("quadruples become doubles and floats, rounded to nearest") {
    CHECK(number("__trunctfdf2", quad(0.1)) == bits(0.1));
    CHECK(number("__trunctfsf2", quad(0.1)) == bits(0.1F));
    CHECK(number("__trunctfdf2", kInfinity) == bits(std::numeric_limits<double>::infinity()));
    CHECK(number("__trunctfsf2", quad(1e300)) == bits(std::numeric_limits<float>::infinity()));
    CHECK(wide_from("__extendsftf2", bits(-2.5F)) == Wide{quad(-2.5).low, quad(-2.5).high});
}

TEST_CASE("to 32 and 64 bits quadruples are rounded to nearest, ties to even, as in Leap") {
    const auto to_int = [](double value) {
        return static_cast<int32_t>(static_cast<uint32_t>(number("__fixtfsi", quad(value))));
    };
    CHECK(to_int(0.5) == 0);
    CHECK(to_int(1.5) == 2);
    CHECK(to_int(2.5) == 2);
    CHECK(to_int(-1.5) == -2);
    CHECK(to_int(-2.7) == -3);
    CHECK(to_int(2147483647.0) == 2147483647);
    CHECK(to_int(-2147483648.0) == std::numeric_limits<int32_t>::min());
    CHECK(to_int(1e-300) == 0);
    CHECK(static_cast<int64_t>(number("__fixtfdi", quad(-9007199254740993.0))) ==
          -9007199254740992);
    CHECK(number("__fixunstfsi", quad(4294967295.0)) == 4294967295U);
    CHECK(number("__fixunstfdi", quad(18446744073709549568.0)) == 18446744073709549568U);
    CHECK(number("__fixunstfsi", quad(-0.25)) == 0);
}

TEST_CASE("what does not fit becomes the smallest or largest number") {
    const uint64_t lowest = 0x8000'0000U;
    CHECK(number("__fixtfsi", quad(2147483647.5)) == lowest);
    CHECK(number("__fixtfsi", quad(2147483648.0)) == lowest);
    CHECK(number("__fixtfsi", quad(-2147483649.0)) == lowest);
    CHECK(number("__fixtfsi", kNaN) == lowest);
    CHECK(number("__fixtfsi", kInfinity) == lowest);
    CHECK(number("__fixtfdi", quad(9.3e18)) == kTop);
    CHECK(number("__fixtfdi", kNaN) == kTop);
    CHECK(number("__fixtfdi", quad(1e200)) == kTop);
    CHECK(number("__fixunstfsi", quad(-1.0)) == 0xFFFF'FFFFU);
    CHECK(number("__fixunstfsi", quad(4294967296.0)) == 0xFFFF'FFFFU);
    CHECK(number("__fixunstfdi", kNaN) == kOnes);
    CHECK(number("__fixunstfdi", quad(-3.0)) == kOnes);
}

TEST_CASE("to 128 bits numbers lose their fraction") {
    CHECK(wide_of("__fixtfti", quad(-2.9)) == Wide{kOnes - 1, kOnes});
    CHECK(wide_of("__fixtfti", quad(1e-5)) == Wide{0, 0});
    CHECK(wide_of("__fixtfti", quad(18446744073709551616.0)) == Wide{0, 1});
    CHECK(wide_of("__fixunstfti", quad(-2.9)) == Wide{0, 0});
    CHECK(wide_of("__fixunstfti", quad(2.9)) == Wide{2, 0});
    CHECK(wide_from("__fixdfti", bits(-1e19)) ==
          Wide{uint64_t{0} - uint64_t{10'000'000'000'000'000'000U}, kOnes});
    CHECK(wide_from("__fixsfti", bits(3.99F)) == Wide{3, 0});
    CHECK(wide_from("__fixunsdfti", bits(36893488147419103232.0)) == Wide{0, 2});
    CHECK(wide_from("__fixunssfti", bits(-1.0F)) == Wide{0, 0});
}

TEST_CASE("to 128 bits what does not fit is limited") {
    CHECK(wide_of("__fixtfti", quad(1e300)) == Wide{kOnes, kTop - 1});
    CHECK(wide_of("__fixtfti", quad(-1e300)) == Wide{0, kTop});
    CHECK(wide_of("__fixtfti", kNaN) == Wide{kOnes, kTop - 1});
    CHECK(wide_of("__fixunstfti", kInfinity) == Wide{kOnes, kOnes});
    CHECK(wide_of("__fixunstfti", quad(std::ldexp(1.0, 127))) == Wide{0, kTop});
    CHECK(wide_of("__fixunstfti", quad(std::ldexp(1.0, 128))) == Wide{kOnes, kOnes});
    CHECK(wide_from("__fixdfti", bits(-std::numeric_limits<double>::infinity())) == Wide{0, kTop});
}

TEST_CASE("integers become floating point") {
    Host host;
    CHECK(host.call("__floatsidf", {static_cast<uint32_t>(-5)}) == bits(-5.0));
    CHECK(host.call("__floattidf", {kOnes, kOnes}) == bits(-1.0));
    CHECK(host.call("__floatuntidf", {0, 1}) == bits(18446744073709551616.0));
    CHECK(host.call("__floatuntidf", {kOnes, kOnes}) == bits(std::ldexp(1.0, 128)));
    const auto made = [](std::string_view name, uint64_t value) {
        Host inner;
        REQUIRE(inner.call(name, {kOut, value}).has_value());
        return inner.read<Float128>(kOut);
    };
    CHECK(made("__floatsitf", static_cast<uint32_t>(-5)) == quad(-5.0));
    CHECK(made("__floatunsitf", 0xFFFF'FFFF) == quad(4294967295.0));
    CHECK(made("__floatditf", kOnes) == quad(-1.0));
    CHECK(made("__floatunditf", kTop) == quad(9223372036854775808.0));
}

TEST_CASE("quadruples are compared, and each function has its answer for what is no number") {
    for (const char* name : {"__cmptf2", "__eqtf2", "__netf2", "__getf2", "__gttf2", "__letf2"}) {
        CAPTURE(name);
        CHECK(compared(name, quad(1.0), quad(2.0)) == -1);
        CHECK(compared(name, quad(2.0), quad(1.0)) == 1);
        CHECK(compared(name, quad(-0.0), quad(0.0)) == 0);
    }
    CHECK(compared("__cmptf2", kNaN, quad(1.0)) == 1);
    CHECK(compared("__eqtf2", kNaN, kNaN) == 1);
    CHECK(compared("__netf2", quad(1.0), kNaN) == 1);
    CHECK(compared("__getf2", kNaN, quad(1.0)) == -1);
    CHECK(compared("__gttf2", kNaN, quad(1.0)) == 0);
    CHECK(compared("__letf2", kNaN, quad(1.0)) == 1);
    CHECK(compared("__lttf2", kNaN, quad(1.0)) == 0);
    CHECK(compared("__unordtf2", kNaN, quad(1.0)) == 1);
    CHECK(compared("__unordtf2", kInfinity, quad(1.0)) == 0);
}

TEST_CASE("taking a double apart and truncating it agrees with the compiler") {
    base::Rng rng(7);
    for (int i = 0; i < 20'000; ++i) {
        // Exponents from 2^-20 to 2^126.
        const uint64_t exponent = 1003 + rng.below(147);
        const uint64_t sample =
            (rng.below(2) << 63U) | (exponent << 52U) | rng.below(uint64_t{1} << 52U);
        const double value = std::bit_cast<double>(sample);
        const chain::host::Parts parts = chain::host::parts_of_float64(sample);
        REQUIRE(chain::host::truncate_int128(parts) == static_cast<Int128>(value));
        if (value > 0) {
            REQUIRE(chain::host::truncate_uint128(parts) == static_cast<UInt128>(value));
        }
    }
}
