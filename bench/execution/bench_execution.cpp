// What a token transfer costs the executor: everything but decoding, signature recovery, state
// digest and disk. The state lies in memory.
//
//   usage: bench_execution [--benchmark_format=json]
#include "chain_fixture.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>

namespace {

using namespace chain;        // NOLINT(google-build-using-namespace): a program of one file.
using namespace chain::test;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kSymbol = 0x53595304;  // "4,SYS"
constexpr std::size_t kAccounts = 1'000;

std::string account_name(std::size_t index) {
    std::string text = "user";
    for (int i = 0; i < 3; ++i) {
        text += static_cast<char>('a' + index % 26);
        index /= 26;
    }
    return text;
}

base::Bytes amount(std::int64_t value) {
    base::Writer out;
    out.i64(value);
    out.i64(kSymbol);
    return out.take();
}

// A block that holds all transfers of a measurement.
TestChain::Options roomy() {
    TestChain::Options options = TestChain::open_options();
    options.config.max_block_cpu_usage = 4'000'000'000;
    return options;
}

struct Token {
    Token() {
        check(chain.create("token"));
        check(chain.set_code("token", read_contract("contracts", "token")));
        base::Writer create;
        encode(create, name("eosio"));
        create.raw(amount(1'000'000'000'000));
        check(chain.push(TestChain::action("token", "create", "token", create.take()), {"token"}));
        base::Writer issue;
        encode(issue, name("eosio"));
        issue.raw(amount(1'000'000'000'000));
        issue.string("");
        check(chain.push(TestChain::action("token", "issue", "eosio", issue.take()), {"eosio"}));
        for (std::size_t i = 0; i < kAccounts; ++i) {
            check(chain.create(account_name(i)));
            check(chain.push(transfer("eosio", account_name(i)), {"eosio"}));
            if (i % 500 == 499) chain.next_block();
        }
    }

    static void check(const TransactionResult& result) {
        if (result.succeeded()) return;
        std::cerr << failure_of(result).text << '\n';
        std::exit(1);
    }

    static Action transfer(std::string_view from, std::string_view to) {
        base::Writer out;
        encode(out, name(from));
        encode(out, name(to));
        out.raw(amount(100'000));
        out.string("hello");
        return TestChain::action("token", "transfer", from, out.take());
    }

    TestChain chain{roomy()};
};

struct Input {
    TransactionPtr transaction;
    std::vector<PublicKey> keys;
};

void run_transfers(benchmark::State& state) {
    Token token;
    std::vector<Input> inputs;
    for (std::size_t i = 0; i < kAccounts; ++i) {
        SignedTransaction transaction = token.chain.make(
            {Token::transfer(account_name(i), account_name((i * 7 + 13) % kAccounts))});
        transaction.signatures.resize(1);
        transaction.signatures[0].compact[0] = std::byte{31};
        inputs.push_back({make_transaction(transaction), {public_key(account_name(i))}});
    }
    // A delta of its own for each round, so that the same transactions are good again.
    auto block = std::make_unique<StateDelta>(static_cast<const StateView&>(token.chain.state()));
    std::size_t next = 0;
    std::uint64_t cpu_us = 0;
    for (auto _ : state) {
        if (next == inputs.size()) {
            state.PauseTiming();
            block =
                std::make_unique<StateDelta>(static_cast<const StateView&>(token.chain.state()));
            next = 0;
            state.ResumeTiming();
        }
        const Input& input = inputs[next++];
        const TransactionResult result = token.chain.executor().execute(
            {*input.transaction, input.keys}, *block, token.chain.block(), {});
        if (!result.succeeded()) {
            state.SkipWithError(failure_of(result).text.c_str());
            return;
        }
        cpu_us = static_cast<std::uint64_t>(result.trace.elapsed);
    }
    state.counters["metered_us"] = static_cast<double>(cpu_us);
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::RegisterBenchmark("transfer", run_transfers)->Unit(benchmark::kMicrosecond);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
