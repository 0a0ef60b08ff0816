#pragma once

#include "chain/vm/assembler.hpp"
#include "chain/vm/module.hpp"
#include "chain/vm/vm.hpp"

#include <cstdint>
#include <vector>

namespace chain::vm {

// A module as machine code: position-independent, the same on every machine.
struct CompiledModule {
    CodeBlock code;
    // int enter(u8* memory, const void* function, const u64* arguments, u64 count): runs a
    // function on the contract's stack; 0, or the number of a Trap. Its result is in the fields
    // below `memory`.
    std::uint32_t enter = 0;
    std::vector<std::uint32_t> functions;  // Where each begins: imported ones first.
    std::vector<std::uint32_t> types;      // Of each function: its number among different types.
    std::vector<std::uint64_t> globals;    // The mutable ones at the start.
};

// Checks the types of all bodies and compiles them, in one pass over the module, each function
// before the next. `module` is of scan() with the same limits. Time, code and memory are linear in
// its bytes. invalid: a body is no valid WebAssembly, see BodyValidator.
//
// Single pass, without intermediate representation: a value is a constant, a local, a register or
// a slot of the frame when it is used (Operands), and each instruction is written at once.
// Registers: r15 linear memory, r14 calls and stack that are left, r13 units that are left,
// rbx rbp r12 r9 r10 r11 and xmm8 to xmm15 locals, the others operands.
[[nodiscard]] base::Result<CompiledModule> compile(const Module& module,
                                                   const Limits& limits,
                                                   const Prices& prices);

}  // namespace chain::vm
