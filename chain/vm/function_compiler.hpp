#pragma once

#include "base/check.hpp"
#include "chain/vm/assembler.hpp"
#include "chain/vm/frame.hpp"
#include "chain/vm/instruction.hpp"
#include "chain/vm/operands.hpp"
#include "chain/vm/stubs.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace chain::vm {

// What all functions of a module share while they are compiled.
struct ModuleContext {
    const Module& module;
    const Limits& limits;
    const Prices& prices;
    const Stubs& stubs;
    std::vector<std::uint32_t> types;         // Numbers of the different types, by type index.
    std::vector<std::uint32_t> global_slots;  // Of the mutable globals, by global index.
    struct OpenCall {
        Assembler::Offset at = 0;
        std::uint32_t function = 0;
    };
    std::vector<OpenCall> calls;  // To be set when all functions are written.
};

// Reads instructions of a body that was validated. Past its end is our bug.
class Cursor {
  public:
    Cursor() = default;
    explicit Cursor(base::ByteView bytes) : bytes_(bytes) {}

    [[nodiscard]] std::uint32_t offset() const { return static_cast<std::uint32_t>(at_); }
    [[nodiscard]] std::uint8_t peek() const {
        return at_ < bytes_.size() ? std::to_integer<std::uint8_t>(bytes_[at_])
                                   : std::uint8_t{op::end};
    }
    std::uint8_t u8() {
        CHECK(at_ < bytes_.size());
        return std::to_integer<std::uint8_t>(bytes_[at_++]);
    }
    std::uint32_t u32() { return static_cast<std::uint32_t>(leb(false)); }
    std::int32_t s32() { return static_cast<std::int32_t>(static_cast<std::uint32_t>(leb(true))); }
    std::uint64_t s64() { return leb(true); }
    std::uint64_t fixed(unsigned bytes) {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < bytes; ++i)
            value |= std::uint64_t{u8()} << (8 * i);
        return value;
    }

  private:
    std::uint64_t leb(bool is_signed) {
        std::uint64_t value = 0;
        unsigned shift = 0;
        std::uint8_t byte = 0;
        do {
            byte = u8();
            value |= shift < 64 ? std::uint64_t{byte & 0x7FU} << shift : 0;
            shift += 7;
        } while ((byte & 0x80U) != 0);
        if (is_signed && shift < 64 && (byte & 0x40U) != 0) value |= ~std::uint64_t{0} << shift;
        return value;
    }

    base::ByteView bytes_;
    std::size_t at_ = 0;
};

// Writes one function after the other, each instruction at once.
class FunctionCompiler : base::Pinned {
  public:
    FunctionCompiler(Assembler& out, ModuleContext& context)
        : out_(out), context_(context), operands_(out, frame_) {}

    // Body number `index`, as it was planned. Returns where it begins.
    Assembler::Offset run(std::size_t index, const Plan& plan);

  private:
    using Taken = Operands::Taken;
    using Kind = Operands::Kind;
    using CondCode = x86::CondCode;
    using Chain = Assembler::Chain;

    struct Block {
        std::uint8_t opcode = 0;
        std::optional<ValueType> result{};
        std::uint32_t height = 0;
        Assembler::Offset begin = 0;  // Of a loop.
        Chain exits{};                // Branches to its end.
        Chain otherwise{};            // Of an `if` whose condition is zero.
        std::uint32_t label = 0;      // Its number in labels_, from 1; 0: no table names it.
        [[nodiscard]] std::optional<ValueType> label_type() const {
            return opcode == op::loop ? std::nullopt : result;
        }
    };
    // Its entries are numbers of labels until the function's end.
    struct Table {
        Assembler::Offset at = 0;
        std::uint32_t entries = 0;
    };
    // A local.set or local.tee that follows at once, into a register.
    struct Target {
        std::uint32_t local = 0;
        Register reg = 0;
        bool is_tee = false;
        Cursor after;
    };

    void enter(std::uint32_t parameters);
    void zero_locals();
    void leave();
    void charge_leader();
    void charge(std::uint64_t units);
    void check_limit();

    void step();
    bool skip_dead(std::uint8_t opcode);
    void skip_immediate(std::uint8_t opcode);
    void die();

    // Control instructions.
    void control(std::uint8_t opcode);
    void begin_block(std::uint8_t opcode);
    void begin_if();
    void begin_else();
    void end_block();
    void result_to_register(std::optional<ValueType> type);
    void branch(std::uint32_t depth);
    void branch_if();
    void branch_table();
    void write_table(std::uint32_t targets, Cursor read);
    [[nodiscard]] std::uint32_t label_of(Block& block);
    void fill_tables();
    void jump_to(Block& block);
    void jump_to_if(CondCode condition, Block& block);
    [[nodiscard]] Block& target(std::uint32_t depth) { return blocks_[blocks_.size() - 1 - depth]; }
    void call(const FunctionType& type, std::optional<std::uint32_t> function, std::uint32_t index);
    void select();

    // Locals, globals, constants.
    void variable(std::uint8_t opcode);
    void tee_local(std::uint32_t local);
    void get_global(std::uint32_t index);
    void set_global(std::uint32_t index);
    [[nodiscard]] std::optional<Target> following_set();
    void finish(const std::optional<Target>& target, ValueType type, Register reg);
    [[nodiscard]] bool is_target(const std::optional<Target>& target, const Taken& taken) const;

    // Memory.
    void memory_size();
    x86::Mem address(const Taken& index, std::uint32_t offset, std::uint8_t bytes, bool is_store);
    x86::Mem constant_address(std::uint64_t at, std::uint8_t bytes, bool is_store);
    void mark_block(Register last_byte);
    x86::Mem out_of_bounds();
    void load(std::uint8_t opcode);
    void load_integer(std::uint8_t opcode, ValueType type, Register reg, const x86::Mem& from);
    void store(std::uint8_t opcode);
    void grow_memory();

    // Integers. `which` numbers operations in the order of their opcodes.
    bool integer_operation(std::uint8_t opcode);
    void arithmetic(unsigned which, ValueType type);
    void binary(x86::Opcode instruction, ValueType type, bool commutes);
    bool binary_of_three(x86::Opcode instruction,
                         ValueType type,
                         Register to,
                         const Taken& left,
                         const Taken& right);
    [[nodiscard]] Register register_of(const Taken& taken);
    void shift(x86::Shift which, ValueType type);
    void shift_constant(x86::Shift which, ValueType type, const Taken& left, unsigned by);
    void divide(ValueType type, bool is_signed, bool is_remainder);
    [[nodiscard]] Taken clear_of_divisor(Taken dividend, bool divisor_in_register);
    void write_signed_division(ValueType type,
                               bool is_remainder,
                               std::optional<std::int64_t> divisor);
    void compare(ValueType type, CondCode condition);
    void put_condition(CondCode condition);
    [[nodiscard]] CondCode take_condition();
    void count_bits(unsigned which, ValueType type);
    bool convert_integer(std::uint8_t opcode);
    void wrap();

    // Floating point.
    bool float_operation(std::uint8_t opcode);
    void float_arithmetic(unsigned which, ValueType type);
    void float_binary(x86::Opcode instruction, ValueType type);
    void float_extreme(ValueType type, bool is_least);
    void float_compare(ValueType type, unsigned which);
    void float_round(unsigned which, ValueType type);
    void float_sign(bool is_magnitude, ValueType type);
    void copy_sign(ValueType type);
    void make_canonical(Register reg, ValueType type);
    bool convert_float(std::uint8_t opcode);
    void truncate(ValueType from, ValueType to, bool is_signed);
    void from_integer(unsigned which, ValueType to);
    void reinterpret(std::uint8_t opcode);

    Assembler& out_;
    ModuleContext& context_;
    Frame frame_;
    Operands operands_;

    // Of the function being written.
    Locals locals_;
    Cursor in_;
    const Plan* plan_ = nullptr;
    std::size_t next_charge_ = 0;
    std::uint32_t next_leader_ = 0;  // Where that one stands.
    std::vector<Block> blocks_;
    std::vector<Table> tables_;
    std::vector<Assembler::Offset> labels_;  // What tables name.
    std::uint32_t dead_ = 0;                 // Depth of blocks that are skipped; 0: code is alive.
    std::optional<CondCode> condition_;      // In the flags, for the next instruction.
    std::uint32_t budget_ = 0;
};

}  // namespace chain::vm
