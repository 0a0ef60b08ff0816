#include "chain/abi/members.hpp"
#include "node/api/chain_json.hpp"

#include <utility>

namespace node::api {

namespace {

using chain::abi::json_integer;

// Calls `visit(name, field)` in the order of get_consensus_parameters; `Config` may be const.
template <class Config, class Visit>
void for_each(Config& config, Visit visit) {
    visit("max_block_net_usage", config.max_block_net_usage);
    visit("target_block_net_usage_pct", config.target_block_net_usage_pct);
    visit("max_transaction_net_usage", config.max_transaction_net_usage);
    visit("base_per_transaction_net_usage", config.base_per_transaction_net_usage);
    visit("net_usage_leeway", config.net_usage_leeway);
    visit("context_free_discount_net_usage_num", config.context_free_discount_net_usage_num);
    visit("context_free_discount_net_usage_den", config.context_free_discount_net_usage_den);
    visit("max_block_cpu_usage", config.max_block_cpu_usage);
    visit("target_block_cpu_usage_pct", config.target_block_cpu_usage_pct);
    visit("max_transaction_cpu_usage", config.max_transaction_cpu_usage);
    visit("min_transaction_cpu_usage", config.min_transaction_cpu_usage);
    visit("max_transaction_lifetime", config.max_transaction_lifetime);
    visit("deferred_trx_expiration_window", config.deferred_trx_expiration_window);
    visit("max_transaction_delay", config.max_transaction_delay);
    visit("max_inline_action_size", config.max_inline_action_size);
    visit("max_inline_action_depth", config.max_inline_action_depth);
    visit("max_authority_depth", config.max_authority_depth);
    visit("max_action_return_value_size", config.max_action_return_value_size);
}

Json feature_specification(const chain::ProtocolFeature& feature) {
    return Json::array({Json{{"name", "builtin_feature_codename"}, {"value", feature.codename}}});
}

Json dependencies(const chain::ProtocolFeature& feature) {
    Json list = Json::array();
    for (const std::string_view digest : feature.dependencies) {
        list.push_back(digest);
    }
    return list;
}

}  // namespace

Json chain_config_to_json(const chain::ChainConfig& config) {
    Json json;
    for_each(config, [&json](const char* name, auto value) {
        json[name] = json_integer(std::uint64_t{value});
    });
    return json;
}

base::Result<chain::ChainConfig> chain_config_from_json(const Json& json) {
    chain::ChainConfig config;
    chain::abi::Members members(json);
    for_each(config, [&members](const char* name, auto& value) { members.bounded(name, value); });
    if (auto status = members.status(); !status) return base::fail(status.error());
    return config;
}

Json wasm_config_to_json(const chain::WasmConfig& config) {
    return {{"max_mutable_global_bytes", config.max_mutable_global_bytes},
            {"max_table_elements", config.max_table_elements},
            {"max_section_elements", config.max_section_elements},
            {"max_linear_memory_init", config.max_linear_memory_init},
            {"max_func_local_bytes", config.max_func_local_bytes},
            {"max_nested_structures", config.max_nested_structures},
            {"max_symbol_bytes", config.max_symbol_bytes},
            {"max_module_bytes", config.max_module_bytes},
            {"max_code_bytes", config.max_code_bytes},
            {"max_pages", config.max_pages},
            {"max_call_depth", config.max_call_depth}};
}

Json activated_feature_to_json(const chain::ProtocolFeature& feature,
                               std::uint32_t ordinal,
                               std::uint32_t block_num) {
    return {{"feature_digest", feature.feature_digest},
            {"activation_ordinal", ordinal},
            {"activation_block_num", block_num},
            {"description_digest", feature.description_digest},
            {"dependencies", dependencies(feature)},
            {"protocol_feature_type", "builtin"},
            {"specification", feature_specification(feature)}};
}

Json supported_feature_to_json(const chain::ProtocolFeature& feature) {
    Json restrictions = {{"enabled", true},
                         {"preactivation_required", feature.preactivation_required},
                         {"earliest_allowed_activation_time", "1970-01-01T00:00:00.000"}};
    return {{"feature_digest", feature.feature_digest},
            {"subjective_restrictions", std::move(restrictions)},
            {"description_digest", feature.description_digest},
            {"dependencies", dependencies(feature)},
            {"protocol_feature_type", "builtin"},
            {"specification", feature_specification(feature)}};
}

}  // namespace node::api
