#include "chain/pool.hpp"

#include "chain/types/exception.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

// The pool is bounded against everybody: one sender cannot fill it, all together cannot grow it,
// and what leaves it leaves with a reason.

namespace {

using namespace chain::literals;

chain::PooledTransaction transaction(chain::Name actor,
                                     std::uint32_t expiration,
                                     std::size_t data_bytes = 100,
                                     std::uint8_t tag = 0) {
    chain::SignedTransaction content;
    content.expiration = {expiration};
    chain::Action action;
    action.account = "token"_n;
    action.name = "transfer"_n;
    action.authorization = {{actor, "active"_n}};
    action.data = base::Bytes(data_bytes, std::byte{tag});
    content.actions = {action};
    return {chain::make_transaction(content), {}};
}

}  // namespace

TEST_CASE("a pool keeps the order of arrival and each transaction once", "[chain][pool]") {
    chain::Pool pool(1'000'000);
    std::vector<chain::Pool::Evicted> evicted;
    const auto first = transaction("alice"_n, 200);
    const auto second = transaction("bob"_n, 100);
    REQUIRE(pool.add(first, evicted).has_value());
    REQUIRE(pool.add(second, evicted).has_value());
    const auto again = pool.add(first, evicted);
    REQUIRE_FALSE(again.has_value());
    CHECK(again.error().exception == static_cast<std::uint32_t>(chain::Exception::tx_duplicate));
    REQUIRE(pool.in_order().size() == 2);
    CHECK(pool.in_order()[0]->transaction->id == first.transaction->id);
    CHECK(pool.remove(first.transaction->id));
    CHECK_FALSE(pool.remove(first.transaction->id));
    CHECK(pool.size() == 1);
    CHECK(evicted.empty());
    pool.check_invariants();
}

TEST_CASE("one account cannot fill the pool", "[chain][pool]") {
    chain::Pool pool(100'000);
    std::vector<chain::Pool::Evicted> evicted;
    base::Result<void> last;
    for (std::uint8_t i = 0; i < 100 && last.has_value(); ++i) {
        last = pool.add(transaction("mallory"_n, 100, 1000, i), evicted);
    }
    REQUIRE_FALSE(last.has_value());
    CHECK(last.error().code == base::Errc::would_block);
    CHECK(last.error().detail.find("mallory") != std::string::npos);
    CHECK(pool.bytes() <= 100'000 / chain::Pool::kAccountShare);
    CHECK(pool.add(transaction("alice"_n, 100), evicted).has_value());
    CHECK(evicted.empty());
    pool.check_invariants();
}

TEST_CASE("a full pool lets go what expires first, and never for what expires sooner",
          "[chain][pool]") {
    chain::Pool pool(12'000);
    std::vector<chain::Pool::Evicted> evicted;
    const std::vector<chain::Name> actors{"a"_n, "b"_n, "c"_n, "d"_n};
    for (std::uint32_t i = 0; i < 4; ++i) {
        REQUIRE(pool.add(transaction(actors[i], 100 + i, 1000), evicted).has_value());
    }
    REQUIRE(evicted.empty());
    CHECK_FALSE(pool.add(transaction("e"_n, 50, 1000), evicted).has_value());
    CHECK(evicted.empty());
    REQUIRE(pool.add(transaction("e"_n, 500, 1000), evicted).has_value());
    REQUIRE_FALSE(evicted.empty());
    CHECK(evicted[0].transaction->content.expiration.seconds == 100);
    CHECK(pool.bytes() <= 12'000);
    pool.check_invariants();
}

TEST_CASE("what expires leaves with that reason", "[chain][pool]") {
    chain::Pool pool(1'000'000);
    std::vector<chain::Pool::Evicted> evicted;
    REQUIRE(pool.add(transaction("alice"_n, 100), evicted).has_value());
    REQUIRE(pool.add(transaction("alice"_n, 200), evicted).has_value());
    pool.expire({100'000'000}, evicted);
    CHECK(evicted.empty());  // Good until the end of its second.
    pool.expire({100'000'001}, evicted);
    REQUIRE(evicted.size() == 1);
    CHECK(evicted[0].reason.exception ==
          static_cast<std::uint32_t>(chain::Exception::expired_tx_exception));
    CHECK(pool.size() == 1);
    pool.check_invariants();
}
