// Keys of contract tables as texts: a bound that next_key gave finds the same place again.
#include "node/table_keys.hpp"

#include "chain/types/asset.hpp"

#include <catch2/catch.hpp>

#include <bit>
#include <cstring>
#include <limits>

namespace {

using node::KeyKind;

template <class T>
base::Bytes stored(T value) {
    base::Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

base::Bytes bound(KeyKind kind, const std::string& text, bool is_hex = false) {
    auto parsed = node::parse_bound(kind, is_hex, text, "lower_bound");
    if (!parsed) FAIL(text << ": " << parsed.error().detail);
    return *parsed;
}

std::uint32_t refusal(KeyKind kind, const std::string& text) {
    auto parsed = node::parse_bound(kind, false, text, "lower_bound");
    REQUIRE(!parsed);
    return parsed.error().exception;
}

}  // namespace

TEST_CASE("64-bit keys are numbers, names, symbols or their codes") {
    CHECK(*node::parse_key64("5", "x") == 5);
    CHECK(*node::parse_key64(" 5 ", "x") == 5);
    CHECK(*node::parse_key64("18446744073709551615", "x") == UINT64_MAX);
    CHECK(*node::parse_key64("alice", "x") == chain::Name::from_string("alice")->value);
    CHECK(*node::parse_key64("SYS", "x") == chain::SymbolCode::from_string("SYS")->value);
    CHECK(*node::parse_key64("4,SYS", "x") == chain::Symbol::from_string("4,SYS")->value);
    const auto refused = node::parse_key64("!!!", "lower_bound");
    REQUIRE(!refused);
    CHECK(refused.error().exception == 3010000);
    CHECK(refused.error().detail ==
          "Could not convert lower_bound string '!!!' to any of the following: uint64_t, valid "
          "name, or valid symbol (with or without the precision)");
}

TEST_CASE("key texts lead back to their place in the index") {
    using chain::Uint128;
    const Uint128 wide = (Uint128{7} << 100U) | 5U;
    CHECK(node::key_text(KeyKind::i128, false, stored(wide)) == "8873554201597605810476922437637");
    for (const bool hex : {false, true}) {
        const std::string text = node::key_text(KeyKind::i128, hex, stored(wide));
        CHECK(bound(KeyKind::i128, text, hex) == base::to_bytes(chain::RowKey().u128(wide)));
        const chain::Key256 key{wide, 3};
        const std::string long_text = node::key_text(KeyKind::i256, hex, stored(key));
        CHECK(bound(KeyKind::i256, long_text, hex) ==
              base::to_bytes(chain::RowKey().u128(wide).u128(3)));
    }
    CHECK(node::key_text(KeyKind::float64, false, stored(5.0)) == "5.00000000000000000");
    CHECK(bound(KeyKind::float64, "-1.5") ==
          base::to_bytes(
              chain::RowKey().u64(chain::ordered_double(std::bit_cast<std::uint64_t>(-1.5)))));
}

TEST_CASE("bounds of quadruples are ordered as their doubles") {
    base::Bytes last;
    for (const char* text : {"-1e300", "-5", "-1e-310", "0", "1e-310", "2.5", "7", "1e300"}) {
        const base::Bytes key = bound(KeyKind::float128, text);
        CHECK((base::compare(last, key) < 0));
        last = key;
    }
    // 5.0 as x86 and contracts have it.
    const chain::Uint128 five = chain::Uint128{0x4001400000000000ULL} << 64U;
    CHECK(bound(KeyKind::float128, "5") ==
          base::to_bytes(chain::RowKey().u128(chain::ordered_long_double(five))));
    CHECK(node::key_text(KeyKind::float128, false, stored(five)) == "5.00000000000000000");
}

TEST_CASE("hashes and bad bounds") {
    const std::string hash(40, 'a');
    CHECK(bound(KeyKind::ripemd160, hash).size() == 32);
    CHECK(refusal(KeyKind::sha256, "zz") == 0xFFFFFFFFU);
    CHECK(refusal(KeyKind::sha256, "aa") == 4);
    CHECK(refusal(KeyKind::float64, "abc") == 4);
    CHECK(refusal(KeyKind::float64, "nan") == 4);
    CHECK(refusal(KeyKind::i128, "-1") == 4);
    CHECK(refusal(KeyKind::i128, std::string(100, '9')) == 4);
    CHECK(refusal(KeyKind::name, "BAD!") == 3010001);
    CHECK(!node::parse_key_kind("i512"));
    CHECK(!node::parse_key_kind(""));
}
