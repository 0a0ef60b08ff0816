#pragma once

#include "base/check.hpp"
#include "chain/vm/assembler.hpp"
#include "chain/vm/frame.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace chain::vm {

// The operand stack of a function while it is compiled: for each value where it is. Constants
// and locals are not moved before something needs them in a register; a value keeps its register
// until another one needs it, and then lies in the slot of its height. Every leader begins with
// all values but constants in their slots, so that all ways to it agree.
class Operands : base::Pinned {
  public:
    enum class Kind : std::uint8_t { constant, local, reg, slot };
    struct Value {
        Kind kind = Kind::slot;
        ValueType type = ValueType::i32;
        Register reg = 0;
        std::int32_t below = -1;  // Of a local: the next lower operand that stands for it.
        std::uint64_t bits = 0;   // Of a constant; of a local its index.
    };
    // A value that was taken from the stack, with the height at which it stood.
    struct Taken {
        Value value;
        std::uint32_t height = 0;
    };
    static constexpr Register kRax = 0;
    static constexpr Register kRcx = 1;
    static constexpr Register kRdx = 2;

    Operands(Assembler& out, Frame& frame) : out_(out), frame_(frame) {}

    // Empties the stack for another function.
    void begin();
    // Registers that were kept for the last instruction are free again.
    void end_instruction() { busy_ = {}; }

    [[nodiscard]] std::uint32_t height() const { return static_cast<std::uint32_t>(stack_.size()); }
    void push_register(ValueType type, Register reg);
    void push_constant(ValueType type, std::uint64_t bits);
    void push_local(std::uint32_t local);
    [[nodiscard]] Taken take();
    // Drops all above `height`.
    void cut(std::uint32_t height);

    // A register for the present instruction; may put a value into its slot. Leaves the flags.
    [[nodiscard]] Register allocate(Bank bank);
    void keep(Bank bank, Register reg) { busy_of(bank) |= 1U << reg; }
    void release(Bank bank, Register reg) { busy_of(bank) &= ~(1U << reg); }
    // Puts the value that lives there into its slot.
    void evict(Bank bank, Register reg);

    // The value into a register that may be changed: its own, or a fresh one.
    [[nodiscard]] Register own(const Taken& taken);
    // As own(), but perhaps the register of a local: for reading only.
    [[nodiscard]] Register read(const Taken& taken);
    // Into this very register, which nobody else uses then.
    void force(Register reg, const Taken& taken);
    // Into a register that the caller holds. Leaves the flags.
    void load(Register reg, const Taken& taken);
    // Whether it is an integer constant that fits into an instruction, as signed 32 bits.
    [[nodiscard]] static bool is_immediate(const Value& value);
    [[nodiscard]] static std::int32_t immediate(const Value& value);
    // Whether it lies in memory, and where.
    [[nodiscard]] bool in_memory(const Value& value);
    [[nodiscard]] x86::Mem memory(const Taken& taken);
    // As the last operand of an instruction: a register, memory, or an immediate.
    [[nodiscard]] x86::Operand source(const Taken& taken, bool immediates = true);

    // Before a local changes: what stands for its value becomes a value of its own.
    void settle_local(std::uint32_t local);
    // Stores into a local.
    void store_local(std::uint32_t local, const Taken& taken);
    // Before a leader: everything but constants goes into its slot. Leaves the flags.
    void settle();
    // Before a call: all registers, and the uppermost `arguments` whatever they are.
    void settle_for_call(std::uint32_t arguments);

  private:
    static constexpr std::array<Register, 6> kIntegers{0, 1, 2, 6, 7, 8};
    static constexpr Register kFloats = 8;
    static constexpr Register kNoRegister = 0xFF;

    [[nodiscard]] std::uint32_t& busy_of(Bank bank) {
        return busy_[static_cast<std::size_t>(bank)];
    }
    [[nodiscard]] std::int32_t& owner(Bank bank, Register reg) {
        return owner_[static_cast<std::size_t>(bank)][reg];
    }
    void spill(std::uint32_t height);
    void store_in_slot(std::uint32_t height);
    void store_constant(std::uint32_t height, const Value& value);
    void store_reference(std::uint32_t height, const Value& value);
    void settle_registers();
    void move_float(Register reg, const Taken& taken);
    void load_float_constant(Register reg, const Value& value);

    Assembler& out_;
    Frame& frame_;
    std::vector<Value> stack_;
    std::vector<std::uint32_t> references_;  // Heights of operands that stand for locals.
    std::array<std::array<std::int32_t, 16>, 2> owner_{};  // Heights; -1: nobody's.
    std::array<std::uint32_t, 2> busy_{};
};

// Inlined: each instruction takes and gives values.

inline void Operands::push_register(ValueType type, Register reg) {
    owner(bank_of(type), reg) = static_cast<std::int32_t>(height());
    stack_.push_back({Kind::reg, type, reg, -1, 0});
}

inline void Operands::push_constant(ValueType type, std::uint64_t bits) {
    stack_.push_back({Kind::constant, type, 0, -1, bits});
}

inline void Operands::push_local(std::uint32_t local) {
    Frame::Home& home = frame_.home(local);
    stack_.push_back({Kind::local, home.type, 0, home.reference, local});
    home.reference = static_cast<std::int32_t>(height()) - 1;
    references_.push_back(height() - 1);
}

inline Operands::Taken Operands::take() {
    CHECK(!stack_.empty());
    const Value value = stack_.back();
    stack_.pop_back();
    if (value.kind == Kind::reg) {
        owner(bank_of(value.type), value.reg) = -1;
        keep(bank_of(value.type), value.reg);
    } else if (value.kind == Kind::local) {
        frame_.home(static_cast<std::uint32_t>(value.bits)).reference = value.below;
    }
    while (!references_.empty() && references_.back() >= height())
        references_.pop_back();
    return {value, height()};
}

// Moves between a register and memory, by the value's type.
void move_in(Assembler& out, ValueType type, Register reg, const x86::Mem& from);
void move_out(Assembler& out, ValueType type, const x86::Mem& to, Register reg);
// The canonical NaN.
void load_nan(Assembler& out, x86::Xmm reg, bool is_single);

}  // namespace chain::vm
