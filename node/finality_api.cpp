#include "chain/execution/elections.hpp"
#include "chain/execution/membership.hpp"
#include "chain/execution/rows.hpp"
#include "node/api/clocks.hpp"
#include "node/operator_api.hpp"

#include <algorithm>
#include <utility>

namespace node {

namespace {

Json block_ref_json(const ApiContext& context, const chain::Block& block) {
    return {{"block_num", block.header.height},
            {"id", base::to_hex(block.id.view())},
            {"slot", chain::abi::json_integer(block.header.slot)},
            {"timestamp", context.times().time_of(block.header.slot).to_string()},
            {"producer", block.header.producer.to_string()},
            {"transactions", block.transactions.size()}};
}

Answer get_finality(const OwnStart& own,
                    const ApiContext& context,
                    const Moment& moment,
                    Params& /*params*/) {
    const Published& view = *moment.view;
    const auto agreement = agreement_of(context, view, own);
    if (!agreement) return refuse(agreement.error());
    const auto findings = api::diagnose(*agreement);
    const auto clock_off = api::compare_clocks(*agreement).ours_ahead;
    Json validators = Json::array();
    for (const api::ValidatorStatus& each : agreement->validators)
        validators.push_back(api::validator_to_json(each));
    Json recovery;
    if (own.recovery) {
        recovery = {{"id", base::to_hex(own.recovery->id().view())},
                    {"block_num", chain::height_of(own.recovery->reset.from)}};
    }
    Json wrong = Json::array();
    for (const api::Finding& each : findings)
        wrong.push_back(api::finding_to_json(each));
    return Json{{"head", block_ref_json(context, *view.head)},
                {"final", block_ref_json(context, *view.finalized)},
                {"lag_blocks", view.head->header.height - view.finalized->header.height},
                {"lag_ms", chain::abi::json_integer(agreement->lag_milliseconds)},
                {"certificate",
                 view.certificate ? api::certificate_to_json(*view.certificate) : Json(nullptr)},
                {"paused", view.paused},
                {"trouble", view.trouble},
                {"pool", {{"transactions", view.pool_transactions}, {"bytes", view.pool_bytes}}},
                {"quorum", agreement->quorum},
                {"clocks_heard", agreement->clocks_heard},
                {"own_clock_off_ms", clock_off ? Json(*clock_off) : Json(nullptr)},
                {"time", agreement->clock.to_string()},
                {"storage_losses", own.storage_losses},
                {"node_key", own.node_key ? Json(own.node_key->to_string()) : Json(nullptr)},
                {"recovery", std::move(recovery)},
                {"waiting", api::why_finality_waits(*agreement, findings)},
                {"findings", std::move(wrong)},
                {"validators", std::move(validators)}};
}

}  // namespace

void add_finality_calls(Calls& calls, OwnStart own) {
    calls.read(
        {.path = "/v1/bor/finality"},
        [own = std::move(own)](const ApiContext& context, const Moment& moment, Params& params) {
            return get_finality(own, context, moment, params);
        });
}

}  // namespace node
