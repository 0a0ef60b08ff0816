#include "chain/execution/queries.hpp"
#include "node/chain_api.hpp"

#include <algorithm>
#include <utility>

namespace node {

namespace {

constexpr std::size_t kAuthorizedMax = 10'000;

Answer get_required_keys(const ApiContext& context, const Moment& moment, Params& params) {
    const auto resolver = context.abis.resolver(moment.state);
    const auto transaction = params.optional<chain::SignedTransaction>(
        "transaction",
        [&](const Json& json) { return chain::abi::transaction_from_json(json, resolver); });
    const auto keys =
        params.list<chain::PublicKey>("available_keys", chain::abi::public_key_from_json);
    if (!params.ok()) return refuse(params.error());
    auto required =
        chain::required_keys(*moment.state, transaction.value_or(chain::SignedTransaction{}), keys);
    if (!required) return refuse(required.error());
    Json list = Json::array();
    for (const chain::PublicKey& key : *required)
        list.push_back(key.to_string());
    return Json{{"required_keys", std::move(list)}};
}

Answer get_transaction_id(Params& params) {
    if (params.is_blank()) return refuse(api::bad_request("A Request body is required"));
    const Json* actions = params.find("actions");
    if (actions == nullptr || !actions->is_array()) {
        return refuse(api::bad_request("Transaction actions are missing or invalid"));
    }
    for (const Json& action : *actions) {
        const Json* data = chain::abi::find_member(action, "data");
        if (data != nullptr && !data->is_string()) {
            return refuse(api::bad_request("Request supports only un-exploded 'data' (hex form)"));
        }
    }
    auto transaction = chain::abi::transaction_from_json(params.body(), {});
    if (!transaction) return refuse(api::bad_input(transaction.error()));
    return Json(base::to_hex(transaction->id().view()));
}

base::Result<chain::PermissionLevel> authorizer_from_json(const Json& json) {
    if (json.is_object()) return chain::abi::permission_level_from_json(json);
    auto name = chain::abi::name_from_json(json);
    if (!name) return base::fail(name.error());
    return chain::PermissionLevel{*name, {}};
}

Json authorized_json(const chain::AuthorizedAccount& each) {
    Json out{{"account_name", each.permission.actor.to_string()},
             {"permission_name", each.permission.permission.to_string()}};
    if (each.account) out["authorizing_account"] = chain::abi::to_json(*each.account);
    if (each.key) out["authorizing_key"] = each.key->to_string();
    out["weight"] = each.weight;
    out["threshold"] = each.threshold;
    return out;
}

Answer get_accounts_by_authorizers(const ApiContext&, const Moment& moment, Params& params) {
    const auto levels = params.list<chain::PermissionLevel>("accounts", authorizer_from_json);
    const auto keys = params.list<chain::PublicKey>("keys", chain::abi::public_key_from_json);
    if (!params.ok()) return refuse(params.error());
    auto found = chain::accounts_by_authorizers(*moment.state, keys, levels, kAuthorizedMax);
    if (!found) return refuse(found.error());
    // nodeos' order: by permission, accounts before keys.
    std::ranges::stable_sort(*found, {}, [](const chain::AuthorizedAccount& each) {
        return std::make_pair(each.permission, each.key.has_value());
    });
    Json accounts = Json::array();
    for (const chain::AuthorizedAccount& each : *found)
        accounts.push_back(authorized_json(each));
    return Json{{"accounts", std::move(accounts)}};
}

}  // namespace

void add_chain_key_calls(Calls& calls) {
    calls.read({.path = "/v1/chain/get_required_keys", .need = Need::required}, get_required_keys);
    calls.plain({.path = "/v1/chain/get_transaction_id", .need = Need::optional},
                get_transaction_id);
    calls.read({.path = "/v1/chain/get_accounts_by_authorizers", .need = Need::required},
               get_accounts_by_authorizers);
}

}  // namespace node
