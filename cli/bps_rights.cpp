// Who may do what at the broker, from a shell (spec 08, "Who is who").
#include "chain/types/time.hpp"
#include "cli/bps_contract.hpp"
#include "cli/output.hpp"
#include "cli/transaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::array<std::string_view, 3> kOperations = {"produce", "consume", "admin"};

base::Error no_such_right(const std::string& word) {
    return {Errc::invalid, fmt::format("'{}' is no right: produce, consume or admin", word)};
}

std::string_view word_of_operation(std::uint64_t operation) {
    return operation < kOperations.size() ? kOperations.at(operation) : "?";
}

// ACCOUNT or ACCOUNT@PERMISSION; without one any permission has it.
base::Result<std::pair<std::string, std::string>> grantee_from(const std::string& text) {
    if (text.find('@') == std::string::npos) return std::pair(text, std::string());
    const auto level = permission_from(text);
    if (!level) return fail(level.error());
    return std::pair(level->actor.to_string(), level->permission.to_string());
}

base::Result<void> grant(const Session& session, const Arguments& arguments) {
    const std::string word = arguments.at("right");
    const auto* const operation = std::ranges::find(kOperations, word);
    if (operation == kOperations.end()) {
        return fail(no_such_right(word));
    }
    const auto to = grantee_from(arguments.at("account"));
    if (!to) return fail(to.error());
    const auto first = arguments.number("from", 0, 0, UINT32_MAX);
    if (!first) return fail(first.error());
    const auto last = arguments.number("to", 0, 0, UINT32_MAX);
    if (!last) return fail(last.error());
    const std::string owner = arguments.at("owner");
    return send_bps(session,
                    arguments,
                    "grant",
                    owner,
                    {{"by", owner},
                     {"owner", owner},
                     {"terms",
                      {{"resource", arguments.has("group") ? 1 : 0},
                       {"prefixed", arguments.has("prefix")},
                       {"name", arguments.at("name")},
                       {"account", to->first},
                       {"permission", to->second},
                       {"operation", operation - kOperations.begin()},
                       {"first", *first},
                       {"last", *last}}}});
}

constexpr std::size_t kRevokedAtOnce = 128;  // By one action of the contract.
constexpr std::array<std::string_view, 3> kRevokedBy = {"name", "account", "right"};

std::string name_of(const Json& grant) {
    return text_of(grant, "name") + (number_of(grant, "prefixed") != 0 ? "*" : "");
}

std::string grantee_of(const Json& grant) {
    const std::string permission = text_of(grant, "permission");
    const std::string account = text_of(grant, "account");
    return permission.empty() ? account : fmt::format("{}@{}", account, permission);
}

// As 'bps grants' shows them. An account alone means its permissions, too.
bool is_meant(const Json& grant, const Arguments& arguments) {
    const std::string to = arguments.get("account");
    const std::string name = arguments.get("name");
    return (name.empty() || name == name_of(grant)) &&
           (to.empty() || to == grantee_of(grant) || to == text_of(grant, "account")) &&
           (!arguments.has("right") ||
            arguments.get("right") == word_of_operation(number_of(grant, "operation")));
}

// Their numbers.
base::Result<Json> grants_meant(const Session& session, const Arguments& arguments) {
    const std::string owner = arguments.at("owner");
    const auto rows = bps_rows(session, arguments, owner, "grants");
    if (!rows) return fail(rows.error());
    Json ids = Json::array();
    for (const Json& each : *rows) {
        if (is_meant(each, arguments)) ids.push_back(number_of(each, "id"));
    }
    if (!ids.empty()) return ids;
    return fail(Errc::not_found,
                fmt::format("{0} has no such grant; 'bor-cli bps grants {0}' shows all", owner));
}

base::Result<Json> grants_typed(const Arguments& arguments) {
    Json ids = Json::array();
    for (const std::string& text : arguments.rest()) {
        const auto id = whole_number("the number of a grant", text, 0, UINT64_MAX);
        if (!id) return fail(id.error());
        ids.push_back(*id);
    }
    return ids;
}

base::Result<void> revoke(const Session& session, const Arguments& arguments) {
    const bool is_by_terms =
        std::ranges::any_of(kRevokedBy, [&](std::string_view each) { return arguments.has(each); });
    if (is_by_terms != arguments.rest().empty()) {
        return fail(Errc::invalid,
                    "which grants? Give their numbers, of 'bps grants', or --name, --account and "
                    "--right of those that are meant");
    }
    // As of a script whose variable is not set: it would mean all.
    for (const std::string_view each : kRevokedBy) {
        if (!arguments.has(each) || !arguments.get(each).empty()) continue;
        return fail(Errc::invalid,
                    fmt::format("--{} is empty: give a value, or leave it out", each));
    }
    if (const std::string right = arguments.get("right");
        !right.empty() && std::ranges::find(kOperations, right) == kOperations.end()) {
        return fail(no_such_right(right));
    }
    const auto ids = is_by_terms ? grants_meant(session, arguments) : grants_typed(arguments);
    if (!ids) return fail(ids.error());
    const std::string owner = arguments.at("owner");
    for (std::size_t at = 0; at < ids->size(); at += kRevokedAtOnce) {
        Json some = Json::array();
        for (std::size_t i = at; i < std::min(at + kRevokedAtOnce, ids->size()); ++i)
            some.push_back((*ids)[i]);
        const Json data = {{"by", owner}, {"owner", owner}, {"grants", std::move(some)}};
        if (auto sent = send_bps(session, arguments, "revoke", owner, data); !sent) return sent;
    }
    return {};
}

std::string heights_of(const Json& grant) {
    const std::string last = shown(grant, "last");
    if (last != "0") return fmt::format("blocks {} to {}", shown(grant, "first"), last);
    if (shown(grant, "first") == "0") return "always";
    return fmt::format("from block {}", shown(grant, "first"));
}

void print_grant(const Json& row) {
    fmt::print("{:>8} {:<22} {:<8} {:<6} {:<40} {}\n",
               shown(row, "id"),
               grantee_of(row),
               word_of_operation(number_of(row, "operation")),
               number_of(row, "resource") == 0 ? "topic" : "group",
               name_of(row),
               heights_of(row));
}

base::Result<void> grants(const Session& session, const Arguments& arguments) {
    const auto rows = bps_rows(session, arguments, arguments.at("owner"), "grants");
    if (!rows) return fail(rows.error());
    if (session.json) return print_json(*rows);
    fmt::print(
        "{:>8} {:<22} {:<8} {:<6} {:<40} {}\n", "grant", "to", "right", "of", "name", "when");
    for (const Json& each : *rows)
        print_grant(each);
    return {};
}

base::Result<void> reserve(const Session& session, const Arguments& arguments) {
    const std::string owner = arguments.at("owner");
    return send_bps(session,
                    arguments,
                    "reserve",
                    owner,
                    {{"owner", owner}, {"prefix", arguments.at("prefix")}});
}

base::Result<void> unreserve(const Session& session, const Arguments& arguments) {
    const std::string owner = arguments.at("owner");
    return send_bps(session,
                    arguments,
                    "unreserve",
                    owner,
                    {{"owner", owner}, {"prefix", arguments.at("prefix")}});
}

bool has_passed(const Json& delegation) {
    const auto until = chain::TimePointSec::from_string(text_of(delegation, "until"));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return until && std::chrono::seconds(until->seconds) <= now;
}

// A broker has one delegation of an owner, and the contract replaces it: what it may do already
// stays, unless it is for other names. Returns the end of that, where there is more than what was
// named now: the end must not move without a word.
base::Result<std::optional<std::string>> add_delegated(const Session& session,
                                                       const Arguments& arguments,
                                                       std::uint64_t broker,
                                                       Json& actions) {
    const std::string owner = arguments.at("owner");
    const auto rows = bps_rows(session, arguments, owner, "delegations");
    if (!rows) return fail(rows.error());
    for (const Json& row : *rows) {
        if (number_of(row, "broker") != broker || has_passed(row)) continue;
        if (text_of(row, "prefix") != arguments.get("prefix")) {
            return fail(
                Errc::invalid,
                fmt::format("{0} has delegated things of names that begin with '{1}' to "
                            "broker {2}, which has one prefix of an owner: leave --prefix "
                            "out for all names, or give --replace; 'bor-cli bps delegations "
                            "{0}' shows it",
                            owner,
                            text_of(row, "prefix"),
                            broker));
        }
        const std::size_t named = actions.size();
        for (const Json& each : list_of(row, "actions")) {
            if (std::ranges::find(actions, each) == actions.end()) actions.push_back(each);
        }
        if (actions.size() == named) continue;
        const std::string until = text_of(row, "until");
        if (!arguments.has("days")) return std::optional(until);
        return fail(Errc::invalid,
                    fmt::format("what broker {} may do for {} has one end, and {} was delegated "
                                "until {}: leave --days out to keep that, or name it, too",
                                broker,
                                owner,
                                shown(actions[named]),
                                until));
    }
    return std::optional<std::string>();
}

base::Result<void> delegations(const Session& session, const Arguments& arguments) {
    const auto rows = bps_rows(session, arguments, arguments.at("owner"), "delegations");
    if (!rows) return fail(rows.error());
    if (session.json) return print_json(*rows);
    fmt::print("{:>6} {:<13} {:<20} {:<20} {}\n", "broker", "account", "until", "names", "actions");
    for (const Json& row : *rows) {
        std::string actions;
        for (const Json& each : list_of(row, "actions"))
            actions += (actions.empty() ? "" : " ") + shown(each);
        fmt::print("{:>6} {:<13} {:<20} {:<20} {}\n",
                   shown(row, "broker"),
                   text_of(row, "account"),
                   has_passed(row) ? "over" : text_of(row, "until"),
                   text_of(row, "prefix") + "*",
                   actions);
    }
    return {};
}

base::Result<void> delegate(const Session& session, const Arguments& arguments) {
    const auto broker = whole_number("an id of a broker", arguments.at("broker"), 0, INT32_MAX);
    if (!broker) return fail(broker.error());
    const auto days = arguments.number("days", kDelegatedDays, 1, 10 * kDelegatedDays);
    if (!days) return fail(days.error());
    Json actions = Json::array();
    for (const std::string& each : arguments.rest())
        actions.push_back(each);
    const std::string owner = arguments.at("owner");
    std::string until = delegated_until(*days);
    if (!arguments.has("replace")) {
        const auto kept = add_delegated(session, arguments, *broker, actions);
        if (!kept) return fail(kept.error());
        until = kept->value_or(until);
        if (*kept) fmt::print(stderr, "until {}, as what was delegated before\n", until);
    }
    return send_bps(session,
                    arguments,
                    "delegate",
                    owner,
                    {{"owner", owner},
                     {"broker", *broker},
                     {"actions", actions},
                     {"prefix", arguments.get("prefix")},
                     {"until", until}});
}

base::Result<void> undelegate(const Session& session, const Arguments& arguments) {
    const std::string owner = arguments.at("owner");
    return send_bps(session,
                    arguments,
                    "undelegate",
                    owner,
                    {{"owner", owner}, {"account", arguments.at("account")}});
}

}  // namespace

void add_bps_right_commands(std::vector<Command>& commands) {
    const Positional owner{"owner", "whose names they are"};
    const Positional prefix{"prefix", "how the names begin"};
    commands.push_back({"bps grant",
                        "Let an account use a topic or a group",
                        {owner,
                         {"name", "of the topic or group"},
                         {"account", "who may: ACCOUNT or ACCOUNT@PERMISSION"},
                         {"right", "produce, consume or admin"}},
                        with_bps_options({{"group", 0, "", "it is the name of a group"},
                                          {"prefix", 0, "", "it is how names begin"},
                                          {"from", 0, "HEIGHT", "from this block on"},
                                          {"to", 0, "HEIGHT", "up to this block"}}),
                        grant});
    commands.push_back(
        {"bps revoke",
         "Take grants back",
         {owner, {"grants", "their numbers, of 'bps grants'", true, true}},
         with_bps_options(
             {{"name", 0, "NAME", "instead: all of what 'bps grants' shows by this name"},
              {"account", 0, "ACCOUNT[@PERMISSION]", "all that it was given"},
              {"right", 0, "RIGHT", "all of this right"}}),
         revoke});
    commands.push_back(
        {"bps grants", "Show what an owner granted", {owner}, {bps_contract_option()}, grants});
    commands.push_back({"bps reserve",
                        "Keep names for an owner; others may not make topics that begin so",
                        {owner, prefix},
                        with_bps_options({}),
                        reserve});
    commands.push_back({"bps unreserve",
                        "Keep such names no longer",
                        {owner, prefix},
                        with_bps_options({}),
                        unreserve});
    commands.push_back(
        {"bps delegate",
         "Let a broker act for an owner, so that Kafka clients can make topics and grants",
         {owner,
          {"broker", "its number"},
          {"actions",
           "createtopic, altertopic, deletetopic, addparts, deleterecs, reassign, grant, revoke",
           false,
           true}},
         with_bps_options(
             {{"prefix", 0, "TEXT", "of names that begin so (default: all)"},
              {"days", 0, "COUNT", "for so long (default: 365, or as what it may do already)"},
              {"replace", 0, "", "and nothing that was delegated to it before"}}),
         delegate});
    commands.push_back({"bps delegations",
                        "Show what brokers may do for an owner",
                        {owner},
                        {bps_contract_option()},
                        delegations});
    commands.push_back({"bps undelegate",
                        "Let a broker act for an owner no longer",
                        {owner, {"account", "the broker's account"}},
                        with_bps_options({}),
                        undelegate});
}

}  // namespace cli
