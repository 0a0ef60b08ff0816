// The calls of the wallet against the answers that keosd of Leap 5.0.3 gave, in their order:
// the same status, the same code, name and first text of errors, the same values where they do
// not depend on chance.
#include "wallet/api.hpp"

#include "base/crypto/hash.hpp"
#include "scratch.hpp"
#include "tests/support/paths.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

using namespace wallet;
using wallet::tests::Scratch;
using Json = nlohmann::ordered_json;

namespace {

constexpr ScryptCost kCheap{.n = 16, .r = 1, .p = 1};

struct Fixture {
    Scratch scratch;
    std::unique_ptr<Directory> directory = Directory::open(scratch.path()).value();
    Keyring keyring{*directory, kCheap, std::chrono::seconds(900)};
    ValidatorJournals journals{scratch.path()};
    Api api{keyring, journals, true};
    base::Timestamp now{std::chrono::seconds(1000)};

    node::http::Response call(const std::string& name, std::string body) {
        return api.call("/v1/wallet/" + name, body, now);
    }
    Json ok(const std::string& name, const Json& body) {
        const auto response = call(name, body.dump());
        INFO(response.body);
        REQUIRE(response.status < 300);
        return Json::parse(response.body);
    }
    std::string refusal(const std::string& name, const std::string& body, unsigned status) {
        const auto response = call(name, body);
        INFO(response.body);
        REQUIRE(response.status == status);
        return Json::parse(response.body)["error"]["details"][0]["message"];
    }
};

std::vector<Json> recordings() {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry :
         std::filesystem::directory_iterator(::tests::data_dir() + "/vectors/wallet")) {
        paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Json> out;
    for (const auto& path : paths) {
        std::ifstream in(path);
        out.push_back(Json::parse(in));
    }
    return out;
}

void replace(std::string& text, std::string_view what, std::string_view with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
        text.replace(at, what.size(), with);
        at += with.size();
    }
}

// The body to send: the recorded one, with this run's passwords for the recorded ones.
std::string body_of(const Json& request, const std::map<std::string, std::string>& passwords) {
    if (request.contains("body_text")) return request["body_text"];
    if (!request.contains("body")) return {};
    std::string body = request["body"].dump();
    for (const auto& [recorded, ours] : passwords)
        replace(body, recorded, ours);
    return body;
}

// Texts that depend on the run: directories, clocks, what is drawn by chance.
bool is_volatile(const std::string& name, const std::string& call) {
    return name.find("create_key") != std::string::npos || call == "create" ||
           name.find("r1") != std::string::npos || name == "wallet-set_timeout-negative" ||
           name == "wallet-get_public_keys-ok" || name == "wallet-sign_transaction-two-keys";
}

void compare_error(const Json& theirs, const Json& ours, const std::string& directory) {
    for (const char* field : {"code", "name", "what"}) {
        CHECK(ours["error"][field] == theirs["error"][field]);
    }
    CHECK(ours["code"] == theirs["code"]);
    CHECK(ours["message"] == theirs["message"]);
    std::string text = theirs["error"]["details"][0]["message"];
    replace(text, "/wallet/", directory + "/");
    CHECK(ours["error"]["details"][0]["message"] == text);
}

}  // namespace

TEST_CASE_METHOD(Fixture, "every recorded call gets keosd's answer") {
    std::map<std::string, std::string> passwords;
    std::size_t compared = 0;
    for (const Json& recorded : recordings()) {
        const std::string name = recorded["name"];
        const Json& request = recorded["request"];
        const std::string path = request["path"];
        if (!path.starts_with("/v1/wallet/")) continue;  // The daemon's, not the API's.
        INFO(name);
        if (request.contains("wait")) now += std::chrono::seconds(2);
        std::string body = body_of(request, passwords);
        const auto response = api.call(path, body, now);
        CHECK(response.status == recorded["status"]);
        CHECK(body.empty());
        const Json answer = Json::parse(response.body);
        const Json& expected = recorded["response"];
        if (recorded.contains("capture")) passwords.emplace(expected, answer);
        CHECK(answer.type() == expected.type());
        if (name == "wallet-set_timeout-negative") {
            CHECK(answer["error"]["code"] == expected["error"]["code"]);
        } else if (expected.is_object() && expected.contains("error")) {
            compare_error(expected, answer, scratch.path());
        } else if (!is_volatile(name, path.substr(11))) {
            CHECK(answer == expected);
        }
        ++compared;
    }
    CHECK(compared > 60);
}

TEST_CASE_METHOD(Fixture, "signatures of a transaction are added, over the digest of its chain") {
    const std::string password = ok("create", "w");
    ok("import_key", {"w", "5KPAW9KicaFtyxsYQ2AuQgRUx3A2Qkyvoayb8W7siVLbvJxvqrH"});
    const std::string key = "EOS7cgG2UxaCBX9Tt7cMUkgZEK6QPqnF2H5zBhFGaHMrLsjy7dyqr";
    const std::string chain = "8a34ec7df1b8cd06ff4a8abbaa7cc50300823350cadc59ab296cb00d104d2b8f";
    Json transaction = {{"expiration", "2030-01-01T00:00:00"},
                        {"ref_block_num", 65535},
                        {"ref_block_prefix", 4294967295},
                        {"max_net_usage_words", 0},
                        {"max_cpu_usage_ms", 0},
                        {"delay_sec", 0},
                        {"context_free_actions", Json::array()},
                        {"actions", Json::array()},
                        {"transaction_extensions", Json::array()},
                        {"signatures", Json::array()},
                        {"context_free_data", Json::array()}};
    transaction["actions"].push_back(
        {{"account", "eosio.token"},
         {"name", "transfer"},
         {"authorization", {{{"actor", "alice"}, {"permission", "active"}}}},
         {"data", "0000000000855c340000000000000e3d10270000000000000453595300000000016d"}});
    Json request = Json::array({transaction, {key}, chain});
    const Json once = ok("sign_transaction", request);
    // Recorded from keosd.
    CHECK(once["signatures"] ==
          Json::array({"SIG_K1_K4xqu5N1TY7UaputZk8WzYBoGgjAXZNWEeY93SezrSMDfqLMjnYeCCb5LLH2xdzxgd8N"
                       "4fuKSmDRasweDhdqeEuHyP1pRQ"}));
    request[0] = once;
    CHECK(ok("sign_transaction", request)["signatures"].size() == 2);
    request[1] = {key, key};
    request[0] = transaction;
    CHECK(ok("sign_transaction", request)["signatures"].size() == 1);

    request[2] = chain.substr(2);
    CHECK(refusal("sign_transaction", request.dump(), 500) == "a chain id has 32 bytes, found 31");
    CHECK(refusal("sign_digest", Json({chain + "00", key}).dump(), 500) ==
          "a digest has 32 bytes, found 33");
}

TEST_CASE_METHOD(Fixture, "requests that are no request are refused") {
    constexpr unsigned kBad = 400;
    const std::string unreadable = "Unable to parse valid input from POST body";
    for (const std::string body : {"", "  ", "{}", "{ }", "null", "\n"}) {
        CHECK(refusal("create", body, kBad) == "A Request body is required");
        CHECK(call("list_wallets", body).status == 200);
    }
    CHECK(refusal("list_wallets", "[]", kBad) == unreadable);
    CHECK(refusal("lock_all", "1", kBad) == unreadable);
    CHECK(refusal("unlock", "\"w\"", kBad) == unreadable);
    CHECK(refusal("unlock", "[\"w\"", kBad) == unreadable);
    CHECK(refusal("unlock", "[\"w\"]", kBad) == "Missing valid input from POST body");
    CHECK(refusal("create", std::string(100'000, '['), kBad) == unreadable);
    CHECK(refusal("open", "{\"a\":1}", kBad) == unreadable);
    CHECK(refusal("set_timeout", "[1]", kBad) == unreadable);
    CHECK(call("nothing", "").status == 404);
    ok("create", "w");
    CHECK(call("import_key", R"(["w",["x"]])").status == 500);
    CHECK(call("sign_digest", R"([5,"x"])").status == 500);
    CHECK(call("sign_transaction", R"([{"actions":5},[],"00"])").status == 500);
    CHECK(call("sign_transaction", R"(["x","y","z"])").status == 500);
}

TEST_CASE("without verbose errors there is one text") {
    Fixture f;
    Api terse(f.keyring, f.journals, false);
    std::string body = "x";
    CHECK(
        Json::parse(terse.call("/v1/wallet/create", body, f.now).body)["error"]["details"].size() ==
        1);
    body = "x";
    CHECK(
        Json::parse(f.api.call("/v1/wallet/create", body, f.now).body)["error"]["details"].size() ==
        2);
}

TEST_CASE_METHOD(Fixture, "the last that a validator's key signs is its answer to a recovery") {
    ok("create", "w");
    const std::string key = ok("create_validator_key", "w");
    const std::string chain_id = std::string(64, 'a');
    const auto signature =
        base::crypto::Signature::from_string(ok("sign_answer", Json{"00", key}).get<std::string>());
    const std::string_view words("BoR answer 1\0", 13);
    CHECK(base::crypto::verify(*base::crypto::PublicKey::from_string(key),
                               *signature,
                               base::crypto::sha256(base::as_bytes(words))));
    chain::BlockHeader header;
    header.slot = 5;
    const Json block{base::to_hex(chain::pack(header)), key, chain_id};
    CHECK(refusal("sign_header", block.dump(), 500).find("has answered") != std::string::npos);
    chain::VoteData vote;
    vote.slot = 5;
    const Json voted{base::to_hex(chain::pack(vote)), key, chain_id};
    CHECK(refusal("sign_vote", voted.dump(), 500).find("has answered") != std::string::npos);
    // Asked again it says so again.
    CHECK(ok("sign_answer", Json{"00", key}).is_string());
    // A key that is no validator's has nothing to answer.
    const std::string other = ok("create_key", Json{"w", "K1"});
    CHECK(refusal("sign_answer", Json({"00", other}).dump(), 500).find("no safety journal") !=
          std::string::npos);
}

TEST_CASE_METHOD(Fixture, "a lock is given up by who knows the wallet's password") {
    const std::string password = ok("create", "w");
    const std::string other_password = ok("create", "other");
    const std::string key = ok("create_validator_key", "w");
    const std::string ordinary = ok("create_key", Json{"w", "K1"});
    const auto vote = [&](chain::VoteKind kind, chain::Slot slot, chain::Slot justify) {
        chain::VoteData data;
        data.kind = kind;
        data.slot = slot;
        data.justify_slot = justify;
        data.block_id.bytes[0] = std::byte{7};
        return Json{base::to_hex(chain::pack(data)), key, std::string(64, 'a')};
    };
    const Json below = vote(chain::VoteKind::notarize, 6, 3);
    ok("sign_vote", vote(chain::VoteKind::commit, 5, 4));
    const auto refused = [&](const Json& body, const std::string& text) {
        return refusal("give_up_lock", body.dump(), 500).find(text) != std::string::npos;
    };
    CHECK(refused({"w", "wrong", key}, "Invalid password"));
    CHECK(refused({"nowhere", password, key}, "Wallet not found"));
    CHECK(refused({"other", other_password, key}, "the wallet other has no key " + key));
    CHECK(refused({"w", password, ordinary}, "has no safety journal here"));
    CHECK(call("give_up_lock", Json({"w", password, "no key"}).dump()).status == 500);
    CHECK(call("give_up_lock", Json({"w", key}).dump()).status == 400);
    ok("lock", "w");
    CHECK(refused({"w", password, key}, "Wallet is locked"));
    ok("unlock", Json{"w", password});
    CHECK(refusal("sign_vote", below.dump(), 500).find("locked on slot 5") != std::string::npos);

    const Json answer = ok("give_up_lock", Json{"w", password, key});
    CHECK(answer ==
          Json{{"lock_slot", 5}, {"lock", "07" + std::string(62, '0')}, {"votes_above", 5}});
    CHECK(call("sign_vote", vote(chain::VoteKind::commit, 5, 4).dump()).status == 500);
    CHECK(ok("sign_vote", below).is_string());
    CHECK(refused({"w", password, key}, "locked on nothing"));
}

TEST_CASE_METHOD(Fixture, "a validator's key signs headers and votes, each once, and no digest") {
    ok("create", "w");
    const std::string key = ok("create_validator_key", "w");
    const std::string digest = std::string(64, 'a');
    CHECK(refusal("sign_digest", Json({digest, key}).dump(), 500).find("validator's key") !=
          std::string::npos);
    const Json transaction{{"actions", Json::array()},
                           {"expiration", "2020-01-01T00:00:00"},
                           {"ref_block_num", 1},
                           {"ref_block_prefix", 1}};
    CHECK(refusal("sign_transaction", Json({transaction, {key}, digest}).dump(), 500)
              .find("validator's key") != std::string::npos);

    chain::BlockHeader header;
    header.slot = 5;
    base::Writer packed;
    chain::encode(packed, header);
    const Json request{base::to_hex(packed.view()), key, digest};
    const auto signature =
        base::crypto::Signature::from_string(ok("sign_header", request).get<std::string>());
    const auto chain_id = base::to_hash<32>(*base::from_hex(digest));
    CHECK(base::crypto::verify(
        *base::crypto::PublicKey::from_string(key), *signature, header.signing_digest(*chain_id)));
    CHECK(refusal("sign_header", request.dump(), 500).find("slot 5 already") != std::string::npos);

    chain::VoteData vote;
    vote.kind = chain::VoteKind::commit;
    vote.slot = 5;
    vote.justify_slot = 4;
    base::Writer packed_vote;
    chain::encode(packed_vote, vote);
    const Json asked{base::to_hex(packed_vote.view()), key, digest};
    const auto voted =
        base::crypto::Signature::from_string(ok("sign_vote", asked).get<std::string>());
    CHECK(base::crypto::verify(
        *base::crypto::PublicKey::from_string(key), *voted, vote.digest(*chain_id)));
    CHECK(refusal("sign_vote", asked.dump(), 500).find("locked on slot 5") != std::string::npos);
    CHECK(call("sign_statement", Json({"00", key}).dump()).status == 201);
    const auto clock =
        base::crypto::Signature::from_string(ok("sign_clock", Json{"00", key}).get<std::string>());
    const std::string_view words("BoR clock 1\0", 12);
    CHECK(base::crypto::verify(*base::crypto::PublicKey::from_string(key),
                               *clock,
                               base::crypto::sha256(base::as_bytes(words))));

    // What its node says in its name, and nothing else.
    chain::Transaction duty;
    chain::Action ready;
    ready.account = *chain::Name::from_string("eosio");
    ready.name = *chain::Name::from_string("ready");
    ready.authorization = {{*chain::Name::from_string("v1"), *chain::Name::from_string("active")}};
    ready.data = base::Bytes(8);
    duty.actions = {ready};
    const auto ask = [&](const chain::Transaction& said_here) {
        base::Writer packed_duty;
        chain::encode(packed_duty, said_here);
        return Json{base::to_hex(packed_duty.view()), key, digest};
    };
    const auto said =
        base::crypto::Signature::from_string(ok("sign_duty", ask(duty)).get<std::string>());
    CHECK(base::crypto::verify(
        *base::crypto::PublicKey::from_string(key), *said, duty.signing_digest(*chain_id, {})));
    const auto refused = [&](const chain::Transaction& said_here) {
        return refusal("sign_duty", ask(said_here).dump(), 500).find("signs one action") !=
               std::string::npos;
    };
    duty.actions[0].name = *chain::Name::from_string("reportbad");
    CHECK(refused(duty));  // That is no evidence.
    duty.actions[0].name = *chain::Name::from_string("setcode");
    CHECK(refused(duty));
    duty.actions = {ready, ready};
    CHECK(refused(duty));
    duty.actions = {ready};
    duty.actions[0].data.push_back(std::byte{0});
    CHECK(refused(duty));
    duty.actions = {ready};
    duty.actions[0].account = *chain::Name::from_string("token");
    CHECK(refused(duty));

    // Nothing is promised while the wallet is locked.
    ok("lock", "w");
    header.slot = 6;
    base::Writer next;
    chain::encode(next, header);
    CHECK(call("sign_header", Json({base::to_hex(next.view()), key, digest}).dump()).status == 500);
    CHECK(journals.allow_header(*base::crypto::PublicKey::from_string(key), header));
    CHECK(call("sign_header", R"(["zz","x","y"])").status == 500);
    CHECK(call("sign_vote", R"(["00","x","y"])").status == 500);
}
