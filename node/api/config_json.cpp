#include "chain/abi/members.hpp"
#include "chain/types/config_fields.hpp"
#include "node/api/chain_json.hpp"

#include <utility>

namespace node::api {

namespace {

using chain::abi::json_integer;

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
    chain::each_config_field(config, [&json](const char* name, auto value) {
        json[name] = json_integer(std::uint64_t{value});
    });
    return json;
}

base::Result<chain::ChainConfig> chain_config_from_json(const Json& json) {
    chain::ChainConfig config;
    chain::abi::Members members(json);
    chain::each_config_field(
        config, [&members](const char* name, auto& value) { members.bounded(name, value); });
    if (auto status = members.status(); !status) return base::fail(status.error());
    return config;
}

Json wasm_config_to_json(const chain::WasmConfig& config) {
    Json json;
    chain::each_wasm_field(config, [&json](const char* name, auto value) { json[name] = value; });
    return json;
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
