#include "cli/members.hpp"

#include "cli/output.hpp"
#include "cli/transaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::array<std::string_view, 4> kRoles = {"validator", "observer", "broker", "gateway"};

// One action of eosio, by eosio unless -p says otherwise.
base::Result<void> send_one(const Session& session,
                            const Arguments& arguments,
                            const std::string& name,
                            const Json& data) {
    return send_action(session, arguments, {"eosio", name}, "eosio", data);
}

// --- validators ------------------------------------------------------------------------------

std::string promise(const Json& validator, std::string_view key) {
    const Json& value = member_of(validator, key);
    if (!value.is_object()) return "-";
    return fmt::format("{} {}", text_of(value, "kind"), number_of(value, "block_num"));
}

void print_validator(const Json& validator) {
    const std::string voted = shown(validator, "voted_final");
    const bool own = shown(validator, "own") == "true";
    const bool connected = shown(validator, "connected") == "true";
    fmt::print("{:<13} {:<12} {:<16} {:<16} {:<14} {}\n",
               text_of(validator, "producer"),
               voted == "true"    ? "signed"
               : voted == "false" ? "not in it"
                                  : "-",
               promise(validator, "last_vote"),
               promise(validator, "lock"),
               own         ? "this node"
               : connected ? "connected"
                           : "not connected",
               shown(validator, "clock_offset_ms"));
}

void print_standby(const Json& candidate, const Json& answer) {
    const std::uint64_t least = number_of(answer, "votes_to_enter");
    const bool has_enough = number_of(candidate, "votes") >= least;
    fmt::print("{:<13} standby, {} votes{}{}\n",
               text_of(candidate, "producer"),
               shown(candidate, "votes"),
               shown(candidate, "registered") != "true" ? ", not registered"
               : shown(candidate, "ready") == "true"    ? ", ready"
                                                     : ", not ready: its node says so once it is "
                                                       "synced and has producer-name and the key",
               has_enough
                   ? ""
                   : fmt::format("; it enters with {}, more than a third of the {} that are cast",
                                 least,
                                 shown(answer, "votes_cast")));
}

base::Result<void> validators(const Session& session, const Arguments& /*arguments*/) {
    const auto finality = call(session.url, "/v1/bor/finality", Json());
    if (!finality) return fail(finality.error());
    const auto candidates = call(session.url, "/v1/bor/validators", Json());
    if (!candidates) return fail(candidates.error());
    if (session.json) return print_json(*candidates);
    fmt::print("{:<13} {:<12} {:<16} {:<16} {:<14} {}\n",
               "validator",
               "certificate",
               "last vote",
               "lock",
               "connection",
               "clock ms");
    for (const Json& each : list_of(*finality, "validators"))
        print_validator(each);
    for (const Json& each : list_of(*candidates, "candidates")) {
        if (const std::string key = text_of(each, "waiting_vote_key"); !key.empty()) {
            fmt::print(
                "{0:<13} changes to {1} once a bor-node says ready that is synced, holds it, and "
                "holds the old one or has producer-name = {0}\n",
                text_of(each, "producer"),
                key);
        }
        if (shown(each, "in_schedule") == "true") continue;
        if (shown(each, "convicted") == "true") {
            fmt::print(
                "{:<13} convicted, since evidence against its key is on the chain "
                "('bor-cli doctor')\n",
                text_of(each, "producer"));
            continue;
        }
        print_standby(each, *candidates);
    }
    if (const std::string why = text_of(*finality, "waiting"); !why.empty()) {
        fmt::print("{}\n", why);
    }
    return {};
}

// --- member ----------------------------------------------------------------------------------

base::Result<void> member_list(const Session& session, const Arguments& /*arguments*/) {
    const auto answer = call(session.url, "/v1/bor/validators", Json());
    if (!answer) return fail(answer.error());
    const Json& members = list_of(*answer, "members");
    if (session.json) return print_json(members);
    for (const Json& each : members)
        fmt::print("{:<13} weight {}\n", text_of(each, "name"), shown(each, "weight"));
    return {};
}

base::Result<void> member_add(const Session& session, const Arguments& arguments) {
    return send_one(session, arguments, "addmember", {{"member", arguments.at("name")}});
}

base::Result<void> member_remove(const Session& session, const Arguments& arguments) {
    return send_one(session, arguments, "rmmember", {{"member", arguments.at("name")}});
}

base::Result<void> member_weight(const Session& session, const Arguments& arguments) {
    return send_one(session,
                    arguments,
                    "setweight",
                    {{"member", arguments.at("name")}, {"weight", arguments.at("weight")}});
}

// --- node ------------------------------------------------------------------------------------

base::Result<std::uint32_t> roles_of(const std::vector<std::string>& words) {
    std::uint32_t roles = 0;
    for (const std::string& word : words) {
        const auto* const found = std::ranges::find(kRoles, word);
        if (found == kRoles.end()) {
            return fail(
                Errc::invalid,
                fmt::format("'{}' is no role: validator, observer, broker or gateway", word));
        }
        roles |= 1U << static_cast<unsigned>(found - kRoles.begin());
    }
    return roles == 0 ? 1U : roles;
}

base::Result<void> check_node_key(const std::string& text) {
    const auto key = base::crypto::PublicKey::from_string(text);
    if (key && key->type == base::crypto::KeyType::r1) return {};
    return fail(Errc::invalid,
                fmt::format("'{}' is no key of a node: these are R1 keys, PUB_R1_...; "
                            "'bor-cli key create --r1 --node --file FILE' makes one",
                            text));
}

// To register a name again is to give it another key at once: with this key the node of now is cut
// off, a validator's too, so nobody may do that by a name that happens to be taken.
base::Result<void> check_unregistered(const Session& session,
                                      const std::string& name,
                                      const std::string& organisation,
                                      const std::string& key,
                                      std::uint32_t roles) {
    const auto answer = call(session.url, "/v1/bor/validators", Json());
    if (!answer) return fail(answer.error());
    const Json* const node = find_node(*answer, name);
    if (node == nullptr) return {};
    std::vector<std::string> words;
    for (const Json& role : list_of(*node, "roles"))
        words.push_back(shown(role));
    const auto present = roles_of(words);
    const bool is_same = text_of(*node, "key") == key &&
                         text_of(*node, "organisation") == organisation && present &&
                         *present == roles;
    if (is_same) return {};
    return fail(
        Errc::invalid,
        fmt::format("{}; nothing is changed. Take another name for another node. To change "
                    "the key, 'bor-cli node rotate {} KEY' lets the old one stay good for a "
                    "while; --replace puts key, organisation and roles in place of these "
                    "at once",
                    registered_text(*node),
                    name));
}

base::Result<void> node_list(const Session& session, const Arguments& /*arguments*/) {
    const auto answer = call(session.url, "/v1/bor/validators", Json());
    if (!answer) return fail(answer.error());
    const Json& nodes = list_of(*answer, "nodes");
    if (session.json) return print_json(nodes);
    for (const Json& each : nodes) {
        fmt::print("{:<13} of {:<13} {:<20} {}\n",
                   text_of(each, "node"),
                   text_of(each, "organisation"),
                   shown(each, "roles"),
                   text_of(each, "key"));
    }
    return {};
}

base::Result<void> node_add(const Session& session, const Arguments& arguments) {
    const std::string key = arguments.at("key");
    if (auto good = check_node_key(key); !good) return good;
    const auto roles = roles_of(arguments.all("role"));
    if (!roles) return fail(roles.error());
    const std::string name = arguments.at("node");
    const std::string organisation = arguments.at("organisation");
    if (!arguments.has("replace")) {
        auto good = check_unregistered(session, name, organisation, key, *roles);
        if (!good) return good;
    }
    return send_one(
        session,
        arguments,
        "regnode",
        {{"organisation", organisation}, {"node", name}, {"key", key}, {"roles", *roles}});
}

// A node has two keys at most: another one ends that which it is rotating from, at once.
base::Result<void> check_rotates_no_more(const Session& session,
                                         const std::string& name,
                                         const std::string& key) {
    const auto nodes = call(session.url, "/v1/bor/validators", Json());
    const Json* const node = nodes ? find_node(*nodes, name) : nullptr;
    if (node == nullptr) return {};
    const std::string previous = text_of(*node, "previous_key");
    const auto until = chain::TimePointSec::from_string(text_of(*node, "previous_until"));
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
    if (previous.empty() || previous == key || !until || until->seconds <= now.count()) return {};
    return fail(
        Errc::invalid,
        fmt::format("the node {} rotates already, to {}: its key before, {}, is good until "
                    "{} and would end at once, with the node's connections if it still runs "
                    "with that. Nothing is changed. Restart it with the new key and wait "
                    "until then, or take that back ('bor-cli node rotate {} {}'); --force "
                    "ends it now",
                    name,
                    text_of(*node, "key"),
                    previous,
                    until->to_string(),
                    name,
                    previous));
}

base::Result<void> node_rotate(const Session& session, const Arguments& arguments) {
    const std::string key = arguments.at("key");
    if (auto good = check_node_key(key); !good) return good;
    if (!arguments.has("force")) {
        auto good = check_rotates_no_more(session, arguments.at("node"), key);
        if (!good) return good;
    }
    constexpr std::uint64_t kYear = 365 * 24 * 3600;
    const auto keep = arguments.number("keep", 3600, 1, kYear);
    if (!keep) return fail(keep.error());
    const auto until = std::chrono::duration_cast<std::chrono::seconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count() +
                       static_cast<std::int64_t>(*keep);
    const chain::TimePointSec time{static_cast<std::uint32_t>(until)};
    return send_one(session,
                    arguments,
                    "rotatekey",
                    {{"node", arguments.at("node")}, {"key", key}, {"until", time.to_string()}});
}

// Whose vote key this node holds, of the validators in the schedule; empty: nobody's, as far as the
// node sees that is asked.
std::string votes_for(const Json& node, const Json& peers, const Json& finality) {
    const auto is_its_key = [&](const std::string& key) {
        return !key.empty() &&
               (key == text_of(node, "key") || key == text_of(node, "previous_key"));
    };
    const bool is_asked = is_its_key(text_of(finality, "node_key"));
    for (const Json& validator : list_of(finality, "validators")) {
        if (is_asked && shown(validator, "own") == "true") return text_of(validator, "producer");
        for (const Json& peer : list_of(peers, "peers")) {
            const Json& keys = list_of(peer, "vote_keys");
            const bool has_vote_key =
                std::ranges::find(keys, Json(text_of(validator, "vote_key"))) != keys.end();
            if (has_vote_key && is_its_key(text_of(peer, "node_key"))) {
                return text_of(validator, "producer");
            }
        }
    }
    return "";
}

// The chain counts registered keys; only a node sees which of its peers are alive. Where that does
// not answer the chain alone decides.
base::Result<void> check_dispensable(const Session& session, const std::string& name) {
    const auto nodes = call(session.url, "/v1/bor/validators", Json());
    const auto peers = call(session.url, "/v1/bor/peers", Json());
    const auto finality = call(session.url, "/v1/bor/finality", Json());
    const Json* const node = nodes ? find_node(*nodes, name) : nullptr;
    if (node == nullptr || !peers || !finality) return {};
    const std::string validator = votes_for(*node, *peers, *finality);
    if (validator.empty()) return {};
    return fail(
        Errc::invalid,
        fmt::format("the node {} runs and holds the vote key of {}, which is in the "
                    "schedule: without this node it votes no more, and with too few that vote "
                    "nothing becomes final, so that this cannot be undone. Nothing is changed. "
                    "Remove another node of its member if that one is gone ('bor-cli node "
                    "list'), or take {} out of the schedule first ('bor-cli validators'); "
                    "--force removes the node all the same",
                    name,
                    validator,
                    validator));
}

base::Result<void> node_remove(const Session& session, const Arguments& arguments) {
    if (!arguments.has("force")) {
        auto good = check_dispensable(session, arguments.at("node"));
        if (!good) return good;
    }
    return send_one(session, arguments, "rmnode", {{"node", arguments.at("node")}});
}

}  // namespace

const Json* find_node(const Json& validators, std::string_view name) {
    const Json& nodes = list_of(validators, "nodes");
    const auto found = std::ranges::find_if(
        nodes, [&](const Json& each) { return text_of(each, "node") == name; });
    return found == nodes.end() ? nullptr : &*found;
}

std::string registered_text(const Json& node) {
    std::string roles;
    for (const Json& role : list_of(node, "roles")) {
        if (!roles.empty()) roles += ", ";
        roles += shown(role);
    }
    return fmt::format("the node {} is registered already, by {} as {}, with the key {}",
                       text_of(node, "node"),
                       text_of(node, "organisation"),
                       roles,
                       text_of(node, "key"));
}

void add_member_commands(std::vector<Command>& commands) {
    const std::vector<Option> sends = with_transaction_options({});
    const Positional member{"name", "the member's account"};
    const Positional node{"node", "the node's name"};
    const Positional key{"key", "its public key, PUB_R1_..."};
    commands.push_back(
        {"validators", "Show who agrees on blocks, and who would", {}, {}, validators});
    commands.push_back({"member list", "Show the members and their weights", {}, {}, member_list});
    commands.push_back({"member add", "Make an account a member", {member}, sends, member_add});
    commands.push_back({"member remove",
                        "Take a member out; its nodes are revoked at once",
                        {member},
                        sends,
                        member_remove});
    commands.push_back({"member weight",
                        "Set how much a member's vote counts",
                        {member, {"weight", "a whole number; 1 at first"}},
                        sends,
                        member_weight});
    commands.push_back({"node list", "Show the nodes that may connect", {}, {}, node_list});
    commands.push_back(
        {"node add",
         "Register a node",
         {{"organisation", "the account that it belongs to"}, node, key},
         with_transaction_options(
             {{"role", 0, "ROLE", "validator (default), observer, broker or gateway; several"},
              {"replace",
               0,
               "",
               "also if the name is registered: key, organisation and roles change at once"}}),
         node_add});
    commands.push_back(
        {"node rotate",
         "Give a node another key; the old one stays good for a while",
         {node, key},
         with_transaction_options(
             {{"keep", 0, "SECONDS", "how long (default: 3600)"},
              {"force", 0, "", "also while an earlier key of it is good: that one ends at once"}}),
         node_rotate});
    commands.push_back(
        {"node remove",
         "Revoke a node: it is disconnected at once",
         {node},
         with_transaction_options(
             {{"force", 0, "", "also where a validator of the schedule votes by it"}}),
         node_remove});
}

}  // namespace cli
