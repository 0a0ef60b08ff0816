// Contracts that took far more than they paid for, or could not be compiled, under other engines.
#include "machine.hpp"
#include "node/machine/machine.hpp"

#include <catch2/catch.hpp>

namespace vm = chain::vm;

using machine::repeat;
using Kind = vm::Outcome::Kind;

namespace {

std::string module_of(const std::string& fields,
                      const std::string& body,
                      const std::string& locals = "") {
    return "(module " + fields + "(func (export \"apply\") (param i64 i64 i64) " + locals + body +
           "))";
}

machine::Seen run(const std::string& text, std::uint64_t fuel = 100'000'000) {
    node::ContractMachine contract_machine;
    vm::Engine engine(machine::hosts(), {}, contract_machine);
    return machine::run(engine, machine::assemble(text), {}, fuel);
}

std::uint64_t used(const std::string& fields, const std::string& body) {
    const machine::Seen seen = run(module_of(fields, body));
    REQUIRE(seen.kind == Kind::ok);
    return seen.used;
}

}  // namespace

TEST_CASE("code behind a way around it is paid for") {
    const std::string work =
        "(drop (i32.const 1))" + repeat("(drop (f64.sqrt (f64.const 2)))", 100);
    const std::uint64_t alone = used("", work) - used("", "");
    CHECK(alone >= 100 * vm::Prices{}.root);
    for (const std::string before : {"(block (br 0))",
                                     "(block (br_if 0 (i32.const 1)))",
                                     "(if (i32.const 0) (then))",
                                     "(if (i32.const 0) (then) (else))",
                                     "(block (br_table 0 0 (i32.const 7)))",
                                     "(loop)"}) {
        CAPTURE(before);
        CHECK(used("", before + work) - used("", before) == alone);
    }
}

TEST_CASE("a call pays for each local that it sets to zero") {
    const std::string many = "(func $f (local" + repeat(" i64", 1'000) + "))";
    const std::string few = "(func $f)";
    const std::string calls = repeat("(call $f)", 50);
    CHECK(used(many, calls) - used(few, calls) == 50'000 * vm::Prices{}.local);
}

// The way down is cheap; each of 240 returns has long code before it.
TEST_CASE("what runs after a call returns is paid for before it runs") {
    const std::string deep =
        "(func $f (param i32) (if (local.get 0) (then (call $f (i32.sub"
        " (local.get 0) (i32.const 1)))))" +
        repeat("(drop (f64.sqrt (f64.const 2)))", 1'000) + ")";
    const std::string text = module_of(deep, "(call $f (i32.const 240))");
    const std::uint64_t whole = run(text).used;
    CHECK(whole >= 241'000 * std::uint64_t{vm::Prices{}.root});
    for (const std::uint64_t fuel : {whole / 100, whole / 2, whole - 1}) {
        const machine::Seen seen = run(text, fuel);
        CHECK(seen.trap == vm::Trap::out_of_fuel);
        CHECK(seen.used == fuel);
    }
}

TEST_CASE("loads of a chain pay for the memory that they may miss") {
    const auto loads = [](const std::string& pages) {
        return used("(memory " + pages + ")",
                    "(drop " + repeat("(i32.load ", 1'000) + "(i32.const 64)" + repeat(")", 1'000) +
                        ")") -
               used("(memory " + pages + ")", "");
    };
    const vm::Prices prices;
    CHECK(loads("1") == 1'000 * prices.memory + 2 * prices.plain);
    CHECK(loads("17") == 1'000 * prices.memory_mid + 2 * prices.plain);
    CHECK(loads("65") == 1'000 * prices.memory_far + 2 * prices.plain);
}

TEST_CASE("what is valid compiles, whatever it holds") {
    CHECK(run(module_of("(global f64 (f64.const inf)) (global (mut f32) (f32.const -inf))"
                        " (global (mut f64) (f64.const nan:0x1))",
                        ""))
              .kind == Kind::ok);
    std::string loads;
    for (int i = 0; i < 169'000; ++i)
        loads += "i32.load ";
    CHECK(run(module_of("(memory 1)", "i32.const 64 " + loads + "drop")).kind == Kind::ok);
    const std::string half = repeat(" i64", 32);
    CHECK(run(module_of("(func $f (param" + half + half + "))",
                        repeat("i64.const 1 ", 64) + "call $f"))
              .kind == Kind::ok);
}

TEST_CASE("a function of a thousand parameters is refused in words") {
    const auto seen = chain::vm::validate(
        machine::assemble(module_of("(func (param" + repeat(" i64", 1'000) + "))", "")),
        {},
        machine::hosts());
    REQUIRE_FALSE(seen.has_value());
    CHECK_THAT(seen.error().detail, Catch::Contains("1000") && Catch::Contains("limit 64"));
}
