// Hostile ABIs, values and texts: each is refused, within bounded work.
#include "chain/types/exception.hpp"
#include "vectors.hpp"

#include <catch2/catch.hpp>

namespace {

using chain::Exception;
using chain::abi::Definition;
using chain::abi::Json;
using chain::abi::Serializer;

Definition empty_abi() {
    Definition abi;
    abi.version = "eosio::abi/1.2";
    return abi;
}

void check_abi(const Definition& abi, Exception exception, const std::string& detail) {
    INFO(detail);
    const auto made = Serializer::make(abi);
    REQUIRE_FALSE(made);
    CHECK(made.error().exception == static_cast<std::uint32_t>(exception));
    CHECK(made.error().detail == detail);
}

void check_json(const std::string& text, const std::string& part) {
    INFO(text.substr(0, 80));
    const auto json = chain::abi::parse_json(text);
    REQUIRE_FALSE(json);
    CHECK(json.error().exception == static_cast<std::uint32_t>(Exception::parse_error_exception));
    CHECK(json.error().detail.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("an ABI that contradicts itself is refused with nodeos' texts") {
    Definition abi = empty_abi();
    abi.version = "eosio::abi/2.0";
    check_abi(abi, Exception::unsupported_abi_version_exception, "ABI has an unsupported version");
    abi = empty_abi();
    abi.types = {{"a", "b"}, {"b", "a"}};
    check_abi(abi, Exception::abi_circular_def_exception, "Circular reference in type a");
    abi.types = {{"a", "uint8"}, {"a", "uint16"}};
    check_abi(abi, Exception::duplicate_abi_type_def_exception, "type already exists");
    abi.types = {{"name", "uint8"}};
    check_abi(abi, Exception::duplicate_abi_type_def_exception, "type already exists");
    abi = empty_abi();
    abi.structs = {{"s", "", {}}, {"s", "", {}}};
    check_abi(
        abi, Exception::duplicate_abi_struct_def_exception, "duplicate struct definition detected");
    abi.structs = {{"s", "t", {}}, {"t", "s", {}}};
    check_abi(abi, Exception::abi_circular_def_exception, "Circular reference in struct s");
    abi.structs = {{"s", "missing", {}}};
    check_abi(abi, Exception::invalid_type_inside_abi, "Unknown struct missing");
    abi.structs = {{"s", "", {{"f", "uint8[][]"}}}};
    check_abi(abi, Exception::invalid_type_inside_abi, "uint8[][]");
}

TEST_CASE("chains of definitions are followed 32 steps") {
    Definition abi = empty_abi();
    for (int i = 0; i < 5000; ++i) {
        abi.types.push_back({"t" + std::to_string(i), "t" + std::to_string(i + 1)});
        abi.structs.push_back({"s" + std::to_string(i), "s" + std::to_string(i + 1), {}});
    }
    abi.types.push_back({"t5000", "uint8"});
    abi.structs.push_back({"s5000", "", {}});
    const auto made = Serializer::make(abi);
    REQUIRE_FALSE(made);
    CHECK(made.error().exception ==
          static_cast<std::uint32_t>(Exception::abi_recursion_depth_exception));
}

TEST_CASE("a type that contains itself ends at the depth limit in both directions") {
    Definition abi = empty_abi();
    abi.structs = {{"s", "", {{"next", "s?"}}}, {"loop", "", {{"next", "loop"}}}};
    const auto made = Serializer::make(abi);
    REQUIRE(made);
    const base::Bytes ones(1000, std::byte{1});
    const auto unpacked = (*made)->to_json("s", ones);
    REQUIRE_FALSE(unpacked);
    const auto depth = static_cast<std::uint32_t>(Exception::abi_recursion_depth_exception);
    CHECK(unpacked.error().exception == depth);
    CHECK((*made)->to_json("loop", ones).error().exception == depth);
    Json nested = {{"next", nullptr}};
    for (int i = 0; i < 40; ++i) {
        nested = {{"next", nested}};
    }
    const auto packed = (*made)->to_binary("s", nested);
    REQUIRE_FALSE(packed);
    CHECK(packed.error().exception == depth);
}

TEST_CASE("small data cannot unfold into a large value") {
    Definition abi = empty_abi();
    abi.structs = {{"none", "", {{"x", "uint8[0]"}}},
                   {"wide", "", {{std::string(100'000, 'n'), "uint8"}}},
                   {"all", "", {{"list", "none[]"}}},
                   {"big", "", {{"list", "wide[]"}}}};
    const auto made = Serializer::make(abi);
    REQUIRE(made);
    const auto limit = static_cast<std::uint32_t>(Exception::abi_serialization_deadline_exception);
    // 2^32 - 1 items of no bytes: the struct ends with its bytes, which is an error in nodeos.
    CHECK_FALSE((*made)->to_json("all", vectors::hex("ffffffff0f")));
    base::Bytes items = vectors::hex("ffff03");
    items.resize(70'000);
    const auto big = (*made)->to_json("big", items);
    REQUIRE_FALSE(big);
    CHECK(big.error().exception == limit);
    base::Bytes spare = vectors::hex("ffffffff0f00");
    const auto all = (*made)->to_json("all", spare);
    REQUIRE_FALSE(all);
    CHECK(all.error().exception == limit);
}

TEST_CASE("fixed lists have no length in binary") {
    Definition abi = empty_abi();
    abi.structs = {{"s", "", {{"x", "uint16[2]"}}}};
    const auto made = Serializer::make(abi);
    REQUIRE(made);
    const auto packed = (*made)->to_binary("s", {{"x", {1, 2}}});
    REQUIRE(packed);
    CHECK(base::to_hex(*packed) == "01000200");
    CHECK((*made)->to_json("s", *packed)->dump() == R"({"x":[1,2]})");
    CHECK_FALSE((*made)->to_binary("s", {{"x", {1, 2, 3}}}));
    CHECK_FALSE((*made)->to_json("s", vectors::hex("010002")));
}

TEST_CASE("what is left out of the data is named") {
    Definition abi = empty_abi();
    abi.structs = {{"s", "", {{"a", "name"}, {"b", "uint8"}}}};
    const auto made = Serializer::make(abi);
    REQUIRE(made);
    const auto ended = (*made)->to_json("s", vectors::hex("0000000000855c34"));
    REQUIRE_FALSE(ended);
    CHECK(ended.error().exception == static_cast<std::uint32_t>(Exception::unpack_exception));
    CHECK(ended.error().detail ==
          "Stream unexpectedly ended; unable to unpack field 'b' of struct 's'");
    const auto cut = (*made)->to_json("s", vectors::hex("00000000"));
    REQUIRE_FALSE(cut);
    CHECK(cut.error().detail == "Unable to unpack built-in type 'name' while processing 's.a'");
    CHECK((*made)->to_json("nosuch", {}).error().exception ==
          static_cast<std::uint32_t>(Exception::invalid_type_inside_abi));
}

TEST_CASE("JSON that is malformed, deep, repeated or too large is refused") {
    check_json("", "Unexpected text");
    check_json("{\"a\":1} x", "Unexpected text");
    check_json("{\"a\":1", "Unexpected text");
    check_json("\"\xFF\"", "Unexpected text");
    check_json("01", "Unexpected text");
    check_json(std::string(100'000, '['), "nested deeper than 64");
    check_json(R"({"a":1,"a":2})", "member 'a' twice");
    check_json(std::string(5 * 1024 * 1024, ' '), "at most 4194304");
    std::string many = "{\"x\":0";
    for (int i = 0; i < 2000; ++i) {
        many += ",\"" + std::to_string(i) + "\":0";
    }
    check_json(many + "}", "more than 1024 members");
    std::string values = "[0";
    for (int i = 0; i < 1'100'000; ++i) {
        values += ",0";
    }
    check_json(values + "]", "more than 1048576 values");
    CHECK(chain::abi::parse_json(std::string(64, '[') + std::string(64, ']')));
}

TEST_CASE("integers are numbers up to 32 bits and texts above") {
    CHECK(chain::abi::json_integer(std::uint64_t{0xFFFFFFFF}).dump() == "4294967295");
    CHECK(chain::abi::json_integer(std::uint64_t{0x100000000}).dump() == "\"4294967296\"");
    CHECK(chain::abi::json_integer(std::int64_t{-4294967295}).dump() == "-4294967295");
    CHECK(chain::abi::json_integer(std::int64_t{-4294967296}).dump() == "\"-4294967296\"");
}

TEST_CASE("fc's conversions take what fc takes") {
    CHECK(chain::abi::as_uint64("-1").value() == ~0ULL);
    CHECK(chain::abi::as_uint64(1.9).value() == 1);
    CHECK(chain::abi::as_int64(nullptr).value() == 0);
    CHECK_FALSE(chain::abi::as_uint64(""));
    CHECK_FALSE(chain::abi::as_uint64(" 1"));
    CHECK_FALSE(chain::abi::as_uint64("18446744073709551616"));
    CHECK_FALSE(chain::abi::as_int64(1e30));
    CHECK(chain::abi::as_bool("yes").error().detail ==
          "Cannot convert string to bool (only \"true\" or \"false\" can be converted)");
    CHECK(chain::abi::get_string(1).error().detail ==
          "Invalid cast from type 'uint64_type' to string");
    CHECK(chain::abi::expect_object(nullptr).error().detail ==
          "Invalid cast from type 'null_type' to Object");
    CHECK(chain::abi::as_string(Json::array()).error().detail ==
          "Invalid cast from array_type to string");
}

TEST_CASE("ABIs of up to four bytes are none, cut ones are refused, later lists may be missing") {
    CHECK(Serializer::from_bytes(vectors::hex("00000000")).error().exception ==
          static_cast<std::uint32_t>(Exception::abi_not_found_exception));
    const base::Bytes abi = chain::abi::encode_definition(empty_abi());
    CHECK(Serializer::from_bytes(abi));
    // Without action_results, and without variants too.
    CHECK(Serializer::from_bytes(base::ByteView(abi).first(abi.size() - 1)));
    CHECK(Serializer::from_bytes(base::ByteView(abi).first(abi.size() - 2)));
    const auto cut = Serializer::from_bytes(base::ByteView(abi).first(abi.size() - 3));
    REQUIRE_FALSE(cut);
    CHECK(cut.error().exception == static_cast<std::uint32_t>(Exception::unpack_exception));
}
