#include "chain/execution/rows.hpp"
#include "node/chain_api.hpp"
#include "node/operator_api.hpp"

namespace node {

namespace {

Answer get_block(const ApiContext& context, const Moment& moment, Params& params) {
    const std::string text = params.text("block_num_or_id");
    if (!params.ok()) return refuse(params.error());
    const auto block = find_block(context, moment, text, "block");
    if (!block) return refuse(block.error());
    return api::bor_block_to_json(**block, context.times());
}

Answer get_schedule(const ApiContext& /*context*/, const Moment& moment, Params& /*params*/) {
    auto active = chain::load_schedule(*moment.state);
    auto proposed = chain::load_proposed(*moment.state);
    if (!active) return refuse(active.error());
    if (!proposed) return refuse(proposed.error());
    return Json{{"active", api::schedule_to_json(*active)},
                {"proposed", *proposed ? api::schedule_to_json(**proposed) : Json(nullptr)}};
}

// What setchain and the genesis file set, prices included.
Answer get_parameters(const ApiContext& /*context*/, const Moment& moment, Params& /*params*/) {
    const auto parameters = chain::load_parameters(*moment.state);
    if (!parameters) return refuse(parameters.error());
    Json out = Json::object();
    for (const chain::ParameterInfo& info : chain::bor_parameter_infos()) {
        out[info.name] = chain::abi::json_integer(info.value_in(*parameters));
    }
    return out;
}

}  // namespace

void add_bor_calls(Calls& calls) {
    calls.read({.path = "/v1/bor/block", .need = Need::required}, get_block);
    calls.read({.path = "/v1/bor/schedule"}, get_schedule);
    calls.read({.path = "/v1/bor/parameters"}, get_parameters);
}

void add_db_size_call(Calls& calls, const RocksDbStorage& storage) {
    calls.plain({.path = "/v1/db_size/get", .category = "db_size"}, [&storage](Params&) -> Answer {
        const RocksDbStorage::Statistics statistics = storage.statistics();
        std::uint64_t used = 0;
        Json indices = Json::array();
        for (std::size_t i = 0; i < statistics.families.size(); ++i) {
            const RocksDbStorage::FamilyStatistics& family = statistics.families[i];
            used += family.table_bytes + family.blob_bytes + family.memory_bytes;
            indices.push_back({{"index", family_name(static_cast<base::Family>(i))},
                               {"row_count", chain::abi::json_integer(family.rows)}});
        }
        using chain::abi::json_integer;
        return Json{{"free_bytes", json_integer(statistics.disk_free_bytes)},
                    {"used_bytes", json_integer(used)},
                    {"size", json_integer(statistics.disk_free_bytes + used)},
                    {"indices", std::move(indices)}};
    });
}

void add_node_call(Calls& calls) {
    constexpr const char* kPath = "/v1/node/get_supported_apis";
    Json apis = Json::array();
    for (const std::string& path : calls.router().paths()) {
        if (path.starts_with("/v1/")) apis.push_back(path);
    }
    apis.push_back(kPath);
    const Json answer{{"apis", std::move(apis)}};
    calls.plain({.path = kPath, .category = ""}, [answer](Params&) -> Answer { return answer; });
}

}  // namespace node
