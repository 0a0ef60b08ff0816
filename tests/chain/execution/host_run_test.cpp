// Host functions inside whole transactions, called by contracts written in WebAssembly text:
// what a single call cannot show.
#include "chain_fixture.hpp"
#include "tests/wabt/text.hpp"

#include <catch2/catch.hpp>

using namespace chain::literals;
using chain::test::failure_of;
using chain::test::TestChain;

namespace {

base::Bytes assemble(const std::string& body) {
    static const std::string kImports = R"((module
        (import "env" "db_store_i64"
            (func $store (param i64 i64 i64 i64 i32 i32) (result i32)))
        (import "env" "db_find_i64" (func $find (param i64 i64 i64 i64) (result i32)))
        (import "env" "require_recipient" (func $notify (param i64)))
        (import "env" "send_inline" (func $send (param i32 i32)))
        (import "env" "printi" (func $print (param i64)))
        (import "env" "prints" (func $text (param i32)))
        (import "env" "eosio_assert" (func $assert (param i32 i32)))
        (import "env" "eosio_exit" (func $exit (param i32)))
        (import "env" "sha256" (func $sha256 (param i32 i32 i32)))
        (import "env" "current_receiver" (func $me (result i64)))
        (memory 16)
        (func (export "apply") (param $receiver i64) (param $code i64) (param $action i64)
    )";
    const std::string module = kImports + body + "))";
    const wabt_text::Assembled out = wabt_text::assemble(module);
    INFO(out.error);
    REQUIRE(out.error.empty());
    return base::to_bytes(std::as_bytes(std::span(out.bytes)));
}

std::string constant(chain::Name name) {
    return "(i64.const " + std::to_string(static_cast<std::int64_t>(name.value)) + ")";
}

// Prints the number of the iterator on row `id` of the table `t` of the contract one.
std::string print_iterator(int id) {
    return "(call $print (i64.extend_i32_s (call $find " + constant("one"_n) + "(i64.const 0) " +
           constant("t"_n) + "(i64.const " + std::to_string(id) + "))))";
}

struct Contracts : TestChain {
    Contracts() {
        for (const char* account : {"one", "two", "three"}) {
            REQUIRE(create(account).succeeded());
        }
    }
    void set(const std::string& account, const std::string& body) {
        const chain::TransactionResult result = set_code(account, assemble(body));
        INFO(failure_of(result).text);
        REQUIRE(result.succeeded());
    }
    chain::TransactionResult act() { return push(action("one", "act", "one", {}), {"one"}); }
};

const std::string kStoreTwo =
    "(drop (call $store (i64.const 0) " + constant("t"_n) + constant("one"_n) +
    "(i64.const 7) (i32.const 0) (i32.const 4)))"
    "(drop (call $store (i64.const 0) " +
    constant("t"_n) + constant("one"_n) + "(i64.const 8) (i32.const 0) (i32.const 4)))";

}  // namespace

TEST_CASE("iterators are numbered on through the notifications of an action, as in nodeos") {
    Contracts chain;
    chain.set("one", kStoreTwo + "(call $notify " + constant("two"_n) + ")");
    // A cache of its own would call row 8, which it sees first, number 0, and the end -2 anyway.
    chain.set("two", print_iterator(8) + print_iterator(9) + print_iterator(7));
    const chain::TransactionResult result = chain.act();
    INFO(failure_of(result).text);
    REQUIRE(result.succeeded());
    REQUIRE(result.trace.action_traces.size() == 2);
    CHECK(result.trace.action_traces[1].console == "1-20");
}

TEST_CASE("an inline action numbers its iterators anew") {
    Contracts chain;
    // The packed action {two, act, no authorization, no data}.
    const std::string packed = "(i64.store (i32.const 8) " + constant("two"_n) +
                               ") (i64.store (i32.const 16) " + constant("act"_n) + ")";
    chain.set("one", kStoreTwo + packed + "(call $send (i32.const 8) (i32.const 18))");
    chain.set("two", print_iterator(8) + print_iterator(9) + print_iterator(7));
    const chain::TransactionResult result = chain.act();
    INFO(failure_of(result).text);
    REQUIRE(result.succeeded());
    CHECK(result.trace.action_traces.at(1).console == "0-21");
}

TEST_CASE("exit ends one action, and what it did stays") {
    Contracts chain;
    chain.set("one",
              kStoreTwo + "(call $notify " + constant("two"_n) +
                  ") (call $exit (i32.const 5)) unreachable");
    chain.set("two", print_iterator(7));
    const chain::TransactionResult result = chain.act();
    INFO(failure_of(result).text);
    REQUIRE(result.succeeded());
    CHECK(result.trace.action_traces.at(1).console == "0");
    CHECK(chain.state().find(chain::Table::contract_row, chain::row_key({"one"_n, {}, "t"_n}, 7)) !=
          nullptr);
}

TEST_CASE("a failed assertion undoes the action and is told with what was printed") {
    Contracts chain;
    chain.set("one",
              kStoreTwo +
                  "(i64.store (i32.const 64) (i64.const 0x006F6E)) (call $text (i32.const 64))"
                  "(call $assert (i32.const 0) (i32.const 64))");
    const chain::TransactionResult result = chain.act();
    CHECK(failure_of(result).code == 3050003);
    CHECK(failure_of(result).text == "assertion failure with message: no");
    REQUIRE(result.trace.except->stack.size() >= 2);
    CHECK(result.trace.except->stack.back().text() == "one <= one::act pending console output: no");
    CHECK(chain.state().find(chain::Table::contract_row, chain::row_key({"one"_n, {}, "t"_n}, 7)) ==
          nullptr);
}

TEST_CASE("host functions and instructions draw on one meter") {
    Contracts chain;
    // Hashing 1 MB in a loop without end.
    chain.set("one",
              "(loop (call $sha256 (i32.const 0) (i32.const 1000000) (i32.const 1000000)) (br 0))");
    const chain::TransactionResult result = chain.act();
    CHECK(failure_of(result).code == 3080004);
    // The limit that was reached is the chain's, 150 ms.
    CHECK(failure_of(result).text.find("150000us") != std::string::npos);
}

TEST_CASE("a contract that bills others without their authority fails in the end") {
    Contracts chain;
    chain.set("one",
              "(drop (call $store (i64.const 0) " + constant("t"_n) + constant("two"_n) +
                  "(i64.const 7) (i32.const 0) (i32.const 4)))");
    const chain::TransactionResult result = chain.act();
    CHECK(failure_of(result).code == 3050010);
    CHECK(failure_of(result).text ==
          "unprivileged contract cannot increase RAM usage of another account that has not "
          "authorized the action: two");
}
