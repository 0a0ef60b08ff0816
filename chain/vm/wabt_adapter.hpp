#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// The boundary to WABT, whose headers compile as C++17 only: nothing newer may stand here.
// No exception leaves these functions. Thread: any, each object by one.
namespace chain::vm {

// Writes a rewritten module as C. False: `error` says why. WABT may abort here; run it in a
// process of its own. `signatures` receives "<index> <result><params>" of each import, one a
// line, types as the letters v i l f d.
struct WabtC {
    std::string source;
    std::string header;
    std::string signatures;
    std::string error;
    bool ok = false;
};
WabtC wabt_write_c(const std::uint8_t* wasm, std::size_t size);

// WebAssembly text to binary, valid or not; for tests and benchmarks.
bool wabt_parse_text(const char* text,
                     std::size_t size,
                     std::vector<std::uint8_t>* out,
                     std::string* error);

// A rewritten module in WABT's interpreter.
class WabtInstance {
  public:
    // Calls host function `host`. False stops the contract.
    using HostCall = bool (*)(void* self,
                              std::uint32_t host,
                              const std::uint64_t* args,
                              std::uint64_t* result);
    enum class End { ok, trapped };
    enum class Counter { fuel, stack, trap };

    // Null: `error` says why. `self` is handed to `call` as it is.
    static std::unique_ptr<WabtInstance> make(
        const std::uint8_t* wasm, std::size_t size, HostCall call, void* self, std::string* error);
    virtual ~WabtInstance() = default;

    // Puts globals back to their initial values and shrinks the memory to its initial size;
    // the caller then fills the memory.
    virtual void reset() = 0;
    // Runs apply. When trapped, `reason` is WABT's text.
    virtual End apply(const std::uint64_t* args, std::string* reason) = 0;
    [[nodiscard]] virtual std::uint64_t counter(Counter which) const = 0;
    virtual void set_counter(Counter which, std::uint64_t value) = 0;
    virtual std::uint8_t* memory() = 0;  // Moves when the memory grows.
    [[nodiscard]] virtual std::uint64_t memory_size() const = 0;
};

}  // namespace chain::vm
