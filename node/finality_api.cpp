#include "chain/execution/rows.hpp"
#include "node/api/validator_json.hpp"
#include "node/operator_api.hpp"

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

// The validators in force at the final block, and what is known of each.
base::Result<std::vector<api::ValidatorStatus>> validators_of(const ApiContext& context,
                                                              const Published& view) {
    auto schedule = chain::load_schedule(*view.final_state);
    if (!schedule) return base::fail(schedule.error());
    const auto& certificate = view.certificate;
    const bool fits = certificate && certificate->data.schedule_version == schedule->version;
    std::vector<api::ValidatorStatus> list;
    for (std::size_t i = 0; i < schedule->entries.size(); ++i) {
        api::ValidatorStatus validator;
        validator.entry = schedule->entries[i];
        validator.own = context.own_keys.contains(validator.entry.vote_key);
        if (fits) validator.voted_final = api::has_signed(*certificate, i);
        list.push_back(std::move(validator));
    }
    return list;
}

Answer get_finality(const ApiContext& context, const Moment& moment) {
    const Published& view = *moment.view;
    auto validators = validators_of(context, view);
    if (!validators) return refuse(validators.error());
    Json list = Json::array();
    for (const api::ValidatorStatus& each : *validators)
        list.push_back(api::validator_to_json(each));
    const std::uint64_t slots = view.head->header.slot - view.finalized->header.slot;
    return Json{{"head", block_ref_json(context, *view.head)},
                {"final", block_ref_json(context, *view.finalized)},
                {"lag_blocks", view.head->header.height - view.finalized->header.height},
                {"lag_ms", chain::abi::json_integer(slots * context.times().interval_milliseconds)},
                {"certificate",
                 view.certificate ? api::certificate_to_json(*view.certificate) : Json(nullptr)},
                {"paused", view.paused},
                {"trouble", view.trouble},
                {"pool", {{"transactions", view.pool_transactions}, {"bytes", view.pool_bytes}}},
                {"waiting", ""},
                {"validators", std::move(list)}};
}

}  // namespace

void add_finality_calls(Calls& calls) {
    const ApiContext& context = calls.context();
    calls.read({.path = "/v1/bor/finality"},
               [&context](const Moment& moment, Params&) { return get_finality(context, moment); });
    calls.plain({.path = "/v1/bor/peers"}, [](Params&) -> Answer {
        return Json{{"peers", Json::array()}};
    });
}

}  // namespace node
