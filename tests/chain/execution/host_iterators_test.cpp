// The numbers of iterators, without a state.
#include "chain/execution/host_iterators.hpp"

#include "chain/types/exception.hpp"

#include <catch2/catch.hpp>

#include <limits>

using chain::TableId;
using chain::host::IteratorCache;
using namespace chain::literals;

namespace {

const TableId kFirst{"code"_n, "scope"_n, "first"_n};
const TableId kSecond{"code"_n, "scope"_n, "second"_n};

std::string text(const base::Error& error) {
    return std::to_string(error.exception) + " " + error.detail;
}

}  // namespace

TEST_CASE("ends are numbered from -2 down in the order of first sight") {
    IteratorCache cache;
    CHECK(cache.add_table(kFirst) == -2);
    CHECK(cache.add_table(kSecond) == -3);
    CHECK(cache.add_table(kFirst) == -2);
    REQUIRE(cache.table_of_end(-3).has_value());
    CHECK(**cache.table_of_end(-3) == kSecond);
}

TEST_CASE("rows are numbered from 0 up, each once") {
    IteratorCache cache;
    cache.add_table(kFirst);
    cache.add_table(kSecond);
    CHECK(cache.add_row(kFirst, 7, nullptr) == 0);
    CHECK(cache.add_row(kSecond, 7, nullptr) == 1);
    CHECK(cache.add_row(kFirst, 8, nullptr) == 2);
    CHECK(cache.add_row(kSecond, 7, nullptr) == 1);
    REQUIRE(cache.get(1).has_value());
    CHECK((*cache.get(1))->primary == 7);
    CHECK(cache.table_of(**cache.get(1)) == kSecond);
}

TEST_CASE("a removed row keeps its number to itself") {
    IteratorCache cache;
    cache.add_table(kFirst);
    CHECK(cache.add_row(kFirst, 7, nullptr) == 0);
    cache.remove(0);
    CHECK(text(cache.get(0).error()) == "3160005 dereference of deleted object");
    CHECK(cache.add_row(kFirst, 7, nullptr) == 1);
}

TEST_CASE("numbers that stand for no row are refused in nodeos' words") {
    IteratorCache cache;
    cache.add_table(kFirst);
    CHECK(text(cache.get(-1).error()) == "3160003 invalid iterator");
    CHECK(text(cache.get(-2).error()) == "3160005 dereference of end iterator");
    CHECK(text(cache.get(0).error()) == "3160003 iterator out of range");
    CHECK(text(cache.get(std::numeric_limits<std::int32_t>::min()).error()) ==
          "3160005 dereference of end iterator");
    CHECK(text(cache.get(std::numeric_limits<std::int32_t>::max()).error()) ==
          "3160003 iterator out of range");
}

TEST_CASE("numbers that stand for no end are refused in nodeos' words") {
    IteratorCache cache;
    cache.add_table(kFirst);
    CHECK(text(cache.table_of_end(-1).error()) == "3160003 not an end iterator");
    CHECK(text(cache.table_of_end(0).error()) == "3160003 not an end iterator");
    CHECK(text(cache.table_of_end(-3).error()) == "3160003 not a valid end iterator");
    CHECK(text(cache.table_of_end(std::numeric_limits<std::int32_t>::min()).error()) ==
          "3160003 not a valid end iterator");
}

TEST_CASE("a table made anew after its last row went is another table") {
    IteratorCache cache;
    CHECK(cache.add_table(kFirst) == -2);
    cache.forget_table(kFirst);
    REQUIRE(cache.table_of_end(-2).has_value());
    CHECK(*cache.table_of_end(-2) == nullptr);
    CHECK(cache.add_table(kFirst) == -3);
    CHECK(**cache.table_of_end(-3) == kFirst);
    cache.forget_table(kSecond);  // Never seen: nothing happens.
    CHECK(cache.add_table(kSecond) == -4);
}
