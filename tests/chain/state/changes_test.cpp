#include "chain/state/changes.hpp"

#include "base/rng.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>

namespace {

using chain::Changes;
using chain::Table;
using Model = std::map<base::Bytes, chain::Value, base::BytesLess>;

chain::Value value_of(std::uint64_t number) {
    return std::make_shared<const base::Bytes>(number % 7 + 1, std::byte(number & 0xFFU));
}

// Keys that share beginnings of many lengths, are prefixes of one another, end in zero bytes
// and are too long to lie in a StoredKey: what the search by eight bytes could get wrong.
base::Bytes key_from(base::Rng& rng) {
    base::Bytes key(rng.below(3) * 8, std::byte{0x42});
    const std::uint64_t tail = rng.below(rng.below(8) == 0 ? 60 : 12);
    for (std::uint64_t i = 0; i < tail; ++i) {
        key.push_back(std::byte(rng.below(3) == 0 ? rng.below(256) : rng.below(2) * 255));
    }
    return key;
}

void require_same(const Changes& changes, const Model& model) {
    REQUIRE(changes.size() == model.size());
    auto at = model.begin();
    for (const auto& [key, value] : changes) {
        REQUIRE(base::equal(key, at->first));
        REQUIRE(value == at->second);
        ++at;
    }
    auto back = changes.end();
    for (auto from = model.rbegin(); from != model.rend(); ++from) {
        --back;
        REQUIRE(base::equal(back->key, from->first));
    }
    REQUIRE(back == changes.begin());
}

void require_search(const Changes& changes, const Model& model, base::ByteView key) {
    const auto exact = model.find(key);
    const chain::Change* found = changes.find(key);
    REQUIRE((found != nullptr) == (exact != model.end()));
    if (found != nullptr) REQUIRE(found->value == exact->second);
    const auto next = model.lower_bound(key);
    const auto place = changes.lower_bound(key);
    REQUIRE((place == changes.end()) == (next == model.end()));
    if (next != model.end()) REQUIRE(base::equal(place->key, next->first));
}

}  // namespace

TEST_CASE("changes are an ordered map of byte strings") {
    base::Rng rng(7);
    for (const int writes : {1, 5, 63, 64, 65, 400, 3000}) {
        Changes changes;
        Model model;
        for (int i = 0; i < writes; ++i) {
            const base::Bytes key = key_from(rng);
            const chain::Value value = rng.below(4) == 0 ? nullptr : value_of(rng.below(1000));
            changes.set(key, value);
            model.insert_or_assign(key, value);
            require_search(changes, model, key_from(rng));
            require_search(changes, model, key);
        }
        require_same(changes, model);
    }
}

TEST_CASE("keys that come in order, forwards or backwards, are found again") {
    for (const bool forwards : {true, false}) {
        Changes changes;
        Model model;
        for (std::uint32_t i = 0; i < 1000; ++i) {
            const std::uint32_t number = forwards ? i : 1000 - i;
            const base::Bytes key = {
                std::byte{1}, std::byte(number >> 8U), std::byte(number & 0xFFU)};
            changes.set(key, model[key] = value_of(number));
            require_search(changes, model, key);
        }
        REQUIRE(changes.size() == model.size());
    }
}

TEST_CASE("the newer changes win when they are merged, whichever are more") {
    base::Rng rng(8);
    for (int round = 0; round < 60; ++round) {
        Changes older;
        Changes newer;
        Model model;
        const std::uint64_t old_count = rng.below(200);
        for (std::uint64_t i = 0; i < old_count; ++i) {
            const base::Bytes key = key_from(rng);
            older.set(key, model[key] = value_of(i));
        }
        const std::uint64_t new_count = rng.below(200);
        for (std::uint64_t i = 0; i < new_count; ++i) {
            const base::Bytes key = key_from(rng);
            newer.set(key, model[key] = value_of(i + 300));
        }
        older.merge(std::move(newer));
        require_same(older, model);
        REQUIRE(newer.empty());  // NOLINT(bugprone-use-after-move): merge() says so.
    }
}

TEST_CASE("a set of changes keeps its tables apart and in order") {
    chain::ChangeSet set;
    const base::Bytes key = {std::byte{1}};
    set.set(Table::code, key, value_of(1));
    set.set(Table::account, key, value_of(2));
    set.set(Table::node, key, nullptr);
    REQUIRE(set.tables().size() == 3);
    CHECK(set.tables()[0].table == Table::account);
    CHECK(set.tables()[1].table == Table::code);
    CHECK(set.tables()[2].table == Table::node);
    CHECK(set.size() == 3);
    CHECK(set.of(Table::abi).empty());
    CHECK(set.of(Table::code).find(key)->value->size() == 2);
}
