// Locals, globals, constants and the linear memory.

#include "chain/vm/function_compiler.hpp"

#include <array>

namespace chain::vm {

namespace {

constexpr std::uint64_t kPageBytes = 65536;

struct LoadForm {
    ValueType type;
    std::uint8_t bytes;
    bool is_signed;
};

// By opcode, from i32.load on.
constexpr std::array<LoadForm, 14> kLoads{{{ValueType::i32, 4, false},
                                           {ValueType::i64, 8, false},
                                           {ValueType::f32, 4, false},
                                           {ValueType::f64, 8, false},
                                           {ValueType::i32, 1, true},
                                           {ValueType::i32, 1, false},
                                           {ValueType::i32, 2, true},
                                           {ValueType::i32, 2, false},
                                           {ValueType::i64, 1, true},
                                           {ValueType::i64, 1, false},
                                           {ValueType::i64, 2, true},
                                           {ValueType::i64, 2, false},
                                           {ValueType::i64, 4, true},
                                           {ValueType::i64, 4, false}}};
constexpr std::uint8_t kFirstStore = 0x36;
// By opcode, from i32.store on.
constexpr std::array<std::uint8_t, 9> kStoreBytes{4, 8, 4, 8, 1, 2, 1, 2, 4};

}  // namespace

void FunctionCompiler::variable(std::uint8_t opcode) {
    switch (opcode) {
        case op::local_get:
            return operands_.push_local(in_.u32());
        case op::local_set: {
            const std::uint32_t local = in_.u32();
            return operands_.store_local(local, operands_.take());
        }
        case op::local_tee:
            return tee_local(in_.u32());
        case op::global_get:
            return get_global(in_.u32());
        case op::global_set:
            return set_global(in_.u32());
        case op::i32_const:
            return operands_.push_constant(ValueType::i32, static_cast<std::uint32_t>(in_.s32()));
        case op::i64_const:
            return operands_.push_constant(ValueType::i64, in_.s64());
        case op::f32_const:
            return operands_.push_constant(ValueType::f32, in_.fixed(4));
        default:
            return operands_.push_constant(ValueType::f64, in_.fixed(8));
    }
}

void FunctionCompiler::tee_local(std::uint32_t local) {
    const Taken taken = operands_.take();
    const ValueType type = taken.value.type;
    if (taken.value.kind == Kind::constant) {
        operands_.store_local(local, taken);
        return operands_.push_constant(type, taken.value.bits);
    }
    if (frame_.home(local).in_register()) {
        operands_.store_local(local, taken);
        return operands_.push_local(local);
    }
    const Register reg = operands_.own(taken);
    operands_.keep(bank_of(type), reg);
    const Taken held{{Kind::reg, type, reg, -1, 0}, taken.height};
    operands_.store_local(local, held);
    operands_.push_register(type, reg);
}

void FunctionCompiler::get_global(std::uint32_t index) {
    const Module::Global& global = context_.module.globals[index];
    if (!global.is_mutable) return operands_.push_constant(global.type, global.bits);
    const Register reg = operands_.allocate(bank_of(global.type));
    const std::int32_t place =
        field::globals + 8 * static_cast<std::int32_t>(context_.global_slots[index]);
    move_in(out_, global.type, reg, at_field(place, width_of(global.type)));
    operands_.push_register(global.type, reg);
}

void FunctionCompiler::set_global(std::uint32_t index) {
    const Taken taken = operands_.take();
    const std::int32_t place =
        field::globals + 8 * static_cast<std::int32_t>(context_.global_slots[index]);
    const x86::Mem to = at_field(place, width_of(taken.value.type));
    if (Operands::is_immediate(taken.value)) {
        out_.mov(to, Operands::immediate(taken.value));
        return;
    }
    move_out(out_, taken.value.type, to, operands_.read(taken));
}

// An operation whose result goes to a local's register at once is written there.
std::optional<FunctionCompiler::Target> FunctionCompiler::following_set() {
    Cursor ahead = in_;
    const std::uint8_t opcode = ahead.peek();
    if (opcode != op::local_set && opcode != op::local_tee) return std::nullopt;
    ahead.u8();
    const std::uint32_t local = ahead.u32();
    const Frame::Home& home = frame_.home(local);
    if (!home.in_register()) return std::nullopt;
    return Target{local, home.reg, opcode == op::local_tee, ahead};
}

void FunctionCompiler::finish(const std::optional<Target>& target, ValueType type, Register reg) {
    if (!target) return operands_.push_register(type, reg);
    in_ = target->after;
    if (target->is_tee) operands_.push_local(target->local);
}

bool FunctionCompiler::is_target(const std::optional<Target>& target, const Taken& taken) const {
    return target && taken.value.kind == Kind::local && taken.value.bits == target->local;
}

void FunctionCompiler::memory_size() {
    in_.u8();
    const Register reg = operands_.allocate(Bank::integer);
    out_.mov(dword(reg), at_field(field::pages, 4));
    operands_.push_register(ValueType::i32, reg);
}

void FunctionCompiler::grow_memory() {
    in_.u8();
    operands_.force(Operands::kRax, operands_.take());
    operands_.keep(Bank::integer, Operands::kRax);
    operands_.settle_for_call(0);
    out_.call(context_.stubs.grow());
    operands_.end_instruction();
    operands_.push_register(ValueType::i32, Operands::kRax);
}

x86::Mem FunctionCompiler::out_of_bounds() {
    out_.jump(context_.stubs.trap(Trap::memory_out_of_bounds));
    return at_field(0);
}

// A store may reach from one block into the next: the mark is the last byte's, and what is
// cleared begins a little before a marked block.
void FunctionCompiler::mark_block(Register last_byte) {
    out_.shift(x86::Shift::shr, quad(last_byte), kDirtyShift);
    out_.mov(x86::Mem{x86::r15.id, field::dirty, 1, last_byte}, 1);
}

// The checked address of an access. Bounds are looked at before anything is touched.
x86::Mem FunctionCompiler::address(const Taken& index,
                                   std::uint32_t offset,
                                   std::uint8_t bytes,
                                   bool is_store) {
    const std::uint64_t end = std::uint64_t{offset} + bytes;
    if (index.value.kind == Kind::constant) {
        return constant_address((index.value.bits & UINT32_MAX) + offset, bytes, is_store);
    }
    const Register at = operands_.read(index);
    if (end > context_.module.memory->maximum * kPageBytes) {
        x86::Mem nowhere = out_of_bounds();
        nowhere.bytes = bytes;
        return nowhere;
    }
    const Register last = operands_.allocate(Bank::integer);
    out_.lea(quad(last), {at, static_cast<std::int32_t>(end - 1)});
    out_.cmp(quad(last), at_field(field::memory_bytes));
    out_.jump_if(CondCode::ae, context_.stubs.trap(Trap::memory_out_of_bounds));
    if (is_store) mark_block(last);
    operands_.release(Bank::integer, last);
    return {x86::r15.id, static_cast<std::int32_t>(offset), bytes, at};
}

x86::Mem FunctionCompiler::constant_address(std::uint64_t at, std::uint8_t bytes, bool is_store) {
    const Module::Pages& pages = *context_.module.memory;
    if (at + bytes > pages.maximum * kPageBytes) {
        x86::Mem nowhere = out_of_bounds();
        nowhere.bytes = bytes;
        return nowhere;
    }
    if (at + bytes > pages.initial * kPageBytes) {
        out_.cmp(at_field(field::memory_bytes), static_cast<std::int32_t>(at + bytes));
        out_.jump_if(CondCode::b, context_.stubs.trap(Trap::memory_out_of_bounds));
    }
    const auto place = static_cast<std::int32_t>(at);
    if (is_store) {
        const auto last = static_cast<std::int32_t>((at + bytes - 1) >> kDirtyShift);
        out_.mov(at_field(field::dirty + last, 1), 1);
    }
    return at_field(place, bytes);
}

void FunctionCompiler::load(std::uint8_t opcode) {
    in_.u32();
    const std::uint32_t offset = in_.u32();
    const LoadForm& form = kLoads[opcode - op::i32_load];
    const Taken index = operands_.take();
    if (is_float(form.type)) {
        const Register reg = operands_.allocate(Bank::floating);
        move_in(out_, form.type, reg, address(index, offset, form.bytes, false));
        return operands_.push_register(form.type, reg);
    }
    const std::optional<Target> target = following_set();
    if (target) operands_.settle_local(target->local);
    const x86::Mem from = address(index, offset, form.bytes, false);
    Register reg = 0;
    if (target) {
        reg = target->reg;
    } else if (index.value.kind == Kind::reg) {
        reg = index.value.reg;
    } else {
        reg = operands_.allocate(Bank::integer);
    }
    load_integer(opcode, form.type, reg, from);
    finish(target, form.type, reg);
}

// What is narrower than 32 bits and unsigned clears the whole register, as every 32-bit move.
void FunctionCompiler::load_integer(std::uint8_t opcode,
                                    ValueType type,
                                    Register reg,
                                    const x86::Mem& from) {
    const LoadForm& form = kLoads[opcode - op::i32_load];
    if (form.bytes == width_of(type)) return out_.mov(integer(reg, type), from);
    out_.extend(form.is_signed, form.is_signed ? integer(reg, type) : dword(reg), from);
}

void FunctionCompiler::store(std::uint8_t opcode) {
    in_.u32();
    const std::uint32_t offset = in_.u32();
    const std::uint8_t bytes = kStoreBytes[opcode - kFirstStore];
    const Taken value = operands_.take();
    const Taken index = operands_.take();
    if (Operands::is_immediate(value.value)) {
        out_.mov(address(index, offset, bytes, true), Operands::immediate(value.value));
        return;
    }
    const Register reg = operands_.read(value);
    const x86::Mem to = address(index, offset, bytes, true);
    if (is_float(value.value.type)) return move_out(out_, value.value.type, to, reg);
    out_.mov(to, x86::Gp{reg, bytes});
}

}  // namespace chain::vm
