// JSON forms of transactions against what cleos, nodeos and keosd recorded.
#include "base/crypto/hash.hpp"
#include "chain/types/exception.hpp"
#include "vectors.hpp"

#include <catch2/catch.hpp>

#include <array>

namespace {

using chain::Exception;
using chain::abi::Json;
using chain::abi::TransactionForm;

const std::array kTransactions = {"045-transaction-plain",
                                  "046-transaction-two-keys",
                                  "048-transaction-limits-delay",
                                  "049-transaction-empty",
                                  "051-transaction-two-actions",
                                  "052-transaction-r1-only",
                                  "054-transaction-expiration-max"};

Json packed_form(const char* packed_trx) {
    return {{"signatures", Json::array()}, {"compression", "none"}, {"packed_trx", packed_trx}};
}

constexpr const char* kEmpty = "80d8db70ffffffffffff000000000000";

void check_refused(const Json& json, Exception exception, const std::string& first_detail) {
    INFO(json.dump());
    const auto packed = chain::abi::packed_transaction_from_json(json, vectors::resolver());
    REQUIRE_FALSE(packed);
    CHECK(packed.error().exception == static_cast<std::uint32_t>(exception));
    CHECK(chain::details_of(packed.error()).front() == first_detail);
}

}  // namespace

TEST_CASE("transactions are packed, unpacked, named and signed as recorded") {
    for (const char* file : kTransactions) {
        INFO(file);
        const Json recorded = vectors::load("formats/" + std::string(file) + ".json")["vectors"];
        const auto transaction =
            chain::abi::transaction_from_json(recorded["transaction"], vectors::resolver());
        REQUIRE(transaction);
        CHECK(transaction->id() == *chain::abi::hash_from_json(recorded["id"]));
        const auto chain_id = chain::abi::hash_from_json(recorded["chain_id"]);
        CHECK(transaction->signing_digest(*chain_id, transaction->context_free_data) ==
              *chain::abi::hash_from_json(recorded["sign_digest"]));
        const auto packed = chain::PackedTransaction::pack(*transaction);
        CHECK(chain::abi::packed_transaction_to_json(packed).dump() == recorded["packed"].dump());
        const auto decoded = chain::decode_transaction(packed);
        REQUIRE(decoded);
        const auto& content = (*decoded)->content;
        const auto full = TransactionForm::with_signatures;
        CHECK(chain::abi::transaction_to_json(content, {}, full).dump() ==
              recorded["unpacked"].dump());
        CHECK(chain::abi::transaction_to_json(content, vectors::resolver(), full).dump() ==
              recorded["unpacked_with_action_data"].dump());
        const auto sent =
            chain::abi::transaction_from_json(recorded["signed"], vectors::resolver());
        REQUIRE(sent);
        CHECK(sent->signatures.size() == recorded["keys"].size());
    }
}

TEST_CASE("each form of a packed transaction gives the same transaction") {
    const Json recorded = vectors::load("formats/045-transaction-plain.json")["vectors"];
    const auto id = chain::abi::hash_from_json(recorded["id"]);
    const chain::abi::Resolver resolver = vectors::resolver();
    const Json& bytes = recorded["packed"];
    Json parts = {{"signatures", Json::array()}, {"compression", 1}};
    parts["transaction"] = recorded["unpacked_with_action_data"];
    Json digits = parts;
    digits["compression"] = "zlib";
    digits["transaction"] = recorded["unpacked"];
    for (const Json& form : {bytes, parts, digits}) {
        const auto packed = chain::abi::packed_transaction_from_json(form, resolver);
        REQUIRE(packed);
        const auto decoded = chain::decode_transaction(*packed);
        REQUIRE(decoded);
        CHECK((*decoded)->id == *id);
    }
}

TEST_CASE("bytes after a packed transaction are dropped, also when it is compressed") {
    const base::Bytes plain = vectors::hex(kEmpty);
    base::Bytes longer = plain;
    longer.push_back(std::byte{7});
    const std::string longer_hex = base::to_hex(longer);
    const auto packed =
        chain::abi::packed_transaction_from_json(packed_form(longer_hex.c_str()), {});
    REQUIRE(packed);
    CHECK(packed->packed_trx == plain);
    Json deflated = packed_form(base::to_hex(chain::zlib_deflate(longer)).c_str());
    deflated["compression"] = "zlib";
    const auto inflated = chain::abi::packed_transaction_from_json(deflated, {});
    REQUIRE(inflated);
    CHECK(chain::zlib_inflate(inflated->packed_trx, 1000).value() == plain);
}

TEST_CASE("what is no packed transaction is refused as nodeos does") {
    const std::string invalid = "Invalid packed transaction";
    const auto type = Exception::packed_transaction_type_exception;
    check_refused(nullptr, type, invalid);
    check_refused(Json::object(), type, "Missing signatures");
    check_refused({{"signatures", Json::array()}}, type, "Missing compression");
    check_refused(
        {{"signatures", Json::array()}, {"compression", "none"}}, type, "Missing transaction");
    Json wrong = packed_form(kEmpty);
    wrong["compression"] = "gzip";
    check_refused(wrong, type, invalid);
    wrong = packed_form(kEmpty);
    wrong["signatures"] = Json::array({"SIG_K1_x"});
    check_refused(wrong, type, invalid);
    check_refused(packed_form("zz"), type, invalid);
    check_refused(packed_form("80d8"), type, invalid);
}

TEST_CASE("actions that cannot be read are refused with the reason first") {
    Json form = {{"signatures", Json::array()}, {"compression", "none"}};
    Json action = {{"account", "ALICE!"}, {"name", "transfer"}, {"data", ""}};
    form["transaction"] = {{"actions", Json::array({action})}};
    check_refused(form,
                  Exception::name_type_exception,
                  "Name not properly normalized (name: ALICE!, normalized: ) ");
    action = {{"account", "eosio.token"}, {"name", "nosuch"}, {"data", Json::object()}};
    form["transaction"]["actions"] = Json::array({action});
    check_refused(form,
                  Exception::packed_transaction_type_exception,
                  "Failed to deserialize data for eosio.token:nosuch");
    action["name"] = "transfer";
    form["transaction"]["actions"] = Json::array({action});
    check_refused(form,
                  Exception::pack_exception,
                  "Missing field 'from' in input object while processing struct 'transfer'");
}

TEST_CASE("numbers that do not fit into a transaction are refused, not wrapped") {
    for (const char* member : {"ref_block_num", "max_cpu_usage_ms", "delay_sec"}) {
        const auto large = chain::abi::transaction_from_json({{member, 1ULL << 33U}}, {});
        CHECK_FALSE(large);
        const auto negative = chain::abi::transaction_from_json({{member, -1}}, {});
        CHECK_FALSE(negative);
    }
}
