#include "chain/vm/operands.hpp"

#include <algorithm>

namespace chain::vm {

void move_in(Assembler& out, ValueType type, Register reg, const x86::Mem& from) {
    switch (type) {
        case ValueType::f32:
            out.op(x86::kMovss, vector(reg), from);
            return;
        case ValueType::f64:
            out.op(of_width(x86::kMovss, false), vector(reg), from);
            return;
        default:
            out.mov(integer(reg, type), from);
    }
}

void move_out(Assembler& out, ValueType type, const x86::Mem& to, Register reg) {
    switch (type) {
        case ValueType::f32:
            out.op(x86::kMovss, to, vector(reg));
            return;
        case ValueType::f64:
            out.op(of_width(x86::kMovss, false), to, vector(reg));
            return;
        default:
            out.mov(to, integer(reg, type));
    }
}

void load_nan(Assembler& out, x86::Xmm reg, bool is_single) {
    out.op(of_width(x86::kMovss, is_single),
           reg,
           at_constant(is_single ? Constant::nan32 : Constant::nan64));
}

void Operands::begin() {
    stack_.clear();
    references_.clear();
    for (auto& each : owner_)
        each.fill(-1);
    busy_ = {};
}

void Operands::cut(std::uint32_t height) {
    while (this->height() > height)
        static_cast<void>(take());
    busy_ = {};
}

Register Operands::allocate(Bank bank) {
    std::int32_t lowest = INT32_MAX;
    Register best = kNoRegister;
    const std::size_t many = bank == Bank::floating ? kFloats : kIntegers.size();
    for (std::size_t i = 0; i < many; ++i) {
        const Register reg = bank == Bank::floating ? static_cast<Register>(i) : kIntegers[i];
        if ((busy_of(bank) >> reg & 1U) != 0) continue;
        const std::int32_t held = owner(bank, reg);
        if (held < 0) {
            keep(bank, reg);
            return reg;
        }
        if (held < lowest) {
            lowest = held;
            best = reg;
        }
    }
    CHECK(best != kNoRegister);
    spill(static_cast<std::uint32_t>(lowest));
    keep(bank, best);
    return best;
}

void Operands::spill(std::uint32_t height) {
    Value& value = stack_[height];
    move_out(out_, value.type, frame_.slot(height, width_of(value.type)), value.reg);
    owner(bank_of(value.type), value.reg) = -1;
    value.kind = Kind::slot;
}

void Operands::evict(Bank bank, Register reg) {
    const std::int32_t held = owner(bank, reg);
    if (held >= 0) spill(static_cast<std::uint32_t>(held));
}

void Operands::load(Register reg, const Taken& taken) {
    const Value& value = taken.value;
    if (in_memory(value)) return move_in(out_, value.type, reg, memory(taken));
    if (is_float(value.type)) return move_float(reg, taken);
    if (value.kind == Kind::constant) {
        // Moves zero-extend: an i32 in a register has its upper half clear.
        out_.mov_constant(integer(reg, value.type), value.bits);
        return;
    }
    const Register from = value.kind == Kind::reg
                              ? value.reg
                              : frame_.home(static_cast<std::uint32_t>(value.bits)).reg;
    if (from != reg) out_.mov(integer(reg, value.type), integer(from, value.type));
}

void Operands::move_float(Register reg, const Taken& taken) {
    const Value& value = taken.value;
    if (value.kind == Kind::constant) return load_float_constant(reg, value);
    const Register from = value.kind == Kind::reg
                              ? value.reg
                              : frame_.home(static_cast<std::uint32_t>(value.bits)).reg;
    if (from != reg) out_.op(x86::kMovaps, vector(reg), vector(from));
}

void Operands::load_float_constant(Register reg, const Value& value) {
    if (value.bits == 0) {
        out_.clear(vector(reg));
        return;
    }
    const Register through = allocate(Bank::integer);
    const x86::Gp bits{through, width_of(value.type)};
    out_.mov_constant(bits, value.bits);
    out_.op(x86::kMovToXmm, vector(reg), bits);
    release(Bank::integer, through);
}

Register Operands::own(const Taken& taken) {
    if (taken.value.kind == Kind::reg) return taken.value.reg;
    const Register reg = allocate(bank_of(taken.value.type));
    load(reg, taken);
    return reg;
}

Register Operands::read(const Taken& taken) {
    if (taken.value.kind == Kind::local) {
        const Frame::Home& home = frame_.home(static_cast<std::uint32_t>(taken.value.bits));
        if (home.in_register()) return home.reg;
    }
    return own(taken);
}

void Operands::force(Register reg, const Taken& taken) {
    const Bank bank = bank_of(taken.value.type);
    if (taken.value.kind == Kind::reg && taken.value.reg == reg) return;
    evict(bank, reg);
    keep(bank, reg);
    load(reg, taken);
    if (taken.value.kind == Kind::reg) release(bank, taken.value.reg);
}

bool Operands::is_immediate(const Value& value) {
    if (value.kind != Kind::constant || is_float(value.type)) return false;
    return value.type == ValueType::i32 ||
           static_cast<std::int64_t>(value.bits) ==
               static_cast<std::int64_t>(static_cast<std::int32_t>(value.bits));
}

std::int32_t Operands::immediate(const Value& value) {
    return static_cast<std::int32_t>(value.bits);
}

bool Operands::in_memory(const Value& value) {
    if (value.kind == Kind::slot) return true;
    return value.kind == Kind::local &&
           !frame_.home(static_cast<std::uint32_t>(value.bits)).in_register();
}

x86::Mem Operands::memory(const Taken& taken) {
    const Value& value = taken.value;
    if (value.kind == Kind::slot) return frame_.slot(taken.height, width_of(value.type));
    return frame_.place(frame_.home(static_cast<std::uint32_t>(value.bits)), width_of(value.type));
}

x86::Operand Operands::source(const Taken& taken, bool immediates) {
    if (immediates && is_immediate(taken.value)) return immediate(taken.value);
    if (in_memory(taken.value)) return memory(taken);
    const Register reg = read(taken);
    if (is_float(taken.value.type)) return vector(reg);
    return integer(reg, taken.value.type);
}

void Operands::settle_local(std::uint32_t local) {
    Frame::Home& home = frame_.home(local);
    while (home.reference >= 0) {
        const auto height = static_cast<std::uint32_t>(home.reference);
        const Value value = stack_[height];
        const Bank bank = bank_of(value.type);
        const Register reg = allocate(bank);
        load(reg, {value, height});
        home.reference = value.below;
        stack_[height].kind = Kind::reg;
        stack_[height].reg = reg;
        owner(bank, reg) = static_cast<std::int32_t>(height);
        release(bank, reg);
    }
}

void Operands::store_local(std::uint32_t local, const Taken& taken) {
    if (taken.value.kind == Kind::local && taken.value.bits == local) return;
    settle_local(local);
    const Frame::Home& home = frame_.home(local);
    if (home.in_register()) return load(home.reg, taken);
    if (is_immediate(taken.value)) {
        out_.mov(frame_.place(home, width_of(home.type)), immediate(taken.value));
        return;
    }
    move_out(out_, home.type, frame_.place(home, width_of(home.type)), read(taken));
}

void Operands::store_constant(std::uint32_t height, const Value& value) {
    const x86::Mem slot = frame_.slot(height, width_of(value.type));
    const auto small = static_cast<std::int32_t>(value.bits);
    if (width_of(value.type) == 4 || static_cast<std::int64_t>(value.bits) == small) {
        out_.mov(slot, small);
        return;
    }
    const Register through = allocate(Bank::integer);
    out_.mov_constant(quad(through), value.bits);
    out_.mov(slot, quad(through));
    release(Bank::integer, through);
}

void Operands::store_reference(std::uint32_t height, const Value& value) {
    Frame::Home& home = frame_.home(static_cast<std::uint32_t>(value.bits));
    home.reference = value.below;
    const std::uint8_t bytes = width_of(value.type);
    if (home.in_register()) {
        return move_out(out_, value.type, frame_.slot(height, bytes), home.reg);
    }
    const ValueType bits = bytes == 4 ? ValueType::i32 : ValueType::i64;
    const Register through = allocate(Bank::integer);
    out_.mov(integer(through, bits), frame_.place(home, bytes));
    out_.mov(frame_.slot(height, bytes), integer(through, bits));
    release(Bank::integer, through);
}

// Of a constant, or of the highest operand that stands for its local.
void Operands::store_in_slot(std::uint32_t height) {
    Value& value = stack_[height];
    if (value.kind == Kind::constant) store_constant(height, value);
    if (value.kind == Kind::local) store_reference(height, value);
    value.kind = Kind::slot;
}

void Operands::settle_registers() {
    for (const Register reg : kIntegers)
        evict(Bank::integer, reg);
    for (Register reg = 0; reg < kFloats; ++reg)
        evict(Bank::floating, reg);
}

void Operands::settle() {
    settle_registers();
    while (!references_.empty()) {
        const std::uint32_t height = references_.back();
        references_.pop_back();
        if (height < stack_.size() && stack_[height].kind == Kind::local) store_in_slot(height);
    }
}

void Operands::settle_for_call(std::uint32_t arguments) {
    settle_registers();
    for (std::uint32_t i = 1; i <= arguments; ++i) {
        if (stack_[height() - i].kind != Kind::slot) store_in_slot(height() - i);
    }
}

}  // namespace chain::vm
