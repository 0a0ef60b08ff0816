#pragma once

#include "cli/transaction.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cli {

// The actions of eosio about an account that several commands send.

// The authority of a key, or of ACCOUNT@PERMISSION, in JSON.
[[nodiscard]] Json key_authority(const std::string& text);

// newaccount, with authorities as key_authority() takes them.
struct NewAccount {
    std::string name;
    std::string owner;
    std::string active;
};
[[nodiscard]] base::Result<chain::Action> new_account_action(
    const Session& session,
    const std::string& creator,
    const NewAccount& account,
    std::vector<chain::PermissionLevel> authorization);

// setcode of these bytes; none: it is removed.
[[nodiscard]] base::Result<chain::Action> set_code_action(
    const Session& session,
    const std::string& account,
    std::string_view wasm,
    std::vector<chain::PermissionLevel> authorization);

// setabi of JSON, or of a file that has it; empty: it is removed. malformed: it is no ABI.
[[nodiscard]] base::Result<chain::Action> set_abi_action(
    const Session& session,
    const std::string& account,
    const std::string& abi,
    std::vector<chain::PermissionLevel> authorization);

}  // namespace cli
