// memcpy and its kin, and the checks of ranges that all host functions share.
#include "host_fixture.hpp"

using chain::Exception;
using host_test::failed;
using host_test::Host;

namespace {

constexpr std::uint32_t kEnd = Host::kMemory;

std::string after(std::string_view name, std::initializer_list<std::uint64_t> args) {
    Host host;
    CHECK_FALSE(host.call(name, args).has_value());
    return host.failure();
}

const std::string kViolation = failed(Exception::wasm_execution_error, "access violation");

}  // namespace

TEST_CASE("memcpy copies and gives the target back") {
    Host host;
    host.write_text(100, "hello");
    CHECK(host.i32("memcpy", {200, 100, 5}) == 200);
    CHECK(host.hex(200, 6) == "68656c6c6f00");
    // Ranges that touch do not overlap.
    CHECK(host.i32("memcpy", {105, 100, 5}) == 105);
    CHECK(host.i32("memcpy", {100, 100, 0}) == 100);
}

TEST_CASE("memcpy refuses ranges that overlap") {
    const std::string expected =
        failed(Exception::overlapping_memory_error, "memcpy can only accept non-aliasing pointers");
    CHECK(after("memcpy", {104, 100, 5}) == expected);
    CHECK(after("memcpy", {100, 104, 5}) == expected);
    CHECK(after("memcpy", {100, 100, 1}) == expected);
}

TEST_CASE("memmove copies ranges that overlap") {
    Host host;
    host.write_text(100, "abcdef");
    CHECK(host.i32("memmove", {102, 100, 4}) == 102);
    CHECK(host.hex(100, 6) == "616261626364");
}

TEST_CASE("memcmp tells the order of unsigned bytes as -1, 0 or 1") {
    Host host;
    host.write_text(100, "\x7F\xFF");
    CHECK(host.i32("memcmp", {100, 101, 1}) == -1);
    CHECK(host.i32("memcmp", {101, 100, 1}) == 1);
    CHECK(host.i32("memcmp", {100, 100, 2}) == 0);
    CHECK(host.i32("memcmp", {100, 101, 0}) == 0);
}

TEST_CASE("memset fills with the low byte of the value") {
    Host host;
    CHECK(host.i32("memset", {kEnd - 2, 0x1AB, 2}) == static_cast<std::int32_t>(kEnd) - 2);
    CHECK(host.hex(kEnd - 3, 3) == "00abab");
}

TEST_CASE("ranges may end where the memory ends, and no later") {
    Host host;
    CHECK(host.i32("memcmp", {kEnd - 4, 0, 4}) == 0);
    CHECK(host.i32("memcmp", {kEnd, kEnd, 0}) == 0);
    CHECK(after("memcmp", {kEnd - 3, 0, 4}) == kViolation);
    CHECK(after("memcmp", {0, kEnd - 3, 4}) == kViolation);
    CHECK(after("memcmp", {0xFFFF'FFFF, 0, 2}) == kViolation);
    CHECK(after("memcmp", {kEnd + 1, 0, 0}) == kViolation);
    CHECK(after("memset", {0, 0, kEnd + 1}) == kViolation);
    CHECK(after("memset", {0, 0, 0xFFFF'FFFF}) == kViolation);
    // A target must have one byte, even for nothing.
    CHECK(after("memset", {kEnd, 0, 0}) == kViolation);
    CHECK(after("memcpy", {kEnd, 0, 0}) == kViolation);
}

TEST_CASE("a reference must lie in the memory and not be null") {
    CHECK(after("printi128", {0}) == failed(Exception::wasm_execution_error,
                                            "references cannot be created for null pointers"));
    CHECK(after("printi128", {kEnd - 15}) == kViolation);
    Host host;
    CHECK(host.call("printi128", {kEnd - 16}).has_value());
    // It need not be aligned.
    CHECK(host.call("printi128", {1}).has_value());
}

TEST_CASE("a text must end within the memory") {
    Host host;
    std::ranges::fill(host.bytes, std::byte{'x'});
    CHECK_FALSE(host.call("prints", {5}).has_value());
    CHECK(host.failure() == kViolation);
    CHECK(after("prints", {kEnd}) == kViolation);
}

TEST_CASE("the upper half of a slot does not count") {
    Host host;
    CHECK(host.i32("memset", {0xFFFF'FFFF'0000'0010, 7, 1}) == 16);
    CHECK(host.hex(16, 1) == "07");
}

TEST_CASE("ranges are paid for before anything is done") {
    Host host({.units = 100});
    CHECK_FALSE(host.call("memset", {0, 1, 100'000}).has_value());
    CHECK(host.meter.exhausted());
    CHECK(host.hex(0, 4) == "00000000");
    // The executor names the limit that was reached.
    CHECK(host.failure().empty());
}

TEST_CASE("the newer functions refuse ranges that overlap, even two that are read") {
    const std::string expected = failed(Exception::wasm_exception, "pointers not allowed to alias");
    CHECK(after("sha3", {100, 32, 131, 32, 0}) == expected);
    CHECK(after("k1_recover", {100, 65, 100, 32, 300, 65}) == expected);
    Host host;
    CHECK(host.call("sha3", {100, 32, 132, 32, 0}).has_value());
    // An empty range shares nothing.
    CHECK(host.call("sha3", {110, 0, 100, 32, 0}).has_value());
}
