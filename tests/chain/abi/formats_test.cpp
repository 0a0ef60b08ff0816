// What cleos packed and unpacked (tests/vectors/formats), byte for byte, and what it refused.
#include "chain/types/exception.hpp"
#include "tests/support/paths.hpp"
#include "vectors.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <regex>

namespace {

using chain::abi::Json;
using chain::abi::SerializerPtr;

// The number in "... 3010011 asset_type_exception: ..." or "Error 3015014: ..."; 0 without.
std::uint32_t code_of(const std::string& line) {
    const std::regex pattern(R"((?:Error |\] )(\d+)[ :])");
    std::smatch match;
    return std::regex_search(line, match, pattern)
               ? static_cast<std::uint32_t>(std::stoul(match[1]))
               : 0;
}

// cleos calls what its library refuses an invalid transaction, whatever it was.
constexpr std::uint32_t kCleosWrapper = 3010006;

void check_refusal(const chain::abi::Serializer& abi, std::string_view type, const Json& vector) {
    const auto packed = abi.to_binary(type, vector["value"]);
    REQUIRE_FALSE(packed);
    const Json& lines = vector["error"];
    const std::uint32_t code = code_of(lines[0]);
    if (code == 0 || code == kCleosWrapper) return;
    CHECK(packed.error().exception == code);
    const std::size_t text = lines[1] == "Error Details:" ? 2 : 1;
    CHECK(packed.error().detail == lines[text].get<std::string>());
}

void check_vector(const chain::abi::Serializer& abi, std::string_view type, const Json& vector) {
    INFO(type << " " << vector["value"].dump());
    if (vector.contains("error")) return check_refusal(abi, type, vector);
    const auto packed = abi.to_binary(type, vector["value"]);
    if (!packed) FAIL(packed.error().detail);
    CHECK(base::to_hex(*packed) == vector["packed"].get<std::string>());
    const auto unpacked = abi.to_json(type, vectors::hex(vector["packed"]));
    if (!unpacked) FAIL(unpacked.error().detail);
    CHECK(unpacked->dump() == vector["unpacked"].dump());
}

// The struct of the types ABI whose only field has this type.
std::string struct_of(const chain::abi::Serializer& abi, const std::string& type) {
    for (const auto& item : abi.definition().structs) {
        if (item.fields.size() == 1 && item.fields[0].type == type) return item.name;
    }
    return {};
}

// fc's JSON parser does not know \u escapes and an exponent's plus sign; ours does.
bool is_better_json(const Json& vector) {
    const std::string text = vector["value"].dump();
    return text.find("\xC3\xA9") != std::string::npos ||
           text.find("\\u0000") != std::string::npos || text.find("e+308") != std::string::npos;
}

SerializerPtr types_abi() {
    return vectors::resolver()(chain::Name::from_string("types").value());
}

}  // namespace

TEST_CASE("every built-in type is packed and unpacked as recorded") {
    const SerializerPtr abi = types_abi();
    std::size_t files = 0;
    const std::string folder = tests::data_dir() + "/vectors/formats";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string file = entry.path().filename().string();
        if (file.substr(3, 5) != "-abi-") continue;
        std::string type = entry.path().stem().string().substr(8);
        std::ranges::replace(type, '-', '_');
        const std::string name = struct_of(*abi, type);
        if (name.empty()) continue;
        ++files;
        const Json recorded = vectors::load("formats/" + file);
        for (const Json& vector : recorded["vectors"]) {
            if (!is_better_json(vector)) check_vector(*abi, name, vector);
        }
    }
    CHECK(files >= 21);
}

TEST_CASE("escapes and exponents are read as RFC 8259 has them") {
    const SerializerPtr abi = types_abi();
    const std::string text = struct_of(*abi, "string");
    const auto packed = abi->to_binary(text, *chain::abi::parse_json(R"({"v":"\u00e9a\u0000b"})"));
    REQUIRE(packed);
    CHECK(base::to_hex(*packed) == "05c3a9610062");
    const std::string real = struct_of(*abi, "float64");
    const auto large = abi->to_binary(real, *chain::abi::parse_json(R"({"v":1e+308})"));
    REQUIRE(large);
    CHECK(base::to_hex(*large) == "a0c8eb85f3cce17f");
}

TEST_CASE("structs, variants, optionals and extensions are packed as recorded") {
    const SerializerPtr abi = types_abi();
    const Json derived = vectors::load("formats/034-abi-derived-variant-extension.json");
    for (const Json& vector : derived["vectors"]) {
        check_vector(*abi, "derived", vector);
    }
}

TEST_CASE("actions of eosio and eosio.token are packed as recorded") {
    const chain::abi::Resolver resolver = vectors::resolver();
    for (const auto& [file, account] : {std::pair("036-system-actions", "eosio"),
                                        std::pair("037-token-actions", "eosio.token")}) {
        const SerializerPtr abi = resolver(chain::Name::from_string(account).value());
        const Json recorded = vectors::load("formats/" + std::string(file) + ".json");
        for (const Json& vector : recorded["vectors"]) {
            const auto action = chain::Name::from_string(vector["action"].get<std::string>());
            check_vector(*abi, abi->action_type(action.value()), vector);
        }
    }
}

TEST_CASE("an ABI with an invalid type is refused by name") {
    const Json abi = vectors::load("http/0303-chain-get_abi-invalid-abi.json")["response"]["abi"];
    const auto definition = chain::abi::definition_from_json(abi);
    REQUIRE(definition);
    const auto serializer = chain::abi::Serializer::make(*definition);
    REQUIRE_FALSE(serializer);
    CHECK(serializer.error().exception == 3015004);
    CHECK(serializer.error().detail == "asset?[]");
}

TEST_CASE("ABIs are packed and shown as recorded") {
    for (const char* file : {"039-abi-bytes-eosio",
                             "040-abi-bytes-tabtest",
                             "042-abi-bytes-nested",
                             "043-abi-bytes-trapper"}) {
        INFO(file);
        const Json recorded = vectors::load("formats/" + std::string(file) + ".json")["vectors"];
        const base::Bytes packed = vectors::hex(recorded["packed"]);
        const auto from_file = chain::abi::definition_from_json(recorded["file"]);
        REQUIRE(from_file);
        CHECK(base::to_hex(chain::abi::encode_definition(*from_file)) ==
              recorded["packed"].get<std::string>());
        const auto from_bytes = chain::abi::decode_definition(packed);
        REQUIRE(from_bytes);
        CHECK(chain::abi::definition_to_json(*from_bytes).dump() == recorded["get_abi"].dump());
        CHECK(chain::abi::Serializer::from_bytes(packed));
    }
}
