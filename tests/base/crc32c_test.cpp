// CRC-32C in both ways to compute it, which must never differ: what one machine wrote, another
// reads.
#include "base/crc32c.hpp"

#include "base/rng.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace {

void check(base::ByteView bytes, std::uint32_t expected) {
    CHECK(base::crc32c(bytes) == expected);
    CHECK(base::crc32c_by_table(bytes) == expected);
}

}  // namespace

TEST_CASE("CRC-32C has the values of RFC 3720, appendix B.4", "[crc32c]") {
    base::Bytes bytes(32);
    check(bytes, 0x8A9136AA);
    std::ranges::fill(bytes, std::byte{0xFF});
    check(bytes, 0x62A8AB43);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i);
    check(bytes, 0x46DD794E);
    std::ranges::reverse(bytes);
    check(bytes, 0x113FDB5C);
    check(base::as_bytes("123456789"), 0xE3069283);
    check({}, 0);
}

TEST_CASE("CRC-32C is the same by instruction and by table", "[crc32c]") {
    base::Rng rng(1);
    base::Bytes bytes(300);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(rng.below(256));
    for (std::size_t from = 0; from < 16; ++from) {
        for (std::size_t size = 0; from + size <= bytes.size(); ++size) {
            const base::ByteView part = base::ByteView(bytes).subspan(from, size);
            if (base::crc32c(part) != base::crc32c_by_table(part)) FAIL(from << ' ' << size);
        }
    }
}

TEST_CASE("CRC-32C is the same where several sums are made side by side", "[crc32c]") {
    base::Rng rng(2);
    base::Bytes bytes(10'000);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(rng.below(256));
    for (std::size_t size = 3'000; size < bytes.size(); size += 7) {
        const base::ByteView part = base::ByteView(bytes).subspan(size % 9, size - 9);
        if (base::crc32c(part) != base::crc32c_by_table(part)) FAIL(size);
    }
}
