#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// WABT's interpreter, as an oracle that others wrote: results, traps and memory; it has no fuel.
// NaN is what the processor makes of it. Standard types throughout: it is compiled as C++17.
namespace wabt_interpreter {

// What a contract may call. Thread: that of run().
class Host {
  public:
    virtual ~Host() = default;
    // Calls the function that was imported under `name`, with raw 64-bit slots as
    // chain::vm::HostFunction has them. False stops the run.
    virtual bool call(const std::string& name,
                      std::uint8_t* memory,
                      std::size_t memory_bytes,
                      const std::uint64_t* args,
                      std::uint64_t* result) = 0;
};

struct Seen {
    bool loaded = false;  // If not, `trap` is the reason.
    std::string trap;     // WABT's text; empty: apply returned. "host": the host stopped it.
    std::vector<std::uint8_t> memory;
    std::vector<std::uint64_t> globals;  // Raw bits.
};

// Instantiates a valid module of the MVP whose imports are functions, and calls its export
// `apply` with three i64. Ends only if the module does.
[[nodiscard]] Seen run(const std::vector<std::uint8_t>& wasm,
                       const std::vector<std::uint64_t>& args,
                       Host& host);

}  // namespace wabt_interpreter
