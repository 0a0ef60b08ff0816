#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/vm/host.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace chain::vm {

// The contract VM (spec 03, "Contracts"): one engine, which compiles a module when it is first
// used, so that the first run is as fast as the last.

class Machine;
class Programs;

// Bounds on a module and its run (spec 03, "Limits at setcode"). Part of consensus. Those that
// Antelope's wasm_config has, too, have its defaults, except for the code size.
struct Limits {
    std::uint32_t max_mutable_global_bytes = 1024;
    std::uint32_t max_table_elements = 1024;
    std::uint32_t max_section_elements = 8192;
    std::uint32_t max_linear_memory_init = 64 * 1024;  // End of the last data segment.
    std::uint32_t max_func_local_bytes = 8192;         // Parameters and locals, by their size.
    std::uint32_t max_frame_bytes = 16384;  // The same and the highest operand stack, 8 bytes each.
    std::uint32_t max_params = 64;          // Of a function type,
    std::uint32_t max_module_params = 10000;  // of all function types.
    std::uint32_t max_imports = 1023;
    std::uint32_t max_nested_structures = 1024;
    std::uint32_t max_symbol_bytes = 8192;  // A name of an import or an export.
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
    std::uint32_t plain = 1;         // Constants, locals, arithmetic, comparisons, branches.
    std::uint32_t memory = 3;        // Globals; loads and stores in a memory of up to 1 MiB,
    std::uint32_t memory_mid = 16;   // of up to 4 MiB,
    std::uint32_t memory_far = 100;  // and of more: chained loads miss the processor's cache.
    std::uint32_t divide = 10;       // Integer division and remainder.
    std::uint32_t floating = 20;     // Floating point, multiplication of denormals included,
    std::uint32_t root = 30;         // but for division and square root.
    std::uint32_t call = 10;         // Direct and indirect calls, br_table, memory.grow.
    std::uint32_t local = 1;         // A local that a call sets to zero.
    std::uint32_t page = 2500;       // A page of memory, at the start and at memory.grow.
    std::uint32_t data = 64;         // 1,024 bytes of initial data, put into memory at the start.
    std::uint32_t run = 500;         // Starting an action.

    friend bool operator==(const Prices&, const Prices&) = default;
};

// What setcode learns of an accepted module.
struct ModuleInfo {
    std::vector<std::string> imports;  // In order of the module.
    std::uint32_t functions = 0;       // Defined in the module.
    std::uint32_t initial_pages = 0;
    std::uint32_t data_bytes = 0;  // End of the last data segment.
};

// Decides whether a module may be set as code: a valid one of the WebAssembly MVP, within the
// limits. Pure. invalid: the reason names what, where and the limit; `exception` is
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
    invalid_module,  // The stored code does not pass validate().
    stopped,         // Machine::stop was called. Local: never an outcome of the chain's.
};
inline constexpr std::uint32_t kTraps = static_cast<std::uint32_t>(Trap::stopped) + 1;

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

// Runs contracts. Keeps compiled modules and one linear memory; nothing of a run is left to the
// next. Thread: one. Engines of several threads may share a HostTable and compiled modules; each
// has its Machine.
class Engine : base::Pinned {
  public:
    struct Options {
        Limits limits;
        Prices prices;
        // Of compiled code and what belongs to it, if it is not shared with other engines.
        std::size_t cache_bytes = kCacheBytes;
    };
    static constexpr std::size_t kCacheBytes = std::size_t{256} << 20U;

    // All outlive the engine. Without `shared` it keeps compiled modules for itself.
    Engine(const HostTable& hosts,
           const Options& options,
           Machine& machine,
           Programs* shared = nullptr);
    ~Engine();

    // Asks the machine for the room of a run, which the first run does otherwise. unavailable:
    // there is none; the text says what to do.
    [[nodiscard]] base::Result<void> open();

    // Runs apply(receiver, code, action) of the module whose SHA-256 is `code_hash`. Not
    // re-entrant: a host function must not call it. When the outcome is out_of_fuel the meter is
    // exhausted. A computer without memory for contracts ends the process: going on would give
    // another outcome than other nodes have.
    [[nodiscard]] Outcome run(const base::Hash256& code_hash,
                              base::ByteView wasm,
                              const ApplyArgs& args,
                              Context& context,
                              Meter& meter);

    // What ran since the last call stays compiled until the next one, whatever its bytes: in a
    // block, a contract is paid for once (spec 03, "Loading").
    void begin_block();

    // Changes the rules from the next run on.
    void configure(const Limits& limits, const Prices& prices);

    // Compiles a module ahead of its first run. invalid: as validate().
    [[nodiscard]] base::Result<void> prepare(const base::Hash256& code_hash, base::ByteView wasm);

    // The compiled modules that are kept.
    [[nodiscard]] const Programs& programs() const;

  private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace chain::vm
