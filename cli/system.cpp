#include "base/crypto/typed_keys.hpp"
#include "cli/output.hpp"
#include "cli/transaction.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cli {

namespace {

using base::Errc;
using base::fail;

base::Result<void> regproducer(const Session& session, const Arguments& arguments) {
    const std::string account = arguments.at("account");
    std::string text = arguments.at("location");
    if (text.empty()) text = "0";
    if (text.size() > 5 || text.find_first_not_of("0123456789") != std::string::npos) {
        return fail(Errc::invalid, fmt::format("'{}' is no location: 0 to 65535", text));
    }
    const auto key = base::crypto::read_public_key(arguments.at("key"));
    if (!key) return fail(key.error());
    return send_action(session,
                       arguments,
                       {"eosio", "regproducer"},
                       account,
                       {{"producer", account},
                        {"producer_key", key->to_string()},
                        {"url", arguments.at("url")},
                        {"location", std::stoul(text)}});
}

base::Result<void> unregprod(const Session& session, const Arguments& arguments) {
    const std::string account = arguments.at("account");
    return send_action(
        session, arguments, {"eosio", "unregprod"}, account, {{"producer", account}});
}

base::Result<void> send_votes(const Session& session,
                              const Arguments& arguments,
                              const std::string& proxy,
                              const std::vector<std::string>& producers) {
    // The system contract wants them in the order of their numbers.
    std::vector<chain::Name> names;
    names.reserve(producers.size());
    for (const std::string& text : producers) {
        const auto name = chain::Name::from_string(text);
        if (!name) return fail(name.error());
        names.push_back(*name);
    }
    std::ranges::sort(names);
    Json list = Json::array();
    for (const chain::Name& name : names)
        list.push_back(name.to_string());
    const std::string voter = arguments.at("voter");
    return send_action(session,
                       arguments,
                       {"eosio", "voteproducer"},
                       voter,
                       {{"voter", voter}, {"proxy", proxy}, {"producers", list}});
}

base::Result<void> vote_proxy(const Session& session, const Arguments& arguments) {
    return send_votes(session, arguments, arguments.at("proxy"), {});
}

base::Result<void> vote_prods(const Session& session, const Arguments& arguments) {
    return send_votes(session, arguments, "", arguments.rest());
}

// The producers of the account's newest vote.
base::Result<std::vector<std::string>> votes_of(const Session& session, const std::string& voter) {
    const auto answer = call(session.url, "/v1/chain/get_account", {{"account_name", voter}});
    if (!answer) return fail(answer.error());
    std::vector<std::string> votes;
    const Json& info = answer->at("voter_info");
    if (info.is_null()) return votes;
    for (const Json& producer : info.at("producers"))
        votes.push_back(producer.get<std::string>());
    return votes;
}

base::Result<void> vote_approve(const Session& session, const Arguments& arguments) {
    auto votes = votes_of(session, arguments.at("voter"));
    if (!votes) return fail(votes.error());
    const std::string producer = arguments.at("producer");
    if (std::ranges::find(*votes, producer) != votes->end()) {
        return fail(Errc::invalid, fmt::format("the voter votes for {} already", producer));
    }
    votes->push_back(producer);
    return send_votes(session, arguments, "", *votes);
}

base::Result<void> vote_unapprove(const Session& session, const Arguments& arguments) {
    auto votes = votes_of(session, arguments.at("voter"));
    if (!votes) return fail(votes.error());
    const std::string producer = arguments.at("producer");
    if (std::erase(*votes, producer) == 0) {
        return fail(Errc::invalid, fmt::format("the voter does not vote for {}", producer));
    }
    return send_votes(session, arguments, "", *votes);
}

base::Result<void> listproducers(const Session& session, const Arguments& arguments) {
    const auto limit = arguments.number("limit", 50, 1, 1000);
    if (!limit) return fail(limit.error());
    const auto answer =
        call(session.url,
             "/v1/chain/get_producers",
             {{"json", true}, {"lower_bound", arguments.get("lower")}, {"limit", *limit}});
    if (!answer) return fail(answer.error());
    if (session.json) return print_json(*answer);
    for (const Json& row : answer->at("rows")) {
        fmt::print("{:<13} {}\n", text_of(row, "owner"), text_of(row, "producer_key"));
    }
    return {};
}

base::Result<void> regproxy(const Session& session, const Arguments& arguments) {
    const std::string proxy = arguments.at("proxy");
    return send_action(
        session, arguments, {"eosio", "regproxy"}, proxy, {{"proxy", proxy}, {"isproxy", true}});
}

base::Result<void> unregproxy(const Session& session, const Arguments& arguments) {
    const std::string proxy = arguments.at("proxy");
    return send_action(
        session, arguments, {"eosio", "regproxy"}, proxy, {{"proxy", proxy}, {"isproxy", false}});
}

}  // namespace

void add_system_commands(std::vector<Command>& commands) {
    const std::vector<Option> options = with_transaction_options({});
    const Positional account{"account", "the producer's account"};
    const Positional voter{"voter", "who votes"};
    const Positional producer{"producer", "the producer"};
    const Positional proxy{"proxy", "the proxy's account"};
    commands.push_back({"system regproducer",
                        "Register a producer",
                        {account,
                         {"key", "its public key"},
                         {"url", "its web page", true},
                         {"location", "a number, 0 to 65535", true}},
                        options,
                        regproducer});
    commands.push_back({"system unregprod", "Withdraw a producer", {account}, options, unregprod});
    commands.push_back(
        {"system voteproducer proxy", "Let a proxy vote", {voter, proxy}, options, vote_proxy});
    commands.push_back({"system voteproducer prods",
                        "Vote for producers",
                        {voter, {"producers", "their accounts", false, true}},
                        options,
                        vote_prods});
    commands.push_back({"system voteproducer approve",
                        "Add a producer to one's votes",
                        {voter, producer},
                        options,
                        vote_approve});
    commands.push_back({"system voteproducer unapprove",
                        "Take a producer out of one's votes",
                        {voter, producer},
                        options,
                        vote_unapprove});
    commands.push_back(
        {"system listproducers",
         "Show the producers",
         {},
         {{"limit", 'l', "COUNT", "at most (default: 50)"}, {"lower", 'L', "ACCOUNT", "the first"}},
         listproducers});
    commands.push_back({"system regproxy", "Become a proxy", {proxy}, options, regproxy});
    commands.push_back({"system unregproxy", "Stop being a proxy", {proxy}, options, unregproxy});
}

}  // namespace cli
