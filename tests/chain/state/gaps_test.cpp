#include "chain/state/gaps.hpp"

#include "base/rng.hpp"
#include "chain/state/state.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using chain::Gaps;
using chain::StateDelta;
using chain::Table;

base::Bytes key_number(std::uint64_t number) {
    return {std::byte(number >> 8U & 0xFFU), std::byte(number & 0xFFU)};
}

// Rows with these numbers; counts how often it is searched.
class CountingView final : public chain::StateView {
  public:
    explicit CountingView(std::uint64_t rows) {
        for (std::uint64_t i = 0; i < rows; ++i)
            rows_.insert(key_number(i));
    }
    [[nodiscard]] chain::Value find(Table, base::ByteView key) const override {
        return rows_.count(base::to_bytes(key)) != 0 ? value_ : nullptr;
    }
    [[nodiscard]] std::optional<chain::Row> at_or_after(Table, base::ByteView key) const override {
        ++searches;
        const auto found = rows_.lower_bound(base::to_bytes(key));
        if (found == rows_.end()) return std::nullopt;
        return chain::Row{*found, value_};
    }
    [[nodiscard]] std::optional<chain::Row> before(Table, base::ByteView key) const override {
        ++searches;
        const auto found = rows_.lower_bound(base::to_bytes(key));
        if (found == rows_.begin()) return std::nullopt;
        return chain::Row{*std::prev(found), value_};
    }

    mutable std::uint64_t searches = 0;

  private:
    std::set<base::Bytes> rows_;
    chain::Value value_ = std::make_shared<const base::Bytes>(1);
};

}  // namespace

// Against a set of the keys that are known to have no row, of 40.
TEST_CASE("gaps join, are cut, and never cover a key that they were not told of") {
    base::Rng rng(17);
    for (int round = 0; round < 200; ++round) {
        Gaps gaps;
        std::set<std::uint64_t> empty;
        for (int step = 0; step < 40; ++step) {
            const std::uint64_t from = rng.below(40);
            if (rng.below(3) == 0) {
                gaps.cut(key_number(from));
                empty.erase(from);
            } else {
                const std::uint64_t to = from + rng.below(6);
                const bool open = rng.below(10) == 0;
                const base::Bytes end = key_number(to);
                gaps.add(key_number(from),
                         open ? std::nullopt : std::optional<base::ByteView>(end));
                for (std::uint64_t i = from; i < (open ? 46 : to); ++i)
                    empty.insert(i);
            }
            for (std::uint64_t i = 0; i < 40; ++i) {
                const auto gap = gaps.around(key_number(i));
                REQUIRE(gap.has_value() == (empty.count(i) != 0));
                if (!gap) continue;
                REQUIRE_FALSE(base::BytesLess()(key_number(i), gap->from));
                if (gap->to) REQUIRE(base::BytesLess()(key_number(i), *gap->to));
            }
        }
    }
}

TEST_CASE("the gap ahead of a key ends at it or behind it") {
    Gaps gaps;
    const base::Bytes end = key_number(9);
    gaps.add(key_number(5), base::ByteView(end));
    CHECK_FALSE(gaps.ahead_of(key_number(5)));
    CHECK(gaps.ahead_of(key_number(6)));
    CHECK(gaps.ahead_of(key_number(9)));
    CHECK_FALSE(gaps.ahead_of(key_number(10)));
    gaps.add(key_number(20), std::nullopt);
    CHECK(gaps.ahead_of(key_number(400)));
    CHECK_FALSE(gaps.around(key_number(400))->to);
}

TEST_CASE("too many gaps are forgotten rather than kept") {
    Gaps gaps;
    for (std::uint64_t i = 0; i < 5000; ++i) {
        const base::Bytes end = key_number(3 * i + 1);
        gaps.add(key_number(3 * i), base::ByteView(end));
        REQUIRE(gaps.size() <= 1024);
    }
    CHECK_FALSE(gaps.empty());
}

// What ids of transactions do: each comes behind all others, in what was empty up to there.
TEST_CASE("rows that cut a gap in ever more are kept in bounds, too") {
    Gaps gaps;
    gaps.add({}, std::nullopt);
    for (std::uint64_t i = 0; i < 5000; ++i) {
        gaps.cut(key_number(2 * i));
        REQUIRE(gaps.size() <= 1024);
        REQUIRE_FALSE(gaps.around(key_number(2 * i)));
    }
}

// What a queue does: take the first row, again and again, each time in a transaction of its own.
TEST_CASE("rows that were erased are passed once, not at every search") {
    const CountingView base(4000);
    StateDelta block(base);
    std::uint64_t expected = 0;
    SECTION("from the front") {
        for (; expected < 3000; ++expected) {
            StateDelta transaction = StateDelta::on(block);
            const auto row = transaction.at_or_after(Table::contract_row, {});
            REQUIRE(row);
            REQUIRE(row->key == key_number(expected));
            transaction.erase(Table::contract_row, row->key);
            block.merge(transaction);
        }
        CHECK(base.searches < 4 * 3000);
        // A row that is put back in front is found again.
        StateDelta transaction = StateDelta::on(block);
        transaction.put(Table::contract_row, key_number(7), base::Bytes(1));
        block.merge(transaction);
        CHECK(block.at_or_after(Table::contract_row, {})->key == key_number(7));
        CHECK(block.at_or_after(Table::contract_row, key_number(8))->key == key_number(3000));
    }
    SECTION("from the back") {
        const base::Bytes end = {std::byte{255}, std::byte{255}};
        for (; expected < 3000; ++expected) {
            StateDelta transaction = StateDelta::on(block);
            const auto row = transaction.before(Table::contract_row, end);
            REQUIRE(row);
            REQUIRE(row->key == key_number(3999 - expected));
            transaction.erase(Table::contract_row, row->key);
            block.merge(transaction);
        }
        CHECK(base.searches < 4 * 3000);
    }
}

TEST_CASE("what a delta found out is forgotten when its parent changes under it") {
    const CountingView base(0);
    StateDelta block(base);
    StateDelta transaction = StateDelta::on(block);
    CHECK_FALSE(transaction.at_or_after(Table::code, {}));
    block.put(Table::code, key_number(3), base::Bytes(1));
    CHECK(transaction.at_or_after(Table::code, {})->key == key_number(3));
    block.erase(Table::code, key_number(3));
    CHECK_FALSE(transaction.at_or_after(Table::code, {}));
    // Erased rows come back when the changes are dropped.
    const CountingView rows(5);
    StateDelta dropped(rows);
    dropped.erase(Table::code, key_number(0));
    CHECK(dropped.at_or_after(Table::code, {})->key == key_number(1));
    dropped.clear();
    CHECK(dropped.at_or_after(Table::code, {})->key == key_number(0));
}
