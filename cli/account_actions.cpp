#include "cli/account_actions.hpp"

#include "chain/abi/definition.hpp"

#include <utility>

namespace cli {

using base::fail;

Json key_authority(const std::string& text) {
    // "alice@active" names another permission, anything else is a key.
    Json authority = {{"threshold", 1},
                      {"keys", Json::array()},
                      {"accounts", Json::array()},
                      {"waits", Json::array()}};
    if (const std::size_t at = text.find('@'); at != std::string::npos) {
        authority["accounts"].push_back(
            {{"permission", {{"actor", text.substr(0, at)}, {"permission", text.substr(at + 1)}}},
             {"weight", 1}});
    } else {
        authority["keys"].push_back({{"key", text}, {"weight", 1}});
    }
    return authority;
}

base::Result<chain::Action> new_account_action(const Session& session,
                                               const std::string& creator,
                                               const NewAccount& account,
                                               std::vector<chain::PermissionLevel> authorization) {
    return make_action(session,
                       "eosio",
                       "newaccount",
                       Json{{"creator", creator},
                            {"name", account.name},
                            {"owner", key_authority(account.owner)},
                            {"active", key_authority(account.active)}},
                       std::move(authorization));
}

base::Result<chain::Action> set_code_action(const Session& session,
                                            const std::string& account,
                                            std::string_view wasm,
                                            std::vector<chain::PermissionLevel> authorization) {
    return make_action(session,
                       "eosio",
                       "setcode",
                       Json{{"account", account},
                            {"vmtype", 0},
                            {"vmversion", 0},
                            {"code", base::to_hex(base::as_bytes(wasm))}},
                       std::move(authorization));
}

base::Result<chain::Action> set_abi_action(const Session& session,
                                           const std::string& account,
                                           const std::string& abi,
                                           std::vector<chain::PermissionLevel> authorization) {
    std::string packed;
    if (!abi.empty()) {
        const auto json = json_argument(abi);
        if (!json) return fail(json.error());
        const auto definition = chain::abi::definition_from_json(*json);
        if (!definition) return fail(definition.error());
        // A wrong ABI is found here rather than by the first who reads with it.
        if (auto made = chain::abi::Serializer::make(*definition); !made) return fail(made.error());
        packed = base::to_hex(chain::abi::encode_definition(*definition));
    }
    return make_action(session,
                       "eosio",
                       "setabi",
                       Json{{"account", account}, {"abi", packed}},
                       std::move(authorization));
}

}  // namespace cli
