// Who pays for loading the code of contracts: the first use in a block by the code's bytes, later
// ones a base price; and how much of it one transaction may use.
#include "chain_fixture.hpp"
#include "tests/wabt/text.hpp"

#include <catch2/catch.hpp>

using namespace chain;
using namespace chain::test;

namespace {

const PriceTable kPrices;

base::Bytes assemble(const std::string& body) {
    const std::string module =
        R"((module (import "env" "require_recipient" (func $notify (param i64)))
            (import "env" "eosio_assert" (func $assert (param i32 i32)))
            (memory 1)
            (func (export "apply") (param $receiver i64) (param $code i64) (param $action i64)
        )" +
        body + "))";
    const wabt_text::Assembled out = wabt_text::assemble(module);
    INFO(out.error);
    REQUIRE(out.error.empty());
    return base::to_bytes(std::as_bytes(std::span(out.bytes)));
}

// A contract of exactly so many bytes, and another one for each `number`: the rest of it is a
// custom section, which every reader skips.
base::Bytes padded(base::Bytes code, std::size_t bytes, std::uint8_t number) {
    constexpr std::size_t kHead = 1 + 5 + 2;  // Section, length in five bytes, name "n".
    REQUIRE(code.size() + kHead + 1 <= bytes);
    std::size_t left = bytes - code.size() - 6;
    code.push_back(std::byte{0});
    for (int i = 0; i < 5; ++i) {
        code.push_back(static_cast<std::byte>((left >> (7 * i) & 0x7FU) | (i < 4 ? 0x80U : 0U)));
    }
    code.push_back(std::byte{1});
    code.push_back(std::byte{'n'});
    code.resize(bytes, static_cast<std::byte>(number));
    return code;
}

constexpr std::size_t kBytes = 100 * 1'024;

std::string constant(std::string_view account) {
    return "(i64.const " + std::to_string(static_cast<std::int64_t>(name(account).value)) + ")";
}

struct Contracts : TestChain {
    Contracts() : TestChain(roomy()) {}

    // So that receipts tell what was used, and a transaction can use much.
    static Options roomy() {
        Options options = open_options();
        options.config.min_transaction_cpu_usage = 0;
        options.config.max_block_cpu_usage = 4'000'000;
        options.config.max_transaction_cpu_usage = 2'000'000;
        return options;
    }

    void deploy(const std::string& account, const base::Bytes& code) {
        REQUIRE(create(account).succeeded());
        const TransactionResult result = set_code(account, code);
        INFO(failure_of(result).text);
        REQUIRE(result.succeeded());
        next_block();
    }
    // Fails when the action is `fail`.
    void deploy_one() {
        deploy("one",
               padded(assemble("(call $assert (i64.ne (local.get $action) " + constant("fail") +
                               ") (i32.const 0))"),
                      kBytes,
                      1));
    }
    TransactionResult run(std::string_view what = "act", const ExecutionOptions& how = {}) {
        return push(make({action("one", what, "one", {})}), {"one"}, how);
    }
};

std::uint64_t cpu_of(const TransactionResult& result) {
    INFO(failure_of(result).text);
    REQUIRE(result.succeeded());
    return result.trace.receipt->cpu_usage_us;
}

// What the bytes of a first use add, in microseconds.
constexpr std::uint64_t kKibibytes = kBytes / 1'024;
std::uint64_t loading() {
    return kKibibytes * kPrices[Cost::load].kibibyte / 1'000;
}
bool about(std::uint64_t value, std::uint64_t expected) {
    return value + 2 >= expected && value <= expected + 2;
}

}  // namespace

TEST_CASE("the first use of a contract in a block pays for loading it, later ones do not") {
    Contracts chain;
    chain.deploy_one();
    const std::uint64_t first = cpu_of(chain.run());
    const std::uint64_t second = cpu_of(chain.run());
    CHECK(about(first, second + loading()));
    CHECK(cpu_of(chain.run()) == second);
    chain.next_block();
    CHECK(cpu_of(chain.run()) == first);
}

TEST_CASE("two uses in one transaction pay once, and two accounts of one code share it") {
    Contracts chain;
    chain.deploy_one();
    chain.deploy("two", padded(assemble(""), kBytes, 1));
    chain.deploy("three", padded(assemble(""), kBytes, 1));
    const auto act = [](const char* account) {
        return TestChain::action(account, "act", account, {});
    };
    const std::uint64_t alone = cpu_of(chain.push(act("two"), {"two"}));
    const std::uint64_t later = cpu_of(chain.push(act("three"), {"three"}));
    CHECK(about(alone, later + loading()));
    chain.next_block();
    const std::uint64_t both = cpu_of(chain.push({act("two"), act("three")}, {"two", "three"}));
    const std::uint64_t again = cpu_of(chain.push({act("two"), act("three")}, {"two", "three"}));
    CHECK(about(both, again + loading()));
}

TEST_CASE("a transaction that fails leaves the loading to the next one") {
    Contracts chain;
    chain.deploy_one();
    CHECK(failure_of(chain.run("fail")).code == 3050003);
    const std::uint64_t first = cpu_of(chain.run());
    CHECK(about(first, cpu_of(chain.run()) + loading()));
}

TEST_CASE("a dry run pays for loading as if it were alone, and pays for nobody else") {
    Contracts chain;
    chain.deploy_one();
    const auto dry = [&chain](bool read_only) {
        ExecutionOptions options;
        options.dry_run = !read_only;
        options.read_only = read_only;
        options.skip_authorization = true;
        SignedTransaction transaction = chain.make({TestChain::action("one", "act", "one", {})});
        if (read_only) transaction.actions[0].authorization.clear();
        const TransactionResult result = chain.executor().execute(
            {*make_transaction(transaction), {}}, chain.state(), chain.block(), options);
        INFO(failure_of(result).text);
        REQUIRE(result.succeeded());
        return static_cast<std::uint64_t>(result.trace.elapsed);
    };
    const std::uint64_t before = dry(false);
    const std::uint64_t read = dry(true);
    const std::uint64_t first = cpu_of(chain.run());
    CHECK(about(first, cpu_of(chain.run()) + loading()));
    CHECK(dry(false) == before);
    CHECK(dry(true) == read);
}

TEST_CASE("who executes the block again bills the same, without what failed between") {
    std::vector<std::uint32_t> receipts;
    Contracts maker;
    maker.deploy_one();
    for (const char* what : {"fail", "act", "fail", "act"}) {
        const TransactionResult result = maker.run(what);
        if (result.succeeded()) receipts.push_back(result.trace.receipt->cpu_usage_us);
    }
    REQUIRE(receipts.size() == 2);
    CHECK(receipts[0] > receipts[1]);
    Contracts follower;
    follower.deploy_one();
    for (const std::uint32_t billed : receipts) {
        ExecutionOptions options;
        options.expected_cpu_us = billed;
        options.skip_authorization = true;
        (void)cpu_of(follower.run("act", options));
    }
    // A block that says otherwise is wrong.
    ExecutionOptions options;
    options.expected_cpu_us = receipts[0];
    CHECK(failure_of(follower.run("act", options)).code == 3030002);
}

TEST_CASE("one transaction uses at most 4 MiB of different code") {
    Contracts chain;
    // Eleven contracts that have it just filled, and what calls them are too much.
    std::string calls;
    constexpr std::size_t kEach = 4 * 1'024 * 1'024 / 11;
    const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        chain.deploy(names[i], padded(assemble(""), kEach, static_cast<std::uint8_t>(i)));
        calls += "(call $notify " + constant(names[i]) + ")";
    }
    const base::Bytes caller = assemble(calls);
    chain.deploy("one", caller);
    const Failure failure = failure_of(chain.run());
    CHECK(failure.code == 3070002);
    CHECK(failure.text == "the transaction uses contracts of " +
                              std::to_string(11 * kEach + caller.size()) +
                              " bytes, at most 4194304 are allowed: call fewer different contracts "
                              "in one transaction");
    // As much as is allowed, and each of them as often as it likes.
    std::vector<Action> actions;
    for (const std::string& account : names) {
        for (int i = 0; i < 2; ++i)
            actions.push_back(TestChain::action(account, "act", account, {}));
    }
    CHECK(cpu_of(chain.push(actions, names)) > 0);
}

TEST_CASE("who cannot pay for loading a contract has not read it") {
    Contracts chain;
    chain.deploy_one();
    const base::Hash256 hash = chain.account("one").code_hash;
    chain.state().erase(Table::code, code_key(hash));  // Reading it would end the program.
    SignedTransaction transaction = chain.make({TestChain::action("one", "act", "one", {})});
    transaction.max_cpu_usage_ms = 3;
    CHECK(failure_of(chain.push(transaction, {"one"})).code == 3080004);
}
