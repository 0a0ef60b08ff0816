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
    base::Result<chain::Pool::Place> last;
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

namespace {

std::vector<chain::TransactionId> ids(const std::vector<const chain::PooledTransaction*>& entries) {
    std::vector<chain::TransactionId> ids;
    ids.reserve(entries.size());
    for (const chain::PooledTransaction* entry : entries)
        ids.push_back(entry->transaction->id);
    return ids;
}

}  // namespace

TEST_CASE("what comes back stands before all that waits, in its own order", "[chain][pool]") {
    chain::Pool pool(1'000'000);
    std::vector<chain::Pool::Evicted> evicted;
    std::vector<chain::PooledTransaction> made;
    for (std::uint8_t i = 0; i < 6; ++i)
        made.push_back(transaction("alice"_n, 100U + i, 100, i));
    REQUIRE(pool.add(made[4], evicted).has_value());
    chain::Pool::Place next = pool.before_all(2);
    REQUIRE(pool.add_at(next++, made[2], evicted).has_value());
    REQUIRE(pool.add_at(next++, made[3], evicted).has_value());
    // A second time, and of three places one stays empty.
    next = pool.before_all(3);
    REQUIRE(pool.add_at(next, made[0], evicted).has_value());
    REQUIRE(pool.add_at(next + 2, made[1], evicted).has_value());
    REQUIRE(pool.add(made[5], evicted).has_value());
    std::vector<chain::TransactionId> wanted;
    wanted.reserve(made.size());
    for (const chain::PooledTransaction& each : made)
        wanted.push_back(each.transaction->id);
    CHECK(ids(pool.in_order()) == wanted);
    CHECK(evicted.empty());
    pool.check_invariants();
    // Where it was emptied nothing of before is before what comes later.
    for (const chain::TransactionId& id : wanted)
        CHECK(pool.remove(id));
    CHECK(pool.before_all(1) < next);
    pool.check_invariants();
}

TEST_CASE("a pool filled anew from its places goes on after them", "[chain][pool]") {
    std::vector<chain::Pool::Evicted> evicted;
    const auto first = transaction("alice"_n, 100, 100, 1);
    const auto second = transaction("alice"_n, 100, 100, 2);
    const auto third = transaction("alice"_n, 100, 100, 3);
    chain::Pool before(1'000'000);
    const auto place = before.add(second, evicted);
    REQUIRE(place.has_value());
    const chain::Pool::Place earlier = before.before_all(1);
    REQUIRE(before.add_at(earlier, first, evicted).has_value());

    chain::Pool after(1'000'000);
    REQUIRE(after.add_at(earlier, first, evicted).has_value());
    REQUIRE(after.add_at(*place, second, evicted).has_value());
    const auto added = after.add(third, evicted);
    REQUIRE(added.has_value());
    CHECK(*added > *place);
    CHECK(after.before_all(1) < earlier);
    CHECK(ids(after.in_order()) ==
          std::vector{first.transaction->id, second.transaction->id, third.transaction->id});
    after.check_invariants();
}

TEST_CASE("what comes back is held to the bounds of the pool, its first part stays",
          "[chain][pool]") {
    chain::Pool pool(12'000);
    std::vector<chain::Pool::Evicted> evicted;
    const auto first = transaction("alice"_n, 100, 400, 1);
    const auto second = transaction("alice"_n, 100, 400, 2);
    const auto third = transaction("alice"_n, 100, 400, 3);
    chain::Pool::Place next = pool.before_all(3);
    REQUIRE(pool.add_at(next++, first, evicted).has_value());
    REQUIRE(pool.add_at(next++, second, evicted).has_value());
    const auto refused = pool.add_at(next, third, evicted);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().detail.find("alice") != std::string::npos);
    CHECK(ids(pool.in_order()) == std::vector{first.transaction->id, second.transaction->id});
    CHECK(evicted.empty());
    pool.check_invariants();
}

TEST_CASE("a row of the pool says its place and its transaction, and nothing else",
          "[chain][pool]") {
    const auto entry = transaction("alice"_n, 100);
    const chain::PackedTransaction& packed = entry.transaction->packed;
    const base::Bytes row = chain::encode_pool_row(chain::Pool::kOrigin - 5, packed);
    const auto read = chain::decode_pool_row(row);
    REQUIRE(read.has_value());
    CHECK(read->place == chain::Pool::kOrigin - 5);
    CHECK(read->packed == packed);
    for (std::size_t bytes = 0; bytes < row.size(); ++bytes)
        CHECK_FALSE(chain::decode_pool_row(base::ByteView(row).first(bytes)).has_value());
    base::Bytes longer = row;
    longer.push_back(std::byte{0});
    CHECK_FALSE(chain::decode_pool_row(longer).has_value());
    for (const chain::Pool::Place place : {chain::Pool::kPlaceMin, chain::Pool::kPlaceMax})
        CHECK(chain::decode_pool_row(chain::encode_pool_row(place, packed)).has_value());
    for (const chain::Pool::Place place :
         {chain::Pool::Place{0}, chain::Pool::kPlaceMin - 1, chain::Pool::kPlaceMax + 1}) {
        const auto refused = chain::decode_pool_row(chain::encode_pool_row(place, packed));
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().detail.find("pool.place") != std::string::npos);
    }
}
