#include "wallet/api.hpp"

#include "base/crypto/hash.hpp"
#include "chain/abi/transaction_json.hpp"
#include "chain/types/evidence.hpp"
#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace wallet {

using base::Result;
using base::crypto::PublicKey;
using base::crypto::Signature;
using chain::Exception;
using chain::abi::Json;

namespace {

constexpr std::string_view kStatementPrefix = "BoR vote key 1";
constexpr std::string_view kClockPrefix = "BoR clock 1";
constexpr std::string_view kAnswerPrefix = "BoR answer 1";

// Nothing a wallet is asked nests deeply; a transaction is the largest thing it gets.
constexpr chain::abi::JsonLimits kLimits{.depth = 32, .values = 256 * 1024};

tl::unexpected<base::Error> missing_input() {
    return chain::fail(Exception::invalid_http_request, "Missing valid input from POST body");
}

// The second line is the cause; each line of such an error becomes one of the details.
tl::unexpected<base::Error> unreadable_input(std::string_view cause) {
    return chain::fail(Exception::invalid_http_request,
                       fmt::format("Unable to parse valid input from POST body\n{}", cause));
}

// Texts in it may be passwords and private keys.
// NOLINTNEXTLINE(misc-no-recursion): no deeper than the decoder let it be.
void wipe_texts(Json& json) {
    if (json.is_string()) {
        wipe(json.get_ref<std::string&>());
    } else if (json.is_structured()) {
        for (Json& item : json)
            wipe_texts(item);
    }
}

// keosd reads a digest as bytes of which it takes the first 32, missing ones being zero. Too
// many are refused here: signing something else than what was given helps nobody.
Result<base::Hash256> read_digest(const Json& json) {
    const auto bytes = chain::abi::bytes_from_json(json);
    if (!bytes) return base::fail(bytes.error());
    base::Hash256 digest;
    if (bytes->size() > digest.bytes.size()) {
        return chain::fail(Exception::assert_exception,
                           fmt::format("a digest has 32 bytes, found {}", bytes->size()));
    }
    std::copy(bytes->begin(), bytes->end(), digest.bytes.begin());
    return digest;
}

Result<chain::ChainId> read_chain_id(const Json& json) {
    const auto bytes = chain::abi::bytes_from_json(json);
    if (!bytes) return base::fail(bytes.error());
    auto id = base::to_hash<32>(*bytes);
    if (!id) {
        return chain::fail(Exception::assert_exception,
                           fmt::format("a chain id has 32 bytes, found {}", bytes->size()));
    }
    return id;
}

// Something packed, in hexadecimal digits, and nothing after it.
template <class T>
Result<T> read_packed(const Json& json, std::string_view what) {
    const auto bytes = chain::abi::bytes_from_json(json);
    if (!bytes) return base::fail(bytes.error());
    auto value = chain::unpack<T>(*bytes, what);
    if (!value) return chain::fail(Exception::assert_exception, value.error().detail);
    return value;
}

bool is_evidence(base::ByteView data) {
    base::Reader in(data);
    const base::ByteView packed = in.bytes("evidence", data.size());
    if (!in.finish()) return false;
    const auto evidence = chain::unpack<chain::Evidence>(packed, "evidence");
    return evidence && chain::check_form(*evidence);
}

// What a validator's node says on the chain in its own name: one such action and nothing more, of
// a form that no header and no vote has.
Result<void> expect_duty(const chain::Transaction& transaction) {
    using chain::operator""_n;
    constexpr std::size_t kNameBytes = 8;
    const bool is_alone = transaction.actions.size() == 1 &&
                          transaction.context_free_actions.empty() &&
                          transaction.extensions.empty();
    if (is_alone) {
        const chain::Action& action = transaction.actions[0];
        const bool is_plain = action.account == "eosio"_n && action.authorization.size() == 1;
        const bool names_one = action.name == "ready"_n || action.name == "amnesia"_n;
        if (is_plain && names_one && action.data.size() == kNameBytes) return {};
        if (is_plain && action.name == "reportbad"_n && is_evidence(action.data)) return {};
    }
    return chain::fail(Exception::wallet_exception,
                       "a validator's key signs one action of eosio alone: ready, reportbad or "
                       "amnesia");
}

Result<PublicKey> read_key(const Json& json) {
    const auto text = chain::abi::as_string(json);
    if (!text) return base::fail(text.error());
    return PublicKey::from_string(*text);
}

Result<std::set<PublicKey>> read_keys(const Json& json) {
    if (const auto is_array = chain::abi::expect_array(json); !is_array) {
        return base::fail(is_array.error());
    }
    std::set<PublicKey> keys;
    for (const Json& item : json) {
        const auto key = read_key(item);
        if (!key) return base::fail(key.error());
        keys.insert(*key);
    }
    return keys;
}

// A wallet knows no ABI: data of actions must come packed.
Result<void> expect_packed_data(const Json& transaction) {
    for (const std::string_view member : {"context_free_actions", "actions"}) {
        const Json* actions = chain::abi::find_member(transaction, member);
        if (actions == nullptr || !actions->is_array()) continue;
        for (const Json& action : *actions) {
            const Json* data = chain::abi::find_member(action, "data");
            if (data == nullptr) continue;
            if (const auto text = chain::abi::get_string(*data); !text) {
                return base::fail(text.error());
            }
        }
    }
    return {};
}

Result<SecretText> secret_text(const Json& json) {
    auto text = chain::abi::as_string(json);
    if (!text) return base::fail(text.error());
    return SecretText(std::move(*text));
}

// The answer of a call that has nothing to say.
Result<Json> done(const Result<void>& result) {
    if (!result) return base::fail(result.error());
    return Json(Json::object());
}

}  // namespace

const std::vector<Api::Call>& Api::calls() {
    static const std::vector<Call> kCalls = {
        {"/v1/wallet/create", kOne, 201, &Api::create},
        {"/v1/wallet/create_key", 2, 201, &Api::create_key},
        {"/v1/wallet/create_validator_key", kOne, 201, &Api::create_validator_key},
        {"/v1/wallet/get_public_keys", kNothing, 200, &Api::get_public_keys},
        {"/v1/wallet/give_up_lock", 3, 201, &Api::give_up_lock},
        {"/v1/wallet/import_key", 2, 201, &Api::import_key},
        {"/v1/wallet/list_keys", 2, 200, &Api::list_keys},
        {"/v1/wallet/list_wallets", kNothing, 200, &Api::list_wallets},
        {"/v1/wallet/lock", kOne, 200, &Api::lock},
        {"/v1/wallet/lock_all", kNothing, 200, &Api::lock_all},
        {"/v1/wallet/open", kOne, 200, &Api::open},
        {"/v1/wallet/remove_key", 3, 201, &Api::remove_key},
        {"/v1/wallet/set_timeout", kOne, 200, &Api::set_timeout},
        {"/v1/wallet/sign_answer", 2, 201, &Api::sign_answer},
        {"/v1/wallet/sign_clock", 2, 201, &Api::sign_clock},
        {"/v1/wallet/sign_digest", 2, 201, &Api::sign_digest},
        {"/v1/wallet/sign_duty", 3, 201, &Api::sign_duty},
        {"/v1/wallet/sign_header", 3, 201, &Api::sign_header},
        {"/v1/wallet/sign_statement", 2, 201, &Api::sign_statement},
        {"/v1/wallet/sign_transaction", 3, 201, &Api::sign_transaction},
        {"/v1/wallet/sign_vote", 3, 201, &Api::sign_vote},
        {"/v1/wallet/unlock", 2, 200, &Api::unlock},
    };
    return kCalls;
}

std::vector<std::string> Api::paths() {
    std::vector<std::string> out;
    for (const Call& call : calls())
        out.emplace_back(call.path);
    return out;
}

node::http::Response Api::call(std::string_view path, std::string& body, base::Timestamp now) {
    const auto call =
        std::find_if(calls().begin(), calls().end(), [&](const Call& c) { return c.path == path; });
    if (call == calls().end()) return node::http::unknown_endpoint();
    auto parameters = read_parameters(*call, body);
    wipe(body);
    if (!parameters) return refusal(parameters.error());
    auto answer = (this->*call->handler)(*parameters, now);
    wipe_texts(*parameters);
    if (!answer) return refusal(answer.error());
    node::http::Response response;
    response.status = call->status;
    response.body = chain::abi::dump_json(*answer);
    wipe_texts(*answer);
    return response;
}

Result<Json> Api::read_parameters(const Call& call, std::string_view body) {
    if (call.parameters == kNothing) {
        if (!node::http::is_no_body(body)) return unreadable_input("no parameter should be given");
        return Json(nullptr);
    }
    if (node::http::is_no_body(body)) {
        return chain::fail(Exception::invalid_http_request, "A Request body is required");
    }
    auto json = chain::abi::parse_json(body, kLimits);
    if (!json) return unreadable_input(json.error().detail);
    if (call.parameters == kOne) return std::move(*json);
    if (const auto is_array = chain::abi::expect_array(*json); !is_array) {
        wipe_texts(*json);
        return unreadable_input(is_array.error().detail);
    }
    if (json->size() != call.parameters) {
        wipe_texts(*json);
        return missing_input();
    }
    return std::move(*json);
}

node::http::Response Api::refusal(const base::Error& error) const {
    const Exception exception = chain::exception_of(error);
    const bool is_request = exception == Exception::invalid_http_request;
    node::http::ErrorBody body;
    body.status = is_request ? 400 : 500;
    body.message = is_request ? "Invalid Request" : "Internal Service Error";
    body.code = chain::exception_code(exception);
    body.name = chain::exception_name(exception);
    body.what = chain::exception_what(exception);
    const std::size_t line_end = is_request ? error.detail.find('\n') : std::string::npos;
    body.details.push_back(error.detail.substr(0, line_end));
    if (line_end != std::string::npos) body.details.push_back(error.detail.substr(line_end + 1));
    return node::http::error_response(body, verbose_errors_);
}

Api::Answer Api::create(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters);
    if (!name) return unreadable_input(name.error().detail);
    const auto password = keyring_.create(*name, now);
    if (!password) return base::fail(password.error());
    return Json(password->view());
}

Api::Answer Api::open(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters);
    if (!name) return unreadable_input(name.error().detail);
    return done(keyring_.open(*name, now));
}

Api::Answer Api::lock(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters);
    if (!name) return unreadable_input(name.error().detail);
    return done(keyring_.lock(*name, now));
}

Api::Answer Api::lock_all(const Json& /*parameters*/, base::Timestamp /*now*/) {
    keyring_.lock_all();
    return done({});
}

Api::Answer Api::unlock(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters[0]);
    if (!name) return base::fail(name.error());
    const auto password = secret_text(parameters[1]);
    if (!password) return base::fail(password.error());
    return done(keyring_.unlock(*name, password->view(), now));
}

Api::Answer Api::import_key(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters[0]);
    if (!name) return base::fail(name.error());
    const auto key = secret_text(parameters[1]);
    if (!key) return base::fail(key.error());
    return done(keyring_.import_key(*name, key->view(), now));
}

Api::Answer Api::remove_key(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters[0]);
    if (!name) return base::fail(name.error());
    const auto password = secret_text(parameters[1]);
    if (!password) return base::fail(password.error());
    const auto key = chain::abi::as_string(parameters[2]);
    if (!key) return base::fail(key.error());
    return done(keyring_.remove_key(*name, password->view(), *key, now));
}

Api::Answer Api::create_key(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters[0]);
    if (!name) return base::fail(name.error());
    const auto type = chain::abi::as_string(parameters[1]);
    if (!type) return base::fail(type.error());
    const auto key = keyring_.create_key(*name, *type, now);
    if (!key) return base::fail(key.error());
    return Json(key->to_string());
}

Api::Answer Api::list_wallets(const Json& /*parameters*/, base::Timestamp now) {
    return Json(keyring_.list_wallets(now));
}

Api::Answer Api::list_keys(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters[0]);
    if (!name) return base::fail(name.error());
    const auto password = secret_text(parameters[1]);
    if (!password) return base::fail(password.error());
    const auto keys = keyring_.list_keys(*name, password->view(), now);
    if (!keys) return base::fail(keys.error());
    Json out = Json::array();
    for (const auto& [id, key] : **keys) {
        out.push_back(Json::array({id.to_string(), key.to_string()}));
    }
    return out;
}

Api::Answer Api::get_public_keys(const Json& /*parameters*/, base::Timestamp now) {
    const auto keys = keyring_.public_keys(now);
    if (!keys) return base::fail(keys.error());
    Json out = Json::array();
    for (const PublicKey& key : *keys)
        out.push_back(key.to_string());
    return out;
}

Api::Answer Api::set_timeout(const Json& parameters, base::Timestamp now) {
    const auto seconds = chain::abi::as_int64(parameters);
    if (!seconds) return unreadable_input(seconds.error().detail);
    return done(keyring_.set_timeout(*seconds, now));
}

Api::Answer Api::sign_digest(const Json& parameters, base::Timestamp now) {
    const auto digest = read_digest(parameters[0]);
    if (!digest) return base::fail(digest.error());
    const auto key = read_key(parameters[1]);
    if (!key) return base::fail(key.error());
    if (const auto ordinary = expect_ordinary(*key); !ordinary) {
        return base::fail(ordinary.error());
    }
    return signature_of(*digest, *key, now);
}

Api::Answer Api::signature_of(const base::Hash256& digest,
                              const PublicKey& key,
                              base::Timestamp now) {
    const auto signature = keyring_.sign(digest, key, now);
    if (!signature) return base::fail(signature.error());
    return Json(signature->to_string());
}

Result<void> Api::expect_ordinary(const PublicKey& key) const {
    if (!journals_.has(key)) return {};
    return chain::fail(Exception::wallet_exception,
                       fmt::format("{} is a validator's key: it signs headers and votes only, as "
                                   "its journal allows",
                                   key.to_string()));
}

Result<void> Api::expect_held(const PublicKey& key, base::Timestamp now) {
    const auto keys = keyring_.public_keys(now);
    if (!keys) return base::fail(keys.error());
    if (keys->contains(key)) return {};
    return chain::fail(Exception::wallet_missing_pub_key_exception,
                       fmt::format("no unlocked wallet has the key {}", key.to_string()));
}

Api::Answer Api::create_validator_key(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters);
    if (!name) return unreadable_input(name.error().detail);
    const auto key = keyring_.create_key(*name, "K1", now);
    if (!key) return base::fail(key.error());
    if (auto made = journals_.create(*key); !made) return base::fail(made.error());
    return Json(key->to_string());
}

Api::Answer Api::sign_header(const Json& parameters, base::Timestamp now) {
    const auto header = read_packed<chain::BlockHeader>(parameters[0], "header");
    if (!header) return base::fail(header.error());
    const auto key = read_key(parameters[1]);
    if (!key) return base::fail(key.error());
    const auto chain_id = read_chain_id(parameters[2]);
    if (!chain_id) return base::fail(chain_id.error());
    if (auto held = expect_held(*key, now); !held) return base::fail(held.error());
    if (auto allowed = journals_.allow_header(*key, *header); !allowed) {
        return base::fail(allowed.error());
    }
    return signature_of(header->signing_digest(*chain_id), *key, now);
}

Api::Answer Api::sign_vote(const Json& parameters, base::Timestamp now) {
    const auto vote = read_packed<chain::VoteData>(parameters[0], "vote");
    if (!vote) return base::fail(vote.error());
    const auto key = read_key(parameters[1]);
    if (!key) return base::fail(key.error());
    const auto chain_id = read_chain_id(parameters[2]);
    if (!chain_id) return base::fail(chain_id.error());
    if (auto held = expect_held(*key, now); !held) return base::fail(held.error());
    if (auto allowed = journals_.allow_vote(*key, *vote); !allowed) {
        return base::fail(allowed.error());
    }
    return signature_of(vote->digest(*chain_id), *key, now);
}

Api::Answer Api::sign_statement(const Json& parameters, base::Timestamp now) {
    return sign_words(kStatementPrefix, parameters, now);
}

Api::Answer Api::sign_clock(const Json& parameters, base::Timestamp now) {
    return sign_words(kClockPrefix, parameters, now);
}

Api::Answer Api::sign_answer(const Json& parameters, base::Timestamp now) {
    const auto key = read_key(parameters[1]);
    if (!key) return base::fail(key.error());
    if (auto held = expect_held(*key, now); !held) return base::fail(held.error());
    if (auto stopped = journals_.stop(*key); !stopped) return base::fail(stopped.error());
    return sign_words(kAnswerPrefix, parameters, now);
}

// The node has the socket, too: only who knows the password takes a promise back.
Api::Answer Api::give_up_lock(const Json& parameters, base::Timestamp now) {
    const auto name = chain::abi::as_string(parameters[0]);
    if (!name) return base::fail(name.error());
    const auto password = secret_text(parameters[1]);
    if (!password) return base::fail(password.error());
    const auto key = read_key(parameters[2]);
    if (!key) return base::fail(key.error());
    const auto keys = keyring_.list_keys(*name, password->view(), now);
    if (!keys) return base::fail(keys.error());
    if (!(*keys)->contains(*key)) {
        return chain::fail(Exception::key_nonexistent_exception,
                           fmt::format("the wallet {} has no key {}: name the wallet that has it",
                                       *name,
                                       key->to_string()));
    }
    const auto given_up = journals_.give_up_lock(*key);
    if (!given_up) return base::fail(given_up.error());
    return Json{{"lock_slot", chain::abi::json_integer(given_up->lock_slot)},
                {"lock", base::to_hex(given_up->lock.view())},
                {"votes_above", chain::abi::json_integer(given_up->up_to)}};
}

// Promises nothing; its first words keep it from being anything else.
Api::Answer Api::sign_words(std::string_view prefix, const Json& parameters, base::Timestamp now) {
    const auto bytes = chain::abi::bytes_from_json(parameters[0]);
    if (!bytes) return base::fail(bytes.error());
    const auto key = read_key(parameters[1]);
    if (!key) return base::fail(key.error());
    base::Writer words;
    words.raw(base::as_bytes(prefix));
    words.raw(*bytes);
    return signature_of(base::crypto::sha256(words.view()), *key, now);
}

// Moves nothing and promises nothing, so that a validator's key may sign it.
Api::Answer Api::sign_duty(const Json& parameters, base::Timestamp now) {
    const auto transaction = read_packed<chain::Transaction>(parameters[0], "transaction");
    if (!transaction) return base::fail(transaction.error());
    const auto key = read_key(parameters[1]);
    if (!key) return base::fail(key.error());
    const auto chain_id = read_chain_id(parameters[2]);
    if (!chain_id) return base::fail(chain_id.error());
    if (auto good = expect_duty(*transaction); !good) return base::fail(good.error());
    return signature_of(transaction->signing_digest(*chain_id, {}), *key, now);
}

Api::Answer Api::sign_transaction(const Json& parameters, base::Timestamp now) {
    if (const auto packed = expect_packed_data(parameters[0]); !packed) {
        return base::fail(packed.error());
    }
    auto transaction = chain::abi::transaction_from_json(parameters[0], {});
    if (!transaction) return base::fail(transaction.error());
    const auto keys = read_keys(parameters[1]);
    if (!keys) return base::fail(keys.error());
    const auto chain_id = read_chain_id(parameters[2]);
    if (!chain_id) return base::fail(chain_id.error());
    const base::Hash256 digest =
        transaction->signing_digest(*chain_id, transaction->context_free_data);
    for (const PublicKey& key : *keys) {
        if (const auto ordinary = expect_ordinary(key); !ordinary) {
            return base::fail(ordinary.error());
        }
        const auto signature = keyring_.sign(digest, key, now);
        if (!signature) return base::fail(signature.error());
        transaction->signatures.push_back(*signature);
    }
    return chain::abi::transaction_to_json(
        *transaction, {}, chain::abi::TransactionForm::with_signatures);
}

}  // namespace wallet
