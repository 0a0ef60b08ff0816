#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "chain/vm/vm.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace chain::vm {

// The seam between the VM and the machine's C compiler. node/compiler implements it.

// What compiled code calls and is given; the same layout is in node/compiler/runtime.h,
// whose version must change with this one.
inline constexpr std::uint32_t kNativeVersion = 1;
extern "C" {
struct NativeHost {
    void* self;
    std::uint8_t* memory;  // Linear memory, mapped up to the limit of pages.
    std::uint8_t* dirty;   // Compiled code sets the byte of every 4,096 that it writes to.
    int (*call)(void* self, std::uint32_t host, const std::uint64_t* args, std::uint64_t* result);
    void (*resized)(void* self, std::uint64_t bytes);  // The memory has grown.
    double (*round)(int how, double value);            // How: 0 ceil, 1 floor, 2 trunc, 3 nearest,
    float (*round_single)(int how, float value);       // 4 square root.
};
}

// One loaded copy of a compiled module. It has state: an engine owns it and uses it alone.
class NativeCode : base::Pinned {
  public:
    virtual ~NativeCode() = default;

    [[nodiscard]] virtual Tier tier() const = 0;
    // Tells the code its host, which outlives it, and the size of its memory when a run
    // starts; puts globals to their initial values.
    virtual void reset(const NativeHost& host, std::uint64_t memory_bytes) = 0;
    // Runs apply. Nothing: done; else the reason of the trap as runtime.h numbers them.
    [[nodiscard]] virtual Trap apply(const ApplyArgs& args) = 0;
    // Where the rewriter's counters live.
    [[nodiscard]] virtual std::uint64_t& fuel() = 0;
    [[nodiscard]] virtual std::uint64_t& stack() = 0;
    [[nodiscard]] virtual std::uint32_t& trap() = 0;
};

// Compiles rewritten modules outside this process and keeps the results.
// Thread: any, several at once.
class Compiler : base::Pinned {
  public:
    virtual ~Compiler() = default;

    // Whether compilation works on this machine: tried once at the start. A producer asks.
    [[nodiscard]] virtual bool available() const = 0;
    // Why not, for the log; empty when available.
    [[nodiscard]] virtual std::string reason() const = 0;
    // Asks for the code of `module`, whose SHA-256 is `key`. Copies it and returns at once.
    // A second request for the same key does nothing. A full queue drops the request; the
    // engine asks again.
    virtual void request(const base::Hash256& key, base::ByteView module) = 0;
    // Changes whenever new code is ready, so that asking costs next to nothing.
    [[nodiscard]] virtual std::uint64_t generation() const = 0;
    // A new copy of the best code for `key` that is better than `than`; null when there is none.
    [[nodiscard]] virtual std::unique_ptr<NativeCode> load(const base::Hash256& key, Tier than) = 0;
};

}  // namespace chain::vm
