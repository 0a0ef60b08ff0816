// Transactions through the executor: order of actions, receipts, sequences, billing, and each
// refusal before an action runs. Numbers and texts are those recorded from nodeos.
#include "chain_fixture.hpp"

#include <catch2/catch.hpp>

using namespace chain;
using namespace chain::test;

namespace {

constexpr std::int64_t kSymbol = 0x53595304;  // "4,SYS"

base::Bytes asset(std::int64_t amount) {
    base::Writer out;
    out.i64(amount);
    out.i64(kSymbol);
    return out.take();
}

base::Bytes transfer_data(std::string_view from,
                          std::string_view to,
                          std::int64_t amount,
                          std::string_view memo = "") {
    base::Writer out;
    encode(out, name(from));
    encode(out, name(to));
    out.raw(asset(amount));
    out.string(memo);
    return out.take();
}

// Accounts alice and bob, and a token of which alice has 1,000,000 units.
struct TokenChain : TestChain {
    TokenChain() {
        for (const char* account : {"alice", "bob", "token", "carol"}) {
            REQUIRE(create(account).succeeded());
        }
        const auto set = set_code("token", read_contract("contracts", "token"));
        INFO(failure_of(set).text);
        REQUIRE(set.succeeded());
        base::Writer create_token;
        encode(create_token, name("alice"));
        create_token.raw(asset(1'000'000'000));
        REQUIRE(
            push(action("token", "create", "token", create_token.take()), {"token"}).succeeded());
        base::Writer issue;
        encode(issue, name("alice"));
        issue.raw(asset(1'000'000));
        issue.string("");
        REQUIRE(push(action("token", "issue", "alice", issue.take()), {"alice"}).succeeded());
    }
    TransactionResult transfer(std::string_view to, std::int64_t amount) {
        return push(action("token", "transfer", "alice", transfer_data("alice", to, amount)),
                    {"alice"});
    }
};

}  // namespace

TEST_CASE("setchain changes prices from the next transaction on") {
    TokenChain chain;
    const auto cpu = [](const TransactionResult& result) {
        INFO(failure_of(result).text);
        REQUIRE(result.succeeded());
        return result.trace.receipt->cpu_usage_us;
    };
    const auto set = [&chain](std::string_view price, std::uint64_t value) {
        base::Writer out;
        out.varuint32(1);
        out.string(price);
        out.u64(value);
        return chain.push(TestChain::action("eosio", "setchain", "eosio", out.take()), {"eosio"});
    };
    (void)cpu(chain.transfer("bob", 1));  // Makes bob's row.
    // Not the one that changes it.
    CHECK(cpu(set("price_signature", 3'500'000)) < 3'000);
    const std::uint32_t dearest = cpu(chain.transfer("bob", 1));
    CHECK(dearest > 3'500);
    REQUIRE(set("price_signature", 2'000'000).succeeded());
    const std::uint32_t before = cpu(chain.transfer("bob", 1));
    CHECK(before == dearest - 1'500);
    // A host function's, and the engine's: a transfer begins one run of the contract.
    REQUIRE(set("price_row_write", 300'000).succeeded());
    const std::uint32_t dear = cpu(chain.transfer("bob", 1));
    CHECK(dear >= before + 2 * 290);  // Two balances.
    REQUIRE(set("price_run", 50'000).succeeded());
    CHECK(cpu(chain.transfer("bob", 1)) >= dear + 49);
    CHECK(failure_of(set("price_run", 50'001)).text.find("it must be from 1 to 50000") !=
          std::string::npos);
    CHECK(failure_of(set("price_run", 0)).text.find("it must be from 1 to 50000") !=
          std::string::npos);
    CHECK(failure_of(set("price_nothing", 1)).text.find("no parameter is named price_nothing") !=
          std::string::npos);
}

TEST_CASE("A transfer notifies both parties and gets nodeos' receipts") {
    TokenChain chain;
    const std::uint64_t sequence = load_counters(chain.state())->global_action_sequence;
    const TransactionResult result = chain.transfer("bob", 10'000);
    INFO(failure_of(result).text);
    REQUIRE(result.succeeded());
    const auto& traces = result.trace.action_traces;
    REQUIRE(traces.size() == 3);
    CHECK(traces[0].receiver == name("token"));
    CHECK(traces[1].receiver == name("alice"));
    CHECK(traces[2].receiver == name("bob"));
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(traces[i].action_ordinal == i + 1);
        CHECK(traces[i].creator_action_ordinal == (i == 0 ? 0 : 1));
        CHECK(traces[i].closest_unnotified_ancestor_action_ordinal == (i == 0 ? 0 : 1));
        REQUIRE(traces[i].receipt);
        CHECK(traces[i].receipt->global_sequence == sequence + i + 1);
        CHECK(traces[i].receipt->act_digest == action_digest(traces[0].act, {}));
        CHECK(traces[i].receipt->code_sequence == 1);
        CHECK(traces[i].receipt->abi_sequence == 0);
        CHECK(result.action_digests.at(i) == traces[i].receipt->digest());
    }
    CHECK(traces[2].receipt->auth_sequence ==
          std::vector<std::pair<Name, std::uint64_t>>{{name("alice"), 4}});
    // bob's row: 112 and 16 bytes, in a table of 112, which alice pays.
    CHECK(traces[0].account_ram_deltas == std::vector<RamDelta>{{name("alice"), 240}});
    CHECK(result.trace.receipt->status == TransactionStatus::executed);
    CHECK(result.trace.receipt->cpu_usage_us == 100);
    CHECK(result.trace.net_usage == result.trace.receipt->net_usage_words * 8);
}

TEST_CASE("The second transfer to an account costs no RAM") {
    TokenChain chain;
    REQUIRE(chain.transfer("bob", 1).succeeded());
    const TransactionResult result = chain.transfer("bob", 2);
    REQUIRE(result.succeeded());
    CHECK(result.trace.action_traces[0].account_ram_deltas.empty());
    const auto row = chain.state().find(
        Table::contract_row, row_key({name("token"), name("bob"), name("accounts")}, 0x535953));
    REQUIRE(row);
    CHECK(base::equal(row_value(*row), asset(3)));
}

TEST_CASE("A contract's assertion is the transaction's error and leaves no trace in the state") {
    TokenChain chain;
    const CountersRow before = load_counters(chain.state()).value();
    const TransactionResult result = chain.transfer("bob", 100'000'000);
    CHECK(failure_of(result).code == 3050003);
    CHECK(failure_of(result).text == "assertion failure with message: overdrawn balance");
    CHECK(result.trace.except->stack.at(1).text() ==
          "token <= token::transfer pending console output: ");
    CHECK(result.trace.error_code == 10'000'000'000'000'000'000ULL);
    CHECK_FALSE(result.trace.receipt);
    CHECK(result.action_digests.empty());
    CHECK(load_counters(chain.state()).value() == before);
    CHECK(chain.account("alice").auth_sequence == 1);
}

TEST_CASE("Expiration, lifetime, reference and duplicates are checked in nodeos' words") {
    TokenChain chain;
    const Action transfer =
        TestChain::action("token", "transfer", "alice", transfer_data("alice", "bob", 1));
    SignedTransaction transaction = chain.make({transfer});
    SECTION("expired") {
        transaction.expiration.seconds =
            static_cast<std::uint32_t>(chain.block().time.microseconds / 1'000'000) - 10;
        const Failure failure = failure_of(chain.push(transaction, {"alice"}));
        CHECK(failure.code == 3040005);
        CHECK(failure.text.starts_with("expired transaction "));
        CHECK(failure.text.find(", expiration 2027-01-15T07:59:") != std::string::npos);
    }
    SECTION("too far") {
        transaction.expiration.seconds += 3'700;
        const Failure failure = failure_of(chain.push(transaction, {"alice"}));
        CHECK(failure.code == 3040006);
        CHECK(failure.text.find("and the maximum transaction lifetime is 3600 seconds") !=
              std::string::npos);
    }
    SECTION("reference prefix") {
        transaction.ref_block_prefix += 1;
        const Failure failure = failure_of(chain.push(transaction, {"alice"}));
        CHECK(failure.code == 3040007);
        CHECK(failure.text ==
              "Transaction's reference block did not match. Is this transaction from a different "
              "fork?");
    }
    SECTION("reference number") {
        transaction.ref_block_num = 60'000;
        CHECK(failure_of(chain.push(transaction, {"alice"})).code == 3040007);
    }
    SECTION("duplicate") {
        REQUIRE(chain.push(transaction, {"alice"}).succeeded());
        const Failure failure = failure_of(chain.push(transaction, {"alice"}));
        CHECK(failure.code == 3040008);
        CHECK(failure.text == "duplicate transaction " + base::to_hex(transaction.id().view()));
        // Until it has expired, then its id is forgotten and expiration refuses it.
        chain.next_block(2'000);
        CHECK(failure_of(chain.push(transaction, {"alice"})).code == 3040005);
        chain.next_block();
        CHECK_FALSE(chain.state().at_or_after(Table::transaction_id, {}));
    }
    SECTION("delay") {
        transaction.delay_sec = 1;
        const Failure failure = failure_of(chain.push(transaction, {"alice"}));
        CHECK(failure.code == 3040000);
        CHECK(failure.text == "transaction cannot be delayed");
    }
    SECTION("extension") {
        transaction.extensions.push_back({9, {}});
        const Failure failure = failure_of(chain.push(transaction, {"alice"}));
        CHECK(failure.code == 3100006);
        CHECK(failure.text == "no transaction extensions supported yet for input transactions");
    }
}

TEST_CASE("The first block after a long stop forgets no more ids than any other") {
    TokenChain chain;
    const auto count_ids = [&] {
        std::size_t count = 0;
        auto row = chain.state().at_or_after(Table::transaction_id, {});
        for (; row; row = chain.state().at_or_after(Table::transaction_id, key_after(row->key))) {
            ++count;
        }
        return count;
    };
    for (int i = 0; i < 250; ++i) {
        REQUIRE(chain.transfer("bob", 1).succeeded());
    }
    const std::size_t before = count_ids();
    REQUIRE(before >= 250);
    chain.next_block(10'000);
    REQUIRE(chain.transfer("bob", 1).succeeded());
    REQUIRE(chain.transfer("bob", 1).succeeded());
    CHECK(count_ids() == before + 2);
    chain.next_block();
    CHECK(count_ids() == before + 2 - (kExpiredIdsPerBlock + 4));
    chain.next_block();
    CHECK(count_ids() == before + 2 - (2 * kExpiredIdsPerBlock + 4));
    chain.next_block();
    CHECK(count_ids() == 2);
}

TEST_CASE("What a transaction names must exist, and someone must authorize it") {
    TokenChain chain;
    const auto refused = [&](Action action, const std::vector<std::string>& signers) {
        return failure_of(chain.push(std::move(action), signers));
    };
    Failure failure = refused(TestChain::action("nosuch", "a", "alice", {}), {"alice"});
    CHECK(failure.code == 3040000);
    CHECK(failure.text == "action's code account 'nosuch' does not exist");
    failure = refused(TestChain::action("token", "a", "nosuch", {}), {"alice"});
    CHECK(failure.code == 3040000);
    CHECK(failure.text == "action's authorizing actor 'nosuch' does not exist");
    failure = refused(TestChain::action("token", "a", "alice", {}, "nosuch"), {"alice"});
    CHECK(failure.code == 3040000);
    CHECK(failure.text ==
          "action's authorizations include a non-existent permission: "
          "{\"actor\":\"alice\",\"permission\":\"nosuch\"}");
    Action unauthorized = TestChain::action("token", "a", "alice", {});
    unauthorized.authorization.clear();
    failure = refused(unauthorized, {"alice"});
    CHECK(failure.code == 3040003);
    CHECK(failure.text == "transaction must have at least one authorization");
    CHECK(failure_of(chain.push(std::vector<Action>{}, {"alice"})).code == 3040003);
}

TEST_CASE("Actions on accounts without code and unknown actions succeed, as in nodeos") {
    TokenChain chain;
    CHECK(chain.push(TestChain::action("carol", "do", "alice", {}), {"alice"}).succeeded());
    CHECK(chain.push(TestChain::action("token", "nosuch", "alice", {}), {"alice"}).succeeded());
}

TEST_CASE("A context-free action runs first and cannot have an authorization") {
    TokenChain chain;
    SignedTransaction transaction = chain.make(
        {TestChain::action("token", "transfer", "alice", transfer_data("alice", "bob", 1))});
    transaction.context_free_actions.push_back(
        {.account = name("eosio.null"), .name = name("nonce"), .authorization = {}, .data = {}});
    const TransactionResult result = chain.push(transaction, {"alice"});
    REQUIRE(result.succeeded());
    CHECK(result.trace.action_traces[0].context_free);
    CHECK(result.trace.action_traces[0].receiver == name("eosio.null"));
    CHECK(result.trace.action_traces[1].receiver == name("token"));
    CHECK(result.trace.action_traces[2].creator_action_ordinal == 2);
    transaction.context_free_actions[0].authorization = {{name("alice"), name("active")}};
    const Failure failure = failure_of(chain.push(transaction, {"alice"}));
    CHECK(failure.code == 3040000);
    CHECK(failure.text == "context-free actions cannot have authorizations");
}

TEST_CASE("Net usage is counted and limited as in nodeos") {
    TokenChain chain;
    SignedTransaction transaction = chain.make(
        {TestChain::action("token", "transfer", "alice", transfer_data("alice", "bob", 1))});
    transaction.max_net_usage_words = 1;
    const Failure failure = failure_of(chain.push(transaction, {"alice"}));
    CHECK(failure.code == 3080002);
    // 12 for the transaction, 16 for its envelope, its bytes, and 20 % of 67 for a signature.
    const Transaction& plain = transaction;
    const std::size_t bytes = 12 + 16 + pack(plain).size() + 14;
    CHECK(failure.text == "transaction net usage is too high: " + std::to_string(bytes) + " > 8");
}

TEST_CASE("Metered CPU ends what runs too long, with the limit in the error") {
    TestChain::Options options = TestChain::open_options();
    options.config.max_transaction_cpu_usage = 90;
    options.config.min_transaction_cpu_usage = 10;
    TestChain chain(options);
    // Signatures alone are 70 us.
    const TransactionResult result = chain.push(
        TestChain::action("eosio", "reqauth", "eosio", data(name("eosio"))), {"eosio", "a", "b"});
    CHECK(failure_of(result).code == 3080004);
    CHECK(failure_of(result).text.find("was executing for too long") != std::string::npos);
    CHECK(failure_of(result).text.ends_with("us reached on chain max_transaction_cpu_usage 90us"));
}

TEST_CASE("A receipt that says another CPU time is an error of the block") {
    TokenChain chain;
    const SignedTransaction transaction = chain.make(
        {TestChain::action("token", "transfer", "alice", transfer_data("alice", "bob", 1))});
    ExecutionOptions options;
    options.expected_cpu_us = 101;
    CHECK(failure_of(chain.push(transaction, {"alice"}, options)).code == 3030002);
    options.expected_cpu_us = 100;
    CHECK(chain.push(transaction, {"alice"}, options).succeeded());
}

TEST_CASE("Read-only and dry runs change nothing") {
    TokenChain chain;
    const auto before = chain.account("alice");
    const SignedTransaction transaction = chain.make(
        {TestChain::action("token", "transfer", "alice", transfer_data("alice", "bob", 1))});
    ExecutionOptions dry;
    dry.dry_run = true;
    CHECK(chain.push(transaction, {}, dry).succeeded());
    CHECK(chain.account("alice") == before);
    ExecutionOptions read_only;
    read_only.read_only = true;
    const Failure failure = failure_of(chain.push(transaction, {}, read_only));
    CHECK(failure.code == 3040000);
    CHECK(failure.text == "read-only action 'transfer' cannot have authorizations");
    CHECK(chain.push(transaction, {"alice"}).succeeded());
}

TEST_CASE("An account with a weight is held to its share") {
    TokenChain chain;
    base::Writer limits;
    encode(limits, name("alice"));
    limits.i64(-1);
    limits.i64(0);
    limits.i64(0);
    REQUIRE(chain.push(TestChain::action("eosio", "setalimits", "eosio", limits.take()), {"eosio"})
                .succeeded());
    // Nobody has a weight yet, so nobody is limited.
    CHECK(chain.transfer("bob", 1).succeeded());
    base::Writer others;
    encode(others, name("bob"));
    others.i64(-1);
    others.i64(1'000);
    others.i64(1'000);
    REQUIRE(chain.push(TestChain::action("eosio", "setalimits", "eosio", others.take()), {"eosio"})
                .succeeded());
    const Failure failure = failure_of(chain.transfer("bob", 1));
    CHECK(failure.code == 3080002);
    CHECK(failure.text.starts_with("transaction net usage is too high: "));
    CHECK(failure.text.ends_with(" > 0"));
}

TEST_CASE("RAM beyond the quota is refused at the end of the transaction") {
    TokenChain chain;
    const std::uint64_t used = chain.account("alice").ram_usage;
    base::Writer limits;
    encode(limits, name("alice"));
    limits.i64(static_cast<std::int64_t>(used) + 100);
    limits.i64(-1);
    limits.i64(-1);
    REQUIRE(chain.push(TestChain::action("eosio", "setalimits", "eosio", limits.take()), {"eosio"})
                .succeeded());
    const Failure failure = failure_of(chain.transfer("bob", 1));
    CHECK(failure.code == 3080001);
    CHECK(failure.text == "account alice has insufficient ram; needs " +
                              std::to_string(used + 240) + " bytes has " +
                              std::to_string(used + 100) + " bytes");
}
