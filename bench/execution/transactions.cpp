#include "bench/price/wide_authority.hpp"
#include "chain/state/digest.hpp"
#include "chain_fixture.hpp"
#include "patterns.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace patterns {

namespace {

using namespace chain;        // NOLINT(google-build-using-namespace): a program of one file.
using namespace chain::test;  // NOLINT(google-build-using-namespace)

struct Case {
    std::string label;
    std::vector<Action> actions;
    std::vector<std::string> signers = {"alice"};
    std::function<void(TestChain&)> prepare = {};
};

TestChain::Options roomy() {
    TestChain::Options options = TestChain::open_options();
    options.config.max_block_cpu_usage = 4'000'000'000;
    options.config.max_transaction_cpu_usage = 3'000'000'000;
    options.config.min_transaction_cpu_usage = 0;
    options.config.max_block_net_usage = 1'000'000'000;
    return options;
}

Action empty_action(std::size_t bytes = 0) {
    return {name("alice"), name("act"), {{name("alice"), name("active")}}, base::Bytes(bytes)};
}

base::Bytes updateauth(std::uint32_t keys) {
    return data(name("alice"), name("wide"), name("active"), price::authority_of_keys(keys));
}

Action set_abi(std::size_t bytes) {
    base::Writer out;
    encode(out, name("alice"));
    out.bytes(base::Bytes(bytes));
    return TestChain::action("eosio", "setabi", "alice", out.take());
}

std::vector<Case> cases() {
    std::vector<Case> all;
    all.push_back({"transaction of one empty action", {empty_action()}});
    all.push_back(
        {"transaction of 2,000 empty actions", std::vector<Action>(2'000, empty_action())});
    all.push_back(
        {"transaction of 9,000 empty actions", std::vector<Action>(9'000, empty_action())});
    all.push_back({"transaction of 300 KB of data", {empty_action(300'000)}});
    Action levels = empty_action();
    levels.authorization.resize(4'000, levels.authorization[0]);
    all.push_back({"transaction of 4,000 levels", {levels}});
    all.push_back({"transaction of 20 times 1,000 levels", [&levels] {
                       levels.authorization.resize(1'000);
                       return std::vector<Action>(20, levels);
                   }()});
    const Authority own = Authority::of_key(public_key("alice"));
    all.push_back(
        {"newaccount",
         {TestChain::action(
             "eosio", "newaccount", "alice", data(name("alice"), name("new"), own, own))}});
    all.push_back({"updateauth of 1,000 keys",
                   {TestChain::action("eosio", "updateauth", "alice", updateauth(1'000))}});
    all.push_back({"updateauth of one key for 1,000",
                   {TestChain::action("eosio", "updateauth", "alice", updateauth(1))},
                   {"alice"},
                   [](TestChain& chain) {
                       const PermissionRow row{.parent = name("active"),
                                               .last_updated = {},
                                               .last_used = {},
                                               .authority = price::authority_of_keys(1'000)};
                       put_permission(chain.state(), {name("alice"), name("wide")}, &row);
                       AccountRow account = chain.account("alice");
                       account.ram_usage = 1'000'000;  // Which it gets back.
                       chain.state().put(
                           Table::account, account_key(name("alice")), encode_account(account));
                   }});
    all.push_back(
        {"linkauth",
         {TestChain::action("eosio",
                            "linkauth",
                            "alice",
                            data(name("alice"), name("eosio"), name("x"), name("active")))}});
    all.push_back({"setabi of 300 KB", {set_abi(300'000)}});
    all.push_back({"authority of 1,000 keys", {empty_action()}, {"alice"}, [](TestChain& chain) {
                       Authority authority = price::authority_of_keys(900);
                       authority.keys.push_back({public_key("alice"), 1});
                       std::ranges::sort(authority.keys);
                       const PermissionRow row{.parent = name("owner"),
                                               .last_updated = {},
                                               .last_used = {},
                                               .authority = authority};
                       put_permission(chain.state(), {name("alice"), name("active")}, &row);
                   }});
    return all;
}

// What one execution leads to at the end of its block and in the node's records.
void follow_up(const TransactionResult& result, const StateDelta& delta, const StateView& parent) {
    StateLanes lanes;
    lanes += lanes_moved(net_changes(delta.changes(), parent));
    const base::Bytes stored = pack(result.trace);
    if (stored.empty()) std::abort();
}

price::Result measure(const Case& one) {
    TestChain chain(roomy());
    if (!chain.create("alice").succeeded()) std::abort();
    if (one.prepare) one.prepare(chain);
    SignedTransaction transaction = chain.make(one.actions);
    transaction.max_net_usage_words = 0;
    transaction.signatures.resize(1);
    transaction.signatures[0].compact[0] = std::byte{31};
    // What recovering its key costs is measured elsewhere.
    const std::uint64_t signature = PriceTable()[Cost::signature].base;
    const TransactionPtr decoded = make_transaction(transaction);
    std::vector<PublicKey> keys;
    keys.reserve(one.signers.size());
    for (const std::string& signer : one.signers)
        keys.push_back(public_key(signer));
    price::Clock clock;
    while (clock.wants_more()) {
        StateDelta delta(static_cast<const StateView&>(chain.state()));
        clock.start();
        const TransactionResult result =
            chain.executor().execute({*decoded, keys}, delta, chain.block(), {});
        follow_up(result, delta, chain.state());
        clock.stop(1);
        if (!result.succeeded()) {
            std::fprintf(stderr, "%s: %s\n", one.label.c_str(), failure_of(result).text.c_str());
            std::abort();
        }
        clock.add_units(1'000 * static_cast<std::uint64_t>(result.trace.elapsed) - signature);
    }
    return clock.result(one.label);
}

}  // namespace

void measure_transactions(const std::string& wanted, std::vector<price::Result>& results) {
    for (const Case& one : cases()) {
        if (one.label.find(wanted) != std::string::npos) results.push_back(measure(one));
    }
}

}  // namespace patterns
