// Every end that a contract can come to, what it costs, and that nothing of a run is left to the
// next.
#include "chain/vm/programs.hpp"
#include "machine.hpp"
#include "node/machine/machine.hpp"

#include <catch2/catch.hpp>

namespace vm = chain::vm;
using Kind = vm::Outcome::Kind;

namespace {

machine::Seen run(const std::string& fields,
                  const vm::ApplyArgs& args = {},
                  std::uint64_t fuel = 100'000'000) {
    node::ContractMachine contract_machine;
    vm::Engine engine(machine::hosts(), {}, contract_machine);
    return machine::run(engine, machine::assemble("(module " + fields + ")"), args, fuel);
}

std::string apply(const std::string& code, const std::string& locals = "") {
    return "(func (export \"apply\") (param i64 i64 i64) " + locals + code + ")";
}

const std::string kTell = "(import \"env\" \"tell\" (func $tell (param i64)))";
const std::string kLeave = "(import \"env\" \"leave\" (func $leave))";
const std::string kFill = "(import \"env\" \"fill\" (func $fill (param i32 i32 i32)))";

vm::Trap trap_of(const std::string& fields) {
    const machine::Seen seen = run(fields);
    CHECK(seen.kind == Kind::trapped);
    return seen.trap;
}

}  // namespace

TEST_CASE("apply gets its arguments and host functions theirs") {
    const auto seen = run(kTell + apply("(call $tell (local.get 0)) (call $tell (local.get 1))"
                                        "(call $tell (local.get 2))"),
                          {.receiver = 7, .code = ~0ULL, .action = 9});
    CHECK(seen.kind == Kind::ok);
    CHECK(seen.told == std::vector<std::uint64_t>{7, ~0ULL, 9});
}

TEST_CASE("each trap has its reason") {
    CHECK(trap_of(apply("unreachable")) == vm::Trap::unreachable);
    CHECK(trap_of("(memory 1)" + apply("(drop (i32.load (i32.const 65533)))")) ==
          vm::Trap::memory_out_of_bounds);
    CHECK(trap_of("(memory 1)" + apply("(i64.store offset=4294967295 (i32.const -1)"
                                       " (i64.const 0))")) == vm::Trap::memory_out_of_bounds);
    CHECK(trap_of(apply("(drop (i32.div_u (i32.const 1) (i32.const 0)))")) ==
          vm::Trap::divide_by_zero);
    CHECK(trap_of(apply("(drop (i64.rem_s (i64.const 1) (i64.const 0)))")) ==
          vm::Trap::divide_by_zero);
    CHECK(trap_of(apply("(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))")) ==
          vm::Trap::integer_overflow);
    CHECK(trap_of(apply("(drop (i32.trunc_f64_s (f64.const 1e10)))")) ==
          vm::Trap::integer_overflow);
    CHECK(trap_of(apply("(drop (i64.trunc_f32_u (f32.const nan)))")) ==
          vm::Trap::invalid_conversion);
    const std::string indirect =
        "(type $t (func)) (type $u (func (param i32))) (table 3 funcref)"
        "(func $f (type $u)) (elem (i32.const 1) $f)";
    for (const char* const index : {"0", "1", "3", "-1"}) {
        CHECK(trap_of(indirect + apply("(call_indirect (type $t) (i32.const " + std::string(index) +
                                       "))")) == vm::Trap::indirect_call);
    }
    CHECK(run(indirect + apply("(call_indirect (type $u) (i32.const 5) (i32.const 1))")).kind ==
          Kind::ok);
}

TEST_CASE("the host may end an action, with or without success") {
    CHECK(run(kLeave + apply("(call $leave) unreachable")).kind == Kind::exited);
    const auto seen = run(kFill + "(memory 1)" +
                          apply("(call $fill (i32.const 65000) (i32.const 537) (i32.const 1))"));
    CHECK(seen.trap == vm::Trap::host_stop);
    CHECK(seen.text == "fill outside the memory");
}

TEST_CASE("loops and recursion without end run out of fuel or stack") {
    const auto loop = run(apply("(loop (br 0))"), {}, 1'000'000);
    CHECK(loop.trap == vm::Trap::out_of_fuel);
    CHECK(loop.used == 1'000'000);
    CHECK(trap_of("(func $f (call $f))" + apply("(call $f)")) == vm::Trap::call_depth);
    // Each frame takes 48 bytes and 8 a local.
    CHECK(trap_of("(func $f (local " +
                  [] {
                      std::string many;
                      for (int i = 0; i < 1000; ++i)
                          many += "i64 ";
                      return many;
                  }() +
                  ") (call $f))" + apply("(call $f)")) == vm::Trap::stack_bytes);
    // A table jump back, and a loop whose body does nothing.
    CHECK(run(apply("(loop (br_table 0 0 (i32.const 0)))"), {}, 10'000).trap ==
          vm::Trap::out_of_fuel);
}

TEST_CASE("calls may be 251 deep, apply included") {
    const auto deep = [](int calls) {
        return "(func $f (param i32) (if (local.get 0) (then (call $f (i32.sub (local.get 0)"
               " (i32.const 1))))))" +
               apply("(call $f (i32.const " + std::to_string(calls) + "))");
    };
    CHECK(run(deep(249)).kind == Kind::ok);
    CHECK(run(deep(250)).trap == vm::Trap::call_depth);
    // Frames are given back on every way out of a function.
    CHECK(run("(func $f (param i32) (result i32) (if (local.get 0) (then (return (i32.const 1))))"
              " (block (br 1 (i32.const 2))) (i32.const 3))" +
              apply("(loop (drop (call $f (i32.and (local.get 3) (i32.const 1))))"
                    " (local.set 3 (i32.add (local.get 3) (i32.const 1)))"
                    " (br_if 0 (i32.lt_u (local.get 3) (i32.const 1000))))",
                    "(local i32)"))
              .kind == Kind::ok);
}

TEST_CASE("units are what the instructions cost") {
    const vm::Prices prices;
    const auto cost = [&](const std::string& fields) {
        const auto seen = run(fields);
        CHECK(seen.kind == Kind::ok);
        return seen.used - prices.run;
    };
    CHECK(cost(apply("")) == 0);
    CHECK(cost(apply("(drop (i32.add (i32.const 1) (i32.const 2)))")) == 4 * prices.plain);
    CHECK(cost("(memory 3)" + apply("")) == 3 * prices.page);
    CHECK(cost("(memory 1) (data (i32.const 1024) \"x\")" + apply("")) ==
          prices.page + 2 * prices.data);
    CHECK(cost("(memory 1)" + apply("(drop (memory.grow (i32.const 2)))")) ==
          3 * prices.page + prices.call + 2 * prices.plain);
    CHECK(cost(kTell + apply("(call $tell (i64.const 0))")) == prices.plain + prices.call + 10);
    // Only the branch that is taken is paid for.
    CHECK(cost(apply("(if (i32.const 0) (then (drop (f64.sqrt (f64.const 1)))) (else nop))")) ==
          2 * prices.plain);
    // A local is set to zero; then ten rounds of: get, const, sub, tee, br_if.
    CHECK(cost(apply("(local.set 3 (i32.const 10)) (loop (br_if 0 (local.tee 3"
                     " (i32.sub (local.get 3) (i32.const 1)))))",
                     "(local i32)")) == prices.local + 2 * prices.plain + 10 * 5 * prices.plain);
}

TEST_CASE("one unit too few is noticed, whoever needs it") {
    const std::string code = kTell + apply("(call $tell (i64.const 1)) (call $tell (i64.const 2))");
    const std::uint64_t needed = run(code).used;
    CHECK(run(code, {}, needed).kind == Kind::ok);
    for (std::uint64_t fuel = 0; fuel < needed; fuel += 7) {
        const auto seen = run(code, {}, fuel);
        CHECK(seen.trap == vm::Trap::out_of_fuel);
        CHECK(seen.used == fuel);
    }
    CHECK(run(code, {}, needed - 1).trap == vm::Trap::out_of_fuel);
}

TEST_CASE("memory grows to its limit and no further") {
    const auto grow = [](const std::string& memory, const std::string& pages) {
        const auto seen =
            run(kTell + memory +
                apply("(call $tell (i64.extend_i32_s (memory.grow (i32.const " + pages +
                      ")))) (call $tell (i64.extend_i32_u "
                      "(memory.size)))"));
        REQUIRE(seen.kind == Kind::ok);
        return seen.told;
    };
    using Told = std::vector<std::uint64_t>;
    CHECK(grow("(memory 1)", "527") == Told{1, 528});
    CHECK(grow("(memory 1)", "528") == Told{~0ULL, 1});
    CHECK(grow("(memory 1)", "-1") == Told{~0ULL, 1});
    CHECK(grow("(memory 1 3)", "3") == Told{~0ULL, 1});
    CHECK(grow("(memory 1 9999)", "527") == Told{1, 528});
    CHECK(run("(memory 1)" + apply("(drop (memory.grow (i32.const 500)))"), {}, 1'000'000).trap ==
          vm::Trap::out_of_fuel);
}

TEST_CASE("the start function runs before apply") {
    CHECK(run(kTell +
              "(global $g (mut i64) (i64.const 1)) (func $s (global.set $g (i64.const 5)))"
              "(start $s)" +
              apply("(call $tell (global.get $g))"))
              .told == std::vector<std::uint64_t>{5});
}

TEST_CASE("a NaN has one spelling, whatever made it") {
    const auto told = run(kTell + apply(R"(
        (call $tell (i64.reinterpret_f64 (f64.div (f64.const 0) (f64.const 0))))
        (call $tell (i64.reinterpret_f64 (f64.add (f64.const -nan:0x123) (f64.const 1))))
        (call $tell (i64.reinterpret_f64 (f64.sqrt (f64.const -1))))
        (call $tell (i64.reinterpret_f64 (f64.neg (f64.const nan:0x1))))
        (call $tell (i64.extend_i32_u (i32.reinterpret_f32 (f32.min (f32.const -nan)
          (f32.const 2)))))
        (call $tell (i64.reinterpret_f64 (f64.promote_f32 (f32.const -nan:0x5))))
        (call $tell (i64.extend_i32_u (i32.reinterpret_f32 (f32.convert_i64_u
          (i64.const 0x8000008000000001))))))"))
                          .told;
    CHECK(told == std::vector<std::uint64_t>{0x7FF8000000000000,
                                             0x7FF8000000000000,
                                             0x7FF8000000000000,
                                             0xFFF0000000000001,
                                             0x7FC00000,
                                             0x7FF8000000000000,
                                             0x5F000001});
}

TEST_CASE("a run leaves nothing to the next, of the same module or another") {
    node::ContractMachine contract_machine;
    vm::Engine engine(machine::hosts(), {}, contract_machine);
    const std::string sum = "(import \"env\" \"sum\" (func $sum (param i32 i32) (result i64)))";
    const base::Bytes first = machine::assemble(
        "(module " + kTell + sum +
        "(memory 1) (data (i32.const 10) \"\\01\\02\") (global $g (mut i64) (i64.const 3))" +
        apply("(call $tell (call $sum (i32.const 0) (i32.const 65536)))"
              "(call $tell (global.get $g)) (global.set $g (i64.const 99))"
              "(i64.store (i32.const 4092) (i64.const -1)) (i32.store8 (i32.const 10)"
              " (i32.const 7)) (drop (memory.grow (i32.const 1)))"
              "(i64.store (i32.const 65530) (i64.const -1))") +
        ")");
    const base::Bytes second =
        machine::assemble("(module " + kTell + sum + "(memory 2)" +
                          apply("(call $tell (call $sum (i32.const 0) (i32.const 131072)))") + ")");
    for (int i = 0; i < 3; ++i) {
        CHECK(machine::run(engine, first).told == std::vector<std::uint64_t>{3, 3});
        CHECK(machine::run(engine, second).told == std::vector<std::uint64_t>{0});
    }
}

TEST_CASE("the least recently used module is forgotten, and comes back") {
    const auto teller = [](int number) {
        return machine::assemble("(module " + kTell +
                                 apply("(call $tell (i64.const " + std::to_string(number) + "))") +
                                 ")");
    };
    node::ContractMachine first_machine;
    vm::Engine first(machine::hosts(), {}, first_machine);
    CHECK(machine::run(first, teller(1)).kind == Kind::ok);
    const std::size_t one = first.programs().bytes();
    REQUIRE(one > 0);
    vm::Engine::Options options;
    options.cache_bytes = 2 * one + one / 2;
    node::ContractMachine contract_machine;
    vm::Engine engine(machine::hosts(), options, contract_machine);
    for (int round = 0; round < 3; ++round) {
        engine.begin_block();
        for (int i = 0; i < 4; ++i) {
            CHECK(machine::run(engine, teller(i)).told ==
                  std::vector<std::uint64_t>{static_cast<std::uint64_t>(i)});
            CHECK(engine.programs().bytes() <= options.cache_bytes);
        }
    }
    CHECK(engine.programs().bytes() == 2 * one);
}

TEST_CASE("engines share what one of them compiled, by rules") {
    const base::Bytes wasm = machine::assemble("(module " + apply("nop") + ")");
    vm::ProgramCache shared(std::size_t{1} << 20U);
    node::ContractMachine first_machine;
    vm::Engine first(machine::hosts(), {}, first_machine, &shared);
    node::ContractMachine second_machine;
    vm::Engine second(machine::hosts(), {}, second_machine, &shared);
    const vm::Programs::Key key{base::crypto::sha256(wasm), shared.rules({}, {})};
    CHECK(machine::run(first, wasm).kind == Kind::ok);
    const auto compiled = shared.find(key);
    REQUIRE(compiled);
    CHECK(machine::run(second, wasm).kind == Kind::ok);
    CHECK(shared.find(key) == compiled);
    const std::size_t one = shared.bytes();
    second.configure({}, {.run = 5});
    CHECK(machine::run(second, wasm).used == 5);
    CHECK(machine::run(first, wasm).used == vm::Prices{}.run);
    CHECK(shared.bytes() == 2 * one);
}

TEST_CASE("what a block uses is compiled once in it, whatever the cache holds") {
    const auto teller = [](int number) {
        return machine::assemble("(module " + kTell +
                                 apply("(call $tell (i64.const " + std::to_string(number) + "))") +
                                 ")");
    };
    struct Counting : vm::Programs {
        vm::ProgramCache inner{1};  // Room for the last one.
        int kept = 0;
        std::uint32_t rules(const vm::Limits& limits, const vm::Prices& prices) override {
            return inner.rules(limits, prices);
        }
        std::shared_ptr<const vm::Prepared> find(const Key& key) override {
            return inner.find(key);
        }
        void keep(const Key& key, std::shared_ptr<const vm::Prepared> prepared) override {
            ++kept;
            inner.keep(key, std::move(prepared));
        }
        [[nodiscard]] std::size_t bytes() const override { return inner.bytes(); }
        [[nodiscard]] bool is_full() const override { return inner.is_full(); }
    } programs;
    node::ContractMachine contract_machine;
    vm::Engine engine(machine::hosts(), {}, contract_machine, &programs);
    const auto use_all = [&] {
        for (int i = 0; i < 4; ++i)
            CHECK(machine::run(engine, teller(i)).kind == Kind::ok);
    };
    engine.begin_block();
    use_all();
    use_all();
    CHECK(programs.kept == 4);
    CHECK(programs.is_full());
    engine.begin_block();
    use_all();
    CHECK(programs.kept == 8);
}

TEST_CASE("code that is no valid module fails the action, and new prices take effect") {
    node::ContractMachine contract_machine;
    vm::Engine engine(machine::hosts(), {}, contract_machine);
    const auto seen = machine::run(engine, base::Bytes(10));
    CHECK(seen.trap == vm::Trap::invalid_module);
    CHECK_FALSE(engine.prepare({}, base::Bytes(3)));
    const base::Bytes wasm = machine::assemble("(module " + apply("nop") + ")");
    CHECK(engine.prepare(base::crypto::sha256(wasm), wasm));
    CHECK(machine::run(engine, wasm).used == vm::Prices{}.run);
    engine.configure({}, {.run = 5});
    CHECK(machine::run(engine, wasm).used == 5);
}
