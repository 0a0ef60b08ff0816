#pragma once

#include "chain/vm/vm.hpp"

#include <cstdint>

namespace reference {

// Instructions that take operands and make a value of them, and nothing else: opcodes 0x45
// (i32.eqz) to 0xBF (f64.reinterpret_i64) of the WebAssembly MVP. Written from the
// specification; shares nothing with chain/vm.

// What decides an instruction's price.
enum class Class : std::uint8_t {
    free,      // block, loop, else, end, nop.
    plain,     // Whatever is in no other class.
    branch,    // br, br_if: as plain, but 1 at least.
    global,    // Globals and memory.size.
    access,    // Loads and stores: by the size of the memory.
    divide,    // Integer division and remainder.
    floating,  // Floating point but for root.
    root,      // Division and square root of floating point.
    call,      // call, call_indirect, br_table, memory.grow: 1 at least.
};

struct Numeric {
    unsigned operands = 0;  // 1 or 2. 0: no such instruction.
    Class price = Class::plain;
    // Slots are raw 64 bits; a value of 32 bits has zeros above. Sets `trap` or returns the
    // result. The second operand of a unary instruction is ignored.
    std::uint64_t (*evaluate)(std::uint64_t a, std::uint64_t b, chain::vm::Trap& trap) = nullptr;
};

[[nodiscard]] const Numeric& numeric(std::uint8_t opcode);

}  // namespace reference
