#include "chain/state/digest.hpp"

#include "base/crypto/chacha.hpp"
#include "base/crypto/hash.hpp"
#include "base/rng.hpp"
#include "chain/state/empty_view.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using chain::EmptyView;
using chain::StateDelta;
using chain::StateLanes;
using chain::Table;

base::Bytes bytes(std::string_view text) {
    return base::to_bytes(base::as_bytes(text));
}

base::Bytes key_number(std::uint64_t number) {
    return bytes("key " + std::to_string(number));
}

}  // namespace

TEST_CASE("one entry's lanes are the key-stream of its hash, as the specification spells it") {
    base::Bytes entry = bytes("BoR entry 1");
    for (const char byte : std::string("\x08\0\x03\0\0\0keyvalue", 14)) {
        entry.push_back(std::byte(byte));
    }
    base::Bytes stream(2048);
    base::crypto::chacha20_keystream(base::crypto::sha256(entry), stream);

    StateLanes lanes;
    lanes.add(Table::contract_row, base::as_bytes("key"), base::as_bytes("value"));
    CHECK(lanes.packed() == stream);
    CHECK(lanes.digest() == base::crypto::sha256(stream));
    CHECK(StateLanes().digest() == base::crypto::sha256(base::Bytes(2048)));
}

TEST_CASE("where key and value part is hashed, and so is the table") {
    StateLanes lanes;
    lanes.add(Table::abi, base::as_bytes("ab"), base::as_bytes("c"));
    StateLanes others;
    SECTION("key and value") {
        others.add(Table::abi, base::as_bytes("a"), base::as_bytes("bc"));
    }
    SECTION("table") {
        others.add(Table::code, base::as_bytes("ab"), base::as_bytes("c"));
    }
    SECTION("value") {
        others.add(Table::abi, base::as_bytes("ab"), base::as_bytes("d"));
    }
    SECTION("twice") {
        others = lanes;
        others += lanes;
    }
    CHECK(lanes.digest() != others.digest());
}

TEST_CASE("the order of entries does not matter, and what goes leaves no trace") {
    base::Rng rng(5);
    std::vector<std::uint64_t> numbers(40);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = i;
    StateLanes straight;
    for (const std::uint64_t i : numbers)
        straight.add(Table::abi, key_number(i), key_number(i));
    StateLanes shuffled;
    shuffled.add(Table::abi, key_number(99), key_number(1));
    for (std::size_t i = numbers.size(); i > 1; --i) {
        std::swap(numbers[i - 1], numbers[rng.below(i)]);
    }
    for (const std::uint64_t i : numbers)
        shuffled.add(Table::abi, key_number(i), key_number(i));
    CHECK(straight.digest() != shuffled.digest());
    shuffled.subtract(Table::abi, key_number(99), key_number(1));
    CHECK(straight == shuffled);
    CHECK(straight.digest() == shuffled.digest());
}

TEST_CASE("lanes are read as they were written") {
    StateLanes lanes;
    lanes.add(Table::abi, base::as_bytes("a"), base::as_bytes("b"));
    CHECK(StateLanes::unpack(lanes.packed()).value() == lanes);
    CHECK_FALSE(StateLanes::unpack(base::Bytes(2047)));
    CHECK_FALSE(StateLanes::unpack(base::Bytes(2049)));
}

// Random blocks on top of each other: the lanes moved by each, computed in parts, must lead to
// those of the state counted afresh.
TEST_CASE("the lanes that follow the blocks are those of the whole state") {
    base::Rng rng(6);
    const EmptyView empty;
    StateDelta state(empty);
    StateLanes lanes;
    for (int block = 0; block < 30; ++block) {
        StateDelta delta = StateDelta::on(state);
        for (int i = 0; i < 20; ++i) {
            const base::Bytes key = key_number(rng.below(25));
            if (rng.below(3) == 0) {
                delta.erase(Table::member, key);
            } else {
                delta.put(Table::member, key, key_number(rng.below(3)));
            }
        }
        const auto net = chain::net_changes(delta.changes(), state);
        const std::size_t half = rng.below(net.size() + 1);
        lanes += chain::lanes_moved(std::span(net).first(half));
        lanes += chain::lanes_moved(std::span(net).subspan(half));
        state.merge(delta);
        StateLanes afresh;
        for (const auto& [key, value] : state.changes(Table::member)) {
            if (value) afresh.add(Table::member, key, *value);
        }
        REQUIRE(lanes == afresh);
    }
}

TEST_CASE("a row that was written back to what it was is no change") {
    const EmptyView empty;
    StateDelta state(empty);
    state.put(Table::node, base::as_bytes("a"), bytes("1"));
    StateDelta delta = StateDelta::on(state);
    delta.put(Table::node, base::as_bytes("a"), bytes("1"));
    delta.erase(Table::node, base::as_bytes("never was"));
    CHECK(chain::net_changes(delta.changes(), state).empty());
    delta.put(Table::node, base::as_bytes("a"), bytes("2"));
    CHECK(chain::net_changes(delta.changes(), state).size() == 1);
}
