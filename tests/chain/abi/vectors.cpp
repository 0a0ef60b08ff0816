#include "vectors.hpp"

#include "tests/support/paths.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>

namespace vectors {

using chain::abi::Json;

Json load(const std::string& path) {
    std::ifstream in(tests::data_dir() + "/vectors/" + path);
    REQUIRE(in);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto json = chain::abi::parse_json(text);
    REQUIRE(json);
    return *json;
}

chain::abi::SerializerPtr serializer(const Json& abi) {
    auto definition = chain::abi::definition_from_json(abi);
    REQUIRE(definition);
    auto made = chain::abi::Serializer::make(*definition);
    REQUIRE(made);
    return *made;
}

chain::abi::Resolver resolver() {
    const auto eosio = serializer(load("formats/039-abi-bytes-eosio.json")["vectors"]["file"]);
    const auto token =
        serializer(load("http/0283-chain-get_abi-eosio-token.json")["response"]["abi"]);
    const auto types = serializer(load("http/0298-chain-get_abi-types.json")["response"]["abi"]);
    // NOLINTBEGIN(performance-no-automatic-move): asked for more than once.
    return [=](chain::Name account) -> chain::abi::SerializerPtr {
        if (account == chain::Name::from_string("eosio").value()) return eosio;
        if (account == chain::Name::from_string("eosio.token").value()) return token;
        if (account == chain::Name::from_string("types").value()) return types;
        return nullptr;
    };
    // NOLINTEND(performance-no-automatic-move)
}

base::Bytes hex(const Json& text) {
    auto bytes = base::from_hex(text.get<std::string>());
    REQUIRE(bytes);
    return *bytes;
}

}  // namespace vectors
