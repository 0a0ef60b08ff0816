#pragma once

#include "base/pinned.hpp"
#include "chain/vm/layout.hpp"
#include "chain/vm/machine.hpp"
#include "chain/vm/program.hpp"

#include <cstdint>
#include <span>

namespace chain::vm {

// Runs programs: their linear memory, globals and table below and in a machine's room, and the
// way back from contract to host functions. One per engine. Thread: the engine's.
class Sandbox : base::Pinned {
  public:
    // All outlive it.
    Sandbox(const HostTable& hosts, const Limits& limits, const Prices& prices, Machine& machine);

    // Asks the machine for room, also after limits were raised. unavailable: it has none; the text
    // names the remedy.
    [[nodiscard]] base::Result<void> open();

    // Puts memory, globals and table to their initial values, then runs the start function, if
    // there is one, and apply. The meter is charged by host functions and, whenever the contract
    // is left, with what its own instructions used. open() has succeeded.
    [[nodiscard]] Trap run(const Program& program,
                           const ApplyArgs& args,
                           Context& context,
                           Meter& meter);

    // The two steps of run(), for WebAssembly's own tests: a run begins, and calls any function.
    // The result's bits are in `result`. False: the machine was told to stop before it began.
    [[nodiscard]] bool begin(const Program& program, Context& context, Meter& meter);
    [[nodiscard]] Trap invoke(std::uint32_t function,
                              std::span<const std::uint64_t> arguments,
                              bool returns_float,
                              std::uint64_t& result);
    // The value of a mutable global by its place in Program::globals.
    [[nodiscard]] std::uint64_t global(std::size_t place) const;

    // The program that may have run last goes away.
    void forget() { loaded_ = nullptr; }

  private:
    static int call_host(void* self,
                         std::uint32_t host,
                         const std::uint64_t* args,
                         std::uint64_t* result);
    static std::uint32_t grow(void* self, std::uint32_t pages);

    template <class T>
    void set(std::int32_t place, const T& value) const;
    template <class T>
    [[nodiscard]] T get(std::int32_t place) const;
    void fill_constants() const;
    [[nodiscard]] bool restore(const Program& program);
    void clean(const Program& program, std::uint64_t begin, std::uint64_t end) const;
    void resize(std::uint32_t pages);
    void grant_fuel();
    [[nodiscard]] bool take_fuel();
    [[nodiscard]] bool call(std::uint32_t host, const std::uint64_t* args, std::uint64_t* result);

    const HostTable& hosts_;
    const Limits& limits_;
    const Prices& prices_;
    Machine& machine_;
    std::byte* base_ = nullptr;        // Byte 0 of the linear memory.
    const Program* loaded_ = nullptr;  // Whose image the clean parts of the memory hold, or null.
    const Program* running_ = nullptr;
    std::uint64_t loaded_bytes_ = 0;  // How far an image was put there.
    Memory memory_;
    Context* context_ = nullptr;
    Meter* meter_ = nullptr;
    std::uint64_t granted_ = 0;  // Fuel last given to the contract.
};

}  // namespace chain::vm
