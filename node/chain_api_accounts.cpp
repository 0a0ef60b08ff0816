#include "chain/execution/queries.hpp"
#include "chain/execution/rows.hpp"
#include "node/chain_api.hpp"

namespace node {

using chain::literals::operator""_n;
using chain::abi::json_integer;

namespace {

constexpr chain::Name kSystem = "eosio"_n;
Json links_json(const std::vector<chain::LinkedAction>& links) {
    Json list = Json::array();
    for (const chain::LinkedAction& each : links) {
        Json link{{"account", each.code.to_string()}};
        if (each.action) link["action"] = each.action->to_string();
        list.push_back(std::move(link));
    }
    return list;
}

Json permissions_json(const std::vector<chain::PermissionSummary>& permissions) {
    Json list = Json::array();
    for (const chain::PermissionSummary& each : permissions) {
        list.push_back({{"perm_name", each.name.to_string()},
                        {"parent", each.row.parent.to_string()},
                        {"required_auth", chain::abi::to_json(each.row.authority)},
                        {"linked_actions", links_json(each.linked)}});
    }
    return list;
}

Json limit_json(const ApiContext& context, const chain::ResourceLimit& limit) {
    const chain::TimePoint updated = chain::time_of_ordinal(context.times(), limit.last_ordinal);
    return {{"used", json_integer(limit.used)},
            {"available", json_integer(limit.available)},
            {"max", json_integer(limit.max)},
            {"last_usage_update_time", updated.to_string()},
            {"current_used", json_integer(limit.current_used)}};
}

// A row of a table of the system contract, as clients of its DPoS expect; null without one.
Json system_row(const ApiContext& context,
                const Moment& moment,
                chain::Name account,
                const char* table_name) {
    const auto table = chain::Name::from_string(table_name);
    const chain::abi::SerializerPtr abi = context.abis.find(*moment.state, kSystem);
    if (!table || abi == nullptr) return nullptr;
    const std::string_view type = abi->table_type(*table);
    if (type.empty()) return nullptr;
    const bool is_scoped =
        std::string_view(table_name) != "voters" && std::string_view(table_name) != "rexbal";
    const chain::TableId id{kSystem, is_scoped ? account : kSystem, *table};
    const chain::Value row =
        moment.state->find(chain::Table::contract_row, chain::row_key(id, account.value));
    if (row == nullptr) return nullptr;
    auto json = abi->to_json(type, chain::row_value(*row));
    return json ? std::move(*json) : Json(nullptr);
}

// What the account voted by the native voteproducer; null: it never voted.
base::Result<Json> voter_json(const Moment& moment, chain::Name account) {
    const chain::Value row = moment.state->find(chain::Table::producer, chain::voter_key(account));
    if (row == nullptr) return Json(nullptr);
    const auto voter = chain::decode_row<chain::VoterRow>(*row);
    if (!voter) return base::fail(voter.error());
    Json producers = Json::array();
    for (const chain::Name& producer : voter->producers)
        producers.push_back(producer.to_string());
    return Json{{"owner", account.to_string()},
                {"proxy", voter->proxy.to_string()},
                {"producers", std::move(producers)},
                {"is_proxy", voter->is_proxy}};
}

// The balance in the core token, if the account has one. Which token that is only the caller
// knows: there is no system contract that says so.
std::optional<std::string> core_balance(const Moment& moment,
                                        chain::Name account,
                                        std::optional<chain::Symbol> symbol) {
    constexpr std::size_t kAssetBytes = 16;
    if (!symbol) return std::nullopt;
    const chain::TableId id{"eosio.token"_n, account, "accounts"_n};
    const chain::Value row =
        moment.state->find(chain::Table::contract_row, chain::row_key(id, symbol->code().value));
    if (row == nullptr || chain::row_value(*row).size() < kAssetBytes) return std::nullopt;
    auto balance =
        chain::unpack<chain::Asset>(chain::row_value(*row).first(kAssetBytes), "balance");
    if (!balance || balance->symbol != *symbol) return std::nullopt;
    return balance->to_string();
}

// Nothing is billed subjectively here.
Json subjective_limit() {
    return {{"used", 0},
            {"available", 0},
            {"max", 0},
            {"last_usage_update_time", "2000-01-01T00:00:00.000"},
            {"current_used", 0}};
}

Answer get_account(const ApiContext& context, const Moment& moment, Params& params) {
    const chain::Name name = params.name("account_name");
    const auto symbol = params.optional<chain::Symbol>(
        "expected_core_symbol", [](const Json& json) -> base::Result<chain::Symbol> {
            auto text = chain::abi::as_string(json);
            if (!text) return base::fail(text.error());
            return chain::Symbol::from_string(*text);
        });
    if (!params.ok()) return refuse(params.error());
    auto account = chain::account_summary(*moment.state, name, moment.block->header.slot);
    if (!account) return refuse(account.error());
    const chain::AccountRow& row = account->row;
    Json out;
    out["account_name"] = name.to_string();
    out["head_block_num"] = moment.block->header.height;
    out["head_block_time"] = context.times().time_of(moment.block->header.slot).to_string();
    out["privileged"] = row.privileged;
    out["last_code_update"] = row.last_code_update.to_string();
    out["created"] = row.created.to_string();
    if (auto balance = core_balance(moment, name, symbol)) out["core_liquid_balance"] = *balance;
    out["ram_quota"] = json_integer(row.ram_quota);
    out["net_weight"] = json_integer(row.net_weight);
    out["cpu_weight"] = json_integer(row.cpu_weight);
    out["net_limit"] = limit_json(context, account->net);
    out["cpu_limit"] = limit_json(context, account->cpu);
    out["ram_usage"] = json_integer(row.ram_usage);
    out["permissions"] = permissions_json(account->permissions);
    out["total_resources"] = system_row(context, moment, name, "userres");
    out["self_delegated_bandwidth"] = system_row(context, moment, name, "delband");
    out["refund_request"] = system_row(context, moment, name, "refunds");
    out["voter_info"] = system_row(context, moment, name, "voters");
    if (out["voter_info"].is_null()) {
        auto voter = voter_json(moment, name);
        if (!voter) return refuse(voter.error());
        out["voter_info"] = *std::move(voter);
    }
    out["rex_info"] = system_row(context, moment, name, "rexbal");
    out["subjective_cpu_bill_limit"] = subjective_limit();
    out["eosio_any_linked_actions"] = links_json(account->linked_to_any);
    return out;
}

}  // namespace

void add_chain_account_calls(Calls& calls) {
    calls.read({.path = "/v1/chain/get_account", .need = Need::required}, get_account);
}

}  // namespace node
