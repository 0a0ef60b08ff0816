#pragma once

#include "chain/vm/host.hpp"
#include "chain/vm/vm.hpp"

#include <array>
#include <cstdint>

namespace chain::vm {

// How the validator treats an opcode.
enum class OpForm : std::uint8_t {
    unknown,  // Not of the MVP.
    control,  // Blocks, branches, calls, return, unreachable, nop.
    parametric,
    local,
    global,
    load,
    store,
    memory,  // memory.size and memory.grow.
    constant,
    plain,  // Takes `operands` values of one type and gives one.
};

// The type and the price of an opcode.
struct OpRule {
    OpForm form = OpForm::unknown;
    std::uint8_t operands = 0;           // Of plain ones.
    ValueType operand = ValueType::i32;  // Of stores: the value.
    ValueType result = ValueType::i32;
    std::uint8_t alignment = 0;              // Natural, as a power of two, of loads and stores.
    bool is_comparison = false;              // eqz, too.
    bool never_free = false;                 // Without a price a loop or a recursion could be free.
    std::uint32_t Prices::*price = nullptr;  // Null: free, whatever the prices.
};

extern const std::array<OpRule, 256> kOpRules;

}  // namespace chain::vm
