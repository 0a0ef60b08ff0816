#include "node/api/chain_json.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

namespace node::api {

namespace {

using chain::ActionTrace;
using chain::TransactionTrace;
using chain::abi::json_integer;
using chain::abi::SerializerPtr;

// Values of messages that are JSON of their own rather than texts.
constexpr std::array<std::string_view, 6> kJsonValues = {"auth",
                                                         "provided_delay",
                                                         "provided_permissions",
                                                         "provided_keys",
                                                         "delay_max_limit_ms",
                                                         "error_code"};

Json value_to_json(const std::string& name, const std::string& text) {
    if (std::ranges::count(kJsonValues, std::string_view(name)) == 0) return text;
    auto json = chain::abi::parse_json(text);
    if (!json) return text;
    if (json->is_number_unsigned()) return json_integer(json->get<std::uint64_t>());
    return std::move(*json);
}

Json message_to_json(const chain::TraceMessage& message, bool first, chain::TimePoint time) {
    Json data = Json::object();
    for (const auto& [name, value] : message.values) {
        data[name] = value_to_json(name, value);
    }
    Json context = {{"level", first ? "error" : "warn"},
                    {"file", ""},
                    {"line", 0},
                    {"method", ""},
                    {"hostname", ""},
                    {"thread_name", ""},
                    {"timestamp", time.to_string()}};
    return {{"context", std::move(context)}, {"format", message.format}, {"data", std::move(data)}};
}

Json receipt_to_json(const chain::ActionReceipt& receipt) {
    Json auth = Json::array();
    for (const auto& [account, sequence] : receipt.auth_sequence) {
        auth.push_back(Json::array({account.to_string(), json_integer(sequence)}));
    }
    return {{"receiver", receipt.receiver.to_string()},
            {"act_digest", base::to_hex(receipt.act_digest.view())},
            {"global_sequence", json_integer(receipt.global_sequence)},
            {"recv_sequence", json_integer(receipt.recv_sequence)},
            {"auth_sequence", std::move(auth)},
            {"code_sequence", receipt.code_sequence},
            {"abi_sequence", receipt.abi_sequence}};
}

Json ram_delta_to_json(const chain::RamDelta& delta) {
    return {{"account", delta.account.to_string()}, {"delta", json_integer(delta.delta)}};
}

Json except_or_null(const std::optional<chain::TraceException>& except, chain::TimePoint time) {
    return except ? except_to_json(*except, time) : Json();
}

Json error_code_or_null(const std::optional<std::uint64_t>& code) {
    return code ? json_integer(*code) : Json();
}

Json block_id_or_null(const std::optional<chain::BlockId>& id) {
    return id ? Json(base::to_hex(id->view())) : Json();
}

// The return value by the type that the ABI gives the action; nothing when it does not fit.
void add_return_value(Json& json, const ActionTrace& action, const Resolver& resolver) {
    json["return_value_hex_data"] = base::to_hex(action.return_value);
    const SerializerPtr abi = resolver ? resolver(action.act.account) : nullptr;
    if (abi == nullptr) return;
    const std::string_view type = abi->action_result_type(action.act.name);
    if (type.empty()) return;
    if (auto value = abi->to_json(type, action.return_value)) {
        json["return_value_data"] = std::move(*value);
    }
}

Json action_to_json(const ActionTrace& action,
                    const TransactionTrace& trace,
                    const Resolver& resolver) {
    Json json;
    json["action_ordinal"] = action.action_ordinal;
    json["creator_action_ordinal"] = action.creator_action_ordinal;
    json["closest_unnotified_ancestor_action_ordinal"] =
        action.closest_unnotified_ancestor_action_ordinal;
    json["receipt"] = action.receipt ? receipt_to_json(*action.receipt) : Json();
    json["receiver"] = action.receiver.to_string();
    json["act"] = chain::abi::action_to_json(action.act, resolver);
    json["context_free"] = action.context_free;
    json["elapsed"] = json_integer(action.elapsed);
    json["console"] = action.console;
    json["trx_id"] = base::to_hex(trace.id.view());
    json["block_num"] = trace.block_num;
    json["block_time"] = trace.block_time.to_string();
    json["producer_block_id"] = block_id_or_null(trace.producer_block_id);
    Json deltas = Json::array();
    for (const chain::RamDelta& delta : action.account_ram_deltas) {
        deltas.push_back(ram_delta_to_json(delta));
    }
    json["account_ram_deltas"] = std::move(deltas);
    json["except"] = except_or_null(action.except, trace.block_time);
    json["error_code"] = error_code_or_null(action.error_code);
    add_return_value(json, action, resolver);
    return json;
}

Json flat_actions(const TransactionTrace& trace, const Resolver& resolver) {
    Json list = Json::array();
    for (const ActionTrace& action : trace.action_traces) {
        list.push_back(action_to_json(action, trace, resolver));
    }
    return list;
}

// Below their ancestor, in the order in which they ran. Those that never ran are left out.
// An action's ordinal is above its ancestor's, so going down the ordinals finds every child
// before its parent, without recursion.
Json nested_actions(const TransactionTrace& trace, const Resolver& resolver) {
    using Order = std::pair<std::uint64_t, std::uint32_t>;  // Global sequence, ordinal.
    std::map<std::uint32_t, std::map<Order, Json>> children;
    for (auto action = trace.action_traces.rbegin(); action != trace.action_traces.rend();
         ++action) {
        if (!action->receipt && !action->except) continue;
        Json json = action_to_json(*action, trace, resolver);
        Json inner = Json::array();
        for (auto& [order, child] : children[action->action_ordinal]) {
            inner.push_back(std::move(child));
        }
        children.erase(action->action_ordinal);
        json["inline_traces"] = std::move(inner);
        const std::uint64_t sequence = action->receipt ? action->receipt->global_sequence
                                                       : std::numeric_limits<std::uint64_t>::max();
        children[action->closest_unnotified_ancestor_action_ordinal].emplace(
            Order{sequence, action->action_ordinal}, std::move(json));
    }
    Json roots = Json::array();
    for (auto& [order, root] : children[0]) {
        roots.push_back(std::move(root));
    }
    return roots;
}

Json receipt_header_or_null(const std::optional<chain::TransactionReceiptHeader>& receipt) {
    if (!receipt) return {};
    return {{"status", chain::to_string(receipt->status)},
            {"cpu_usage_us", receipt->cpu_usage_us},
            {"net_usage_words", receipt->net_usage_words}};
}

}  // namespace

Json except_to_json(const chain::TraceException& except, chain::TimePoint time) {
    Json stack = Json::array();
    for (const chain::TraceMessage& message : except.stack) {
        stack.push_back(message_to_json(message, stack.empty(), time));
    }
    return {{"code", chain::exception_code(except.code)},
            {"name", chain::exception_name(except.code)},
            {"message", chain::exception_what(except.code)},
            {"stack", std::move(stack)}};
}

Json trace_to_json(const TransactionTrace& trace, const Resolver& resolver, TraceForm form) {
    Json json;
    json["id"] = base::to_hex(trace.id.view());
    json["block_num"] = trace.block_num;
    json["block_time"] = trace.block_time.to_string();
    json["producer_block_id"] = block_id_or_null(trace.producer_block_id);
    json["receipt"] = receipt_header_or_null(trace.receipt);
    json["elapsed"] = json_integer(trace.elapsed);
    json["net_usage"] = json_integer(trace.net_usage);
    json["scheduled"] = trace.scheduled;
    json["action_traces"] =
        form == TraceForm::flat ? flat_actions(trace, resolver) : nested_actions(trace, resolver);
    json["account_ram_delta"] =
        trace.account_ram_delta ? ram_delta_to_json(*trace.account_ram_delta) : Json();
    json["except"] = except_or_null(trace.except, trace.block_time);
    json["error_code"] = error_code_or_null(trace.error_code);
    return json;
}

Json processed_to_json(const TransactionTrace& trace, const Resolver& resolver, TraceForm form) {
    return {{"transaction_id", base::to_hex(trace.id.view())},
            {"processed", trace_to_json(trace, resolver, form)}};
}

}  // namespace node::api
