#include "chain/abi/definition.hpp"
#include "chain/execution/native_actions.hpp"
#include "chain/types/config_fields.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace chain {

namespace {

// A struct of the ABI: each field's name, a space and its type, with ", " between them.
struct AbiRow {
    const char* name;
    std::string_view fields;
};

constexpr auto kStructs = std::to_array<AbiRow>({
    {"permission_level", "actor account_name, permission permission_name"},
    {"key_weight", "key public_key, weight uint16"},
    {"permission_level_weight", "permission permission_level, weight uint16"},
    {"wait_weight", "wait_sec uint32, weight uint16"},
    {"authority",
     "threshold uint32, keys key_weight[], accounts permission_level_weight[], waits "
     "wait_weight[]"},
    {"block_signing_authority_v0", "threshold uint32, keys key_weight[]"},
    {"producer_authority", "producer_name name, authority variant_block_signing_authority_v0"},
});

// Of the accounts, of bios and the system contract, of BoR's own governance. The data of an action
// is a struct of its name.
constexpr auto kActions = std::to_array<AbiRow>({
    {"newaccount", "creator account_name, name account_name, owner authority, active authority"},
    {"setcode", "account account_name, vmtype uint8, vmversion uint8, code bytes"},
    {"setabi", "account account_name, abi bytes"},
    {"updateauth",
     "account account_name, permission permission_name, parent permission_name, auth authority"},
    {"deleteauth", "account account_name, permission permission_name"},
    {"linkauth",
     "account account_name, code account_name, type action_name, requirement permission_name"},
    {"unlinkauth", "account account_name, code account_name, type action_name"},
    {"setpriv", "account name, is_priv uint8"},
    {"setalimits", "account name, ram_bytes int64, net_weight int64, cpu_weight int64"},
    {"setparams", "params blockchain_parameters"},
    {"setprods", "schedule producer_authority[]"},
    {"reqauth", "from name"},
    {"activate", "feature_digest checksum256"},
    {"regproducer", "producer name, producer_key public_key, url string, location uint16"},
    {"unregprod", "producer name"},
    {"voteproducer", "voter name, proxy name, producers name[]"},
    {"regproxy", "proxy name, isproxy bool"},
    {"setvotekey", "producer name, key public_key"},
    {"ready", "producer name"},
    {"amnesia", "producer name"},
    {"addmember", "member name"},
    {"rmmember", "member name"},
    {"setweight", "member name, weight uint64"},
    {"allow", "account name, accounts bool, contracts bool"},
    {"regnode", "organisation name, node name, key public_key, roles uint32"},
    {"rmnode", "node name"},
    {"rotatekey", "node name, key public_key, until time_point_sec"},
    {"reportbad", "evidence bytes"},
    {"setrules", "version uint32, height uint32"},
    {"setchain", "values chain_value[]"},
});

void add_struct(abi::Definition& definition, const AbiRow& row) {
    abi::StructDefinition& added = definition.structs.emplace_back();
    added.name = row.name;
    std::string_view left = row.fields;
    while (!left.empty()) {
        const std::string_view field = left.substr(0, left.find(", "));
        const std::size_t space = field.find(' ');
        added.fields.push_back({.name = std::string(field.substr(0, space)),
                                .type = std::string(field.substr(space + 1))});
        left.remove_prefix(std::min(field.size() + 2, left.size()));
    }
}

void add_parameters(abi::Definition& definition) {
    abi::StructDefinition& added = definition.structs.emplace_back();
    added.name = "blockchain_parameters";
    const ChainConfig config;
    each_v0_field(config, [&added](const char* name, auto value) {
        added.fields.push_back({.name = name, .type = "uint" + std::to_string(8 * sizeof(value))});
    });
}

base::Bytes make_abi() {
    abi::Definition definition;
    definition.version = "eosio::abi/1.2";
    for (const char* name : {"account_name", "permission_name", "action_name"}) {
        definition.types.push_back({.new_type_name = name, .type = "name"});
    }
    for (const AbiRow& row : kStructs)
        add_struct(definition, row);
    add_parameters(definition);
    add_struct(definition, {"chain_value", "name string, value uint64"});
    definition.variants.push_back(
        {.name = "variant_block_signing_authority_v0", .types = {"block_signing_authority_v0"}});
    for (const AbiRow& row : kActions) {
        add_struct(definition, row);
        const Name action{name_detail::bits_of(row.name)};
        definition.actions.push_back({.name = action, .type = row.name, .ricardian_contract = ""});
    }
    return abi::encode_definition(definition);
}

}  // namespace

const base::Bytes& native_abi() {
    static const base::Bytes kBytes = make_abi();
    return kBytes;
}

}  // namespace chain
