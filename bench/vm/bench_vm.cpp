// What a contract's run costs: the overhead of a run, calls to the host, fib(30), and the worst
// uses of each price, as units a second (nothing should take more than 3 ns a unit).
//
//   usage: bench_vm [--benchmark_format=json]
#include "../../tests/chain/vm/machine.hpp"
#include "node/machine/machine.hpp"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace vm = chain::vm;

namespace {

std::string entry(const std::string& code, const std::string& locals = "") {
    return "(func (export \"apply\") (param i64 i64 i64) " + locals + code + ")";
}

// Repeats `code` `times` times.
std::string loop(const std::string& code, int times) {
    return entry("(local.set 3 (i32.const " + std::to_string(times) + ")) (loop " + code +
                     "(br_if 0 (local.tee 3 (i32.sub (local.get 3) (i32.const 1)))))",
                 "(local i32 i64 f64)");
}

const std::string kTell = "(import \"env\" \"tell\" (func $tell (param i64)))";
const std::string kSum = "(import \"env\" \"sum\" (func $sum (param i32 i32) (result i64)))";

struct Case {
    const char* name;
    std::string fields;
};

std::vector<Case> cases() {
    return {
        {"empty apply, 1 page", "(memory 1)" + entry("")},
        // Touches stack, data and heap as a token transfer does, with 12 host calls.
        {"like a transfer",
         kTell + kSum + "(memory 1) (data (i32.const 8192) \"" + std::string(4000, 'x') + "\")" +
             loop("(i64.store (i32.sub (i32.const 8192) (i32.shl (local.get 3) (i32.const 6)))"
                  "(local.get 4)) (local.set 4 (i64.add (local.get 4) (call $sum (i32.const 8192)"
                  " (i32.const 16)))) (i64.store offset=16384 (i32.shl (local.get 3) (i32.const 5))"
                  "(local.get 4))",
                  12)},
        {"host call x1000",
         kTell + loop("(drop (call $s))", 1000) +
             "(func $s (result i32) (call $tell (i64.const 1)) (i32.const 0))"},
        {"fib(30)",
         "(func $fib (param i32) (result i32) (if (result i32) (i32.lt_s (local.get 0)"
         " (i32.const 2)) (then (local.get 0)) (else (i32.add (call $fib (i32.sub (local.get 0)"
         " (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))" +
             entry("(drop (call $fib (i32.const 30)))")},
        {"plain: add",
         loop("(local.set 4 (i64.add (i64.mul (local.get 4) (i64.const 3))"
              " (i64.const 7)))",
              100000)},
        {"memory: store, load",
         "(memory 16)" + loop("(i64.store (i32.and (i32.mul (local.get 3) (i32.const 4099))"
                              " (i32.const 0xfffff)) (i64.load (i32.and (i32.mul (local.get 3)"
                              " (i32.const 8209)) (i32.const 0xfffff))))",
                              100000)},
        {"divide",
         loop("(local.set 4 (i64.div_s (i64.const -9000000000000000000)"
              " (i64.add (i64.extend_i32_u (local.get 3)) (i64.const 3))))",
              100000)},
        {"floating: sqrt, div",
         loop("(local.set 5 (f64.nearest (f64.sqrt (f64.div (f64.convert_i32_s (local.get 3))"
              " (f64.const 7)))))",
              100000)},
        {"call indirect",
         "(type $t (func)) (table 1 funcref) (elem (i32.const 0) $f) (func $f (type $t))" +
             loop("(call_indirect (type $t) (i32.const 0))", 100000)},
        {"page: touch all of 33 MiB",
         "(memory 528)" + loop("(i32.store8 (i32.shl (local.get 3) (i32.const 12))"
                               " (local.get 3))",
                               8447)},
    };
}

constexpr std::uint64_t kFuel = 1'000'000'000'000;

void measure(benchmark::State& state, vm::Engine* engine, const base::Bytes* wasm) {
    const base::Hash256 hash = base::crypto::sha256(*wasm);
    if (!engine->prepare(hash, *wasm)) return state.SkipWithError("not a valid module");
    machine::Recorder context;
    std::uint64_t used = 0;
    for (auto round : state) {
        vm::Meter meter(kFuel);
        const vm::Outcome outcome = engine->run(hash, *wasm, {}, context, meter);
        if (outcome.kind != vm::Outcome::Kind::ok) return state.SkipWithError("trapped");
        used = kFuel - meter.remaining();
        context.told.clear();
    }
    state.counters["units"] = static_cast<double>(used);
    state.counters["units/s"] = benchmark::Counter(static_cast<double>(used),
                                                   benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    node::ContractMachine contract_machine;
    vm::Engine engine(machine::hosts(), {}, contract_machine);
    for (const Case& each : cases()) {
        const base::Bytes wasm = machine::assemble("(module " + each.fields + ")");
        benchmark::RegisterBenchmark(each.name, [&engine, wasm](benchmark::State& state) {
            measure(state, &engine, &wasm);
        });
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
