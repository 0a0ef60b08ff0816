#pragma once

#include "chain/vm/validator.hpp"
#include "machine.hpp"

// What the validator says of single functions, for its tests.
namespace checked {

namespace vm = chain::vm;

// Powers of ten, so that a charge shows what it is made of.
inline constexpr vm::Prices kTens{.plain = 1,
                                  .memory = 10,
                                  .divide = 100,
                                  .floating = 1000,
                                  .root = 10'000,
                                  .call = 100'000,
                                  .local = 1'000'000};

struct Body {
    std::string refusal;  // Empty: valid.
    vm::Plan plan;
};

inline Body check_module(const base::Bytes& wasm,
                         std::size_t index,
                         const vm::Prices& prices = kTens,
                         const vm::Limits& limits = {}) {
    const auto module = vm::scan(wasm, limits, machine::hosts(), {.contract = false});
    if (!module) return {module.error().detail, {}};
    vm::BodyValidator validator(*module, limits, prices);
    Body out;
    const auto valid = validator.run(index, out.plan);
    if (!valid) out.refusal = valid.error().detail;
    return out;
}

// A function in a module with something of everything. Function 0 takes and gives nothing,
// number 1 is (i32 i64) -> f32; this one is number 2. Global 0 is a mutable i32, 1 an i64.
inline Body check(const std::string& code,
                  const vm::Prices& prices = kTens,
                  const vm::Limits& limits = {}) {
    const char* const around = R"((type $v (func)) (memory 1) (table 1 funcref)
        (global (mut i32) (i32.const 0)) (global i64 (i64.const 0)) (func (type $v))
        (func (param i32 i64) (result f32) (f32.const 0)))";
    const std::string text = std::string("(module ") + around + "(func " + code + "))";
    return check_module(machine::assemble(text), 2, prices, limits);
}

inline std::string refusal_of(const std::string& code) {
    return check(code).refusal;
}

}  // namespace checked
