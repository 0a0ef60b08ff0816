// The oracle itself: what it charges, where the blocks of a compiler end, what a frame counts.
// Every expectation here is worked out by hand from the specification (03, "Metering", "Stack"),
// because all other tests of prices rely on this interpreter.
#include "reference.hpp"

#include "machine.hpp"

#include <catch2/catch.hpp>

namespace vm = chain::vm;
using Kind = vm::Outcome::Kind;
using vm::Trap;

namespace {

const vm::Prices kPrices;
constexpr std::uint64_t kFuel = 100'000'000;

struct Run {
    reference::Result result;
    std::vector<std::uint64_t> told;
};

Run run(const std::string& fields, std::uint64_t fuel = kFuel, const reference::Rules& rules = {}) {
    machine::Recorder context;
    vm::Meter meter(fuel);
    const base::Bytes wasm = machine::assemble("(module " + fields + ")");
    Run out;
    out.result = reference::run({wasm, machine::hosts(), rules}, {7, 8, 9}, context, meter);
    out.told = context.told;
    return out;
}

std::string apply(const std::string& code, const std::string& locals = "") {
    return "(func (export \"apply\") (param i64 i64 i64) " + locals + code + ")";
}

const std::string kTell = "(import \"env\" \"tell\" (func $tell (param i64)))";
const std::string kLeave = "(import \"env\" \"leave\" (func $leave))";

// What apply costs beyond the run itself.
std::uint64_t cost(const std::string& fields) {
    const reference::Result result = run(fields).result;
    CHECK(result.outcome.kind == Kind::ok);
    CHECK(result.rest == 0);
    return result.used - kPrices.run;
}

// The rest of the block in which apply traps.
std::uint64_t rest(const std::string& fields) {
    const reference::Result result = run(fields).result;
    CHECK(result.outcome.kind == Kind::trapped);
    return result.rest;
}

// Divides by zero: three instructions.
const std::string kTrap = "(drop (i32.div_u (i32.const 1) (i32.const 0)))";
// Costs four units.
const std::string kFour = "(drop (i32.add (i32.const 1) (i32.const 2)))";

}  // namespace

TEST_CASE("the oracle charges each class of instruction its price") {
    const std::uint64_t plain = kPrices.plain;
    CHECK(cost(apply("")) == 0);
    CHECK(cost(apply(kFour)) == 4 * plain);
    CHECK(cost(apply("nop (block (loop (block))) nop")) == 0);
    CHECK(cost(apply("(drop (i64.rem_u (i64.const 1) (i64.const 1)))")) ==
          3 * plain + kPrices.divide);
    CHECK(cost(apply("(drop (f64.abs (f64.add (f64.const 1) (f64.const 1))))")) ==
          3 * plain + 2 * kPrices.floating);
    CHECK(cost(apply("(drop (f32.sqrt (f32.div (f32.const 1) (f32.const 1))))")) ==
          3 * plain + 2 * kPrices.root);
    CHECK(cost(apply("(drop (f32.lt (f32.const 1) (f32.convert_i32_u (i32.const 1))))")) ==
          3 * plain + 2 * kPrices.floating);
    CHECK(cost(apply("(drop (i32.wrap_i64 (i64.reinterpret_f64 (f64.const 1))))")) == 4 * plain);
    CHECK(cost("(global $g (mut i32) (i32.const 0))" + apply("(global.set $g (global.get $g))")) ==
          2 * kPrices.memory);
    CHECK(cost(kTell + apply("(call $tell (i64.const 0))")) == plain + kPrices.call + 10);
    CHECK(cost("(func $f (param i32) (local i64 i64 f32))" + apply("(call $f (i32.const 0))")) ==
          plain + kPrices.call + 3 * kPrices.local);
    CHECK(cost(apply("(block (br_table 0 0 0 (i32.const 7)))")) == plain + kPrices.call);
    CHECK(cost(apply("(return)")) == plain);
    CHECK(cost(apply("(block (br 0))")) == plain);
}

TEST_CASE("the oracle charges memory by its pages and its size, and data by the KiB") {
    const std::uint64_t plain = kPrices.plain;
    const auto accesses = [&](unsigned pages) {
        return cost("(memory " + std::to_string(pages) + ")" +
                    apply("(i32.store8 (i32.const 0) (i32.load (i32.const 0)))")) -
               pages * kPrices.page - 2 * plain;
    };
    CHECK(accesses(16) == 2 * kPrices.memory);
    CHECK(accesses(17) == 2 * kPrices.memory_mid);
    CHECK(accesses(64) == 2 * kPrices.memory_mid);
    CHECK(accesses(65) == 2 * kPrices.memory_far);
    CHECK(cost("(memory 1) (data (i32.const 1023) \"xy\")" + apply("")) ==
          kPrices.page + 2 * kPrices.data);
    CHECK(cost("(memory 1) (data (i32.const 1023) \"x\")" + apply("")) ==
          kPrices.page + kPrices.data);
    const auto growth = [&](const std::string& pages) {
        return cost("(memory 0 2)" + apply("(drop (memory.grow (i32.const " + pages + ")))")) -
               2 * plain - kPrices.call;
    };
    CHECK(growth("2") == 2 * kPrices.page);
    CHECK(growth("528") == 528 * kPrices.page);  // Fails, as its maximum says.
    CHECK(growth("529") == 0);
    CHECK(growth("-1") == 0);
}

TEST_CASE("the oracle charges what is executed and nothing else") {
    // What follows an untaken if, or the end of a block that was left, is paid.
    CHECK(cost(apply("(if (i32.const 0) (then " + kFour + kFour + "))" + kFour)) == 2 + 4);
    CHECK(cost(apply("(if (i32.const 1) (then " + kFour + ") (else " + kFour + kFour + "))")) ==
          2 + 4);
    CHECK(cost(apply("(block (br 0) " + kFour + ")" + kFour)) == 1 + 4);
    // Ten rounds of get, const, sub, tee, br_if.
    CHECK(cost(apply("(local.set 3 (i32.const 10)) (loop (br_if 0 (local.tee 3"
                     " (i32.sub (local.get 3) (i32.const 1)))))",
                     "(local i32)")) == kPrices.local + 2 + 10 * 5);
}

TEST_CASE("the oracle knows where the block ends in which a run traps") {
    CHECK(rest(apply(kTrap)) == 1);  // The drop.
    CHECK(rest(apply(kTrap + kFour)) == 5);
    CHECK(rest(apply(kTrap + "(block (loop " + kFour + "))")) == 1);
    CHECK(rest(apply(kTrap + "(block " + kFour + ")" + kFour)) == 9);  // No branch leads there.
    CHECK(rest(apply("(block (br_if 0 (i32.const 0)) " + kTrap + ")" + kFour)) == 1);
    CHECK(rest(apply(kTrap + "(if (i32.const 0) (then " + kFour + "))")) == 1 + 2);
    CHECK(rest(apply("(if (i32.const 1) (then " + kTrap + ")) " + kFour)) == 1);
    CHECK(rest(apply("(if (i32.const 0) (then) (else " + kTrap + kFour + ")) " + kFour)) == 5);
    CHECK(rest(apply("(if (i32.const 1) (then " + kTrap + ") (else " + kFour + "))")) == 1);
    CHECK(rest("(func $f)" + apply(kTrap + "(call $f)" + kFour)) == 1 + kPrices.call);
    CHECK(rest("(memory 0)" + apply(kTrap + "(drop (memory.grow (i32.const 0)))")) ==
          1 + 1 + kPrices.call);
    CHECK(rest("(type $t (func)) (table 1 funcref)" +
               apply("(call_indirect (type $t) (i32.const 0))" + kFour)) == 0);
    CHECK(rest(apply("(block (br_if 0 " + kTrap + "(i32.const 0))" + kFour + ")")) == 1 + 2);
    // Behind these nothing is charged.
    CHECK(rest(apply("(unreachable)" + kFour)) == 0);
    CHECK(rest(apply(kTrap + "(return)" + kFour)) == 1 + 1);
    CHECK(rest(apply("(block " + kTrap + "(br 0)" + kFour + ")")) == 1 + 1);
    CHECK(rest(apply("(block " + kTrap + "(br_table 0 0 (i32.const 0))" + kFour + ")")) ==
          1 + 1 + kPrices.call);
    // A branch that is never reached makes no leader.
    CHECK(rest(apply("(block (block " + kTrap + " (block (br 0) (br 2))))" + kFour)) == 1 + 1);
    // Only the innermost function's block has a rest.
    CHECK(rest("(func $f " + kTrap + ")" + apply("(call $f)" + kFour)) == 1);
    // The host ends the run at the end of a block.
    const reference::Result exited = run(kLeave + apply("(call $leave)" + kFour)).result;
    CHECK(exited.outcome.kind == Kind::exited);
    CHECK(exited.rest == 0);
}

TEST_CASE("the oracle says when a charge by blocks runs out of fuel") {
    const std::string fields = apply(kFour + kTrap + kFour);
    const reference::Result whole = run(fields).result;
    CHECK(whole.outcome.trap == Trap::divide_by_zero);
    CHECK(whole.used == kPrices.run + 4 + 2 + kPrices.divide);
    CHECK(whole.rest == 5);
    const std::uint64_t block = whole.used + whole.rest;
    const auto bill = [&](std::uint64_t fuel) {
        return reference::bill_by_blocks(run(fields, fuel).result, fuel);
    };
    CHECK(bill(block) == reference::Bill{Kind::trapped, Trap::divide_by_zero, block});
    // Enough for what is executed, but not for the block.
    CHECK(run(fields, block - 1).result.outcome.trap == Trap::divide_by_zero);
    CHECK(bill(block - 1) == reference::Bill{Kind::trapped, Trap::out_of_fuel, block - 1});
    // At the first instruction.
    CHECK(bill(kPrices.run) ==
          reference::Bill{Kind::trapped, Trap::out_of_fuel, std::uint64_t{kPrices.run}});
    CHECK(bill(0) == reference::Bill{Kind::trapped, Trap::out_of_fuel, 0});
}

TEST_CASE("the oracle counts calls and bytes of stack") {
    const auto deep = [](int calls) {
        return "(func $f (param i32) (if (local.get 0) (then (call $f (i32.sub (local.get 0)"
               " (i32.const 1))))))" +
               apply("(call $f (i32.const " + std::to_string(calls) + "))");
    };
    CHECK(run(deep(249)).result.outcome.kind == Kind::ok);
    CHECK(run(deep(250)).result.outcome.trap == Trap::call_depth);
    // apply: 3 parameters, 1 operand. $f: 1 parameter, 2 operands. Three calls of $f.
    reference::Rules rules;
    rules.limits.max_stack_bytes = (48 + 8 * 4) + 3 * (48 + 8 * 3);
    CHECK(run(deep(2), kFuel, rules).result.outcome.kind == Kind::ok);
    CHECK(run(deep(3), kFuel, rules).result.outcome.trap == Trap::stack_bytes);
    --rules.limits.max_stack_bytes;
    CHECK(run(deep(2), kFuel, rules).result.outcome.trap == Trap::stack_bytes);
    // Both at once.
    rules.limits.max_call_depth = 3;
    CHECK(run(deep(2), kFuel, rules).result.outcome.trap == Trap::stack_bytes);
    // The call is paid, the entry is not.
    const auto full = run("(func $f (local i64) (call $f))" + apply("(call $f)"));
    CHECK(full.result.used == kPrices.run + 251 * kPrices.call + 250 * kPrices.local);
}

TEST_CASE("the oracle counts operands as a validator does") {
    const auto bytes = [](const std::string& code) {
        reference::Rules rules;
        std::uint32_t least = 48 + 8 * 3;
        for (rules.limits.max_stack_bytes = least;; rules.limits.max_stack_bytes += 8) {
            const Trap trap = run(apply(code), kFuel, rules).result.outcome.trap;
            if (trap != Trap::stack_bytes) break;
        }
        return (rules.limits.max_stack_bytes - least) / 8;
    };
    CHECK(bytes("") == 0);
    CHECK(bytes(kFour) == 2);
    CHECK(bytes("(drop (i32.add (i32.const 1) (i32.add (i32.const 1) (i32.const 1))))") == 3);
    // Code that is never reached does not count, also behind the end of a block that nothing
    // reaches; what a branch leads to does.
    CHECK(bytes("(return)" + kFour) == 0);
    CHECK(bytes("(block (br 0) (block " + kFour + "))") == 0);
    CHECK(bytes("(drop (block (result i32) unreachable))") == 0);
    CHECK(bytes("(block unreachable) " + kFour) == 0);
    CHECK(bytes("(block (br 0)) " + kFour) == 2);
    CHECK(bytes("(if (i32.const 1) (then nop) (else return)) " + kFour) == 2);
}

TEST_CASE("the oracle makes one NaN of all, unless only bits are moved") {
    const auto bits = [](const std::string& value) {
        return run(kTell + apply("(call $tell (i64.reinterpret_f64 (" + value + ")))")).told.at(0);
    };
    constexpr std::uint64_t kNan = 0x7FF8000000000000U;
    CHECK(bits("f64.add (f64.const -nan:0x123) (f64.const 1)") == kNan);
    CHECK(bits("f64.min (f64.const 1) (f64.const -nan:0x123)") == kNan);
    CHECK(bits("f64.sqrt (f64.const -1)") == kNan);
    CHECK(bits("f64.nearest (f64.const nan:0x123)") == kNan);
    CHECK(bits("f64.promote_f32 (f32.const -nan:0x123)") == kNan);
    CHECK(bits("f64.neg (f64.const nan:0x123)") == 0xFFF0000000000123U);
    CHECK(bits("f64.abs (f64.const -nan:0x123)") == 0x7FF0000000000123U);
    CHECK(bits("f64.copysign (f64.const nan:0x123) (f64.const -1)") == 0xFFF0000000000123U);
}

TEST_CASE("the oracle runs the start function before apply, with the same fuel") {
    const std::string fields = kTell + "(func $s (call $tell (i64.const 1))) (start $s)" +
                               apply("(call $tell (local.get 1))");
    const Run seen = run(fields);
    CHECK(seen.told == std::vector<std::uint64_t>{1, 8});
    CHECK(seen.result.used == kPrices.run + 2 * (1 + kPrices.call + 10));
    CHECK(run(kLeave + "(start $leave)" + apply("unreachable")).result.outcome.kind ==
          Kind::exited);
}
