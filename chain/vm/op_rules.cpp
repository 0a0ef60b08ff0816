#include "chain/vm/op_rules.hpp"

#include "chain/vm/instruction.hpp"

namespace chain::vm {

namespace {

using enum ValueType;

// Fills the table from the binary format of the WebAssembly MVP, in the order of the opcodes.
class Rules {
  public:
    constexpr Rules() {
        control();
        variables();
        memory();
        comparisons();
        integers();
        floats();
        conversions();
    }
    std::array<OpRule, 256> table{};

  private:
    constexpr void set(unsigned first, unsigned last, const OpRule& rule) {
        for (unsigned opcode = first; opcode <= last; ++opcode)
            table[opcode] = rule;
    }
    constexpr void price(unsigned first, unsigned last, std::uint32_t Prices::*price) {
        for (unsigned opcode = first; opcode <= last; ++opcode)
            table[opcode].price = price;
    }
    constexpr void unary(unsigned first, unsigned last, ValueType from, ValueType to) {
        set(first, last, {.form = OpForm::plain, .operands = 1, .operand = from, .result = to});
        price(first, last, &Prices::plain);
    }
    constexpr void binary(unsigned first, unsigned last, ValueType type) {
        set(first, last, {.form = OpForm::plain, .operands = 2, .operand = type, .result = type});
        price(first, last, &Prices::plain);
    }
    constexpr void compare(unsigned first,
                           unsigned last,
                           ValueType type,
                           std::uint32_t Prices::*price) {
        set(first,
            last,
            {.form = OpForm::plain,
             .operands = 2,
             .operand = type,
             .is_comparison = true,
             .price = price});
    }

    constexpr void control() {
        for (const unsigned free : {op::nop, op::block, op::loop, op::else_, op::end})
            table[free].form = OpForm::control;
        for (const unsigned plain : {op::unreachable, op::if_, op::return_}) {
            table[plain] = {.form = OpForm::control, .price = &Prices::plain};
        }
        set(op::br,
            op::br_if,
            {.form = OpForm::control, .never_free = true, .price = &Prices::plain});
        for (const unsigned call : {op::br_table, op::call, op::call_indirect}) {
            table[call] = {.form = OpForm::control, .never_free = true, .price = &Prices::call};
        }
    }

    constexpr void variables() {
        set(op::drop, op::select, {.form = OpForm::parametric, .price = &Prices::plain});
        set(op::local_get, op::local_tee, {.form = OpForm::local, .price = &Prices::plain});
        set(op::global_get, op::global_set, {.form = OpForm::global, .price = &Prices::memory});
        for (unsigned i = 0; i < 4; ++i) {
            table[op::i32_const + i] = {.form = OpForm::constant,
                                        .result = static_cast<ValueType>(i),
                                        .price = &Prices::plain};
        }
    }

    constexpr void load(unsigned opcode, ValueType type, std::uint8_t alignment) {
        table[opcode] = {
            .form = OpForm::load, .result = type, .alignment = alignment, .price = &Prices::memory};
    }
    constexpr void store(unsigned opcode, ValueType type, std::uint8_t alignment) {
        table[opcode] = {.form = OpForm::store,
                         .operand = type,
                         .alignment = alignment,
                         .price = &Prices::memory};
    }
    constexpr void memory() {
        load(0x28, i32, 2);
        load(0x29, i64, 3);
        load(0x2a, f32, 2);
        load(0x2b, f64, 3);
        load(0x2c, i32, 0);  // 8 bits, signed and unsigned,
        load(0x2d, i32, 0);
        load(0x2e, i32, 1);  // 16 bits.
        load(0x2f, i32, 1);
        load(0x30, i64, 0);
        load(0x31, i64, 0);
        load(0x32, i64, 1);
        load(0x33, i64, 1);
        load(0x34, i64, 2);  // 32 bits.
        load(0x35, i64, 2);
        store(0x36, i32, 2);
        store(0x37, i64, 3);
        store(0x38, f32, 2);
        store(0x39, f64, 3);
        store(0x3a, i32, 0);
        store(0x3b, i32, 1);
        store(0x3c, i64, 0);
        store(0x3d, i64, 1);
        store(0x3e, i64, 2);
        table[op::memory_size] = {.form = OpForm::memory, .price = &Prices::memory};
        table[op::memory_grow] = {
            .form = OpForm::memory, .never_free = true, .price = &Prices::call};
    }

    constexpr void comparisons() {
        unary(0x45, 0x45, i32, i32);
        table[0x45].is_comparison = true;
        compare(0x46, 0x4f, i32, &Prices::plain);
        unary(0x50, 0x50, i64, i32);
        table[0x50].is_comparison = true;
        compare(0x51, 0x5a, i64, &Prices::plain);
        compare(0x5b, 0x60, f32, &Prices::floating);
        compare(0x61, 0x66, f64, &Prices::floating);
    }

    constexpr void integers() {
        unary(0x67, 0x69, i32, i32);
        binary(0x6a, 0x78, i32);
        price(op::i32_div_s, op::i32_rem_u, &Prices::divide);
        unary(0x79, 0x7b, i64, i64);
        binary(0x7c, 0x8a, i64);
        price(op::i64_div_s, op::i64_rem_u, &Prices::divide);
    }

    constexpr void floats() {
        unary(0x8b, 0x91, f32, f32);
        binary(0x92, 0x98, f32);
        unary(0x99, 0x9f, f64, f64);
        binary(0xa0, 0xa6, f64);
        price(0x8b, 0xa6, &Prices::floating);
        for (const unsigned opcode : {0x91U, 0x95U, 0x9fU, 0xa3U})  // sqrt and div.
            table[opcode].price = &Prices::root;
    }

    constexpr void conversions() {
        unary(0xa7, 0xa7, i64, i32);  // Wrap.
        unary(0xa8, 0xa9, f32, i32);
        unary(0xaa, 0xab, f64, i32);
        unary(0xac, 0xad, i32, i64);  // Extend.
        unary(0xae, 0xaf, f32, i64);
        unary(0xb0, 0xb1, f64, i64);
        unary(0xb2, 0xb3, i32, f32);
        unary(0xb4, 0xb5, i64, f32);
        unary(0xb6, 0xb6, f64, f32);
        unary(0xb7, 0xb8, i32, f64);
        unary(0xb9, 0xba, i64, f64);
        unary(0xbb, 0xbb, f32, f64);
        price(0xa8, 0xab, &Prices::floating);
        price(0xae, 0xbb, &Prices::floating);
        unary(0xbc, 0xbc, f32, i32);  // Reinterpret.
        unary(0xbd, 0xbd, f64, i64);
        unary(0xbe, 0xbe, i32, f32);
        unary(0xbf, 0xbf, i64, f64);
    }
};

}  // namespace

constinit const std::array<OpRule, 256> kOpRules = Rules().table;

}  // namespace chain::vm
