#include "chain/abi/definition.hpp"
#include "chain/execution/native_actions.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>

namespace chain {

namespace {

using Fields = std::initializer_list<std::pair<const char*, const char*>>;

void add_struct(abi::Definition& definition, const char* name, Fields fields) {
    abi::StructDefinition& added = definition.structs.emplace_back();
    added.name = name;
    for (const auto& [field, type] : fields) {
        added.fields.push_back({.name = field, .type = type});
    }
}

void add_action(abi::Definition& definition, const char* name, Fields fields) {
    add_struct(definition, name, fields);
    const Name action{name_detail::bits_of(name)};
    definition.actions.push_back({.name = action, .type = name, .ricardian_contract = ""});
}

void add_types(abi::Definition& definition) {
    for (const char* name : {"account_name", "permission_name", "action_name"}) {
        definition.types.push_back({.new_type_name = name, .type = "name"});
    }
    add_struct(definition,
               "permission_level",
               {{"actor", "account_name"}, {"permission", "permission_name"}});
    add_struct(definition, "key_weight", {{"key", "public_key"}, {"weight", "uint16"}});
    add_struct(definition,
               "permission_level_weight",
               {{"permission", "permission_level"}, {"weight", "uint16"}});
    add_struct(definition, "wait_weight", {{"wait_sec", "uint32"}, {"weight", "uint16"}});
    add_struct(definition,
               "authority",
               {{"threshold", "uint32"},
                {"keys", "key_weight[]"},
                {"accounts", "permission_level_weight[]"},
                {"waits", "wait_weight[]"}});
    add_struct(definition,
               "block_signing_authority_v0",
               {{"threshold", "uint32"}, {"keys", "key_weight[]"}});
    definition.variants.push_back(
        {.name = "variant_block_signing_authority_v0", .types = {"block_signing_authority_v0"}});
    add_struct(definition,
               "producer_authority",
               {{"producer_name", "name"}, {"authority", "variant_block_signing_authority_v0"}});
    add_struct(definition,
               "blockchain_parameters",
               {{"max_block_net_usage", "uint64"},
                {"target_block_net_usage_pct", "uint32"},
                {"max_transaction_net_usage", "uint32"},
                {"base_per_transaction_net_usage", "uint32"},
                {"net_usage_leeway", "uint32"},
                {"context_free_discount_net_usage_num", "uint32"},
                {"context_free_discount_net_usage_den", "uint32"},
                {"max_block_cpu_usage", "uint32"},
                {"target_block_cpu_usage_pct", "uint32"},
                {"max_transaction_cpu_usage", "uint32"},
                {"min_transaction_cpu_usage", "uint32"},
                {"max_transaction_lifetime", "uint32"},
                {"deferred_trx_expiration_window", "uint32"},
                {"max_transaction_delay", "uint32"},
                {"max_inline_action_size", "uint32"},
                {"max_inline_action_depth", "uint16"},
                {"max_authority_depth", "uint16"}});
    add_struct(definition, "chain_value", {{"name", "string"}, {"value", "uint64"}});
}

void add_account_actions(abi::Definition& definition) {
    add_action(definition,
               "newaccount",
               {{"creator", "account_name"},
                {"name", "account_name"},
                {"owner", "authority"},
                {"active", "authority"}});
    add_action(definition,
               "setcode",
               {{"account", "account_name"},
                {"vmtype", "uint8"},
                {"vmversion", "uint8"},
                {"code", "bytes"}});
    add_action(definition, "setabi", {{"account", "account_name"}, {"abi", "bytes"}});
    add_action(definition,
               "updateauth",
               {{"account", "account_name"},
                {"permission", "permission_name"},
                {"parent", "permission_name"},
                {"auth", "authority"}});
    add_action(
        definition, "deleteauth", {{"account", "account_name"}, {"permission", "permission_name"}});
    add_action(definition,
               "linkauth",
               {{"account", "account_name"},
                {"code", "account_name"},
                {"type", "action_name"},
                {"requirement", "permission_name"}});
    add_action(definition,
               "unlinkauth",
               {{"account", "account_name"}, {"code", "account_name"}, {"type", "action_name"}});
}

void add_bios_actions(abi::Definition& definition) {
    add_action(definition, "setpriv", {{"account", "name"}, {"is_priv", "uint8"}});
    add_action(definition,
               "setalimits",
               {{"account", "name"},
                {"ram_bytes", "int64"},
                {"net_weight", "int64"},
                {"cpu_weight", "int64"}});
    add_action(definition, "setparams", {{"params", "blockchain_parameters"}});
    add_action(definition, "setprods", {{"schedule", "producer_authority[]"}});
    add_action(definition, "reqauth", {{"from", "name"}});
    add_action(definition, "activate", {{"feature_digest", "checksum256"}});
    add_action(definition,
               "regproducer",
               {{"producer", "name"},
                {"producer_key", "public_key"},
                {"url", "string"},
                {"location", "uint16"}});
    add_action(definition, "unregprod", {{"producer", "name"}});
    add_action(definition,
               "voteproducer",
               {{"voter", "name"}, {"proxy", "name"}, {"producers", "name[]"}});
    add_action(definition, "regproxy", {{"proxy", "name"}, {"isproxy", "bool"}});
}

void add_governance_actions(abi::Definition& definition) {
    add_action(definition, "setvotekey", {{"producer", "name"}, {"key", "public_key"}});
    add_action(definition, "ready", {{"producer", "name"}});
    add_action(definition, "amnesia", {{"producer", "name"}});
    add_action(definition, "addmember", {{"member", "name"}});
    add_action(definition, "rmmember", {{"member", "name"}});
    add_action(definition, "setweight", {{"member", "name"}, {"weight", "uint64"}});
    add_action(
        definition, "allow", {{"account", "name"}, {"accounts", "bool"}, {"contracts", "bool"}});
    add_action(
        definition,
        "regnode",
        {{"organisation", "name"}, {"node", "name"}, {"key", "public_key"}, {"roles", "uint32"}});
    add_action(definition, "rmnode", {{"node", "name"}});
    add_action(definition,
               "rotatekey",
               {{"node", "name"}, {"key", "public_key"}, {"until", "time_point_sec"}});
    add_action(definition, "reportbad", {{"evidence", "bytes"}});
    add_action(definition, "setrules", {{"version", "uint32"}, {"height", "uint32"}});
    add_action(definition, "setchain", {{"values", "chain_value[]"}});
}

base::Bytes make_abi() {
    abi::Definition definition;
    definition.version = "eosio::abi/1.2";
    add_types(definition);
    add_account_actions(definition);
    add_bios_actions(definition);
    add_governance_actions(definition);
    return abi::encode_definition(definition);
}

}  // namespace

const base::Bytes& native_abi() {
    static const base::Bytes kBytes = make_abi();
    return kBytes;
}

}  // namespace chain
