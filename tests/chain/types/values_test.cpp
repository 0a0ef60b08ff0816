// Names, assets, times and authorities: texts, bytes and what is refused.
#include "chain/types/asset.hpp"
#include "chain/types/authority.hpp"
#include "chain/types/exception.hpp"
#include "chain/types/name.hpp"
#include "chain/types/parameters.hpp"
#include "chain/types/time.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace {

using namespace chain;  // NOLINT(google-build-using-namespace): the subject of this file.

template <class T>
void check_refused(const std::string& text, Exception exception, const std::string& detail) {
    INFO(text);
    const auto value = T::from_string(text);
    REQUIRE_FALSE(value);
    CHECK(exception_of(value.error()) == exception);
    CHECK(value.error().detail == detail);
}

base::crypto::PublicKey key(std::uint8_t first) {
    base::crypto::PublicKey out;
    out.point[0] = std::byte{2};
    out.point[1] = std::byte{first};
    return out;
}

}  // namespace

TEST_CASE("names go to 64 bits and back") {
    CHECK("eosio"_n.value == 0x5530ea0000000000);
    CHECK("alice"_n.value == 0x345c850000000000);
    CHECK("zzzzzzzzzzzzj"_n.value == ~0ULL);
    CHECK(""_n.empty());
    for (const char* text : {"eosio.token", "a.b.c", ".", "zzzzzzzzzzzzj", "", "1", "..a"}) {
        const auto name = Name::from_string(text);
        if (std::string(text) == ".") {
            CHECK_FALSE(name);  // A trailing dot is not normal.
            continue;
        }
        REQUIRE(name);
        CHECK(name->to_string() == text);
        CHECK(unpack<Name>(pack(*name), "name").value() == *name);
    }
    CHECK("a"_n < "b"_n);
    CHECK("a"_n < "aa"_n);
}

TEST_CASE("what is no name is refused with nodeos' texts") {
    const auto type = Exception::name_type_exception;
    check_refused<Name>(
        "NOT A NAME", type, "Name not properly normalized (name: NOT A NAME, normalized: ) ");
    check_refused<Name>("zzzzzzzzzzzzk",
                        type,
                        "Name not properly normalized (name: zzzzzzzzzzzzk, normalized: "
                        "zzzzzzzzzzzz) ");
    check_refused<Name>(
        "abcdefghijklmn", type, "Name is longer than 13 characters (abcdefghijklmn) ");
    check_refused<Name>("a6", type, "Name not properly normalized (name: a6, normalized: a) ");
}

TEST_CASE("assets keep their sign, their decimals and their limits") {
    for (const char* text : {"1.0000 SYS",
                             "-0.0001 SYS",
                             "0 ZERO",
                             "461168601842738.7903 SYS",
                             "-461168601842738.7903 SYS",
                             "0.000000000000000001 WEI"}) {
        const auto asset = Asset::from_string(text);
        REQUIRE(asset);
        CHECK(asset->to_string() == text);
        CHECK(unpack<Asset>(pack(*asset), "asset").value() == *asset);
    }
    const auto range = Exception::asset_type_exception;
    check_refused<Asset>(
        "461168601842738.7904 SYS", range, "magnitude of asset amount must be less than 2^62");
    check_refused<Asset>("1. SYS", range, "Missing decimal fraction after decimal point");
    check_refused<Asset>("1SYS", range, "Asset's amount and symbol should be separated with space");
    check_refused<Asset>(".5 SYS", Exception::parse_error_exception, "Couldn't parse int64_t");
    check_refused<Asset>("9223372036854775807.0 SYS",
                         Exception::overflow_exception,
                         "asset amount does not fit into 64 bits");
    check_refused<Asset>("0.0000000000000000001 WEI",
                         Exception::symbol_type_exception,
                         "precision 19 should be <= 18");
    check_refused<Symbol>(
        "4,sys", Exception::symbol_type_exception, "invalid character in symbol name");
    check_refused<Symbol>(
        "", Exception::symbol_type_exception, "creating symbol from empty string");
    check_refused<Symbol>("-1,A", Exception::symbol_type_exception, "precision -1 should be <= 18");
    check_refused<SymbolCode>(
        "ABCDEFGH", Exception::symbol_type_exception, "invalid symbol: ABCDEFGH");
    // Bytes that no text gives: the least amount, a hole in the code, 19 decimals.
    CHECK_FALSE(unpack<Asset>(pack(Asset{INT64_MIN, {4}}), "asset"));
    CHECK_FALSE(unpack<Symbol>(pack(Symbol{0x4100410004}), "symbol"));
    CHECK_FALSE(unpack<Symbol>(pack(Symbol{0x4113}), "symbol"));
    CHECK(Asset{INT64_MIN, {4}}.to_string() == "-922337203685477.5808 ");
}

TEST_CASE("times are written and read as nodeos does") {
    const auto time = TimePoint::from_string("2026-11-21T01:02:03.5");
    REQUIRE(time);
    CHECK(time->to_string() == "2026-11-21T01:02:03.500");
    CHECK(TimePoint::from_timestamp(time->to_timestamp()) == *time);
    CHECK(TimePoint{1'500'000}.to_string() == "1970-01-01T00:00:01.500");
    CHECK(TimePoint{-1'500'000}.to_string() == "-000001.500000");
    CHECK(TimePoint{INT64_MIN}.to_string().starts_with("-"));
    CHECK(TimePointSec::from_string("2106-02-07T06:28:15")->seconds == 0xFFFFFFFF);
    CHECK(TimePointSec::from_string("2026-11-21T01:02:03." + std::string(30, '9')));
    CHECK(TimePointSec{0}.to_string() == "1970-01-01T00:00:00");
    CHECK(BlockTimestamp{1}.to_string() == "2000-01-01T00:00:00.500");
    for (const char* text : {"2026-11-21",
                             "2026-11-21T01:02:03Z",
                             "2026-11-21 01:02:03",
                             "2026-02-30T00:00:00",
                             "2026-11-21T24:00:00",
                             "2106-02-07T06:28:16",
                             "1969-12-31T23:59:59",
                             "yesterday",
                             "2026-11-21T01:02:03.x",
                             ""}) {
        INFO(text);
        CHECK_FALSE(TimePointSec::from_string(text));
    }
    CHECK_FALSE(TimePoint::from_string("2026-11-21T01:02:03.5000000000"));
}

TEST_CASE("slots and times correspond") {
    const SlotTimes times{TimePoint{1'000'000}, 500};
    CHECK(times.time_of(3).microseconds == 2'500'000);
    CHECK(times.slot_at(TimePoint{2'499'999}) == 2);
    CHECK(times.slot_at(TimePoint{2'500'000}) == 3);
    CHECK(times.slot_at(TimePoint{0}) == 0);
    CHECK(SlotTimes{TimePoint{0}, 5000}.time_of(kSlotMax).microseconds > 0);
}

TEST_CASE("slots go on when the time is set back") {
    const Retime first{.from = {}, .first = 100, .time = TimePoint{3'000'000}};
    const Retime second{.from = {}, .first = 200, .time = TimePoint{20'000'000}};
    const SlotTimes times{TimePoint{1'000'000}, 500, {first, second}};
    CHECK(times.time_of(99).microseconds == 50'500'000);
    CHECK(times.time_of(100).microseconds == 3'000'000);
    CHECK(times.time_of(102).microseconds == 4'000'000);
    CHECK(times.time_of(201).microseconds == 20'500'000);
    // What is dated ahead is there from when the chain goes on.
    CHECK(times.begin_of(99).microseconds == 20'000'000);
    CHECK(times.begin_of(3).microseconds == 2'500'000);
    CHECK(times.begin_of(201).microseconds == 20'500'000);
    CHECK(times.slot_at(TimePoint{20'499'999}) == 200);
    CHECK(times.slot_at(TimePoint{20'500'000}) == 201);
    CHECK(times.slot_at(TimePoint{19'999'999}) == 199);
    CHECK(times.retime_of(99) == nullptr);
    CHECK(times.retime_of(199)->first == 100);
}

TEST_CASE("an authority is valid when sorted, without doubles, and within reach") {
    CHECK(Authority::of_key(key(1)).is_valid());
    Authority authority = Authority::of_key(key(1));
    authority.threshold = 0;
    CHECK_FALSE(authority.is_valid());
    authority.threshold = 2;
    CHECK_FALSE(authority.is_valid());
    authority.keys.push_back({key(2), 1});
    CHECK(authority.is_valid());
    std::swap(authority.keys[0], authority.keys[1]);
    CHECK_FALSE(authority.is_valid());
    authority.keys[1] = authority.keys[0];
    CHECK_FALSE(authority.is_valid());
    authority = Authority::of_key(key(1));
    authority.accounts = {{{"b"_n, "x"_n}, 1}, {{"a"_n, "y"_n}, 1}};
    CHECK_FALSE(authority.is_valid());
    authority.accounts = {{{"a"_n, "x"_n}, 1}, {{"a"_n, "y"_n}, 1}};
    CHECK(authority.is_valid());
    authority.waits = {{0, 1}};
    CHECK_FALSE(authority.is_valid());
    authority.waits = {{1, 65535}, {2, 65535}};
    CHECK(authority.is_valid());
    CHECK(authority.billable_bytes() == 16 + 34 + 2 * 32 + 2 * 16);
    CHECK(unpack<Authority>(pack(authority), "authority").value() == authority);
    CHECK(PermissionLevel{"alice"_n, "active"_n}.to_json() ==
          R"({"actor":"alice","permission":"active"})");
}

TEST_CASE("an authority's lists cannot claim more than there is") {
    base::Writer out;
    out.u32(1);
    out.varuint32(1000);
    const auto few = unpack<Authority>(out.view(), "auth");
    REQUIRE_FALSE(few);
    CHECK(few.error().detail.find("auth at offset") == 0);
}

TEST_CASE("parameters have nodeos' rules, ours have ranges") {
    CHECK(ChainConfig{}.validate());
    ChainConfig config;
    config.max_transaction_net_usage = 12;
    CHECK(config.validate().error().detail ==
          "base net usage per transaction must be less than the max transaction net usage");
    config = {};
    config.max_authority_depth = 0;
    CHECK(exception_of(config.validate().error()) == Exception::action_validate_exception);
    BorParameters parameters;
    CHECK(parameters.set("max_producers", 125));
    CHECK(parameters.max_producers == 125);
    CHECK(parameters.set("max_producers", 126).error().code == base::Errc::invalid);
    CHECK(parameters.set("nosuch", 1).error().code == base::Errc::not_found);
    CHECK(parameters.set("price_sha256", 600));
    CHECK(parameters.set("price_sha256_kib", 0).error().detail ==
          "parameter price_sha256_kib is 0, it must be from 1 to 400000");
    CHECK(parameters.set("price_sha256_kib", 8'000));
    CHECK(parameters.prices[Cost::sha256] == Price{600, 8'000});
    CHECK(parameters.prices[Cost::sha256].of(1'025) == 600 + 8'008);
    CHECK(parameters.set("price_plain", 101).error().code == base::Errc::invalid);
    CHECK(parameters.set("price_plain_kib", 1).error().code == base::Errc::not_found);
    CHECK(parameters.set("price_state_kib", 1'000));  // Free unless it is set.
    CHECK(unpack<BorParameters>(pack(parameters), "parameters").value() == parameters);
    CHECK_FALSE(unpack<BorParameters>(base::Bytes(80), "parameters"));
    base::Writer v0;
    encode_v0(v0, ChainConfig{});
    CHECK(v0.view().size() == 8 + 14 * 4 + 2 * 2);
    for (const ParameterInfo& info : bor_parameter_infos()) {
        CAPTURE(info.name);
        CHECK(info.value_in({}) >= info.minimum);
        CHECK(info.value_in({}) <= info.maximum);
    }
}

TEST_CASE("exceptions have nodeos' numbers, names and texts") {
    CHECK(exception_name(Exception::tx_duplicate) == "tx_duplicate");
    CHECK(exception_what(Exception::tx_duplicate) == "Duplicate transaction");
    CHECK(exception_code(Exception::tx_duplicate) == 3040008);
    CHECK(exception_code(Exception::exception) == 0);
    CHECK(exception_name(Exception::exception) == "exception");
    CHECK(exception_what(static_cast<Exception>(1)) == "unspecified");
    const base::Error error = with_detail(make_error(Exception::tx_not_found, "a"), "b");
    CHECK(details_of(error) == std::vector<std::string>{"a", "b"});
    CHECK(error.code == base::Errc::not_found);
}
