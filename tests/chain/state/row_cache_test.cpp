#include "chain/state/row_cache.hpp"

#include "base/rng.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>

namespace {

using chain::RowCache;
using chain::Table;

base::Bytes key_number(std::uint64_t number) {
    return base::to_bytes(base::as_bytes("key " + std::to_string(number)));
}

chain::Value value_of(std::size_t bytes) {
    return std::make_shared<const base::Bytes>(bytes);
}

}  // namespace

TEST_CASE("a cache knows rows, knows that there are none, and knows nothing") {
    RowCache cache(1 << 20, 1);
    cache.put(Table::abi, key_number(1), value_of(3));
    cache.put(Table::abi, key_number(2), nullptr);
    REQUIRE(cache.find(Table::abi, key_number(1)) != nullptr);
    CHECK((*cache.find(Table::abi, key_number(1)))->size() == 3);
    REQUIRE(cache.find(Table::abi, key_number(2)) != nullptr);
    CHECK(*cache.find(Table::abi, key_number(2)) == nullptr);
    CHECK(cache.find(Table::abi, key_number(3)) == nullptr);
    CHECK(cache.find(Table::code, key_number(1)) == nullptr);
    cache.put(Table::abi, key_number(1), nullptr);
    CHECK(*cache.find(Table::abi, key_number(1)) == nullptr);
    cache.clear();
    CHECK(cache.find(Table::abi, key_number(1)) == nullptr);
    CHECK(cache.bytes() == 0);
}

TEST_CASE("a cache stays within its bytes and never tells an old value") {
    base::Rng rng(3);
    RowCache cache(100'000, 9);
    std::map<std::uint64_t, chain::Value> last;
    std::size_t found = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t number = rng.below(2000);
        if (rng.below(2) == 0) {
            const chain::Value value = rng.below(5) == 0 ? nullptr : value_of(rng.below(300));
            cache.put(Table::contract_row, key_number(number), value);
            last[number] = value;
        } else if (const auto* known = cache.find(Table::contract_row, key_number(number))) {
            ++found;
            REQUIRE(last.count(number) == 1);
            REQUIRE(*known == last[number]);
        }
        REQUIRE(cache.bytes() <= 100'000);
    }
    CHECK(found > 500);
}

TEST_CASE("a row greater than the whole cache is not kept") {
    RowCache cache(10'000, 0);
    cache.put(Table::abi, key_number(1), value_of(20'000));
    CHECK(cache.bytes() <= 10'000);
    CHECK(cache.find(Table::abi, key_number(1)) == nullptr);
}

TEST_CASE("rows that are asked for outlive rows that are not") {
    RowCache cache(200'000, 4);
    cache.put(Table::abi, key_number(0), value_of(8));
    for (std::uint64_t i = 1; i < 20'000; ++i) {
        cache.put(Table::abi, key_number(i), value_of(8));
        REQUIRE(cache.find(Table::abi, key_number(0)) != nullptr);
    }
    CHECK(cache.find(Table::abi, key_number(1)) == nullptr);
}
