#include "chain/execution/queries.hpp"
#include "chain/execution/schedule_rows.hpp"
#include "node/chain_api.hpp"
#include "node/option_names.hpp"

#include <algorithm>

namespace node {

namespace {

constexpr const char* kNoVotes = "0.00000000000000000";
constexpr std::uint32_t kProducersMax = 1000;

Answer get_info(const ApiContext& context, const Moment& moment, Params& /*params*/) {
    const chain::Block& head = *moment.view->head;
    const chain::Block& final_block = *moment.view->finalized;
    auto counters = chain::load_counters(*moment.view->head_state);
    auto config = chain::load_config(*moment.view->head_state);
    if (!counters) return refuse(counters.error());
    if (!config) return refuse(config.error());
    const auto time = [&](const chain::Block& block) {
        return context.times().time_of(block.header.slot).to_string();
    };
    const std::string head_id = base::to_hex(head.id.view());
    using chain::abi::json_integer;
    Json info;
    info["server_version"] = kServerVersion;
    info["chain_id"] = base::to_hex(context.chain_id.view());
    info["head_block_num"] = head.header.height;
    info["last_irreversible_block_num"] = final_block.header.height;
    info["last_irreversible_block_id"] = base::to_hex(final_block.id.view());
    info["head_block_id"] = head_id;
    info["head_block_time"] = time(head);
    info["head_block_producer"] = head.header.producer.to_string();
    info["virtual_block_cpu_limit"] = json_integer(counters->virtual_cpu_limit);
    info["virtual_block_net_limit"] = json_integer(counters->virtual_net_limit);
    info["block_cpu_limit"] = config->max_block_cpu_usage;
    info["block_net_limit"] = json_integer(config->max_block_net_usage);
    info["server_version_string"] = kVersion;
    info["fork_db_head_block_num"] = head.header.height;
    info["fork_db_head_block_id"] = head_id;
    info["server_full_version_string"] = kVersion;
    info["total_cpu_weight"] = json_integer(counters->total_cpu_weight);
    info["total_net_weight"] = json_integer(counters->total_net_weight);
    info["earliest_available_block_num"] = context.history.earliest_block();
    info["last_irreversible_block_time"] = time(final_block);
    return info;
}

Answer get_consensus_parameters(const ApiContext&, const Moment& moment, Params& /*params*/) {
    auto config = chain::load_config(*moment.state);
    auto wasm = chain::load_wasm_config(*moment.state);
    if (!config) return refuse(config.error());
    if (!wasm) return refuse(wasm.error());
    return Json{{"chain_config", api::chain_config_to_json(*config)},
                {"wasm_config", api::wasm_config_to_json(*wasm)}};
}

// Every feature is active from the first block on.
Answer get_activated_protocol_features(Params& params) {
    constexpr std::uint32_t kLimitMax = 1000;
    const auto lower = params.optional_u32("lower_bound");
    const auto upper = params.optional_u32("upper_bound");
    const std::uint32_t limit = std::min(params.u32("limit", 10), kLimitMax);
    const bool by_block = params.boolean("search_by_block_num");
    const bool reverse = params.boolean("reverse");
    if (!params.ok()) return refuse(params.error());
    const auto features = chain::activated_protocol_features();
    Json list = Json::array();
    const auto count = static_cast<std::uint32_t>(features.size());
    for (std::uint32_t i = 0; i < count && list.size() < limit; ++i) {
        const std::uint32_t ordinal = reverse ? count - 1 - i : i;
        const std::uint32_t key = by_block ? 1 : ordinal;
        if (key < lower.value_or(0) || key > upper.value_or(UINT32_MAX)) continue;
        list.push_back(api::activated_feature_to_json(features[ordinal], ordinal, 1));
    }
    return Json{{"activated_protocol_features", std::move(list)}};
}

Answer get_producer_schedule(const ApiContext&, const Moment& moment, Params& /*params*/) {
    auto active = chain::load_schedule(*moment.state);
    auto proposed = chain::load_proposed(*moment.state);
    if (!active) return refuse(active.error());
    if (!proposed) return refuse(proposed.error());
    Json answer{{"active", api::producer_schedule_to_json(*active)}, {"pending", nullptr}};
    answer["proposed"] = *proposed ? api::producer_schedule_to_json(**proposed) : Json(nullptr);
    return answer;
}

// What get_producers lists: the registered producers, and without any the schedule, as nodeos.
struct ListedProducer {
    chain::Name owner;
    chain::PublicKey key;
    std::string url;
};

base::Result<std::vector<ListedProducer>> listed_producers(const chain::StateView& state,
                                                           chain::Name from,
                                                           std::size_t limit) {
    std::vector<ListedProducer> list;
    auto registered = chain::registered_producers(state, from, limit);
    if (!registered) return base::fail(registered.error());
    for (const chain::RegisteredProducer& each : *registered) {
        list.push_back({each.name, each.row.key, each.row.url});
    }
    if (!list.empty()) return list;
    auto schedule = chain::load_schedule(state);
    if (!schedule) return base::fail(schedule.error());
    for (const chain::ScheduleEntry& entry : schedule->entries) {
        if (entry.producer >= from && list.size() < limit) {
            list.push_back({entry.producer, entry.signing_key, {}});
        }
    }
    return list;
}

Json producer_json(const ListedProducer& producer, bool as_json) {
    const std::string key = producer.key.to_string();
    if (!as_json) {
        base::Writer out;
        chain::encode(out, producer.owner);
        chain::encode(out, producer.key);
        out.string(producer.url);
        return base::to_hex(out.view());
    }
    const Json keys = Json::array({Json{{"key", key}, {"weight", 1}}});
    const Json authority{{"threshold", 1}, {"keys", keys}};
    return {{"owner", producer.owner.to_string()},
            {"producer_authority", Json::array({0, authority})},
            {"url", producer.url},
            {"total_votes", kNoVotes},
            {"producer_key", key}};
}

Answer get_producers(const ApiContext& /*context*/, const Moment& moment, Params& params) {
    const bool as_json = params.boolean("json");
    const chain::Name from = params.name("lower_bound");
    const std::uint32_t limit = std::min(params.u32("limit", 50), kProducersMax);
    (void)params.optional_u32("time_limit_ms");
    if (!params.ok()) return refuse(params.error());
    auto producers = listed_producers(*moment.state, from, limit + 1);
    if (!producers) return refuse(producers.error());
    std::string more;
    if (producers->size() > limit) {
        more = producers->back().owner.to_string();
        producers->pop_back();
    }
    Json rows = Json::array();
    for (const ListedProducer& each : *producers)
        rows.push_back(producer_json(each, as_json));
    return Json{
        {"rows", std::move(rows)}, {"total_producer_vote_weight", kNoVotes}, {"more", more}};
}

// Deferred transactions do not exist.
Answer get_scheduled_transactions(Params& params) {
    (void)params.text("lower_bound");
    (void)params.u32("limit", 50);
    if (!params.ok()) return refuse(params.error());
    return Json{{"transactions", Json::array()}, {"more", ""}};
}

}  // namespace

void add_chain_info_calls(Calls& calls) {
    calls.read({.path = "/v1/chain/get_info", .category = ""}, get_info);
    calls.read({.path = "/v1/chain/get_consensus_parameters"}, get_consensus_parameters);
    calls.plain({.path = "/v1/chain/get_activated_protocol_features", .need = Need::optional},
                get_activated_protocol_features);
    calls.read({.path = "/v1/chain/get_producer_schedule"}, get_producer_schedule);
    calls.read({.path = "/v1/chain/get_producers", .need = Need::required}, get_producers);
    calls.plain({.path = "/v1/chain/get_scheduled_transactions", .need = Need::required},
                get_scheduled_transactions);
}

}  // namespace node
