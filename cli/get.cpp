#include "cli/output.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

using base::fail;

bool is_height(const std::string& text) {
    return !text.empty() && text.size() <= 10 &&
           text.find_first_not_of("0123456789") == std::string::npos;
}

base::Result<void> get_info(const Session& session, const Arguments& /*arguments*/) {
    return ask(session, "/v1/chain/get_info", Json());
}

base::Result<void> get_block(const Session& session, const Arguments& arguments) {
    std::string_view path = "/v1/chain/get_block";
    if (arguments.has("raw")) path = "/v1/chain/get_raw_block";
    if (arguments.has("header")) path = "/v1/chain/get_block_header";
    if (arguments.has("info")) {
        const std::string text = arguments.at("block");
        if (!is_height(text)) {
            return fail(base::Errc::invalid, "--info needs the number of the block");
        }
        return ask(session, "/v1/chain/get_block_info", {{"block_num", std::stoull(text)}});
    }
    return ask(session, path, {{"block_num_or_id", arguments.at("block")}});
}

void print_permissions(const Json& account) {
    fmt::print("permissions:\n");
    for (const Json& permission : list_of(account, "permissions")) {
        const Json& required = permission.at("required_auth");
        std::string parts;
        for (const Json& key : required.at("keys")) {
            parts +=
                fmt::format(" {}*{}", key.at("weight").dump(), key.at("key").get<std::string>());
        }
        for (const Json& other : required.at("accounts")) {
            const Json& level = other.at("permission");
            parts += fmt::format(" {}*{}@{}",
                                 other.at("weight").dump(),
                                 level.at("actor").get<std::string>(),
                                 level.at("permission").get<std::string>());
        }
        fmt::print("  {:<12} {}:{}\n",
                   permission.at("perm_name").get<std::string>(),
                   required.at("threshold").dump(),
                   parts);
    }
}

base::Result<void> get_account(const Session& session, const Arguments& arguments) {
    Json body = {{"account_name", arguments.at("account")}};
    const std::string symbol = arguments.at("symbol");
    if (!symbol.empty()) body["expected_core_symbol"] = symbol;
    const auto answer = call(session.url, "/v1/chain/get_account", body);
    if (!answer) {
        // nodeos' own words for it are those of its database.
        if (answer.error().detail.find("unknown key") == std::string::npos) {
            return fail(answer.error());
        }
        return fail(base::Errc::not_found,
                    fmt::format("there is no account '{}'", arguments.at("account")));
    }
    if (session.json) return print_json(*answer);
    fmt::print(
        "created: {}\nprivileged: {}\n", shown(*answer, "created"), shown(*answer, "privileged"));
    print_permissions(*answer);
    const std::string quota = shown(*answer, "ram_quota");
    fmt::print("memory: {} bytes used, {}\n",
               shown(*answer, "ram_usage"),
               quota == "-1" ? "no quota" : "quota " + quota);
    return {};
}

base::Result<void> get_abi(const Session& session, const Arguments& arguments) {
    return ask(session, "/v1/chain/get_abi", {{"account_name", arguments.at("account")}});
}

base::Result<void> get_code(const Session& session, const Arguments& arguments) {
    const auto answer =
        call(session.url, "/v1/chain/get_code_hash", {{"account_name", arguments.at("account")}});
    if (!answer) return fail(answer.error());
    fmt::print("code hash: {}\n", text_of(*answer, "code_hash"));
    return {};
}

base::Result<void> get_table(const Session& session, const Arguments& arguments) {
    const auto limit = arguments.number("limit", 10, 0, 1'000'000);
    if (!limit) return fail(limit.error());
    return ask(session,
               "/v1/chain/get_table_rows",
               {{"json", !arguments.has("binary")},
                {"code", arguments.at("account")},
                {"scope", arguments.at("scope")},
                {"table", arguments.at("table")},
                {"lower_bound", arguments.get("lower")},
                {"upper_bound", arguments.get("upper")},
                {"limit", *limit},
                {"key_type", arguments.get("key-type")},
                {"index_position", arguments.get("index")},
                {"encode_type", arguments.get("encode-type", "dec")},
                {"reverse", arguments.has("reverse")},
                {"show_payer", arguments.has("show-payer")}});
}

base::Result<void> get_scope(const Session& session, const Arguments& arguments) {
    const auto limit = arguments.number("limit", 10, 0, 1'000'000);
    if (!limit) return fail(limit.error());
    return ask(session,
               "/v1/chain/get_table_by_scope",
               {{"code", arguments.at("account")},
                {"table", arguments.get("table")},
                {"lower_bound", arguments.get("lower")},
                {"upper_bound", arguments.get("upper")},
                {"limit", *limit},
                {"reverse", arguments.has("reverse")}});
}

base::Result<void> get_balance(const Session& session, const Arguments& arguments) {
    Json body = {{"code", arguments.at("contract")}, {"account", arguments.at("account")}};
    if (!arguments.at("symbol").empty()) body["symbol"] = arguments.at("symbol");
    const auto answer = call(session.url, "/v1/chain/get_currency_balance", body);
    if (!answer) return fail(answer.error());
    if (session.json) return print_json(*answer);
    for (const Json& balance : *answer) {
        fmt::print("{}\n", balance.get<std::string>());
    }
    return {};
}

base::Result<void> get_stats(const Session& session, const Arguments& arguments) {
    return ask(session,
               "/v1/chain/get_currency_stats",
               {{"code", arguments.at("contract")}, {"symbol", arguments.at("symbol")}});
}

base::Result<void> get_status(const Session& session, const Arguments& arguments) {
    return ask(session, "/v1/chain/get_transaction_status", {{"id", arguments.at("id")}});
}

base::Result<void> get_schedule(const Session& session, const Arguments& /*arguments*/) {
    return ask(session, "/v1/chain/get_producer_schedule", Json());
}

base::Result<void> get_parameters(const Session& session, const Arguments& /*arguments*/) {
    return ask(session, "/v1/chain/get_consensus_parameters", Json());
}

base::Result<void> get_block_trace(const Session& session, const Arguments& arguments) {
    const std::string text = arguments.at("block");
    if (!is_height(text)) {
        return fail(base::Errc::invalid, fmt::format("'{}' is no number of a block", text));
    }
    return ask(session, "/v1/trace_api/get_block", {{"block_num", std::stoull(text)}});
}

base::Result<void> get_accounts(const Session& session, const Arguments& arguments) {
    return ask(session,
               "/v1/chain/get_accounts_by_authorizers",
               {{"accounts", Json::array()}, {"keys", Json::array({arguments.at("key")})}});
}

base::Result<void> get_servants(const Session& session, const Arguments& arguments) {
    return ask(session,
               "/v1/chain/get_accounts_by_authorizers",
               {{"accounts", Json::array({arguments.at("account")})}, {"keys", Json::array()}});
}

base::Result<void> get_features(const Session& session, const Arguments& /*arguments*/) {
    return ask_as_operator(session, "/v1/producer/get_supported_protocol_features", Json::object());
}

base::Result<void> version_client(const Session& /*session*/, const Arguments& /*arguments*/) {
    fmt::print("{}\n", BOR_VERSION);
    return {};
}

base::Result<void> version_full(const Session& session, const Arguments& /*arguments*/) {
    const auto info = call(session.url, "/v1/chain/get_info", Json());
    fmt::print("client {}\n", BOR_VERSION);
    if (!info) return fail(info.error());
    fmt::print("node   {}\n", text_of(*info, "server_full_version_string"));
    return {};
}

base::Result<void> get_trace(const Session& session, const Arguments& arguments) {
    return ask(session, "/v1/trace_api/get_transaction_trace", {{"id", arguments.at("id")}});
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table.
void add_get_commands(std::vector<Command>& commands) {
    const Positional account{"account", "the account"};
    const std::vector<Option> bounds{
        {"limit", 'l', "COUNT", "rows at most (default: 10)"},
        {"lower", 'L', "KEY", "first key"},
        {"upper", 'U', "KEY", "last key"},
        {"reverse", 'r', "", "from the last to the first"},
    };
    commands.push_back({"get info", "Show the chain's state", {}, {}, get_info});
    commands.push_back({"get block",
                        "Show a block",
                        {{"block", "its number or id"}},
                        {{"raw", 0, "", "without decoding its transactions"},
                         {"header", 0, "", "the header only"},
                         {"info", 0, "", "a summary"}},
                        get_block});
    commands.push_back({"get account",
                        "Show an account",
                        {account, {"symbol", "core symbol, for its balance", true}},
                        {},
                        get_account});
    commands.push_back({"get abi", "Show an account's ABI", {account}, {}, get_abi});
    commands.push_back({"get code", "Show the hash of an account's code", {account}, {}, get_code});
    std::vector<Option> table_options = bounds;
    table_options.insert(table_options.end(),
                         {{"key-type",
                           0,
                           "TYPE",
                           "of the index: name, i64, i128, i256, float64, "
                           "float128, sha256, ripemd160"},
                          {"index", 0, "POSITION", "1 or primary, 2 or secondary, ..."},
                          {"encode-type", 0, "dec|hex", "form of i128 and i256 keys"},
                          {"binary", 'b', "", "rows as hexadecimal digits"},
                          {"show-payer", 0, "", "who pays for each row"}});
    commands.push_back({"get table",
                        "Show rows of a contract's table",
                        {account, {"scope", "the scope"}, {"table", "the table"}},
                        table_options,
                        get_table});
    std::vector<Option> scope_options = bounds;
    scope_options.push_back({"table", 't', "TABLE", "tables of this name only"});
    commands.push_back(
        {"get scope", "Show a contract's scopes and tables", {account}, scope_options, get_scope});
    commands.push_back(
        {"get currency balance",
         "Show an account's balances",
         {{"contract", "the token's contract"}, account, {"symbol", "this token only", true}},
         {},
         get_balance});
    commands.push_back({"get currency stats",
                        "Show a token's supply",
                        {{"contract", "the token's contract"}, {"symbol", "the token"}},
                        {},
                        get_stats});
    commands.push_back({"get transaction-status",
                        "Show what became of a transaction",
                        {{"id", "its id"}},
                        {},
                        get_status});
    commands.push_back({"get schedule", "Show who makes blocks", {}, {}, get_schedule});
    commands.push_back(
        {"get consensus_parameters", "Show the chain's parameters", {}, {}, get_parameters});
    commands.push_back({"get block_trace",
                        "Show a block's stored traces",
                        {{"block", "its number"}},
                        {},
                        get_block_trace});
    commands.push_back({"get accounts",
                        "Show the permissions that a key can satisfy",
                        {{"key", "the public key"}},
                        {},
                        get_accounts});
    commands.push_back({"get servants",
                        "Show the permissions that an account can satisfy",
                        {account},
                        {},
                        get_servants});
    commands.push_back({"get supported_protocol_features",
                        "Show the protocol features that the node knows",
                        {},
                        {},
                        get_features});
    commands.push_back({"version client", "Show this program's version", {}, {}, version_client});
    commands.push_back(
        {"version full", "Show this program's and the node's version", {}, {}, version_full});
    commands.push_back({"get transaction_trace",
                        "Show a transaction's stored trace",
                        {{"id", "its id"}},
                        {},
                        get_trace});
}

}  // namespace cli
