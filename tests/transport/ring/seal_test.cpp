// The sealed record against somebody who can write the ring but has no keys, and against a peer
// that uses its keys for something else.
#include "transport/ring/seal.hpp"

#include <catch2/catch.hpp>

#include <cstring>

namespace tests {

namespace {

using transport::ring::kTagBytes;
using transport::ring::Seal;

base::Hash256 secret(unsigned seed) {
    base::Hash256 out;
    out.bytes.fill(static_cast<std::byte>(seed));
    return out;
}

base::Bytes plain_of(std::size_t size) {
    base::Bytes out(size);
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<std::byte>(i * 7 + size);
    return out;
}

base::Bytes sealed(Seal& seal, std::uint64_t position, std::uint64_t word, base::ByteView plain) {
    base::Bytes out(plain.size() + kTagBytes);
    seal.seal(position, word, plain, out);
    return out;
}

bool opens(std::uint64_t position, std::uint64_t word, base::Bytes bytes, unsigned key = 1) {
    Seal seal(secret(key), Seal::Use::open);
    return seal.open(position, word, bytes);
}

}  // namespace

TEST_CASE("what was sealed opens, of every length") {
    Seal seal(secret(1), Seal::Use::seal);
    Seal open(secret(1), Seal::Use::open);
    std::uint64_t position = 0;
    for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 64U, 4096U, 16384U}) {
        base::Bytes bytes = sealed(seal, position, size + 1, plain_of(size));
        CHECK((size < 16 || !base::equal(base::ByteView(bytes).first(size), plain_of(size))));
        REQUIRE(open.open(position, size + 1, bytes));
        CHECK(base::equal(base::ByteView(bytes).first(size), plain_of(size)));
        position += 64;
    }
}

TEST_CASE("a flipped bit anywhere is refused") {
    Seal seal(secret(1), Seal::Use::seal);
    const base::Bytes bytes = sealed(seal, 640, 77, plain_of(40));
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        base::Bytes changed = bytes;
        changed[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        CHECK_FALSE(opens(640, 77, changed));
    }
    for (unsigned bit = 0; bit < 64; ++bit)
        CHECK_FALSE(opens(640, std::uint64_t{77} ^ (std::uint64_t{1} << bit), bytes));
    CHECK(opens(640, 77, bytes));
}

TEST_CASE("a record elsewhere, replayed, reordered, shortened or under another key is refused") {
    Seal seal(secret(1), Seal::Use::seal);
    const base::Bytes first = sealed(seal, 0, 9, plain_of(100));
    const base::Bytes second = sealed(seal, 128, 9, plain_of(100));
    CHECK(opens(0, 9, first));
    CHECK_FALSE(opens(128, 9, first));
    CHECK_FALSE(opens(0, 9, second));
    CHECK_FALSE(opens(0, 9, base::to_bytes(base::ByteView(first).first(first.size() - 1))));
    CHECK_FALSE(opens(0, 9, base::to_bytes(base::ByteView(first).subspan(1))));
    CHECK_FALSE(opens(0, 9, base::to_bytes(base::ByteView(first).last(kTagBytes))));
    CHECK_FALSE(opens(0, 9, first, 2));
}

TEST_CASE("the key changes with the position, at both ends alike") {
    constexpr std::uint64_t kEpoch = std::uint64_t{1} << 34;
    Seal seal(secret(1), Seal::Use::seal);
    const base::Bytes before = sealed(seal, kEpoch - 64, 5, plain_of(32));
    const base::Bytes after = sealed(seal, kEpoch, 5, plain_of(32));
    Seal open(secret(1), Seal::Use::open);
    base::Bytes bytes = before;
    CHECK(open.open(kEpoch - 64, 5, bytes));
    bytes = after;
    CHECK(open.open(kEpoch, 5, bytes));
    CHECK(opens(kEpoch, 5, after));
}

}  // namespace tests
