#include "cli/output.hpp"
#include "cli/transaction.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;
using chain::abi::TransactionForm;

base::Result<void> pack_transaction(const Session& session, const Arguments& arguments) {
    const auto json = json_argument(arguments.at("transaction"));
    if (!json) return fail(json.error());
    // Without --pack-action-data, data must be packed already, and no node is asked.
    const auto resolver =
        arguments.has("pack-action-data") ? node_resolver(session) : chain::abi::Resolver();
    const auto transaction = chain::abi::transaction_from_json(*json, resolver);
    if (!transaction) return fail(transaction.error());
    const auto compression =
        arguments.has("compression") ? chain::Compression::zlib : chain::Compression::none;
    return print_json(chain::abi::packed_transaction_to_json(
        chain::PackedTransaction::pack(*transaction, compression)));
}

base::Result<void> unpack_transaction(const Session& session, const Arguments& arguments) {
    const auto json = json_argument(arguments.at("transaction"));
    if (!json) return fail(json.error());
    const auto transaction = unpacked(session, *json);
    if (!transaction) return fail(transaction.error());
    const auto resolver =
        arguments.has("unpack-action-data") ? node_resolver(session) : chain::abi::Resolver();
    return print_json(
        chain::abi::transaction_to_json(*transaction, resolver, TransactionForm::with_signatures));
}

struct ActionType {
    chain::abi::SerializerPtr serializer;
    std::string_view type;  // Borrowed from the serializer.
};

base::Result<ActionType> action_type(const Session& session, const Arguments& arguments) {
    const auto account = chain::Name::from_string(arguments.at("account"));
    if (!account) return fail(account.error());
    const auto name = chain::Name::from_string(arguments.at("action"));
    if (!name) return fail(name.error());
    ActionType found{node_resolver(session)(*account), {}};
    if (found.serializer == nullptr) {
        return fail(no_abi(session, arguments.at("account"), ""));
    }
    found.type = found.serializer->action_type(*name);
    if (!found.type.empty()) return found;
    return fail(
        Errc::not_found,
        fmt::format(
            "the ABI of '{}' has no action '{}'", arguments.at("account"), arguments.at("action")));
}

base::Result<void> pack_action_data(const Session& session, const Arguments& arguments) {
    const auto json = json_argument(arguments.at("data"));
    if (!json) return fail(json.error());
    const auto found = action_type(session, arguments);
    if (!found) return fail(found.error());
    const auto bytes = found->serializer->to_binary(found->type, *json);
    if (!bytes) return fail(bytes.error());
    fmt::print("{}\n", base::to_hex(*bytes));
    return {};
}

base::Result<void> unpack_action_data(const Session& session, const Arguments& arguments) {
    const auto bytes = base::from_hex(arguments.at("data"));
    if (!bytes) return fail(bytes.error());
    const auto found = action_type(session, arguments);
    if (!found) return fail(found.error());
    const auto json = found->serializer->to_json(found->type, *bytes);
    if (!json) return fail(json.error());
    return print_json(*json);
}

base::Result<void> transaction_id(const Session& session, const Arguments& arguments) {
    const auto transaction = any_transaction_argument(session, arguments);
    if (!transaction) return fail(transaction.error());
    fmt::print("{}\n", base::to_hex(transaction->id().view()));
    return {};
}

}  // namespace

void add_convert_commands(std::vector<Command>& commands) {
    const Positional transaction{"transaction", "JSON, or a file with it"};
    const std::vector<Positional> of_action{{"account", "the contract's account"},
                                            {"action", "the action's name"}};
    commands.push_back({"convert pack_transaction",
                        "Pack a transaction given as JSON",
                        {transaction},
                        {{"pack-action-data", 0, "", "pack its actions' data by their ABI"},
                         {"compression", 0, "", "compress it by zlib"}},
                        pack_transaction});
    commands.push_back({"convert unpack_transaction",
                        "Show a packed transaction as JSON",
                        {{"transaction", "packed, as JSON, or a file with it"}},
                        {{"unpack-action-data", 0, "", "unpack its actions' data by their ABI"}},
                        unpack_transaction});
    std::vector<Positional> positionals = of_action;
    positionals.push_back({"data", "JSON, or a file with it"});
    commands.push_back({"convert pack_action_data",
                        "Pack an action's data by its ABI",
                        positionals,
                        {},
                        pack_action_data});
    positionals.back() = {"data", "hexadecimal digits"};
    commands.push_back({"convert unpack_action_data",
                        "Show an action's packed data by its ABI",
                        positionals,
                        {},
                        unpack_action_data});
    commands.push_back({"get transaction_id",
                        "Show the id of a transaction given as JSON",
                        {{"transaction", "JSON, packed or not, or a file with it"}},
                        {},
                        transaction_id});
}

}  // namespace cli
