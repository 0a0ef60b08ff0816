#include "cli/transaction.hpp"

#include "cli/files.hpp"
#include "cli/output.hpp"
#include "cli/wallet_keys.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::uint64_t kExpirationDefault = 30;  // Seconds, as cleos.
constexpr std::uint64_t kExpirationMax = 3600;

base::Result<void> fill_header(const Session& session,
                               const Arguments& arguments,
                               const Json& info,
                               chain::SignedTransaction& transaction) {
    const auto expiration = arguments.number("expiration", kExpirationDefault, 1, kExpirationMax);
    if (!expiration) return fail(expiration.error());
    const auto cpu = arguments.number("max-cpu-usage-ms", transaction.max_cpu_usage_ms, 0, 255);
    if (!cpu) return fail(cpu.error());
    const auto net = arguments.number(
        "max-net-usage", std::uint64_t{transaction.max_net_usage_words} * 8, 0, 1U << 30U);
    if (!net) return fail(net.error());
    const auto delay = arguments.number("delay-sec", transaction.delay_sec, 0, UINT32_MAX);
    if (!delay) return fail(delay.error());
    transaction.max_cpu_usage_ms = static_cast<std::uint8_t>(*cpu);
    transaction.max_net_usage_words = static_cast<std::uint32_t>((*net + 7) / 8);
    transaction.delay_sec = static_cast<std::uint32_t>(*delay);
    if (transaction.expiration.seconds == 0 || arguments.has("expiration")) {
        const auto time = chain::TimePoint::from_string(text_of(info, "head_block_time"));
        if (!time) return fail(time.error());
        transaction.expiration.seconds =
            static_cast<std::uint32_t>(time->microseconds / 1'000'000 + 1) +
            static_cast<std::uint32_t>(*expiration);
    }
    if (transaction.ref_block_num != 0 && !arguments.has("ref-block")) return {};
    auto id = hash_of(info, "last_irreversible_block_id");
    if (arguments.has("ref-block")) {
        const auto block = call(session.url,
                                "/v1/chain/get_block_header",
                                {{"block_num_or_id", arguments.get("ref-block")}});
        if (!block) return fail(block.error());
        id = hash_of(*block, "id");
    }
    if (!id) return fail(id.error());
    transaction.ref_block_num = static_cast<std::uint16_t>(chain::height_of(*id));
    transaction.ref_block_prefix = chain::ref_block_prefix_of(*id);
    return {};
}

base::Result<void> sign(const Session& session,
                        const Arguments& arguments,
                        const std::string& chain_id,
                        chain::SignedTransaction& transaction) {
    Json keys = Json::array();
    if (arguments.has("sign-with")) {
        for (const std::string& key : arguments.all("sign-with"))
            keys.push_back(key);
    } else {
        auto required = required_keys(session, transaction);
        if (!required) return fail(required.error());
        keys = *std::move(required);
    }
    return wallet_sign(session, keys, chain_id, transaction);
}

void print_trace(const Json& answer) {
    const Json& processed = member_of(answer, "processed");
    const Json& cpu = member_of(member_of(processed, "receipt"), "cpu_usage_us");
    fmt::print("executed transaction: {}{}\n",
               text_of(answer, "transaction_id"),
               cpu.is_null() ? "" : fmt::format("  {} us", cpu.dump()));
    for (const Json& trace : list_of(processed, "action_traces")) {
        const Json& act = member_of(trace, "act");
        if (act.is_null()) continue;
        const std::string account = text_of(act, "account");
        const std::string receiver = text_of(trace, "receiver");
        const Json* data = chain::abi::find_member(act, "data");
        std::string shown = data == nullptr ? "" : data->dump();
        // Code and ABIs would fill the screen; -j shows everything.
        constexpr std::size_t kShownMax = 200;
        if (shown.size() > kShownMax) shown = shown.substr(0, kShownMax) + "...";
        fmt::print(
            "#  {:>14} <= {:<28} {}\n", receiver, account + "::" + text_of(act, "name"), shown);
        const std::string console = text_of(trace, "console");
        if (!console.empty()) fmt::print(">> {}\n", console);
        const Json* value = chain::abi::find_member(trace, "return_value_data");
        if (value != nullptr) fmt::print("=> return value: {}\n", value->dump());
    }
}

// "${name}" in the text, with the values of `data` in place of their names.
std::string filled_in(std::string text, const Json& data) {
    for (const auto& [name, value] : data.items()) {
        const std::string part = "${" + name + "}";
        const std::string filling = shown(value);
        for (std::size_t at = text.find(part); at != std::string::npos;
             at = text.find(part, at + filling.size())) {
            text.replace(at, part.size(), filling);
        }
    }
    return text;
}

// A trace that says why: send_transaction2 answers with one where others answer with an error.
base::Result<void> check_trace(const Json& answer) {
    const Json& except = member_of(member_of(answer, "processed"), "except");
    if (except.is_null()) return {};
    std::string text = text_of(except, "message");
    for (const Json& frame : list_of(except, "stack")) {
        const Json& data = member_of(frame, "data");
        const std::string line = text_of(frame, "format");
        text += "\n  " + (data.is_object() ? filled_in(line, data) : line);
    }
    return fail(Errc::invalid, text);
}

// Null when it is no ABI.
chain::abi::SerializerPtr serializer_of(const Json& json) {
    auto definition = chain::abi::definition_from_json(json);
    if (!definition) return nullptr;
    auto made = chain::abi::Serializer::make(*std::move(definition));
    return made ? *std::move(made) : nullptr;
}

Json body_of_send(Json packed) {
    return {
        {"return_failure_trace", true}, {"retry_trx", false}, {"transaction", std::move(packed)}};
}

base::Result<void> send(const Session& session, std::string_view path, const Json& body) {
    const auto answer = call(session.url, path, body);
    if (!answer) return fail(answer.error());
    if (session.json) (void)print_json(*answer);
    if (auto good = check_trace(*answer); !good || session.json) return good;
    print_trace(*answer);
    return {};
}

base::Result<void> broadcast(const Session& session,
                             const Arguments& arguments,
                             const chain::SignedTransaction& transaction) {
    const auto compression = arguments.get("compression") == "zlib" || arguments.has("compression")
                                 ? chain::Compression::zlib
                                 : chain::Compression::none;
    const Json packed = chain::abi::packed_transaction_to_json(
        chain::PackedTransaction::pack(transaction, compression));
    if (arguments.has("dont-broadcast")) {
        const Json shown =
            arguments.has("return-packed")
                ? packed
                : chain::abi::transaction_to_json(
                      transaction,
                      arguments.has("unpack-action-data") ? node_resolver(session) : nullptr,
                      chain::abi::TransactionForm::with_signatures);
        return print_json(shown);
    }
    std::string_view path = "/v1/chain/send_transaction2";
    Json body = body_of_send(packed);
    if (arguments.has("read-only") || arguments.has("dry-run")) {
        path = arguments.has("read-only") ? "/v1/chain/send_read_only_transaction"
                                          : "/v1/chain/compute_transaction";
        body = {{"transaction", packed}};
    } else if (arguments.has("use-old-rpc")) {
        path = "/v1/chain/push_transaction";
        body = packed;
    }
    return send(session, path, body);
}

// What nodes do not agree on is taken, and may expire: whoever sends is told so before that.
void warn_if_halted(const Json& info) {
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    if (const std::string why = halted_text(info, {now.count()}); !why.empty()) {
        fmt::print(stderr, "warning: {}\n", why);
    }
}

}  // namespace

std::string halted_text(const Json& info, chain::TimePoint now) {
    constexpr std::int64_t kSecond = 1'000'000;
    constexpr std::int64_t kLongest = 10 * kSecond;
    const auto head = chain::TimePoint::from_string(text_of(info, "head_block_time"));
    const auto final = chain::TimePoint::from_string(text_of(info, "last_irreversible_block_time"));
    if (!head || !final) return "";
    const bool is_halted = now.microseconds - head->microseconds > kLongest ||
                           head->microseconds - final->microseconds > kLongest;
    if (!is_halted) return "";
    return fmt::format(
        "this node has nothing newer than {} that is final ({} s ago by the clock of "
        "this machine), so the transaction may expire before a block has it; "
        "'bor-cli doctor' says why",
        final->to_string(),
        (now.microseconds - final->microseconds) / kSecond);
}

const std::vector<Option>& transaction_options() {
    static const std::vector<Option> kOptions{
        {"permission", 'p', "ACCOUNT[@PERMISSION]", "who authorizes it; once for each"},
        {"expiration", 'x', "SECONDS", "how long it may wait for a block, 1 to 3600 (default: 30)"},
        {"force-unique", 'f', "", "make it differ from an equal one sent before"},
        {"skip-sign", 's', "", "do not sign it"},
        {"dont-broadcast", 'd', "", "print it instead of sending it"},
        {"return-packed", 't', "", "with -d: print it packed"},
        {"unpack-action-data", 0, "", "with -d: print the data of its actions by their ABI"},
        {"ref-block", 'r', "NUMBER|ID", "the block it refers to (default: the last final one)"},
        {"use-old-rpc", 0, "", "send it by push_transaction"},
        {"compression", 0, "none|zlib", "how it is packed (default: none)"},
        {"max-cpu-usage-ms", 0, "MS", "execution it may cost at most; 0: no limit of its own"},
        {"max-net-usage", 0, "BYTES", "bytes it may cost at most; 0: no limit of its own"},
        {"delay-sec", 0, "SECONDS", "refused unless 0: there are no delayed transactions"},
        {"read-only", 0, "", "execute it without changing anything"},
        {"dry-run", 0, "", "execute it without keeping what it changes"},
        {"sign-with", 0, "PUBLICKEY", "sign with this key of the wallet; once for each"},
    };
    return kOptions;
}

std::vector<Option> with_transaction_options(std::vector<Option> own) {
    own.insert(own.end(), transaction_options().begin(), transaction_options().end());
    return own;
}

chain::abi::Resolver node_resolver(const Session& session) {
    auto known = std::make_shared<std::map<chain::Name, chain::abi::SerializerPtr>>();
    return [known, url = session.url](chain::Name account) -> chain::abi::SerializerPtr {
        if (const auto found = known->find(account); found != known->end()) return found->second;
        const auto answer = call(url, "/v1/chain/get_abi", {{"account_name", account.to_string()}});
        const Json* json = answer ? chain::abi::find_member(*answer, "abi") : nullptr;
        chain::abi::SerializerPtr serializer = json == nullptr ? nullptr : serializer_of(*json);
        known->emplace(account, serializer);
        return serializer;
    };
}

base::Error no_abi(const Session& session, const std::string& account, std::string_view remedy) {
    const auto answer = call(session.url, "/v1/chain/get_abi", {{"account_name", account}});
    if (!answer && answer.error().code == Errc::unavailable) return answer.error();
    return {
        Errc::not_found,
        fmt::format("the node at {} knows no ABI of account '{}'{}", session.url, account, remedy)};
}

base::Result<chain::PermissionLevel> permission_from(const std::string& text) {
    const std::size_t at = text.find('@');
    const auto actor = chain::Name::from_string(text.substr(0, at));
    if (!actor) return fail(actor.error());
    const auto permission =
        chain::Name::from_string(at == std::string::npos ? "active" : text.substr(at + 1));
    if (!permission) return fail(permission.error());
    return chain::PermissionLevel{*actor, *permission};
}

base::Result<std::vector<chain::PermissionLevel>> permissions_from(
    const Arguments& arguments, const std::vector<std::string>& fallback) {
    std::vector<std::string> texts = arguments.all("permission");
    if (texts.empty()) texts = fallback;
    if (texts.empty() || texts.front().empty()) {
        return fail(Errc::invalid, "who authorizes it? -p ACCOUNT[@PERMISSION] is needed");
    }
    std::vector<chain::PermissionLevel> levels;
    for (const std::string& text : texts) {
        const auto level = permission_from(text);
        if (!level) return fail(level.error());
        levels.push_back(*level);
    }
    return levels;
}

base::Result<Json> json_argument(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && (text[first] == '{' || text[first] == '[')) {
        return chain::abi::parse_json(text);
    }
    const auto contents = read_file(text.starts_with('@') ? text.substr(1) : text);
    if (!contents) {
        return fail(Errc::invalid, fmt::format("'{}' is neither JSON nor a file with it", text));
    }
    return chain::abi::parse_json(*contents);
}

base::Result<chain::SignedTransaction> transaction_argument(const Session& session,
                                                            const Arguments& arguments) {
    const auto json = json_argument(arguments.at("transaction"));
    if (!json) return fail(json.error());
    return chain::abi::transaction_from_json(*json, node_resolver(session));
}

base::Result<chain::SignedTransaction> any_transaction_argument(const Session& session,
                                                                const Arguments& arguments) {
    const auto json = json_argument(arguments.at("transaction"));
    if (!json) return fail(json.error());
    return json->contains("packed_trx")
               ? unpacked(session, *json)
               : chain::abi::transaction_from_json(*json, node_resolver(session));
}

base::Result<chain::SignedTransaction> unpacked(const Session& session, const Json& json) {
    auto packed = chain::abi::packed_transaction_from_json(json, node_resolver(session));
    if (!packed) return fail(packed.error());
    const auto decoded = chain::decode_transaction(*std::move(packed));
    if (!decoded) return fail(decoded.error());
    return (*decoded)->content;
}

base::Result<chain::Action> make_action(const Session& session,
                                        const std::string& account,
                                        const std::string& name,
                                        const Json& data,
                                        std::vector<chain::PermissionLevel> authorization) {
    const auto contract = chain::Name::from_string(account);
    if (!contract) return fail(contract.error());
    const auto action_name = chain::Name::from_string(name);
    if (!action_name) return fail(action_name.error());
    const auto serializer = node_resolver(session)(*contract);
    if (serializer == nullptr) {
        return fail(
            no_abi(session, account, "; give the data as hexadecimal digits, or set the ABI"));
    }
    const std::string_view type = serializer->action_type(*action_name);
    if (type.empty()) {
        return fail(Errc::not_found,
                    fmt::format("the ABI of '{}' has no action '{}'", account, name));
    }
    auto packed = serializer->to_binary(type, data);
    if (!packed) return fail(packed.error());
    return chain::Action{*contract, *action_name, std::move(authorization), *std::move(packed)};
}

base::Result<chain::Action> make_action(const Session& session,
                                        const std::string& account,
                                        const std::string& name,
                                        const std::string& data,
                                        std::vector<chain::PermissionLevel> authorization) {
    if (auto bytes = base::from_hex(data); bytes && !data.starts_with('@')) {
        const auto contract = chain::Name::from_string(account);
        if (!contract) return fail(contract.error());
        const auto action_name = chain::Name::from_string(name);
        if (!action_name) return fail(action_name.error());
        return chain::Action{*contract, *action_name, std::move(authorization), *std::move(bytes)};
    }
    const auto json = json_argument(data);
    if (!json) return fail(json.error());
    return make_action(session, account, name, *json, std::move(authorization));
}

base::Result<void> wallet_sign(const Session& session,
                               const Json& keys,
                               const std::string& chain_id,
                               chain::SignedTransaction& transaction) {
    const Json body =
        Json::array({chain::abi::transaction_to_json(
                         transaction, nullptr, chain::abi::TransactionForm::with_signatures),
                     keys,
                     chain_id});
    const auto signed_json = call(session.wallet_url, "/v1/wallet/sign_transaction", body);
    if (!signed_json) return fail(signed_json.error());
    const Json& signatures = member_of(*signed_json, "signatures");
    if (signatures.is_null()) return fail(Errc::malformed, "the wallet gave no signatures");
    transaction.signatures.clear();
    for (const Json& text : signatures) {
        const auto signature =
            base::crypto::Signature::from_string(text.is_string() ? text.get<std::string>() : "");
        if (!signature) return fail(signature.error());
        transaction.signatures.push_back(*signature);
    }
    return {};
}

base::Result<void> push_packed(const Session& session, const chain::PackedTransaction& packed) {
    // A node that does not answer says so below.
    if (const auto info = call(session.url, "/v1/chain/get_info", Json())) warn_if_halted(*info);
    return send(session,
                "/v1/chain/send_transaction2",
                body_of_send(chain::abi::packed_transaction_to_json(packed)));
}

base::Result<void> send_quietly(const Session& session,
                                const Json& keys,
                                std::vector<chain::Action> actions) {
    const auto info = call(session.url, "/v1/chain/get_info", Json());
    if (!info) return fail(info.error());
    chain::SignedTransaction transaction;
    transaction.actions = std::move(actions);
    if (auto filled = fill_header(session, {}, *info, transaction); !filled) return filled;
    if (auto done = wallet_sign(session, keys, text_of(*info, "chain_id"), transaction); !done) {
        return done;
    }
    const auto packed = chain::PackedTransaction::pack(transaction, chain::Compression::none);
    const auto answer = call(session.url,
                             "/v1/chain/send_transaction2",
                             body_of_send(chain::abi::packed_transaction_to_json(packed)));
    if (!answer) return fail(answer.error());
    return check_trace(*answer);
}

base::Result<void> send_action(const Session& session,
                               const Arguments& arguments,
                               const ActionName& action,
                               const std::string& actor,
                               const Json& data) {
    auto levels = permissions_from(arguments, {actor});
    if (!levels) return fail(levels.error());
    auto made = make_action(session, action.account, action.name, data, *std::move(levels));
    if (!made) return fail(made.error());
    return send_actions(session, arguments, {*std::move(made)});
}

base::Result<void> send_actions(const Session& session,
                                const Arguments& arguments,
                                std::vector<chain::Action> actions) {
    chain::SignedTransaction transaction;
    transaction.actions = std::move(actions);
    return send_transaction(session, arguments, std::move(transaction));
}

base::Result<void> send_transaction(const Session& session,
                                    const Arguments& arguments,
                                    chain::SignedTransaction transaction) {
    const auto info = call(session.url, "/v1/chain/get_info", Json());
    if (!info) return fail(info.error());
    if (auto filled = fill_header(session, arguments, *info, transaction); !filled) return filled;
    if (arguments.has("force-unique")) {
        // A context-free action for nobody, with bytes that no other transaction has.
        chain::Action nonce;
        nonce.account = *chain::Name::from_string("eosio.null");
        nonce.name = *chain::Name::from_string("nonce");
        base::Writer out;
        out.string(std::to_string(std::chrono::system_clock::now().time_since_epoch().count()));
        nonce.data = out.take();
        transaction.context_free_actions.push_back(std::move(nonce));
        transaction.context_free_data.emplace_back();
    }
    const bool unsigned_run = arguments.has("read-only") || arguments.has("dry-run");
    if (!unsigned_run && !arguments.has("dont-broadcast")) warn_if_halted(*info);
    if (!arguments.has("skip-sign") && !unsigned_run) {
        if (auto done = sign(session, arguments, text_of(*info, "chain_id"), transaction); !done) {
            return done;
        }
    }
    return broadcast(session, arguments, transaction);
}

}  // namespace cli
