// Blocks, errors, configuration and features against the recorded answers.
#include "node/api/chain_json.hpp"

#include "../../chain/abi/vectors.hpp"
#include "node/api/error_json.hpp"

#include <catch2/catch.hpp>

#include <array>

namespace {

using node::api::ErrorOrigin;
using node::api::Json;

std::vector<std::string> keys(const Json& json) {
    std::vector<std::string> names;
    for (const auto& [key, value] : json.items()) {
        names.push_back(key);
    }
    return names;
}

const chain::SlotTimes kTimes{chain::TimePoint::from_string("2026-11-21T03:15:00").value(), 500};

// A block of ours with the transactions of a recorded one.
chain::BlockPtr block_like(const Json& raw) {
    chain::SignedHeader header;
    header.header.slot = 56;
    header.header.height = 31;
    header.header.producer = chain::Name::from_string("eosio").value();
    std::vector<chain::TransactionReceipt> receipts;
    for (const Json& json : raw["transactions"]) {
        chain::TransactionReceipt& receipt = receipts.emplace_back();
        receipt.cpu_usage_us = json["cpu_usage_us"].get<std::uint32_t>();
        receipt.net_usage_words = json["net_usage_words"].get<std::uint32_t>();
        receipt.transaction = chain::abi::packed_transaction_from_json(json["trx"][1], {}).value();
    }
    return chain::make_block(std::move(header), std::move(receipts), {});
}

const std::array kBlocks = {"060-block-with-ok-transfer",
                            "061-block-with-ok-context-free",
                            "063-block-with-ok-zlib",
                            "064-block-with-ok-return-value"};

}  // namespace

TEST_CASE("blocks have the recorded members, their transactions are as recorded") {
    const chain::abi::Resolver resolver = vectors::resolver();
    for (const char* file : kBlocks) {
        INFO(file);
        const Json recorded = vectors::load("formats/" + std::string(file) + ".json")["vectors"];
        const chain::BlockPtr block = block_like(recorded["raw"]);
        const Json raw = node::api::raw_block_to_json(*block, kTimes);
        CHECK(keys(raw) == keys(recorded["raw"]));
        CHECK(raw["transactions"].dump() == recorded["raw"]["transactions"].dump());
        CHECK(raw["timestamp"] == recorded["raw"]["timestamp"]);
        const Json full = node::api::block_to_json(*block, kTimes, resolver);
        CHECK(keys(full) == keys(recorded["block"]));
        CHECK(full["id"].get<std::string>().substr(0, 8) == "0000001f");
        const Json& expected = recorded["block"]["transactions"];
        REQUIRE(full["transactions"].size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const Json& action = expected[i]["trx"]["transaction"]["actions"][0];
            // The resolver has the ABIs of the system and the token only.
            const std::string account = action["account"].get<std::string>();
            if (account != "eosio" && account != "eosio.token") continue;
            CHECK(full["transactions"][i].dump() == expected[i].dump());
        }
        const auto again = chain::decode_block(chain::encode_block(*block));
        REQUIRE(again);
        CHECK((*again)->id == block->id);
    }
}

TEST_CASE("headers and summaries of blocks have the recorded members") {
    const chain::BlockPtr block = block_like({{"transactions", Json::array()}});
    const Json header =
        vectors::load("http/0238-chain-get_block_header-extensions.json")["response"];
    const Json shown = node::api::block_header_to_json(*block, kTimes, true);
    CHECK(keys(shown) == keys(header));
    CHECK(keys(shown["signed_block_header"]) == keys(header["signed_block_header"]));
    CHECK_FALSE(
        node::api::block_header_to_json(*block, kTimes, false).contains("block_extensions"));
    const Json info = vectors::load("http/0241-chain-get_block_info-ok.json")["response"];
    CHECK(keys(node::api::block_info_to_json(*block, kTimes)) == keys(info));
}

TEST_CASE("parameters, features and schedules are as recorded") {
    const Json parameters =
        vectors::load("http/0478-chain-get_consensus_parameters-ok.json")["response"];
    CHECK(node::api::chain_config_to_json({}).dump() == parameters["chain_config"].dump());
    CHECK(node::api::wasm_config_to_json({}).dump() == parameters["wasm_config"].dump());
    CHECK(node::api::chain_config_from_json(parameters["chain_config"]).value() ==
          chain::ChainConfig{});
    CHECK_FALSE(node::api::chain_config_from_json({{"max_authority_depth", 65536}}));

    Json supported = Json::array();
    for (const chain::ProtocolFeature& feature : chain::protocol_features()) {
        supported.push_back(node::api::supported_feature_to_json(feature));
    }
    const Json recorded =
        vectors::load("http/0594-producer-get_supported_protocol_features-ok.json")["response"];
    CHECK(supported.dump() == recorded.dump());

    const Json active = vectors::load("http/0483-chain-get_activated_protocol_features-ok.json");
    const Json& entries = active["response"]["activated_protocol_features"];
    const auto features = chain::activated_protocol_features();
    REQUIRE(features.size() == entries.size());
    for (std::uint32_t i = 0; i < features.size(); ++i) {
        const std::uint32_t block = entries[i]["activation_block_num"].get<std::uint32_t>();
        CHECK(node::api::activated_feature_to_json(features[i], i, block).dump() ==
              entries[i].dump());
    }

    chain::Schedule schedule;
    const auto key =
        chain::PublicKey::from_string("EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV");
    schedule.entries.push_back({chain::Name::from_string("eosio").value(), *key, *key});
    const Json answer = vectors::load("http/0476-chain-get_producer_schedule-ok.json");
    CHECK(node::api::producer_schedule_to_json(schedule).dump() ==
          answer["response"]["active"].dump());
}

TEST_CASE("errors have the recorded shape, status and names") {
    const auto check = [](const char* file, const node::api::ErrorReport& report) {
        INFO(file);
        Json recorded = vectors::load("http/" + std::string(file));
        for (const bool verbose : {true, false}) {
            const Json& expected = recorded[verbose ? "response" : "response_terse"];
            const Json shown = node::api::error_to_json(report, verbose);
            CHECK(report.status == recorded["status"].get<int>());
            CHECK(keys(shown) == keys(expected));
            CHECK(shown["message"] == expected["message"]);
            CHECK(shown["error"]["code"] == expected["error"]["code"]);
            CHECK(shown["error"]["name"] == expected["error"]["name"]);
            CHECK(shown["error"]["what"] == expected["error"]["what"]);
            REQUIRE(shown["error"]["details"].size() == expected["error"]["details"].size());
            for (std::size_t i = 0; i < expected["error"]["details"].size(); ++i) {
                const Json& entry = expected["error"]["details"][i];
                CHECK(keys(shown["error"]["details"][i]) == keys(entry));
                CHECK(shown["error"]["details"][i]["message"] == entry["message"]);
            }
        }
    };
    check("0274-chain-get_account-missing.json",
          node::api::bad_request("A Request body is required"));
    const auto bad_name = chain::Name::from_string("NOT A NAME");
    check("0270-chain-get_account-bad-name.json", node::api::bad_input(bad_name.error()));
    const auto asserted =
        chain::with_detail(chain::make_error(chain::Exception::eosio_assert_message_exception,
                                             "assertion failure with message: failed on purpose"),
                           "asserter <= asserter::procassert pending console output: ");
    check("0116-chain-push_transaction-error-assert-message.json",
          node::api::report_of(asserted, ErrorOrigin::transaction));
    check("0116-chain-push_transaction-error-assert-message.json",
          node::api::report_of(chain::TraceException::from_error(asserted),
                               ErrorOrigin::transaction));
    check("0200-chain-get_block-unknown-id.json",
          node::api::report_of(
              chain::make_error(chain::Exception::unknown_block_exception,
                                "Could not find block: 0000000f00000000000000000000000000000000"
                                "000000000000000000000000"),
              ErrorOrigin::request));
}

TEST_CASE("a refused authorization is 401 for look-ups and 500 for transactions") {
    const auto error = chain::make_error(chain::Exception::unsatisfied_authorization, "x");
    CHECK(node::api::report_of(error, ErrorOrigin::request).status == 401);
    CHECK(node::api::report_of(error, ErrorOrigin::transaction).status == 500);
    const auto twice = chain::make_error(chain::Exception::tx_duplicate, "x");
    CHECK(node::api::report_of(twice, ErrorOrigin::transaction).status == 409);
}
