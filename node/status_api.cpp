#include "node/transaction_api.hpp"

#include <algorithm>

namespace node {

using chain::Exception;

namespace {

http::Response refusal(const ApiContext& context, const base::Error& error) {
    return error_response(api::report_of(error, api::ErrorOrigin::transaction),
                          context.verbose_errors);
}

// What contracts fill of an answer: texts and return values, which are twice as long in JSON. So
// that one that is much too large is not even made.
std::size_t least_bytes(const chain::TransactionTrace& trace) {
    std::size_t bytes = 0;
    for (const chain::ActionTrace& action : trace.action_traces) {
        bytes += action.console.size() + 2 * action.return_value.size();
    }
    return bytes;
}

http::Response answer_of(const ApiContext& context,
                         const chain::TransactionTrace& trace,
                         const std::shared_ptr<const chain::StateView>& state) {
    const std::size_t limit = context.answer_bytes_max;
    http::Response response;
    if (least_bytes(trace) <= limit) {
        const auto resolver = context.abis.resolver(state);
        response = json_response(api::processed_to_json(trace, resolver, api::TraceForm::flat));
        if (response.body.size() <= limit) return response;
    }
    return refusal(context,
                   chain::make_error(Exception::tx_resource_exhaustion,
                                     "the answer is larger than " + std::to_string(limit) +
                                         " bytes (max-body-size)"));
}

// compute_transaction and send_read_only_transaction: failures are in the trace.
void dry_run(
    DryRun& runs, bool read_only, const ApiContext& context, Asked asked, const Respond& reply) {
    Params& params = asked.params;
    const Json* json = params.find("transaction");
    auto packed = packed_from_json(context, json == nullptr ? Json(nullptr) : *json);
    auto decoded = packed ? chain::decode_transaction(std::move(*packed))
                          : base::Result<chain::TransactionPtr>(base::fail(packed.error()));
    if (!decoded) {
        reply(refusal(context, decoded.error()));
        return;
    }
    if ((*decoded)->content.delay_sec != 0) {
        reply(refusal(
            context,
            chain::make_error(Exception::transaction_exception, "transaction cannot be delayed")));
        return;
    }
    const DryRun::Job job{asked.remote.address,
                          context.runtime.published_with_pending(),
                          *decoded,
                          read_only,
                          context.dry_run_time()};
    auto started =
        runs.run(job, [&context, job, reply](base::Result<chain::TransactionTrace> trace) {
            if (!trace) {
                reply(refusal(context, trace.error()));
                return;
            }
            reply(answer_of(context, *trace, job.view->pending_state));
        });
    if (!started) reply(refusal(context, started.error()));
}

// An id in hexadecimal digits, short ones too; nothing: no id, or zero.
std::optional<chain::TransactionId> parse_id(const std::string& text) {
    chain::TransactionId id;
    auto bytes = base::from_hex(text);
    if (!bytes || bytes->size() > id.bytes.size()) return std::nullopt;
    std::ranges::copy(*bytes, id.bytes.begin());
    if (id.is_zero()) return std::nullopt;
    return id;
}

void add_block(const ApiContext& context,
               const Moment& moment,
               const chain::Block& block,
               const chain::TransactionId& id,
               Json& out) {
    const bool is_final = block.header.height <= moment.view->finalized->header.height;
    out["state"] = is_final ? "IRREVERSIBLE" : "IN_BLOCK";
    out["block_number"] = block.header.height;
    out["block_id"] = base::to_hex(block.id.view());
    out["block_timestamp"] = context.times().time_of(block.header.slot).to_string();
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction);
        if (packed == nullptr) continue;
        auto decoded = chain::decode_transaction(*packed);
        if (decoded && (*decoded)->id == id) {
            out["expiration"] = (*decoded)->content.expiration.to_time_point().to_string();
        }
    }
}

void add_place(const char* name, const ApiContext& context, const chain::Block& block, Json& out) {
    const std::string prefix = name;
    out[prefix + "_number"] = block.header.height;
    out[prefix + "_id"] = base::to_hex(block.id.view());
    out[prefix + "_timestamp"] = context.times().time_of(block.header.slot).to_string();
}

Answer get_transaction_status(const TransactionStatus& status,
                              const ApiContext& context,
                              const Moment& moment,
                              Params& params) {
    const std::string text = params.text("id");
    if (!params.ok()) return refuse(params.error());
    const auto id = parse_id(text);
    if (!id) return refuse(api::bad_request("Invalid transaction id"));
    Json out{{"state", "UNKNOWN"}};
    auto height = context.history.find_transaction(*moment.view, *id);
    if (!height) return refuse(height.error());
    if (*height) {
        auto block = context.history.find_block(*moment.view, **height);
        if (!block) return refuse(block.error());
        if (*block != nullptr) add_block(context, moment, **block, *id, out);
    } else if (const auto entry = status.find(*id)) {
        out["state"] = entry->dropped ? "FAILED" : "LOCALLY_APPLIED";
        if (entry->dropped) out["reason"] = *entry->dropped;
        out["expiration"] = entry->expiration.to_time_point().to_string();
    }
    add_place("head", context, *moment.view->head, out);
    add_place("irreversible", context, *moment.view->finalized, out);
    const chain::Height earliest = context.history.earliest_block();
    auto first = context.history.find_block(*moment.view, earliest);
    if (!first) return refuse(first.error());
    if (*first != nullptr) {
        out["earliest_tracked_block_id"] = base::to_hex((*first)->id.view());
        out["earliest_tracked_block_number"] = earliest;
    }
    return out;
}

}  // namespace

void add_dry_run_calls(Calls& calls, DryRun& runs) {
    calls.later({.path = "/v1/chain/compute_transaction", .need = Need::required},
                std::bind_front(dry_run, std::ref(runs), false));
    calls.later({.path = "/v1/chain/send_read_only_transaction", .need = Need::required},
                std::bind_front(dry_run, std::ref(runs), true));
}

void add_status_call(Calls& calls, const TransactionStatus& status) {
    calls.read({.path = "/v1/chain/get_transaction_status", .need = Need::required},
               std::bind_front(get_transaction_status, std::cref(status)));
}

}  // namespace node
