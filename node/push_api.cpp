#include "node/transaction_api.hpp"

#include <memory>
#include <utility>

namespace node {

using chain::Exception;

namespace {

constexpr std::size_t kBatchMax = 1000;

// How the answer about a transaction looks.
struct PushStyle {
    api::TraceForm form = api::TraceForm::flat;
    bool return_failure_trace = false;
};

// Who answers for a transaction until its authorization is found good: nobody for those who share
// the machine's own address, as all do who come through a proxy.
std::string sender_of(const http::Remote& remote) {
    return remote.is_local ? std::string() : remote.address;
}

http::Response refusal(const ApiContext& context, const base::Error& error) {
    if (error.code == base::Errc::would_block || error.code == base::Errc::unavailable) {
        api::ErrorReport report;
        report.status = 503;
        report.message = "Busy";
        report.details = {error.detail};
        return error_response(report, context.verbose_errors);
    }
    return error_response(api::report_of(error, api::ErrorOrigin::transaction),
                          context.verbose_errors);
}

// Whether a failed trace is shown: what is refused before it ran has none in nodeos.
bool is_shown(const effect::Answer& answer, const PushStyle& style) {
    if (!style.return_failure_trace || answer.failed == nullptr || !answer.failed->except) {
        return false;
    }
    const Exception code = answer.failed->except->code;
    return code != Exception::expired_tx_exception && code != Exception::tx_duplicate;
}

Json processed(const ApiContext& context,
               const chain::TransactionTrace& trace,
               const PushStyle& style) {
    const auto resolver =
        context.abis.resolver(context.runtime.published_with_pending()->pending_state);
    return api::processed_to_json(trace, resolver, style.form);
}

http::Response response_of(const ApiContext& context,
                           const effect::Answer& answer,
                           const PushStyle& style) {
    if (answer.outcome) return json_response(processed(context, **answer.outcome, style), 202);
    if (is_shown(answer, style))
        return json_response(processed(context, *answer.failed, style), 202);
    if (answer.failed != nullptr && answer.failed->except) {
        return error_response(api::report_of(*answer.failed->except, api::ErrorOrigin::transaction),
                              context.verbose_errors);
    }
    return refusal(context, answer.outcome.error());
}

void push(const ApiContext& context,
          const Json& json,
          const std::string& sender,
          const PushStyle& style,
          const Respond& reply) {
    auto packed = packed_from_json(context, json);
    if (!packed) {
        reply(refusal(context, packed.error()));
        return;
    }
    auto submitted = context.runtime.submit(
        std::move(*packed), sender, [&context, style, reply](const effect::Answer& answer) {
            reply(response_of(context, answer, style));
        });
    if (!submitted) reply(refusal(context, submitted.error()));
}

void send_transaction2(const ApiContext& context, Asked asked, const Respond& reply) {
    Params& params = asked.params;
    PushStyle style;
    style.return_failure_trace = params.boolean("return_failure_trace", true);
    const bool retry = params.boolean("retry_trx");
    (void)params.optional_u32("retry_trx_num_blocks");
    if (!params.ok()) {
        reply(error_response(params.error(), context.verbose_errors));
        return;
    }
    if (retry) {
        reply(refusal(context,
                      chain::make_error(Exception::unsupported_feature,
                                        "Transaction retry not enabled on node. "
                                        "transaction-retry-max-storage-size-gb is 0")));
        return;
    }
    const Json* transaction = params.find("transaction");
    push(context,
         transaction == nullptr ? Json(nullptr) : *transaction,
         sender_of(asked.remote),
         style,
         reply);
}

// The transactions of push_transactions, one after the other, and the answers so far.
struct Batch {
    Json transactions;
    std::size_t next = 0;
    Json answers = Json::array();
    std::string sender;
    Respond reply;
};

void add_failure(Batch& batch, const base::Error& error) {
    batch.answers.push_back(
        {{"transaction_id", std::string(64, '0')}, {"processed", {{"error", error.detail}}}});
}

void push_next(const ApiContext& context, const std::shared_ptr<Batch>& batch) {
    while (batch->next < batch->transactions.size()) {
        auto packed = packed_from_json(context, batch->transactions[batch->next++]);
        if (!packed) {
            add_failure(*batch, packed.error());
            continue;
        }
        const auto answered = [&context, batch](const effect::Answer& answer) {
            if (answer.outcome) {
                batch->answers.push_back(
                    processed(context, **answer.outcome, {api::TraceForm::nested, false}));
            } else {
                add_failure(*batch, answer.outcome.error());
            }
            push_next(context, batch);
        };
        auto submitted = context.runtime.submit(std::move(*packed), batch->sender, answered);
        if (submitted) return;  // Goes on when it is answered.
        add_failure(*batch, submitted.error());
    }
    batch->reply(json_response(batch->answers, 202));
}

void push_transactions(const ApiContext& context, Asked asked, const Respond& reply) {
    const Params& params = asked.params;
    if (params.body().size() > kBatchMax) {
        reply(refusal(context,
                      chain::make_error(Exception::too_many_tx_at_once,
                                        "Attempt to push too many transactions at once")));
        return;
    }
    const auto batch = std::make_shared<Batch>();
    batch->transactions = params.body();
    batch->sender = sender_of(asked.remote);
    batch->reply = reply;
    push_next(context, batch);
}

Calls::Later push_plain(api::TraceForm form) {
    return [form](const ApiContext& context, Asked asked, const Respond& reply) {
        push(context, asked.params.body(), sender_of(asked.remote), {form, false}, reply);
    };
}

}  // namespace

base::Result<chain::PackedTransaction> packed_from_json(const ApiContext& context,
                                                        const Json& json) {
    const auto resolver =
        context.abis.resolver(context.runtime.published_with_pending()->pending_state);
    return chain::abi::packed_transaction_from_json(json, resolver);
}

void add_push_calls(Calls& calls) {
    const auto options = [](const char* path) {
        return Calls::Options{.path = path, .need = Need::required, .category = "chain_rw"};
    };
    calls.later(options("/v1/chain/push_transaction"), push_plain(api::TraceForm::nested));
    calls.later(options("/v1/chain/send_transaction"), push_plain(api::TraceForm::flat));
    calls.later(options("/v1/chain/send_transaction2"), send_transaction2);
    Calls::Options list = options("/v1/chain/push_transactions");
    list.need = Need::list;
    calls.later(list, push_transactions);
}

}  // namespace node
