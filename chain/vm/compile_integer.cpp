// Integer arithmetic, comparisons, and conversions between integers.

#include "chain/vm/function_compiler.hpp"

#include <array>

namespace chain::vm {

namespace {

using x86::CondCode;

// Of eq, ne, lt_s, lt_u, gt_s, gt_u, le_s, le_u, ge_s, ge_u.
constexpr std::array<CondCode, 10> kConditions{CondCode::e,
                                               CondCode::ne,
                                               CondCode::l,
                                               CondCode::b,
                                               CondCode::g,
                                               CondCode::a,
                                               CondCode::le,
                                               CondCode::be,
                                               CondCode::ge,
                                               CondCode::ae};
constexpr std::uint8_t kI32Eqz = 0x45;
constexpr std::uint8_t kI32Eq = 0x46;
constexpr std::uint8_t kI32GeU = 0x4f;
constexpr std::uint8_t kI64Eqz = 0x50;
constexpr std::uint8_t kI64Eq = 0x51;
constexpr std::uint8_t kI64GeU = 0x5a;
constexpr std::uint8_t kI32Clz = 0x67;
constexpr std::uint8_t kI32Add = 0x6a;
constexpr std::uint8_t kI32Rotr = 0x78;
constexpr std::uint8_t kI64Clz = 0x79;
constexpr std::uint8_t kI64Rotr = 0x8a;
constexpr std::uint8_t kI32WrapI64 = 0xa7;
constexpr std::uint8_t kI64ExtendI32S = 0xac;

// The condition that holds when its two sides change places.
CondCode mirrored(CondCode condition) {
    switch (condition) {
        case CondCode::b:
            return CondCode::a;
        case CondCode::a:
            return CondCode::b;
        case CondCode::be:
            return CondCode::ae;
        case CondCode::ae:
            return CondCode::be;
        case CondCode::l:
            return CondCode::g;
        case CondCode::g:
            return CondCode::l;
        case CondCode::le:
            return CondCode::ge;
        case CondCode::ge:
            return CondCode::le;
        default:
            return condition;
    }
}

}  // namespace

bool FunctionCompiler::integer_operation(std::uint8_t opcode) {
    if (opcode == kI32Eqz || opcode == kI64Eqz) {
        const ValueType type = opcode == kI32Eqz ? ValueType::i32 : ValueType::i64;
        operands_.push_constant(type, 0);
        compare(type, CondCode::e);
        return true;
    }
    if (within(opcode, kI32Eq, kI32GeU)) {
        compare(ValueType::i32, kConditions[opcode - kI32Eq]);
        return true;
    }
    if (within(opcode, kI64Eq, kI64GeU)) {
        compare(ValueType::i64, kConditions[opcode - kI64Eq]);
        return true;
    }
    if (within(opcode, kI32Clz, kI32Clz + 2)) {
        count_bits(opcode - kI32Clz, ValueType::i32);
        return true;
    }
    if (within(opcode, kI64Clz, kI64Clz + 2)) {
        count_bits(opcode - kI64Clz, ValueType::i64);
        return true;
    }
    if (within(opcode, kI32Add, kI32Rotr)) {
        arithmetic(opcode - kI32Add, ValueType::i32);
        return true;
    }
    if (within(opcode, kI64Clz + 3, kI64Rotr)) {
        arithmetic(opcode - (kI64Clz + 3), ValueType::i64);
        return true;
    }
    return convert_integer(opcode);
}

// By the order of opcodes, which both widths share.
void FunctionCompiler::arithmetic(unsigned which, ValueType type) {
    switch (which) {
        case 0:
            return binary(x86::kAdd, type, true);
        case 1:
            return binary(x86::kSub, type, false);
        case 2:
            return binary(x86::kImul, type, true);
        case 3:
        case 4:
            return divide(type, which == 3, false);
        case 5:
        case 6:
            return divide(type, which == 5, true);
        case 7:
            return binary(x86::kAnd, type, true);
        case 8:
            return binary(x86::kOr, type, true);
        case 9:
            return binary(x86::kXor, type, true);
        case 10:
            return shift(x86::Shift::shl, type);
        case 11:
            return shift(x86::Shift::sar, type);
        case 12:
            return shift(x86::Shift::shr, type);
        case 13:
            return shift(x86::Shift::rol, type);
        default:
            return shift(x86::Shift::ror, type);
    }
}

void FunctionCompiler::binary(x86::Opcode instruction, ValueType type, bool commutes) {
    Taken right = operands_.take();
    Taken left = operands_.take();
    if (commutes && left.value.kind == Kind::constant) std::swap(left, right);
    std::optional<Target> target = following_set();
    if (is_target(target, right) && !is_target(target, left)) {
        if (commutes) {
            std::swap(left, right);
        } else {
            target.reset();  // The right side is read after the left one was moved there.
        }
    }
    Register to = 0;
    if (target) {
        operands_.settle_local(target->local);
        to = target->reg;
    } else if (left.value.kind == Kind::reg) {
        to = left.value.reg;
    } else {
        to = operands_.allocate(Bank::integer);
    }
    if (!binary_of_three(instruction, type, to, left, right)) {
        const x86::Operand source = operands_.source(right);
        operands_.load(to, left);
        out_.op(instruction, integer(to, type), source);
    }
    finish(target, type, to);
}

// The register in which a value is; Frame::kNone: in none.
Register FunctionCompiler::register_of(const Taken& taken) {
    if (taken.value.kind == Kind::reg) return taken.value.reg;
    if (taken.value.kind != Kind::local) return Frame::kNone;
    return frame_.home(static_cast<std::uint32_t>(taken.value.bits)).reg;
}

// Sums and products that have an instruction with a result of its own. False: there is none.
bool FunctionCompiler::binary_of_three(
    x86::Opcode instruction, ValueType type, Register to, const Taken& left, const Taken& right) {
    const Register from = register_of(left);
    const bool is_constant = Operands::is_immediate(right.value);
    const auto constant = static_cast<std::int32_t>(right.value.bits);
    if (instruction == x86::kImul && is_constant) {
        if (from != Frame::kNone) {
            out_.imul(integer(to, type), integer(from, type), constant);
        } else if (operands_.in_memory(left.value)) {
            out_.imul(integer(to, type), operands_.memory(left), constant);
        } else {
            operands_.load(to, left);
            out_.imul(integer(to, type), integer(to, type), constant);
        }
        return true;
    }
    if (from == Frame::kNone || from == to) return false;
    const bool is_sum = instruction == x86::kAdd;
    if ((is_sum || instruction == x86::kSub) && is_constant && constant != INT32_MIN) {
        out_.lea(integer(to, type), {from, is_sum ? constant : -constant});
        return true;
    }
    const Register other = right.value.kind == Kind::local ? register_of(right) : Frame::kNone;
    if (!is_sum || other == Frame::kNone) return false;
    out_.lea(integer(to, type), {from, 0, 8, other});
    return true;
}

void FunctionCompiler::shift(x86::Shift which, ValueType type) {
    const Taken right = operands_.take();
    Taken left = operands_.take();
    if (right.value.kind == Kind::constant) {
        const auto by = static_cast<unsigned>(right.value.bits & (8U * width_of(type) - 1));
        return shift_constant(which, type, left, by);
    }
    if (left.value.kind == Kind::reg && left.value.reg == Operands::kRcx) {
        // The number of bits needs rcx.
        const Register elsewhere = operands_.allocate(Bank::integer);
        out_.mov(quad(elsewhere), x86::rcx);
        left.value.reg = elsewhere;
        operands_.release(Bank::integer, Operands::kRcx);
    }
    operands_.force(Operands::kRcx, right);
    operands_.keep(Bank::integer, Operands::kRcx);
    const Register to = operands_.own(left);
    out_.shift_by_cl(which, integer(to, type));
    operands_.push_register(type, to);
}

void FunctionCompiler::shift_constant(x86::Shift which,
                                      ValueType type,
                                      const Taken& left,
                                      unsigned by) {
    const std::optional<Target> target = following_set();
    Register to = 0;
    if (target) {
        operands_.settle_local(target->local);
        to = target->reg;
        operands_.load(to, left);
    } else {
        to = operands_.own(left);
    }
    out_.shift(which, integer(to, type), static_cast<std::uint8_t>(by));
    finish(target, type, to);
}

// The divisor goes to rcx, the dividend to rax, and rdx is used.
void FunctionCompiler::divide(ValueType type, bool is_signed, bool is_remainder) {
    const Taken divisor = operands_.take();
    const Taken dividend = clear_of_divisor(operands_.take(), divisor.value.kind == Kind::reg);
    operands_.force(Operands::kRcx, divisor);
    operands_.keep(Bank::integer, Operands::kRcx);
    operands_.force(Operands::kRax, dividend);
    operands_.keep(Bank::integer, Operands::kRax);
    operands_.evict(Bank::integer, Operands::kRdx);
    operands_.keep(Bank::integer, Operands::kRdx);
    std::optional<std::int64_t> constant;
    if (divisor.value.kind == Kind::constant) {
        constant = type == ValueType::i32
                       ? std::int64_t{static_cast<std::int32_t>(divisor.value.bits)}
                       : static_cast<std::int64_t>(divisor.value.bits);
    }
    const x86::Gp by = integer(Operands::kRcx, type);
    if (constant.value_or(0) == 0) {
        out_.test(by, by);
        out_.jump_if(CondCode::e, context_.stubs.trap(Trap::divide_by_zero));
    }
    if (is_signed) {
        write_signed_division(type, is_remainder, constant);
    } else {
        out_.clear(x86::rdx);
        out_.divide(false, by);
    }
    operands_.end_instruction();
    operands_.push_register(type, is_remainder ? Operands::kRdx : Operands::kRax);
}

// A dividend in rcx or rdx makes way.
FunctionCompiler::Taken FunctionCompiler::clear_of_divisor(Taken dividend,
                                                           bool divisor_in_register) {
    if (dividend.value.kind != Kind::reg) return dividend;
    const Register now = dividend.value.reg;
    if (now == Operands::kRax) {
        if (!divisor_in_register) operands_.keep(Bank::integer, Operands::kRax);
        return dividend;
    }
    if (now != Operands::kRcx && now != Operands::kRdx) return dividend;
    for (const Register taken : {Operands::kRax, Operands::kRcx, Operands::kRdx})
        operands_.keep(Bank::integer, taken);
    const Register elsewhere = operands_.allocate(Bank::integer);
    out_.mov(quad(elsewhere), quad(now));
    dividend.value.reg = elsewhere;
    return dividend;
}

// The least integer by -1: division overflows, and the remainder is 0, where the processor faults.
void FunctionCompiler::write_signed_division(ValueType type,
                                             bool is_remainder,
                                             std::optional<std::int64_t> divisor) {
    const x86::Gp by = integer(Operands::kRcx, type);
    const bool narrow = type == ValueType::i32;
    std::optional<Assembler::Offset> done;
    if (divisor.value_or(-1) == -1) {
        out_.cmp(by, -1);
        const Assembler::Offset other = out_.skip_if(CondCode::ne);
        if (is_remainder) {
            out_.clear(x86::rdx);
            done = out_.skip();
        } else {
            if (narrow) {
                out_.cmp(x86::eax, INT32_MIN);
            } else {
                out_.mov_constant(x86::rdx, std::uint64_t{1} << 63U);
                out_.cmp(x86::rax, x86::rdx);
            }
            out_.jump_if(CondCode::e, context_.stubs.trap(Trap::integer_overflow));
        }
        out_.land_skip(other);
    }
    out_.sign_into_rdx(integer(Operands::kRax, type));
    out_.divide(true, by);
    if (done) out_.land_skip(*done);
}

void FunctionCompiler::compare(ValueType type, CondCode condition) {
    Taken right = operands_.take();
    Taken left = operands_.take();
    if (left.value.kind == Kind::constant && right.value.kind != Kind::constant) {
        std::swap(left, right);
        condition = mirrored(condition);
    }
    if (right.value.kind == Kind::constant && right.value.bits == 0 &&
        !operands_.in_memory(left.value)) {
        const Register reg = operands_.read(left);
        out_.test(integer(reg, type), integer(reg, type));
        return put_condition(condition);
    }
    const x86::Operand source = operands_.source(right);
    if (operands_.in_memory(left.value) && !source.is_memory()) {
        out_.op(x86::kCmp, operands_.memory(left), source);
    } else {
        out_.op(x86::kCmp, integer(operands_.read(left), type), source);
    }
    put_condition(condition);
}

// For the branch that follows at once, or as a value.
void FunctionCompiler::put_condition(CondCode condition) {
    while (in_.peek() == kI32Eqz) {
        in_.u8();
        condition = x86::negated(condition);
    }
    const std::uint8_t next = in_.peek();
    if (next == op::if_ || next == op::br_if || next == op::select) {
        condition_ = condition;
        return;
    }
    const Register reg = operands_.allocate(Bank::integer);
    out_.set_if(condition, low_byte(reg));
    out_.extend(false, dword(reg), low_byte(reg));
    operands_.push_register(ValueType::i32, reg);
}

FunctionCompiler::CondCode FunctionCompiler::take_condition() {
    if (condition_) {
        const CondCode condition = *condition_;
        condition_.reset();
        return condition;
    }
    const Taken taken = operands_.take();
    if (operands_.in_memory(taken.value)) {
        out_.cmp(operands_.memory(taken), 0);
    } else {
        const Register reg = operands_.read(taken);
        out_.test(dword(reg), dword(reg));
    }
    return CondCode::ne;
}

// Without lzcnt and tzcnt, which old processors take for other instructions.
void FunctionCompiler::count_bits(unsigned which, ValueType type) {
    const Taken taken = operands_.take();
    const x86::Operand source = operands_.source(taken, false);
    const Register reg = operands_.allocate(Bank::integer);
    if (which == 2) {
        out_.op(x86::kPopcnt, integer(reg, type), source);
        return operands_.push_register(type, reg);
    }
    const bool leading = which == 0;
    const Register of_zero = operands_.allocate(Bank::integer);
    const std::uint32_t bits = 8 * width_of(type);
    out_.mov_constant(dword(of_zero), leading ? 2 * bits - 1 : bits);
    out_.op(leading ? x86::kBsr : x86::kBsf, integer(reg, type), source);
    out_.move_if(CondCode::e, integer(reg, type), integer(of_zero, type));
    if (leading) out_.op(x86::kXor, dword(reg), static_cast<std::int32_t>(bits - 1));
    operands_.push_register(type, reg);
}

bool FunctionCompiler::convert_integer(std::uint8_t opcode) {
    if (opcode == kI32WrapI64) {
        wrap();
        return true;
    }
    if (opcode == kI64ExtendI32S) {
        const Taken taken = operands_.take();
        if (taken.value.kind == Kind::constant) {
            const auto value = std::int64_t{static_cast<std::int32_t>(taken.value.bits)};
            operands_.push_constant(ValueType::i64, static_cast<std::uint64_t>(value));
            return true;
        }
        const x86::Operand source = operands_.source(taken);
        const Register reg =
            taken.value.kind == Kind::reg ? taken.value.reg : operands_.allocate(Bank::integer);
        out_.extend(true, quad(reg), source);
        operands_.push_register(ValueType::i64, reg);
        return true;
    }
    if (opcode != op::i64_extend_i32_u) return false;
    const Taken taken = operands_.take();
    if (taken.value.kind == Kind::constant) {
        operands_.push_constant(ValueType::i64, taken.value.bits);
        return true;
    }
    // An i32 in a register has its upper half clear.
    operands_.push_register(ValueType::i64, operands_.own(taken));
    return true;
}

void FunctionCompiler::wrap() {
    const Taken taken = operands_.take();
    if (taken.value.kind == Kind::constant) {
        const auto low = static_cast<std::uint32_t>(taken.value.bits);
        return operands_.push_constant(ValueType::i32, low);
    }
    Register reg = 0;
    if (operands_.in_memory(taken.value)) {
        reg = operands_.allocate(Bank::integer);
        x86::Mem from = operands_.memory(taken);
        from.bytes = 4;
        out_.mov(dword(reg), from);
    } else {
        const Register from = register_of(taken);
        reg = taken.value.kind == Kind::reg ? from : operands_.allocate(Bank::integer);
        out_.mov(dword(reg), dword(from));
    }
    operands_.push_register(ValueType::i32, reg);
}

}  // namespace chain::vm
