#include "base/rng.hpp"
#include "chain/state/empty_view.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

namespace {

using chain::EmptyView;
using chain::StateDelta;
using chain::Table;

base::Bytes bytes(std::string_view text) {
    return base::to_bytes(base::as_bytes(text));
}

std::string text(const chain::Value& value) {
    return value ? std::string(base::as_text(*value)) : "none";
}

std::string key_of(const std::optional<chain::Row>& row) {
    return row ? std::string(base::as_text(row->key)) : "none";
}

using Model = std::map<std::string, std::string, std::less<>>;

// Every reading function of `view` says what the model says, for every key in the alphabet.
void require_same(const chain::StateView& view, const Model& model, Table table) {
    for (int i = 0; i < 64; ++i) {
        std::string key(1, static_cast<char>('0' + i / 4));
        key.append(static_cast<std::size_t>(i % 4), '.');
        const auto at = model.find(key);
        REQUIRE(text(view.find(table, base::as_bytes(key))) ==
                (at == model.end() ? "none" : at->second));
        const auto next = model.lower_bound(key);
        REQUIRE(key_of(view.at_or_after(table, base::as_bytes(key))) ==
                (next == model.end() ? "none" : next->first));
        REQUIRE(key_of(view.before(table, base::as_bytes(key))) ==
                (next == model.begin() ? "none" : std::prev(next)->first));
    }
}

}  // namespace

TEST_CASE("a delta shows its own changes before its parent's") {
    const EmptyView empty;
    StateDelta block(empty);
    block.put(Table::account, base::as_bytes("alice"), bytes("1"));
    block.put(Table::account, base::as_bytes("bob"), bytes("2"));
    StateDelta action = StateDelta::on(block);
    action.put(Table::account, base::as_bytes("alice"), bytes("3"));
    action.erase(Table::account, base::as_bytes("bob"));
    action.put(Table::code, base::as_bytes("bob"), bytes("4"));

    CHECK(text(action.find(Table::account, base::as_bytes("alice"))) == "3");
    CHECK(text(action.find(Table::account, base::as_bytes("bob"))) == "none");
    CHECK(text(action.find(Table::code, base::as_bytes("bob"))) == "4");
    CHECK(text(block.find(Table::account, base::as_bytes("alice"))) == "1");
    CHECK(key_of(action.at_or_after(Table::account, base::as_bytes("b"))) == "none");
    CHECK(key_of(block.at_or_after(Table::account, base::as_bytes("b"))) == "bob");
    CHECK(action.changes(Table::account).size() == 2);
    CHECK(action.changes(Table::abi).empty());
}

TEST_CASE("a dropped delta leaves its parent as it was; a merged one does not") {
    const EmptyView empty;
    StateDelta block(empty);
    block.put(Table::account, base::as_bytes("alice"), bytes("1"));
    StateDelta transaction = StateDelta::on(block);
    transaction.erase(Table::account, base::as_bytes("alice"));
    transaction.clear();
    block.merge(transaction);
    CHECK(text(block.find(Table::account, base::as_bytes("alice"))) == "1");

    transaction.erase(Table::account, base::as_bytes("alice"));
    transaction.put(Table::account, base::as_bytes("bob"), bytes("2"));
    block.merge(transaction);
    CHECK(text(block.find(Table::account, base::as_bytes("alice"))) == "none");
    CHECK(text(block.find(Table::account, base::as_bytes("bob"))) == "2");
    CHECK(transaction.changes(Table::account).empty());
    // The erasure is kept: a parent may have the row.
    CHECK(block.changes(Table::account).size() == 2);
}

// A stack of four deltas against four copies of a std::map: random writes at the top,
// random merges and drops, and after each of them every read at every level.
TEST_CASE("a stack of deltas reads like a map that was changed in place") {
    base::Rng rng(20260101);
    for (int round = 0; round < 60; ++round) {
        const EmptyView empty;
        std::vector<std::unique_ptr<StateDelta>> stack;
        std::vector<Model> models;
        stack.push_back(std::make_unique<StateDelta>(empty));
        models.emplace_back();
        for (int step = 0; step < 120; ++step) {
            const std::uint64_t choice = rng.below(20);
            std::string key(1, static_cast<char>('0' + rng.below(16)));
            key.append(rng.below(4), '.');
            if (choice < 9) {
                const std::string value = std::to_string(step);
                stack.back()->put(Table::contract_row, base::as_bytes(key), bytes(value));
                models.back()[key] = value;
            } else if (choice < 16) {
                stack.back()->erase(Table::contract_row, base::as_bytes(key));
                models.back().erase(key);
            } else if (choice < 18 && stack.size() < 4) {
                const chain::StateView& top = *stack.back();
                stack.push_back(std::make_unique<StateDelta>(top));
                models.push_back(Model(models.back()));
            } else if (stack.size() > 1) {
                if (choice == 18) {
                    stack[stack.size() - 2]->merge(*stack.back());
                    models[models.size() - 2] = models.back();
                }
                stack.pop_back();
                models.pop_back();
            }
            if (step % 10 != 0) continue;
            for (std::size_t level = 0; level < stack.size(); ++level) {
                require_same(*stack[level], models[level], Table::contract_row);
            }
        }
    }
}
