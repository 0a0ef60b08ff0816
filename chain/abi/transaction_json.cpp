#include "chain/abi/transaction_json.hpp"

#include <utility>

namespace chain::abi {

namespace {

template <class T, class Show>
Json list_to_json(const std::vector<T>& items, Show show) {
    Json list = Json::array();
    for (const T& item : items) {
        list.push_back(show(item));
    }
    return list;
}

Json hex_list(const std::vector<base::Bytes>& items) {
    return list_to_json(items, [](const base::Bytes& bytes) { return base::to_hex(bytes); });
}

Json signature_list(const std::vector<Signature>& items) {
    return list_to_json(items, [](const Signature& signature) { return signature.to_string(); });
}

// The data of an action as the ABI of its account sees it; the digits where it does not.
Json decoded_data(const Action& action, const Resolver& resolver, const std::string& digits) {
    const SerializerPtr abi = resolver(action.account);
    if (abi == nullptr) return digits;
    const std::string_view type = abi->action_type(action.name);
    if (type.empty()) return digits;
    auto decoded = abi->to_json(type, action.data);
    return decoded ? std::move(*decoded) : Json(digits);
}

}  // namespace

Json to_json(const PermissionLevel& level) {
    return {{"actor", level.actor.to_string()}, {"permission", level.permission.to_string()}};
}

Json to_json(const Authority& authority) {
    Json keys = list_to_json(authority.keys, [](const KeyWeight& entry) {
        return Json{{"key", entry.key.to_string()}, {"weight", entry.weight}};
    });
    Json accounts = list_to_json(authority.accounts, [](const PermissionLevelWeight& entry) {
        return Json{{"permission", to_json(entry.permission)}, {"weight", entry.weight}};
    });
    Json waits = list_to_json(authority.waits, [](const WaitWeight& entry) {
        return Json{{"wait_sec", entry.wait_sec}, {"weight", entry.weight}};
    });
    return {{"threshold", authority.threshold},
            {"keys", std::move(keys)},
            {"accounts", std::move(accounts)},
            {"waits", std::move(waits)}};
}

Json action_to_json(const Action& action, const Resolver& resolver) {
    const std::string digits = base::to_hex(action.data);
    Json json;
    json["account"] = action.account.to_string();
    json["name"] = action.name.to_string();
    json["authorization"] = list_to_json(
        action.authorization, [](const PermissionLevel& level) { return to_json(level); });
    json["data"] = resolver ? decoded_data(action, resolver, digits) : Json(digits);
    if (resolver) json["hex_data"] = digits;
    return json;
}

Json transaction_to_json(const SignedTransaction& transaction,
                         const Resolver& resolver,
                         TransactionForm form) {
    const auto show = [&resolver](const Action& action) {
        return action_to_json(action, resolver);
    };
    Json json;
    json["expiration"] = transaction.expiration.to_string();
    json["ref_block_num"] = transaction.ref_block_num;
    json["ref_block_prefix"] = transaction.ref_block_prefix;
    json["max_net_usage_words"] = transaction.max_net_usage_words;
    json["max_cpu_usage_ms"] = transaction.max_cpu_usage_ms;
    json["delay_sec"] = transaction.delay_sec;
    json["context_free_actions"] = list_to_json(transaction.context_free_actions, show);
    json["actions"] = list_to_json(transaction.actions, show);
    if (form == TransactionForm::plain) return json;
    json["transaction_extensions"] =
        list_to_json(transaction.extensions, [](const Extension& extension) {
            return Json::array({extension.id, base::to_hex(extension.data)});
        });
    if (form == TransactionForm::extended) return json;
    json["signatures"] = signature_list(transaction.signatures);
    json["context_free_data"] = hex_list(transaction.context_free_data);
    return json;
}

Json packed_transaction_to_json(const PackedTransaction& packed) {
    return {{"signatures", signature_list(packed.signatures)},
            {"compression", packed.compression == Compression::zlib ? "zlib" : "none"},
            {"packed_context_free_data", base::to_hex(packed.packed_context_free_data)},
            {"packed_trx", base::to_hex(packed.packed_trx)}};
}

}  // namespace chain::abi
