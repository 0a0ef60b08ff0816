#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/vm/host.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace chain::vm {

// The contract VM (spec 03, "Contracts"). Both tiers, the interpreter and the code compiled
// ahead of time, run one rewritten module, so that results, traps and units are equal.

class Compiler;

// Bounds on a module and its run. Part of consensus; the defaults are Antelope's
// wasm_config, except for the code size.
struct Limits {
    std::uint32_t max_mutable_global_bytes = 1024;
    std::uint32_t max_table_elements = 1024;
    std::uint32_t max_section_elements = 8192;
    std::uint32_t max_linear_memory_init = 64 * 1024;  // End of the last data segment.
    std::uint32_t max_func_local_bytes = 8192;         // Parameters and locals.
    std::uint32_t max_nested_structures = 1024;
    std::uint32_t max_symbol_bytes = 8192;  // Names of imports and exports.
    std::uint32_t max_module_bytes = 512 * 1024;
    std::uint32_t max_code_bytes = 512 * 1024;  // One function body.
    std::uint32_t max_br_table_elements = 8191;
    std::uint32_t max_pages = 528;       // Of 64 KiB.
    std::uint32_t max_call_depth = 251;  // apply is 1. At most 1,000.
    std::uint32_t max_stack_bytes = 1024 * 1024;

    friend bool operator==(const Limits&, const Limits&) = default;
};

// Prices of instructions by class, in units: a unit is a nanosecond of what the compiler makes,
// on the reference machine (bench/vm measures it).
struct Prices {
    std::uint32_t plain = 1;        // Constants, locals, arithmetic, comparisons, branches.
    std::uint32_t memory = 2;       // Globals; loads and stores in a memory of up to 1 MiB,
    std::uint32_t memory_mid = 8;   // of up to 4 MiB,
    std::uint32_t memory_far = 60;  // and of more: chained loads miss the processor's cache.
    std::uint32_t divide = 10;      // Integer division and remainder.
    std::uint32_t floating = 10;    // Floating point arithmetic and conversion,
    std::uint32_t root = 20;        // but for division and square root.
    std::uint32_t call = 10;        // Direct and indirect calls, br_table, memory.grow.
    std::uint32_t local = 1;        // A local that a call sets to zero.
    std::uint32_t page = 2500;      // A page of memory, at the start and at memory.grow.
    std::uint32_t data = 64;        // 1,024 bytes of initial data, put into memory at the start.
    std::uint32_t run = 500;        // Starting an action.

    friend bool operator==(const Prices&, const Prices&) = default;
};

// What setcode learns of an accepted module.
struct ModuleInfo {
    std::vector<std::string> imports;  // In order of the module.
    std::uint32_t functions = 0;       // Defined in the module.
    std::uint32_t initial_pages = 0;
    std::uint32_t data_bytes = 0;  // End of the last data segment.
};

// Decides whether a module may be set as code: our scan, then WABT's validator with MVP
// features. Pure. invalid: the reason names what, where and the limit; `exception` is
// Antelope's 3070003 (wasm_serialization_error) or 3070000 (an unknown import).
[[nodiscard]] base::Result<ModuleInfo> validate(base::ByteView wasm,
                                                const Limits& limits,
                                                const HostTable& hosts);

enum class Trap : std::uint8_t {
    none,
    unreachable,
    memory_out_of_bounds,
    divide_by_zero,
    integer_overflow,
    invalid_conversion,  // NaN to integer.
    indirect_call,       // No such element, an empty one, or another type.
    call_depth,
    stack_bytes,
    out_of_fuel,
    host_stop,       // A host function said no; see Context.
    stopped,         // Machine::stop(), by the wall clock: never the same on two machines.
    invalid_module,  // The stored code does not pass validate().
};

struct Outcome {
    enum class Kind : std::uint8_t { ok, exited, trapped };
    Kind kind = Kind::ok;
    Trap trap = Trap::none;
    std::string text;  // nodeos' message for the trap; empty when ok.
};

struct ApplyArgs {
    std::uint64_t receiver = 0;
    std::uint64_t code = 0;
    std::uint64_t action = 0;
};

enum class Tier : std::uint8_t { interpreter, quick, optimised };

// Runs contracts. Keeps loaded modules and one linear memory; nothing of a run is left to
// the next. Thread: one. Engines of several threads may share a HostTable and a Compiler.
class Engine : base::Pinned {
  public:
    struct Options {
        Limits limits;
        Prices prices;
        std::size_t cached_modules = 64;  // The least recently used goes first.
    };

    // `hosts`, and `compiler` unless it is null, outlive the engine. Without a compiler
    // everything is interpreted.
    Engine(const HostTable& hosts, const Options& options, Compiler* compiler);
    ~Engine();

    // Runs apply(receiver, code, action) of the module whose SHA-256 is `code_hash`. Not
    // re-entrant: a host function must not call it. When the outcome is out_of_fuel the
    // meter is exhausted.
    [[nodiscard]] Outcome run(const base::Hash256& code_hash,
                              base::ByteView wasm,
                              const ApplyArgs& args,
                              Context& context,
                              Meter& meter);

    // Changes the rules from the next run on; loaded modules are dropped.
    void configure(const Limits& limits, const Prices& prices);

    // The tier in which the module would run now; interpreter for one not seen yet.
    [[nodiscard]] Tier tier(const base::Hash256& code_hash) const;

    // Loads a module ahead of its first run and asks for its compilation. invalid: as
    // validate().
    [[nodiscard]] base::Result<void> prepare(const base::Hash256& code_hash, base::ByteView wasm);

  private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace chain::vm
