// Whose connection makes room when all places are taken.
#include "node/http/connection_table.hpp"

#include <catch2/catch.hpp>

namespace {

using node::http::ConnectionTable;

ConnectionTable::Time at(int seconds) {
    return ConnectionTable::Time(std::chrono::seconds(seconds));
}

}  // namespace

TEST_CASE("an origin has its bound, and who has no origin has none") {
    ConnectionTable table({.connections = 10, .connections_of_origin = 2});
    const auto first = table.add("a");
    CHECK_FALSE(table.has_most("a"));
    (void)table.add("a");
    CHECK(table.has_most("a"));
    CHECK_FALSE(table.has_most("b"));
    for (int i = 0; i < 8; ++i)
        (void)table.add("");
    CHECK_FALSE(table.has_most(""));
    CHECK(table.is_full());
    table.remove(first);
    CHECK_FALSE(table.has_most("a"));
    CHECK_FALSE(table.is_full());
    CHECK(table.size() == 9);
}

TEST_CASE("the longest idle one of the origin with the most goes first") {
    ConnectionTable table({});
    const auto alone = table.add("alone");
    const auto first = table.add("many");
    const auto second = table.add("many");
    const auto busy = table.add("many");
    CHECK_FALSE(table.find_to_close().has_value());
    table.set_idle(alone, at(1));
    CHECK(table.find_to_close() == alone);
    table.set_idle(second, at(2));
    table.set_idle(first, at(3));
    CHECK(table.find_to_close() == second);
    table.set_idle(second, at(4));
    CHECK(table.find_to_close() == first);
    table.set_busy(first);
    CHECK(table.find_to_close() == second);
    table.remove(second);
    // All that the origin with the most has is busy.
    CHECK(table.find_to_close() == alone);
    table.set_busy(alone);
    CHECK_FALSE(table.find_to_close().has_value());
    for (const auto id : {alone, first, busy})
        table.remove(id);
    CHECK(table.size() == 0);
}

TEST_CASE("who has just taken some is not slow") {
    ConnectionTable table({.held = 100});
    const auto first = table.add("a");
    table.add_held(first, 101, at(5));
    CHECK_FALSE(table.find_slow(first, at(4)).has_value());
    CHECK(table.find_slow(first, at(5)) == first);
}

TEST_CASE("who takes its answers slowest goes, of the origin that has too much or of all") {
    ConnectionTable table({.held = 1'000, .held_of_origin = 100});
    const auto first = table.add("a");
    const auto second = table.add("a");
    const auto other = table.add("b");
    const auto local = table.add("");
    table.add_held(first, 500, at(1));
    // Alone it may have more than its origin.
    CHECK_FALSE(table.find_slow(first, at(9)).has_value());
    table.add_held(second, 10, at(2));
    CHECK(table.find_slow(second, at(9)) == first);
    CHECK_FALSE(table.find_slow(other, at(9)).has_value());
    table.take_held(first, 100, at(3));
    CHECK(table.find_slow(first, at(9)) == second);
    table.take_held(first, 400, at(4));
    CHECK_FALSE(table.find_slow(second, at(9)).has_value());
    // Who has no origin has no bound but that of all.
    table.add_held(local, 900, at(5));
    CHECK_FALSE(table.find_slow(local, at(9)).has_value());
    table.add_held(other, 91, at(6));
    CHECK(table.find_slow(other, at(9)) == second);
    table.remove(second);
    CHECK_FALSE(table.find_slow(other, at(9)).has_value());
    table.add_held(other, 10, at(7));
    CHECK(table.find_slow(other, at(9)) == local);
    for (const auto id : {first, other, local})
        table.remove(id);
    CHECK(table.size() == 0);
}
