#include "cli/output.hpp"
#include "cli/transaction.hpp"

#include <fmt/format.h>

#include <chrono>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::uint64_t kHoursDefault = 24;
constexpr std::uint64_t kHoursMax = 24 * 365;

std::string contract_of(const Arguments& arguments, std::string_view fallback = "eosio.msig") {
    return arguments.get("contract", fallback);
}

// [{"actor": "alice", "permission": "active"}, ...], ["alice@active", ...] or one such text.
base::Result<std::vector<chain::PermissionLevel>> levels_from(const std::string& text) {
    std::vector<chain::PermissionLevel> levels;
    if (text.find_first_of("[{") == std::string::npos) {
        const auto level = permission_from(text);
        if (!level) return fail(level.error());
        return std::vector{*level};
    }
    auto json = chain::abi::parse_json(text);
    if (!json) return fail(json.error());
    if (json->is_object()) json = Json::array({*json});
    for (const Json& item : *json) {
        const auto level = item.is_string() ? permission_from(item.get<std::string>())
                                            : chain::abi::permission_level_from_json(item);
        if (!level) return fail(level.error());
        levels.push_back(*level);
    }
    return levels;
}

Json levels_json(const std::vector<chain::PermissionLevel>& levels) {
    Json json = Json::array();
    for (const chain::PermissionLevel& level : levels)
        json.push_back(chain::abi::to_json(level));
    return json;
}

base::Result<void> propose_transaction(const Session& session,
                                       const Arguments& arguments,
                                       const chain::SignedTransaction& transaction) {
    const auto requested = levels_from(arguments.at("requested"));
    if (!requested) return fail(requested.error());
    std::string proposer = arguments.at("proposer");
    if (proposer.empty()) {
        const auto levels = permissions_from(arguments);
        if (!levels) return fail(Errc::invalid, "who proposes? name the proposer, or give -p");
        proposer = levels->front().actor.to_string();
    }
    return send_action(session,
                       arguments,
                       {contract_of(arguments), "propose"},
                       proposer,
                       {{"proposer", proposer},
                        {"proposal_name", arguments.at("proposal")},
                        {"requested", levels_json(*requested)},
                        {"trx",
                         chain::abi::transaction_to_json(
                             transaction, nullptr, chain::abi::TransactionForm::extended)}});
}

base::Result<void> propose(const Session& session, const Arguments& arguments) {
    auto levels = levels_from(arguments.at("permissions"));
    if (!levels) return fail(levels.error());
    auto action = make_action(session,
                              arguments.at("account"),
                              arguments.at("action"),
                              arguments.at("data"),
                              *std::move(levels));
    if (!action) return fail(action.error());
    const auto hours = arguments.number("hours", kHoursDefault, 1, kHoursMax);
    if (!hours) return fail(hours.error());
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    chain::SignedTransaction transaction;
    transaction.expiration.seconds =
        static_cast<std::uint32_t>(now) + static_cast<std::uint32_t>(*hours * 3600);
    transaction.actions.push_back(*std::move(action));
    return propose_transaction(session, arguments, transaction);
}

base::Result<void> propose_trx(const Session& session, const Arguments& arguments) {
    const auto transaction = transaction_argument(session, arguments);
    if (!transaction) return fail(transaction.error());
    return propose_transaction(session, arguments, *transaction);
}

// The row of a proposal's table; null when there is none.
base::Result<Json> find_row(const Session& session,
                            const Arguments& arguments,
                            std::string_view table) {
    const std::string proposal = arguments.at("proposal");
    const auto answer = call(session.url,
                             "/v1/chain/get_table_rows",
                             {{"json", true},
                              {"code", contract_of(arguments)},
                              {"scope", arguments.at("proposer")},
                              {"table", table},
                              {"lower_bound", proposal},
                              {"upper_bound", proposal},
                              {"key_type", "name"},
                              {"index_position", "1"},
                              {"limit", 1}});
    if (!answer) return fail(answer.error());
    const Json& rows = list_of(*answer, "rows");
    return rows.empty() ? Json() : rows.at(0);
}

base::Result<void> review(const Session& session, const Arguments& arguments) {
    const auto row = find_row(session, arguments, "proposal");
    if (!row) return fail(row.error());
    if (row->is_null()) {
        return fail(Errc::not_found,
                    fmt::format("{} has no proposal '{}' of {}",
                                contract_of(arguments),
                                arguments.at("proposal"),
                                arguments.at("proposer")));
    }
    const std::string packed = text_of(*row, "packed_transaction");
    const auto bytes = base::from_hex(packed);
    if (!bytes) return fail(bytes.error());
    const auto read = chain::unpack<chain::Transaction>(*bytes, "packed_transaction");
    if (!read) return fail(read.error());
    const chain::SignedTransaction transaction{*read, {}, {}};
    Json out = {{"proposer", arguments.at("proposer")},
                {"proposal_name", arguments.at("proposal")},
                {"transaction_id", base::to_hex(transaction.id().view())},
                {"packed_transaction", packed},
                {"transaction",
                 chain::abi::transaction_to_json(
                     transaction, node_resolver(session), chain::abi::TransactionForm::extended)}};
    const auto approvals = find_row(session, arguments, "approvals2");
    if (!approvals) return fail(approvals.error());
    if (!approvals->is_null()) out["approvals"] = *approvals;
    return print_json(out);
}

base::Result<void> vote(const Session& session, const Arguments& arguments, const char* action) {
    const auto levels = levels_from(arguments.at("permissions"));
    if (!levels) return fail(levels.error());
    if (levels->size() != 1) return fail(Errc::invalid, "one permission approves at a time");
    Json data = {{"proposer", arguments.at("proposer")},
                 {"proposal_name", arguments.at("proposal")},
                 {"level", chain::abi::to_json(levels->front())}};
    if (!arguments.at("hash").empty()) data["proposal_hash"] = arguments.at("hash");
    const std::string who = fmt::format(
        "{}@{}", levels->front().actor.to_string(), levels->front().permission.to_string());
    return send_action(session, arguments, {contract_of(arguments), action}, who, data);
}

base::Result<void> approve(const Session& session, const Arguments& arguments) {
    return vote(session, arguments, "approve");
}

base::Result<void> unapprove(const Session& session, const Arguments& arguments) {
    return vote(session, arguments, "unapprove");
}

// cancel and exec: their last member names who does it, the proposer by default.
base::Result<void> finish(const Session& session,
                          const Arguments& arguments,
                          const char* action,
                          const char* member) {
    std::string who = arguments.at(member);
    if (who.empty()) who = arguments.at("proposer");
    return send_action(session,
                       arguments,
                       {contract_of(arguments), action},
                       who,
                       {{"proposer", arguments.at("proposer")},
                        {"proposal_name", arguments.at("proposal")},
                        {member, who}});
}

base::Result<void> cancel(const Session& session, const Arguments& arguments) {
    return finish(session, arguments, "cancel", "canceler");
}

base::Result<void> exec(const Session& session, const Arguments& arguments) {
    return finish(session, arguments, "exec", "executer");
}

base::Result<void> invalidate(const Session& session, const Arguments& arguments) {
    const std::string account = arguments.at("account");
    return send_action(session,
                       arguments,
                       {contract_of(arguments), "invalidate"},
                       account,
                       {{"account", account}});
}

base::Result<void> wrap_exec(const Session& session, const Arguments& arguments) {
    const auto transaction = transaction_argument(session, arguments);
    if (!transaction) return fail(transaction.error());
    const std::string contract = contract_of(arguments, "eosio.wrap");
    const std::string executer = arguments.at("executer");
    auto levels = permissions_from(arguments, {executer, contract});
    if (!levels) return fail(levels.error());
    auto action =
        make_action(session,
                    contract,
                    "exec",
                    Json{{"executer", executer},
                         {"trx",
                          chain::abi::transaction_to_json(
                              *transaction, nullptr, chain::abi::TransactionForm::extended)}},
                    *std::move(levels));
    if (!action) return fail(action.error());
    return send_actions(session, arguments, {*std::move(action)});
}

}  // namespace

void add_multisig_commands(std::vector<Command>& commands) {
    const Positional proposer{"proposer", "who proposed it"};
    const Positional proposal{"proposal", "the proposal's name"};
    const Positional requested{"requested", "whose approval it needs, a JSON array"};
    const Positional transaction{"transaction", "JSON, or a file with it"};
    const Option contract{"contract", 0, "ACCOUNT", "the contract (default: eosio.msig)"};
    const std::vector<Option> options = with_transaction_options({contract});
    std::vector<Option> propose_options = options;
    propose_options.push_back({"hours", 0, "HOURS", "until the proposal expires (default: 24)"});
    commands.push_back({"multisig propose",
                        "Propose a transaction with one action",
                        {proposal,
                         requested,
                         {"permissions", "who authorizes the action, a JSON array"},
                         {"account", "the action's contract"},
                         {"action", "its name"},
                         {"data", "its data: JSON, @FILE or hexadecimal digits"},
                         {"proposer", "who proposes (default: of -p)", true}},
                        propose_options,
                        propose});
    commands.push_back(
        {"multisig propose_trx",
         "Propose a transaction given as JSON",
         {proposal, requested, transaction, {"proposer", "who proposes (default: of -p)", true}},
         options,
         propose_trx});
    commands.push_back(
        {"multisig review", "Show a proposal", {proposer, proposal}, {contract}, review});
    const Positional permission{"permissions", "whose approval: ACCOUNT@PERMISSION or JSON"};
    commands.push_back(
        {"multisig approve",
         "Approve a proposal",
         {proposer, proposal, permission, {"hash", "of the packed transaction", true}},
         options,
         approve});
    commands.push_back({"multisig unapprove",
                        "Take an approval back",
                        {proposer, proposal, permission},
                        options,
                        unapprove});
    commands.push_back(
        {"multisig cancel",
         "Remove a proposal",
         {proposer, proposal, {"canceler", "who does it (default: the proposer)", true}},
         options,
         cancel});
    commands.push_back(
        {"multisig exec",
         "Execute a proposal that is approved",
         {proposer, proposal, {"executer", "who does it (default: the proposer)", true}},
         options,
         exec});
    commands.push_back({"multisig invalidate",
                        "Take all approvals of an account back",
                        {{"account", "the account"}},
                        options,
                        invalidate});
    commands.push_back(
        {"wrap exec",
         "Execute a transaction without the authority of its accounts",
         {{"executer", "who does it"}, transaction},
         with_transaction_options({{"contract", 0, "ACCOUNT", "(default: eosio.wrap)"}}),
         wrap_exec});
}

}  // namespace cli
