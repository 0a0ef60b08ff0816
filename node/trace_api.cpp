#include "chain/state/block_store.hpp"
#include "node/operator_api.hpp"

#include <algorithm>
#include <string>

namespace node {

namespace {

// trace_api_plugin's errors have a message and nothing else.
tl::unexpected<api::ErrorReport> refuse_trace(int status, std::string message) {
    api::ErrorReport report;
    report.status = status;
    report.message = std::move(message);
    return refuse(std::move(report));
}

Json action_json(const chain::ActionTrace& trace, const chain::abi::Resolver& resolver) {
    Json authorization = Json::array();
    for (const chain::PermissionLevel& level : trace.act.authorization) {
        authorization.push_back(
            {{"account", level.actor.to_string()}, {"permission", level.permission.to_string()}});
    }
    Json out{{"global_sequence", chain::abi::json_integer(trace.receipt->global_sequence)},
             {"receiver", trace.receiver.to_string()},
             {"account", trace.act.account.to_string()},
             {"action", trace.act.name.to_string()},
             {"authorization", std::move(authorization)},
             {"data", base::to_hex(trace.act.data)},
             {"return_value", base::to_hex(trace.return_value)}};
    const chain::abi::SerializerPtr abi = resolver(trace.act.account);
    if (abi == nullptr) return out;
    const std::string_view type = abi->action_type(trace.act.name);
    if (!type.empty()) {
        if (auto params = abi->to_json(type, trace.act.data)) out["params"] = std::move(*params);
    }
    const std::string_view result = abi->action_result_type(trace.act.name);
    if (!result.empty() && !trace.return_value.empty()) {
        if (auto data = abi->to_json(result, trace.return_value)) {
            out["return_data"] = std::move(*data);
        }
    }
    return out;
}

Json header_json(const chain::TransactionHeader& header) {
    return {{"expiration", header.expiration.to_string()},
            {"ref_block_num", header.ref_block_num},
            {"ref_block_prefix", header.ref_block_prefix},
            {"max_net_usage_words", header.max_net_usage_words},
            {"max_cpu_usage_ms", header.max_cpu_usage_ms},
            {"delay_sec", header.delay_sec}};
}

// What a block holds of a transaction besides its trace.
void add_packed(const chain::Block& block, const chain::TransactionId& id, Json& out) {
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction);
        if (packed == nullptr) continue;
        auto decoded = chain::decode_transaction(*packed);
        if (!decoded || (*decoded)->id != id) continue;
        Json signatures = Json::array();
        for (const chain::Signature& each : packed->signatures) {
            signatures.push_back(each.to_string());
        }
        out["signatures"] = std::move(signatures);
        out["transaction_header"] = header_json((*decoded)->content);
        return;
    }
}

Json transaction_json(const ApiContext& context,
                      const chain::Block& block,
                      const chain::TransactionTrace& trace,
                      const chain::abi::Resolver& resolver) {
    std::vector<const chain::ActionTrace*> executed;
    for (const chain::ActionTrace& each : trace.action_traces) {
        if (each.receipt) executed.push_back(&each);
    }
    std::ranges::sort(executed, {}, [](const chain::ActionTrace* each) {
        return each->receipt->global_sequence;
    });
    Json actions = Json::array();
    for (const chain::ActionTrace* each : executed)
        actions.push_back(action_json(*each, resolver));
    Json out{{"id", base::to_hex(trace.id.view())},
             {"block_num", block.header.height},
             {"block_time", context.times().time_of(block.header.slot).to_string()},
             {"producer_block_id", base::to_hex(block.id.view())},
             {"actions", std::move(actions)}};
    if (trace.receipt) {
        out["status"] = chain::to_string(trace.receipt->status);
        out["cpu_usage_us"] = trace.receipt->cpu_usage_us;
        out["net_usage_words"] = trace.receipt->net_usage_words;
    }
    add_packed(block, trace.id, out);
    return out;
}

using Traces = std::vector<chain::TransactionTrace>;

// The block at a height with its traces, if both are kept.
struct TracedBlock {
    chain::BlockPtr block;
    Traces traces;
};

base::Result<std::optional<TracedBlock>> find_traced(const ApiContext& context,
                                                     const Moment& moment,
                                                     chain::Height height) {
    auto block = context.history.find_block(*moment.view, height);
    if (!block) return base::fail(block.error());
    auto traces = context.history.find_traces(*moment.view, height);
    if (!traces) return base::fail(traces.error());
    if (*block == nullptr || !*traces) return std::optional<TracedBlock>();
    return std::optional(TracedBlock{*block, std::move(**traces)});
}

// Of a block whose traces are not stored, or which is not there.
std::string why_missing(const ApiContext& context, const Moment& moment, chain::Height height) {
    const auto earliest = chain::BlockReader(context.history.storage()).earliest_traces();
    if (!earliest || height == 0 || height > moment.view->finalized->header.height) return {};
    if (!*earliest) return "; no traces are stored here";
    if (height >= **earliest) return {};
    return "; traces of blocks below " + std::to_string(**earliest) + " are not stored here";
}

Answer get_block(const ApiContext& context, const Moment& moment, Params& params) {
    const auto height = params.optional_u32("block_num");
    if (!params.ok() || !height) return refuse_trace(400, "Bad or missing block_num");
    auto found = find_traced(context, moment, *height);
    if (!found) return refuse(found.error());
    if (!*found) {
        return refuse_trace(
            404, "Trace API: block trace missing" + why_missing(context, moment, *height));
    }
    const chain::Block& block = *(*found)->block;
    const auto resolver = context.abis.resolver(moment.state);
    Json transactions = Json::array();
    for (const chain::TransactionTrace& trace : (*found)->traces) {
        transactions.push_back(transaction_json(context, block, trace, resolver));
    }
    const bool is_final = block.header.height <= moment.view->finalized->header.height;
    return Json{{"id", base::to_hex(block.id.view())},
                {"number", block.header.height},
                {"previous_id", base::to_hex(block.header.previous.view())},
                {"status", is_final ? "irreversible" : "pending"},
                {"timestamp", context.times().time_of(block.header.slot).to_string() + "Z"},
                {"producer", block.header.producer.to_string()},
                {"transaction_mroot", base::to_hex(block.header.transaction_root.view())},
                {"action_mroot", base::to_hex(block.header.action_root.view())},
                {"schedule_version", block.header.schedule_version},
                {"transactions", std::move(transactions)}};
}

Answer get_transaction_trace(const ApiContext& context, const Moment& moment, Params& params) {
    const auto id = params.optional<base::Hash256>("id", chain::abi::hash_from_json);
    if (!params.ok() || !id) return refuse_trace(400, "Bad or missing transaction ID");
    auto height = context.history.find_transaction(*moment.view, *id);
    if (!height) return refuse(height.error());
    constexpr const char* kMissing =
        "Trace API: transaction id missing in the transaction id log files";
    if (!*height) return refuse_trace(404, kMissing);
    auto found = find_traced(context, moment, **height);
    if (!found) return refuse(found.error());
    if (*found) {
        for (const chain::TransactionTrace& trace : (*found)->traces) {
            if (trace.id != *id) continue;
            return transaction_json(
                context, *(*found)->block, trace, context.abis.resolver(moment.state));
        }
    }
    return refuse_trace(
        404, "Trace API: transaction trace missing" + why_missing(context, moment, **height));
}

}  // namespace

void add_trace_calls(Calls& calls) {
    calls.read({.path = "/v1/trace_api/get_block", .need = Need::required, .category = "trace_api"},
               get_block);
    calls.read({.path = "/v1/trace_api/get_transaction_trace",
                .need = Need::required,
                .category = "trace_api"},
               get_transaction_trace);
}

}  // namespace node
