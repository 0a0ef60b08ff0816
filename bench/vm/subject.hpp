#pragma once

#include "chain/vm/vm.hpp"
#include "node/machine/machine.hpp"

#include <cstdint>
#include <memory>
#include <string>

// Runs of modules on the engine that nodes have, timed.
namespace vm_bench {

// What a run took: processor time of this thread, and what it was billed.
struct Sample {
    double nanoseconds = 0;
    std::uint64_t units = 0;
    chain::vm::Trap trap = chain::vm::Trap::none;
};

// Between two moments of a run: what more of the same costs.
struct Spent {
    double nanoseconds = 0;
    double units = 0;
    [[nodiscard]] double ratio() const { return units > 0 ? nanoseconds / units : 0; }
};

// Processor time of this thread so far.
[[nodiscard]] double thread_ns();

// Takes what this process used lately out of the processor's caches.
void evict_caches();

// An engine, with the host functions of the tests of the VM and one that does nothing at the
// price of the cheapest that contracts have. Thread: one.
class Bench {
  public:
    Bench();

    // One run of apply(times, 0, 0). Aborts the program when the module is not valid.
    Sample run(const base::Bytes& wasm, const base::Hash256& hash, std::uint64_t times);

    // One run with these arguments; `told` gets what the module said by tell().
    Sample run(const base::Bytes& wasm,
               const base::Hash256& hash,
               const chain::vm::ApplyArgs& args,
               std::vector<std::uint64_t>* told);
    void run_untimed(const base::Bytes& wasm, const base::Hash256& hash);

    // Runs of `times` against runs of one, so that starting costs nothing: the least of several
    // rounds each, with as many times as take some milliseconds. Units 0: a run ended by a trap.
    Spent warm(const base::Bytes& wasm, int rounds);
    // One run with empty caches, the least of some: with what starting it costs.
    Spent cold(const base::Bytes& wasm);
    // One run by turns with those of another module, whose image and table take the places.
    Spent in_turns(const base::Bytes& wasm, const base::Bytes& other);

    // From a module to code that can run. Nothing is kept before.
    double load(const base::Bytes& wasm);
    [[nodiscard]] bool is_valid(const base::Bytes& wasm);
    // Drops what is compiled.
    void forget();

  private:
    node::ContractMachine machine_;
    std::unique_ptr<chain::vm::Engine> engine_;
    double clock_ns_ = 0;  // What looking at the clock costs.
};

}  // namespace vm_bench
