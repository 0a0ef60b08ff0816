#include "genesis/genesis.hpp"

#include <catch2/catch.hpp>

#include <string>

// The genesis file is written by people. Each wrong field must be named; a field that is not
// understood must never be ignored, because the chain would differ from what was meant.

namespace {

constexpr std::string_view kKey = "EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV";

std::string file(const std::string& extra = "", const std::string& interval = "500") {
    const std::string key(kKey);
    return R"({"initial_timestamp":"2026-11-21T00:00:00.000","block_interval_ms":)" + interval +
           R"(,"members":[{"name":"bank","key":")" + key +
           R"(","weight":2}],"validators":[{"name":"bank","signing_key":")" + key + R"("}])" +
           extra + "}";
}

std::string refusal(const std::string& text) {
    const auto genesis = genesis::from_json(text);
    REQUIRE_FALSE(genesis.has_value());
    return genesis.error().detail;
}

bool refuses(const std::string& text, std::string_view reason) {
    return refusal(text).find(reason) != std::string::npos;
}

}  // namespace

TEST_CASE("a genesis file is read, written and packed without loss", "[genesis]") {
    const auto read =
        genesis::from_json(file(R"(,"parameters":{"open_accounts":1},)"
                                R"("initial_configuration":{"max_authority_depth":5})"));
    REQUIRE(read.has_value());
    CHECK(read->members.size() == 1);
    CHECK(read->members[0].weight == 2);
    CHECK(read->parameters.open_accounts == 1);
    CHECK(read->config.max_authority_depth == 5);
    CHECK(read->schedule.entries[0].vote_key == read->schedule.entries[0].signing_key);
    CHECK(read->system_authority.accounts.size() == 1);

    const auto again = genesis::from_json(genesis::to_json(*read));
    REQUIRE(again.has_value());
    CHECK(*again == *read);
    CHECK(again->chain_id() == read->chain_id());
}

TEST_CASE(
    "where the file is silent a block may use 30 % of its interval, and nobody pays a minimum",
    "[genesis]") {
    const auto config_of = [](const std::string& more) {
        const auto genesis = genesis::from_json(file(more));
        REQUIRE(genesis.has_value());
        return genesis->config;
    };
    const chain::ChainConfig silent = config_of("");
    CHECK(silent.max_block_cpu_usage == 150'000);
    CHECK(silent.max_transaction_cpu_usage == 140'000);
    CHECK(silent.min_transaction_cpu_usage == 0);
    // As much work, in microseconds of another length.
    const chain::ChainConfig scaled = config_of(R"(,"parameters":{"cpu_units_per_us":500})");
    CHECK(scaled.max_block_cpu_usage == 300'000);
    const chain::ChainConfig said =
        config_of(R"(,"initial_configuration":{"max_block_cpu_usage":200000})");
    CHECK(said.max_block_cpu_usage == 200'000);
    CHECK(said.max_transaction_cpu_usage == 140'000);
    for (const std::uint32_t interval : {10U, 500U, 5'000U}) {
        for (const std::uint64_t units : {1ULL, 1'000ULL, 1'000'000'000ULL}) {
            CHECK(genesis::default_config(interval, units).validate());
        }
    }
}

TEST_CASE("genesis files that differ are different chains", "[genesis]") {
    const auto one = genesis::from_json(file());
    const auto other = genesis::from_json(file(R"(,"parameters":{"open_accounts":1})"));
    REQUIRE(one.has_value());
    REQUIRE(other.has_value());
    CHECK(one->chain_id() != other->chain_id());
}

TEST_CASE("a wrong genesis file is refused with the name of the field", "[genesis]") {
    CHECK(refusal("{") == "genesis file: not valid JSON");
    CHECK(refuses("[]", "an object is needed"));
    CHECK(refuses("{}", "initial_timestamp"));
    CHECK(refuses(file(R"(,"memmbers":[])"), "memmbers: unknown field"));
    CHECK(refuses(file("", "7"), "block_interval_ms: 7, must be 10 to 5000"));
    CHECK(refuses(file("", "700"), "initial_timestamp"));
    CHECK(refuses(file("", "-500"), "block_interval_ms: a whole number"));
    CHECK(refuses(file(R"(,"parameters":{"open_acounts":1})"), "parameters.open_acounts"));
    CHECK(refuses(file(R"(,"wasm_configuration":{"max_pages":"many"})"),
                  "wasm_configuration.max_pages"));
    CHECK(refuses(file(R"(,"system_authority":{"threshold":3,"keys":[]})"), "system_authority"));
    std::string stranger = file();
    stranger.replace(stranger.rfind("bank"), 4, "shop");
    CHECK(refuses(stranger, "'shop' is not among the members"));
    std::string reserved = file();
    reserved.replace(reserved.find("bank"), 4, "eosio.x");
    CHECK(refuses(reserved, "reserved"));
    std::string bad_key = file();
    bad_key.replace(bad_key.find("EOS6"), 4, "EOS7");
    CHECK(refuses(bad_key, "members[0].key"));
    CHECK(refuses(std::string(2'000'000, ' '), "limit"));
}

namespace {

constexpr std::string_view kNodeKey = "PUB_R1_54FT454NkgUSWehTf9u48yuQBH3WPB1JejFbRBP4hdN1kMCGTD";

std::string node(const std::string& name,
                 const std::string& organisation = "bank",
                 const std::string& key = std::string(kNodeKey),
                 const std::string& roles = R"(["validator","gateway"])") {
    return R"({"name":")" + name + R"(","organisation":")" + organisation + R"(","key":")" + key +
           R"(","roles":)" + roles + "}";
}

std::string with_nodes(const std::string& nodes) {
    return file(R"(,"nodes":[)" + nodes + "]");
}

}  // namespace

TEST_CASE("the first nodes stand in the genesis file, each with its key and roles", "[genesis]") {
    const auto read = genesis::from_json(with_nodes(node("n1")));
    if (!read) FAIL(read.error().detail);
    REQUIRE(read->nodes.size() == 1);
    CHECK(read->nodes[0].roles == 9);
    CHECK(genesis::from_json(genesis::to_json(*read)).value() == *read);

    CHECK(refuses(with_nodes(node("n1", "shop")),
                  "nodes[0].organisation: 'shop' is not among the members"));
    CHECK(refuses(with_nodes(node("n1", "bank", std::string(kKey))), "nodes[0].key: EOS6MRy"));
    CHECK(refuses(with_nodes(node("n1", "bank", "PUB_R1_5")), "nodes[0].key"));
    CHECK(refuses(with_nodes(node("")), "nodes[0].name"));
    CHECK(refuses(with_nodes(node("n1") + "," + node("n2")), "nodes[1].key: PUB_R1_54FT"));
    CHECK(refuses(with_nodes(node("n1") + "," + node("n1")), "nodes[1].name: 'n1' is there twice"));
    CHECK(refuses(with_nodes(node("n1", "bank", std::string(kNodeKey), "[]")), "nodes[0].roles"));
    CHECK(refuses(with_nodes(node("n1", "bank", std::string(kNodeKey), R"(["king"])")),
                  "nodes[0].roles: 'king' is none of"));
    CHECK(refuses(
        with_nodes(R"({"name":"n1","organisation":"bank","key":")" + std::string(kNodeKey) + "\"}"),
        "nodes[0].roles: missing"));
}

TEST_CASE("several validators each need keys of their own", "[genesis]") {
    const auto read = genesis::from_json(file());
    REQUIRE(read.has_value());
    genesis::Genesis two = *read;
    two.members.push_back(two.members[0]);
    two.members[1].name = *chain::Name::from_string("shop");
    two.schedule.entries.push_back(two.schedule.entries[0]);
    CHECK(genesis::check(two).error().detail == "validators[1].name: 'bank' is there twice");
    two.schedule.entries[1].producer = two.members[1].name;
    CHECK(genesis::check(two).error().detail.starts_with("validators[1].signing_key: EOS6MRy"));
    two.members[1].weight = 1'000'000'000'001;
    CHECK(genesis::check(two).error().detail.starts_with("members[1].weight: 1000000000001"));
}
