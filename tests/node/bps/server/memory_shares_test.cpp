#include "node/bps/server/memory_shares.hpp"

#include <catch2/catch.hpp>

using bps::MemoryShares;
constexpr auto kAnswer = MemoryShares::Use::answer;
constexpr auto kRequest = MemoryShares::Use::request;

TEST_CASE("a tenant may hold as many bytes as are free", "[bps][memory]") {
    MemoryShares shares(1'200);
    CHECK(shares.try_take(1, 600, kAnswer));
    CHECK_FALSE(shares.try_take(1, 1, kAnswer));
    // Whoever comes later finds something; all share alike in the end.
    CHECK(shares.try_take(2, 300, kAnswer));
    CHECK_FALSE(shares.try_take(2, 1, kAnswer));
    CHECK(shares.used() == 900);
    shares.give(1, 300);
    CHECK(shares.try_take(2, 100, kAnswer));
    CHECK_FALSE(shares.try_take(1, 201, kAnswer));
    shares.give(1, 300);
    shares.give(2, 400);
    CHECK(shares.used() == 0);
    CHECK(shares.try_take(2, 1'200, kAnswer));
}

TEST_CASE("requests leave memory for their answers", "[bps][memory]") {
    MemoryShares shares(1'200);
    CHECK(shares.try_take(1, 400, kRequest));
    CHECK_FALSE(shares.try_take(1, 1, kRequest));
    CHECK(shares.try_take(1, 400, kAnswer));
    CHECK_FALSE(shares.try_take(1, 1, kAnswer));
    CHECK(shares.try_take(2, 200, kRequest));
}

TEST_CASE("a hold that moves is given back once", "[bps][memory]") {
    MemoryShares shares(100);
    REQUIRE(shares.try_take(1, 10, kRequest));
    {
        bps::MemoryHold one(shares, 1, 10);
        bps::MemoryHold two(std::move(one));
        bps::MemoryHold three;
        three = std::move(two);
        CHECK(shares.used() == 10);
        three = bps::MemoryHold();
        CHECK(shares.used() == 0);
        REQUIRE(shares.try_take(2, 10, kRequest));
        three = bps::MemoryHold(shares, 2, 10);
    }
    CHECK(shares.used() == 0);
}
