// The console: exactly what nodeos' functions append.
#include "host_fixture.hpp"

#include <bit>

using chain::Exception;
using host_test::failed;
using host_test::Host;
using namespace chain::literals;

namespace {

using std::uint32_t;
using std::uint64_t;

__extension__ using Int128 = __int128;

// What an action printed: it becomes visible in its trace.
std::string printed(Host& host) {
    return host.console();
}

std::string print_i128(Int128 value, std::string_view name = "printi128") {
    Host host;
    host.write(100, value);
    REQUIRE(host.call(name, {100}).has_value());
    return printed(host);
}
std::string print_number(std::string_view name, uint64_t slot) {
    Host host;
    REQUIRE(host.call(name, {slot}).has_value());
    return printed(host);
}
std::string print_quad(uint64_t low, uint64_t high) {
    Host host;
    host.write(104, low);
    host.write(112, high);
    REQUIRE(host.call("printqf", {104}).has_value());
    return printed(host);
}

}  // namespace

TEST_CASE("texts are printed as they are") {
    Host host;
    host.write_text(100, std::string_view("one\0two", 7));
    REQUIRE(host.call("prints", {100}).has_value());
    REQUIRE(host.call("prints_l", {100, 7}).has_value());
    REQUIRE(host.call("prints_l", {100, 0}).has_value());
    REQUIRE(host.call("prints", {103}).has_value());
    CHECK(printed(host) == std::string("oneone\0two", 10));
}

TEST_CASE("integers are printed in decimal") {
    CHECK(print_number("printi", ~uint64_t{0}) == "-1");
    CHECK(print_number("printi", uint64_t{1} << 63U) == "-9223372036854775808");
    CHECK(print_number("printui", ~uint64_t{0}) == "18446744073709551615");
    CHECK(print_number("printui", 0) == "0");
}

TEST_CASE("128-bit integers are printed in decimal") {
    CHECK(print_i128(0) == "0");
    CHECK(print_i128(-1) == "-1");
    CHECK(print_i128(-1, "printui128") == "340282366920938463463374607431768211455");
    const Int128 lowest = static_cast<Int128>(1) << 126;
    CHECK(print_i128(-lowest - lowest) == "-170141183460469231731687303715884105728");
    CHECK(print_i128(static_cast<Int128>(1) << 64) == "18446744073709551616");
}

TEST_CASE("floats and doubles are printed in scientific form") {
    CHECK(print_number("printsf", std::bit_cast<uint32_t>(0.5F)) == "5.000000e-01");
    CHECK(print_number("printsf", std::bit_cast<uint32_t>(-3.14159265F)) == "-3.141593e+00");
    CHECK(print_number("printdf", std::bit_cast<uint64_t>(0.1)) == "1.000000000000000e-01");
    CHECK(print_number("printdf", std::bit_cast<uint64_t>(-1e300)) == "-1.000000000000000e+300");
    CHECK(print_number("printdf", std::bit_cast<uint64_t>(0.0)) == "0.000000000000000e+00");
    CHECK(print_number("printdf", 0x7FF0'0000'0000'0000U) == "inf");
    CHECK(print_number("printdf", 0xFFF0'0000'0000'0000U) == "-inf");
    CHECK(print_number("printdf", 0x7FF8'0000'0000'0000U) == "nan");
    CHECK(print_number("printdf", 0xFFF8'0000'0000'0000U) == "-nan");
}

TEST_CASE("quadruples are printed with the precision of x87") {
    CHECK(print_quad(0, 0x3FFF'0000'0000'0000U) == "1.000000000000000000e+00");
    CHECK(print_quad(0x5555'5555'5555'5555U, 0x3FFD'5555'5555'5555U) == "3.333333333333333333e-01");
    CHECK(print_quad(0, 0xC000'8000'0000'0000U) == "-3.000000000000000000e+00");
}

TEST_CASE("names are printed as text, bytes in hexadecimal") {
    CHECK(print_number("printn", ("eosio.token"_n).value) == "eosio.token");
    CHECK(print_number("printn", 0).empty());
    Host host;
    host.write_text(100, "\x01\xAB\xFF");
    REQUIRE(host.call("printhex", {100, 3}).has_value());
    CHECK(printed(host) == "01abff");
}

TEST_CASE("printing is paid for by the byte") {
    Host host({.units = 100'000});
    CHECK_FALSE(host.call("prints_l", {0, 60'000}).has_value());
    CHECK(host.meter.exhausted());
    CHECK(printed(host).empty());
}

TEST_CASE("a transaction's console ends at its limit") {
    Host host;
    host.write_text(100, std::string(60'000, 'a'));
    const std::size_t whole = chain::kConsoleBytesMax / 60'000;
    for (std::size_t i = 0; i < whole; ++i)
        REQUIRE(host.call("prints_l", {100, 60'000}).has_value());
    CHECK(printed(host).size() == whole * 60'000);
    REQUIRE(host.call("printhex", {100, 60'000}).has_value());
    CHECK(printed(host).size() == chain::kConsoleBytesMax);
    CHECK(printed(host).substr(whole * 60'000, 4) == "6161");
    REQUIRE(host.call("printi", {7}).has_value());
    CHECK(printed(host).size() == chain::kConsoleBytesMax);
}

TEST_CASE("context-free actions may print") {
    Host host({.context_free = true});
    CHECK(host.call("printi", {5}).has_value());
}
