#include "tests/sim/memo.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>

// Of a pure function every result is of its own arguments, and is asked for once.

TEST_CASE("a memo: keys of one place have their own values, and equal keys ask once", "[memo]") {
    using Key = std::array<std::uint32_t, 2>;
    sim::Memo<Key, std::uint32_t> memo(4);
    int asked = 0;
    const auto sum = [&](const Key& key, std::size_t place) {
        return memo.get(key, place, [&] {
            ++asked;
            return key[0] + key[1];
        });
    };
    // What was never asked for is not known, though its bytes are those of an empty place.
    CHECK(memo.get({0, 0}, 0, [] { return 77U; }) == 77);
    CHECK(sum({1, 2}, 1) == 3);
    CHECK(sum({1, 2}, 1) == 3);
    CHECK(asked == 1);
    // They differ in the last part only.
    CHECK(sum({1, 3}, 1) == 4);
    CHECK(sum({1, 2}, 1) == 3);
    CHECK(asked == 3);
    // Another place, beyond the last.
    CHECK(sum({5, 5}, 6) == 10);
    CHECK(sum({1, 2}, 1) == 3);
    CHECK(asked == 4);
}
