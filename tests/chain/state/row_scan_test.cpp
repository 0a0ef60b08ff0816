#include "chain/state/row_scan.hpp"

#include "chain/state/empty_view.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

namespace {

using chain::RowScan;
using chain::StateDelta;
using chain::Table;

std::string keys_of(RowScan scan) {
    std::string keys;
    while (const auto row = scan.next()) {
        keys += std::string(base::as_text(row->key)) + " ";
    }
    return keys;
}

}  // namespace

TEST_CASE("a scan reads the rows of one table with one prefix, in order") {
    const chain::EmptyView empty;
    StateDelta state(empty);
    CHECK(keys_of(RowScan(state, Table::node, {})).empty());

    for (const std::string_view key : {"b", "ab", "a", "abc", "c", "ac"}) {
        state.put(Table::node, base::as_bytes(key), base::to_bytes(base::as_bytes("1")));
    }
    state.put(Table::member, base::as_bytes("aa"), base::to_bytes(base::as_bytes("1")));
    const auto prefix = base::as_bytes("a");

    CHECK(keys_of(RowScan(state, Table::node, {})) == "a ab abc ac b c ");
    CHECK(keys_of(RowScan(state, Table::node, prefix)) == "a ab abc ac ");
    CHECK(keys_of(RowScan(state, Table::node, prefix, base::as_bytes("abc"))) == "abc ac ");
    CHECK(keys_of(RowScan(state, Table::node, prefix, base::as_bytes("abb"))) == "abc ac ");
    CHECK(keys_of(RowScan(state, Table::node, prefix, base::as_bytes("b"))).empty());
    CHECK(keys_of(RowScan(state, Table::node, base::as_bytes("d"))).empty());
    CHECK(keys_of(RowScan(state, Table::member, prefix)) == "aa ");
}

TEST_CASE("a scan may go on while rows that it has read are erased") {
    const chain::EmptyView empty;
    StateDelta state(empty);
    for (const std::string_view key : {"a", "b", "c"}) {
        state.put(Table::node, base::as_bytes(key), base::to_bytes(base::as_bytes("1")));
    }
    RowScan scan(state, Table::node, {});
    REQUIRE(scan.next());
    state.erase(Table::node, base::as_bytes("a"));
    state.erase(Table::node, base::as_bytes("b"));
    CHECK(base::as_text(scan.next()->key) == "c");
    CHECK_FALSE(scan.next());
}
