// The broker's contract from a shell (spec 08): what all of its commands share, and brokers.
#include "chain/types/exception.hpp"
#include "chain/types/time.hpp"
#include "cli/bps_contract.hpp"
#include "cli/output.hpp"
#include "cli/transaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>

namespace cli {

using base::Errc;
using base::fail;

namespace {

constexpr std::uint64_t kRowsAtOnce = 1'000;

// The node's words name the account or the table only.
base::Error with_remedy(base::Error error, const std::string& contract) {
    const auto is = [&](chain::Exception each) {
        return error.exception == static_cast<std::uint32_t>(each);
    };
    if (is(chain::Exception::account_query_exception) ||
        is(chain::Exception::contract_table_query_exception)) {
        error.detail += fmt::format(
            "; '{}' does not have the broker's contract: set it ('bor-cli set contract {} "
            "CONTRACTS/bps'), or name who has it with --contract",
            contract,
            contract);
    }
    return error;
}

std::string listeners_of(const Json& broker) {
    std::string text;
    for (const Json& each : list_of(broker, "listeners")) {
        text += fmt::format("{}{}://{}:{}",
                            text.empty() ? "" : " ",
                            text_of(each, "protocol"),
                            text_of(each, "host"),
                            shown(each, "port"));
    }
    return text.empty() ? "-" : text;
}

std::string_view state_of(const Json& broker) {
    if (number_of(broker, "boot") == 0) return "not started";
    if (number_of(broker, "fenced") != 0) return "fenced";
    return number_of(broker, "draining") != 0 ? "draining" : "active";
}

base::Result<void> broker_list(const Session& session, const Arguments& arguments) {
    const auto brokers = bps_rows(session, arguments, "brokers");
    if (!brokers) return fail(brokers.error());
    if (session.json) return print_json(*brokers);
    fmt::print(
        "{:>6} {:<13} {:<12} {:>8} {}\n", "broker", "account", "state", "replicas", "listeners");
    for (const Json& each : *brokers) {
        fmt::print("{:>6} {:<13} {:<12} {:>8} {}\n",
                   shown(each, "id"),
                   text_of(each, "account"),
                   state_of(each),
                   shown(each, "replicas"),
                   listeners_of(each));
    }
    return {};
}

base::Result<std::uint64_t> broker_id(const Arguments& arguments) {
    return whole_number("an id of a broker", arguments.at("id"), 0, INT32_MAX);
}

base::Result<void> broker_add(const Session& session, const Arguments& arguments) {
    const auto id = broker_id(arguments);
    if (!id) return fail(id.error());
    return send_bps(session,
                    arguments,
                    "addbroker",
                    bps_contract(arguments),
                    {{"broker", *id}, {"account", arguments.at("account")}});
}

base::Result<void> broker_remove(const Session& session, const Arguments& arguments) {
    const auto id = broker_id(arguments);
    if (!id) return fail(id.error());
    return send_bps(session, arguments, "rmbroker", bps_contract(arguments), {{"broker", *id}});
}

base::Result<void> broker_drain(const Session& session, const Arguments& arguments) {
    const auto id = broker_id(arguments);
    if (!id) return fail(id.error());
    return send_bps(session,
                    arguments,
                    "drain",
                    bps_contract(arguments),
                    {{"broker", *id}, {"draining", !arguments.has("off")}});
}

}  // namespace

const Option& bps_contract_option() {
    static const Option kOption{
        "contract", 0, "ACCOUNT", "who has the broker's contract (default: bps)"};
    return kOption;
}

std::vector<Option> with_bps_options(std::vector<Option> own) {
    own.push_back(bps_contract_option());
    return with_transaction_options(std::move(own));
}

std::string bps_contract(const Arguments& arguments) {
    return arguments.get("contract", "bps");
}

base::Result<Json> bps_rows(const Session& session,
                            const Arguments& arguments,
                            const std::string& scope,
                            std::string_view table) {
    Json rows = Json::array();
    Json ask = {{"code", bps_contract(arguments)},
                {"scope", scope},
                {"table", table},
                {"json", true},
                {"limit", kRowsAtOnce}};
    while (true) {
        const auto answer = call(session.url, "/v1/chain/get_table_rows", ask);
        if (!answer) return fail(with_remedy(answer.error(), bps_contract(arguments)));
        for (const Json& row : list_of(*answer, "rows"))
            rows.push_back(row);
        if (shown(*answer, "more") != "true") return rows;
        ask["lower_bound"] = text_of(*answer, "next_key");
    }
}

base::Result<Json> bps_rows(const Session& session,
                            const Arguments& arguments,
                            std::string_view table) {
    return bps_rows(session, arguments, bps_contract(arguments), table);
}

base::Result<Json> bps_topic(const Session& session,
                             const Arguments& arguments,
                             const std::string& name) {
    const auto topics = bps_rows(session, arguments, "topics");
    if (!topics) return fail(topics.error());
    for (const Json& each : *topics) {
        if (text_of(each, "name") == name) return each;
    }
    return fail(
        Errc::not_found,
        fmt::format("there is no topic '{}'; 'bor-cli bps topic list' shows all there are", name));
}

base::Result<void> send_bps(const Session& session,
                            const Arguments& arguments,
                            const std::string& action,
                            const std::string& actor,
                            const Json& data) {
    return send_action(session, arguments, {bps_contract(arguments), action}, actor, data);
}

base::Result<std::uint64_t> whole_number(std::string_view what,
                                         const std::string& text,
                                         std::uint64_t minimum,
                                         std::uint64_t maximum) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stop == end && minimum <= number && number <= maximum) {
        return number;
    }
    return fail(Errc::invalid,
                fmt::format("'{}' is not {}: {} to {}", text, what, minimum, maximum));
}

std::string delegated_until(std::uint64_t days) {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count() +
                         static_cast<std::int64_t>(days) * 24 * 3'600;
    return chain::TimePointSec{static_cast<std::uint32_t>(seconds)}.to_string();
}

void add_bps_commands(std::vector<Command>& commands) {
    const Positional id{"id", "the broker's number"};
    commands.push_back({"bps brokers",
                        "Show the brokers, where clients find them, and whether they are up",
                        {},
                        {bps_contract_option()},
                        broker_list});
    commands.push_back({"bps broker add",
                        "Let an account be a broker; by the contract's account",
                        {id, {"account", "whose broker it is"}},
                        with_bps_options({}),
                        broker_add});
    commands.push_back({"bps broker remove",
                        "Remove a broker that has no replicas; by the contract's account",
                        {id},
                        with_bps_options({}),
                        broker_remove});
    commands.push_back({"bps broker drain",
                        "Give a broker no new replicas; by the contract's account",
                        {id},
                        with_bps_options({{"off", 0, "", "give it some again"}}),
                        broker_drain});
    add_bps_topic_commands(commands);
    add_bps_right_commands(commands);
    add_bps_quota_commands(commands);
    add_bps_token_commands(commands);
    add_bps_produce_command(commands);
    add_bps_consume_command(commands);
    add_bps_group_commands(commands);
}

}  // namespace cli
