#include "cli/account_actions.hpp"
#include "cli/files.hpp"
#include "cli/output.hpp"
#include "cli/transaction.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;

base::Result<void> push_action(const Session& session, const Arguments& arguments) {
    auto levels = permissions_from(arguments);
    if (!levels) return fail(levels.error());
    auto action = make_action(session,
                              arguments.at("account"),
                              arguments.at("action"),
                              arguments.at("data"),
                              *std::move(levels));
    if (!action) return fail(action.error());
    return send_actions(session, arguments, {*std::move(action)});
}

base::Result<void> push_transaction(const Session& session, const Arguments& arguments) {
    auto transaction = transaction_argument(session, arguments);
    if (!transaction) return fail(transaction.error());
    return send_transaction(session, arguments, *std::move(transaction));
}

// Several packed, signed transactions: what became of each, in one array.
base::Result<void> push_transactions(const Session& session, const Arguments& arguments) {
    const auto json = json_argument(arguments.at("transactions"));
    if (!json) return fail(json.error());
    if (!json->is_array()) return fail(base::Errc::invalid, "an array of transactions is needed");
    Json packed = Json::array();
    for (const Json& item : *json) {
        const auto transaction =
            chain::abi::packed_transaction_from_json(item, node_resolver(session));
        if (!transaction) return fail(transaction.error());
        packed.push_back(chain::abi::packed_transaction_to_json(*transaction));
    }
    return ask(session, "/v1/chain/push_transactions", packed);
}

base::Result<void> transfer(const Session& session, const Arguments& arguments) {
    const std::string sender = arguments.at("sender");
    return send_action(session,
                       arguments,
                       {arguments.get("contract", "eosio.token"), "transfer"},
                       sender,
                       Json{{"from", sender},
                            {"to", arguments.at("recipient")},
                            {"quantity", arguments.at("amount")},
                            {"memo", arguments.at("memo")}});
}

base::Result<void> check_name(const std::string& text) {
    if (chain::Name::from_string(text)) return {};
    return fail(Errc::invalid,
                fmt::format("'{}' is no account name: up to 12 of the letters a to z, the digits 1 "
                            "to 5 and '.'",
                            text));
}

// A key or ACCOUNT@PERMISSION, before the ABI's own words about it.
base::Result<void> check_authority(const std::string& text) {
    if (text.empty() || text.find('@') != std::string::npos) return {};
    if (base::crypto::PublicKey::from_string(text)) return {};
    return fail(Errc::invalid,
                fmt::format("'{}' is neither a public key (PUB_K1_..., EOS...) nor "
                            "ACCOUNT@PERMISSION; 'bor-cli wallet create_key' makes a key",
                            text));
}

base::Result<void> create_account(const Session& session, const Arguments& arguments) {
    for (const std::string_view each : {"owner", "active"}) {
        if (auto good = check_authority(arguments.at(each)); !good) return good;
    }
    if (auto good = check_name(arguments.at("name")); !good) return good;
    const std::string creator = arguments.at("creator");
    const std::string owner = arguments.at("owner");
    const std::string active = arguments.at("active");
    auto levels = permissions_from(arguments, {creator});
    if (!levels) return fail(levels.error());
    auto action = new_account_action(session,
                                     creator,
                                     {arguments.at("name"), owner, active.empty() ? owner : active},
                                     *std::move(levels));
    if (!action) return fail(action.error());
    return send_actions(session, arguments, {*std::move(action)});
}

base::Result<chain::Action> code_action(const Session& session,
                                        const Arguments& arguments,
                                        const std::string& wasm) {
    const std::string account = arguments.at("account");
    auto levels = permissions_from(arguments, {account});
    if (!levels) return fail(levels.error());
    return set_code_action(session, account, wasm, *std::move(levels));
}

base::Result<chain::Action> abi_action(const Session& session,
                                       const Arguments& arguments,
                                       const std::string& file) {
    const std::string account = arguments.at("account");
    auto levels = permissions_from(arguments, {account});
    if (!levels) return fail(levels.error());
    return set_abi_action(session, account, arguments.has("clear") ? "" : file, *std::move(levels));
}

base::Result<void> set_code(const Session& session, const Arguments& arguments) {
    std::string wasm;
    if (!arguments.has("clear")) {
        auto contents = read_file(arguments.at("file"));
        if (!contents) return fail(contents.error());
        wasm = *std::move(contents);
    }
    auto action = code_action(session, arguments, wasm);
    if (!action) return fail(action.error());
    return send_actions(session, arguments, {*std::move(action)});
}

base::Result<void> set_abi(const Session& session, const Arguments& arguments) {
    auto action = abi_action(session, arguments, arguments.at("file"));
    if (!action) return fail(action.error());
    return send_actions(session, arguments, {*std::move(action)});
}

base::Result<void> set_contract(const Session& session, const Arguments& arguments) {
    std::string wasm;
    std::string abi_file;
    if (!arguments.has("clear")) {
        const std::filesystem::path folder = arguments.at("folder");
        const std::string stem = std::filesystem::absolute(folder).lexically_normal().has_filename()
                                     ? std::filesystem::absolute(folder).filename().string()
                                     : folder.parent_path().filename().string();
        const std::string wasm_file = arguments.at("wasm-file");
        auto contents =
            read_file(wasm_file.empty() ? folder / (stem + ".wasm") : folder / wasm_file);
        if (!contents) return fail(contents.error());
        wasm = *std::move(contents);
        const std::string given = arguments.at("abi-file");
        abi_file = (given.empty() ? folder / (stem + ".abi") : folder / given).string();
    }
    auto code = code_action(session, arguments, wasm);
    if (!code) return fail(code.error());
    auto abi = abi_action(session, arguments, abi_file);
    if (!abi) return fail(abi.error());
    return send_actions(session, arguments, {*std::move(code), *std::move(abi)});
}

base::Result<void> set_account_permission(const Session& session, const Arguments& arguments) {
    const std::string account = arguments.at("account");
    const std::string permission = arguments.at("permission-name");
    const std::string text = arguments.at("authority");
    Json data = {{"account", account}, {"permission", permission}};
    if (arguments.has("delete")) {
        return send_action(session, arguments, {"eosio", "deleteauth"}, account, data);
    }
    std::string parent = arguments.at("parent");
    if (parent.empty()) parent = permission == "active" ? "owner" : "active";
    Json authority = key_authority(text);
    if (text.starts_with('{')) {
        const auto json = chain::abi::parse_json(text);
        if (!json) return fail(json.error());
        authority = *json;
        for (const char* list : {"keys", "accounts", "waits"}) {
            if (!authority.contains(list)) authority[list] = Json::array();
        }
    }
    data["parent"] = permission == "owner" ? "" : parent;
    data["auth"] = authority;
    return send_action(session, arguments, {"eosio", "updateauth"}, account, data);
}

base::Result<void> set_action_permission(const Session& session, const Arguments& arguments) {
    const std::string account = arguments.at("account");
    Json data = {
        {"account", account}, {"code", arguments.at("code")}, {"type", arguments.at("action")}};
    const std::string requirement = arguments.at("requirement");
    const bool unlink = requirement == "NULL";
    if (!unlink) data["requirement"] = requirement;
    return send_action(
        session, arguments, {"eosio", unlink ? "unlinkauth" : "linkauth"}, account, data);
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table.
void add_push_commands(std::vector<Command>& commands) {
    commands.push_back({"push action",
                        "Send a transaction with one action",
                        {{"account", "the contract's account"},
                         {"action", "the action's name"},
                         {"data", "its data: JSON, @FILE or hexadecimal digits"}},
                        with_transaction_options({}),
                        push_action});
    commands.push_back({"push transaction",
                        "Sign and send a transaction given as JSON",
                        {{"transaction", "JSON, or a file with it"}},
                        with_transaction_options({}),
                        push_transaction});
    commands.push_back(
        {"push transactions",
         "Send signed transactions given as a JSON array",
         {{"transactions", "JSON, or a file with it: {signatures, packed_trx, ...} each"}},
         {},
         push_transactions});
    commands.push_back({"transfer",
                        "Transfer tokens",
                        {{"sender", "who pays"},
                         {"recipient", "who gets it"},
                         {"amount", "\"1.0000 SYM\""},
                         {"memo", "a text for both", true}},
                        with_transaction_options(
                            {{"contract", 'c', "ACCOUNT", "the token's contract (eosio.token)"}}),
                        transfer});
    for (const std::string_view name : {"create account", "system newaccount"}) {
        commands.push_back({name,
                            "Make an account",
                            {{"creator", "who makes it"},
                             {"name", "its name"},
                             {"owner", "its owner's key, or ACCOUNT@PERMISSION"},
                             {"active", "its active key, likewise (default: as owner)", true}},
                            with_transaction_options({}),
                            create_account});
    }
    const Option clear{"clear", 0, "", "remove it"};
    commands.push_back({"set code",
                        "Set the code of an account",
                        {{"account", "the account"}, {"file", "the .wasm file", true}},
                        with_transaction_options({clear}),
                        set_code});
    commands.push_back({"set abi",
                        "Set the ABI of an account",
                        {{"account", "the account"}, {"file", "the .abi file", true}},
                        with_transaction_options({clear}),
                        set_abi});
    commands.push_back({"set contract",
                        "Set the code and ABI of an account",
                        {{"account", "the account"},
                         {"folder", "with NAME.wasm and NAME.abi, named as the folder", true},
                         {"wasm-file", "in the folder", true},
                         {"abi-file", "in the folder", true}},
                        with_transaction_options({clear}),
                        set_contract});
    commands.push_back({"set account permission",
                        "Set or delete a permission of an account",
                        {{"account", "the account"},
                         {"permission-name", "the permission"},
                         {"authority", "a key, ACCOUNT@PERMISSION, or JSON", true},
                         {"parent", "its parent (default: active, and owner for active)", true}},
                        with_transaction_options({{"delete", 0, "", "delete the permission"}}),
                        set_account_permission});
    commands.push_back({"set action permission",
                        "Link an action to the permission that it needs",
                        {{"account", "the account"},
                         {"code", "the contract"},
                         {"action", "the action; \"\" for all"},
                         {"requirement", "the permission; NULL removes the link"}},
                        with_transaction_options({}),
                        set_action_permission});
}

}  // namespace cli
