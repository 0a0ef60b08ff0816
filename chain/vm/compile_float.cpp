// Floating point. A NaN that an operation makes is the canonical one.

#include "chain/vm/function_compiler.hpp"

#include <array>

namespace chain::vm {

namespace {

using x86::CondCode;

constexpr std::uint8_t kF32Eq = 0x5b;
constexpr std::uint8_t kF64Eq = 0x61;
constexpr std::uint8_t kF64Ge = 0x66;
constexpr std::uint8_t kF32Abs = 0x8b;
constexpr std::uint8_t kF32Copysign = 0x98;
constexpr std::uint8_t kF64Abs = 0x99;
constexpr std::uint8_t kF64Copysign = 0xa6;
constexpr std::uint8_t kI32TruncF32S = 0xa8;
constexpr std::uint8_t kI64TruncF32S = 0xae;
constexpr std::uint8_t kF32ConvertI32S = 0xb2;
constexpr std::uint8_t kF64ConvertI32S = 0xb7;

// Of add, sub, mul, div.
constexpr std::array<x86::Opcode, 4> kArithmetic{
    x86::kAddss, x86::kSubss, x86::kMulss, x86::kDivss};
// The processor's numbers for ceil, floor, trunc and nearest, inexactness not reported.
constexpr std::array<std::uint8_t, 4> kRoundings{10, 9, 11, 8};

x86::Mem magnitude(bool is_single) {
    return at_constant(is_single ? Constant::magnitude32 : Constant::magnitude64);
}
x86::Mem sign(bool is_single) {
    return at_constant(is_single ? Constant::sign32 : Constant::sign64);
}

}  // namespace

bool FunctionCompiler::float_operation(std::uint8_t opcode) {
    if (within(opcode, kF32Eq, kF64Ge)) {
        const bool single = opcode < kF64Eq;
        float_compare(single ? ValueType::f32 : ValueType::f64,
                      unsigned{opcode} - (single ? kF32Eq : kF64Eq));
        return true;
    }
    if (within(opcode, kF32Abs, kF32Copysign)) {
        float_arithmetic(opcode - kF32Abs, ValueType::f32);
        return true;
    }
    if (within(opcode, kF64Abs, kF64Copysign)) {
        float_arithmetic(opcode - kF64Abs, ValueType::f64);
        return true;
    }
    return convert_float(opcode);
}

// By the order of opcodes: abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign.
void FunctionCompiler::float_arithmetic(unsigned which, ValueType type) {
    if (which < 2) return float_sign(which == 0, type);
    if (which < 7) return float_round(which - 2, type);
    if (which < 11) {
        return float_binary(of_width(kArithmetic[which - 7], type == ValueType::f32), type);
    }
    if (which < 13) return float_extreme(type, which == 11);
    copy_sign(type);
}

void FunctionCompiler::float_binary(x86::Opcode instruction, ValueType type) {
    const Taken right = operands_.take();
    const Taken left = operands_.take();
    std::optional<Target> target = following_set();
    if (is_target(target, right) && !is_target(target, left)) target.reset();
    const x86::Operand source = operands_.source(right);
    Register to = 0;
    if (target) {
        operands_.settle_local(target->local);
        to = target->reg;
        operands_.load(to, left);
    } else {
        to = operands_.own(left);
    }
    out_.op(instruction, vector(to), source);
    make_canonical(to, type);
    finish(target, type, to);
}

// NaNs are rare: what makes one canonical is called.
void FunctionCompiler::make_canonical(Register reg, ValueType type) {
    const bool single = type == ValueType::f32;
    out_.op(of_width(x86::kUcomiss, single), vector(reg), vector(reg));
    const Assembler::Offset number = out_.skip_if(CondCode::np);
    out_.call(context_.stubs.nan(reg + (single ? Stubs::kVectors : 0U)));
    out_.land_skip(number);
}

// Of equal numbers only zeros differ, in their sign; the processor's instruction does not care.
void FunctionCompiler::float_extreme(ValueType type, bool is_least) {
    const Taken second = operands_.take();
    const Taken first = operands_.take();
    const Register other = operands_.read(second);
    const Register to = operands_.own(first);
    const bool single = type == ValueType::f32;
    out_.op(of_width(x86::kUcomiss, single), vector(to), vector(other));
    const Assembler::Offset nan = out_.skip_if(CondCode::p);
    const Assembler::Offset differ = out_.skip_if(CondCode::ne);
    out_.op(is_least ? x86::kOrps : x86::kAndps, vector(to), vector(other));
    const Assembler::Offset equal_done = out_.skip();
    out_.land_skip(nan);
    load_nan(out_, vector(to), single);
    const Assembler::Offset nan_done = out_.skip();
    out_.land_skip(differ);
    const x86::Opcode extreme = is_least ? x86::kMinss : x86::kMaxss;
    out_.op(of_width(extreme, single), vector(to), vector(other));
    out_.land_skip(equal_done);
    out_.land_skip(nan_done);
    operands_.push_register(type, to);
}

// By the order of opcodes: eq ne lt gt le ge. A comparison with a NaN sets the flags of `below`.
void FunctionCompiler::float_compare(ValueType type, unsigned which) {
    Taken right = operands_.take();
    Taken left = operands_.take();
    if (which == 2 || which == 4) std::swap(left, right);
    const Register reg = operands_.read(left);
    const x86::Operand source = operands_.source(right);
    out_.op(of_width(x86::kUcomiss, type == ValueType::f32), vector(reg), source);
    if (which >= 2) return put_condition(which <= 3 ? CondCode::a : CondCode::ae);
    const Register to = operands_.allocate(Bank::integer);
    const Register ordered = operands_.allocate(Bank::integer);
    const bool equal = which == 0;
    out_.set_if(equal ? CondCode::np : CondCode::p, low_byte(ordered));
    out_.set_if(equal ? CondCode::e : CondCode::ne, low_byte(to));
    out_.op(equal ? x86::kAnd : x86::kOr, low_byte(to), low_byte(ordered));
    out_.extend(false, dword(to), low_byte(to));
    operands_.push_register(ValueType::i32, to);
}

// ceil, floor, trunc, nearest, and the square root.
void FunctionCompiler::float_round(unsigned which, ValueType type) {
    const Taken taken = operands_.take();
    const x86::Operand source = operands_.source(taken);
    const Register to =
        taken.value.kind == Kind::reg ? taken.value.reg : operands_.allocate(Bank::floating);
    const bool single = type == ValueType::f32;
    if (which == kRoundings.size()) {
        out_.op(of_width(x86::kSqrtss, single), vector(to), source);
    } else {
        out_.round(single, vector(to), source, kRoundings[which]);
    }
    make_canonical(to, type);
    operands_.push_register(type, to);
}

void FunctionCompiler::float_sign(bool is_magnitude, ValueType type) {
    const Taken taken = operands_.take();
    const Register reg = operands_.own(taken);
    const bool single = type == ValueType::f32;
    if (is_magnitude) {
        out_.op(x86::kAndps, vector(reg), magnitude(single));
    } else {
        out_.op(x86::kXorps, vector(reg), sign(single));
    }
    operands_.push_register(type, reg);
}

void FunctionCompiler::copy_sign(ValueType type) {
    const Taken right = operands_.take();
    const Taken left = operands_.take();
    const Register from = operands_.own(right);
    const Register to = operands_.own(left);
    const bool single = type == ValueType::f32;
    out_.op(x86::kAndps, vector(from), sign(single));
    out_.op(x86::kAndps, vector(to), magnitude(single));
    out_.op(x86::kOrps, vector(to), vector(from));
    operands_.push_register(type, to);
}

bool FunctionCompiler::convert_float(std::uint8_t opcode) {
    if (within(opcode, kI32TruncF32S, kI32TruncF32S + 3) ||
        within(opcode, kI64TruncF32S, kI64TruncF32S + 3)) {
        const bool narrow = opcode < kI64TruncF32S;
        const unsigned which = unsigned{opcode} - (narrow ? kI32TruncF32S : kI64TruncF32S);
        truncate(which < 2 ? ValueType::f32 : ValueType::f64,
                 narrow ? ValueType::i32 : ValueType::i64,
                 which % 2 == 0);
        return true;
    }
    if (within(opcode, kF32ConvertI32S, kF32ConvertI32S + 3)) {
        from_integer(opcode - kF32ConvertI32S, ValueType::f32);
        return true;
    }
    if (within(opcode, kF64ConvertI32S, kF64ConvertI32S + 3)) {
        from_integer(opcode - kF64ConvertI32S, ValueType::f64);
        return true;
    }
    if (opcode == op::f32_demote_f64 || opcode == op::f64_promote_f32) {
        const bool demote = opcode == op::f32_demote_f64;
        const Register reg = operands_.own(operands_.take());
        out_.op(demote ? x86::kCvtsd2ss : x86::kCvtss2sd, vector(reg), vector(reg));
        const ValueType type = demote ? ValueType::f32 : ValueType::f64;
        make_canonical(reg, type);
        operands_.push_register(type, reg);
        return true;
    }
    if (!within(opcode, op::i32_reinterpret_f32, op::f64_reinterpret_i64)) return false;
    reinterpret(opcode);
    return true;
}

// Long, so that it stands once in a module: otherwise a byte of a contract became eighty.
void FunctionCompiler::truncate(ValueType from, ValueType to, bool is_signed) {
    operands_.force(0, operands_.take());
    operands_.keep(Bank::floating, 0);
    operands_.evict(Bank::integer, Operands::kRax);
    out_.call(context_.stubs.truncation(from, to, is_signed));
    operands_.end_instruction();
    operands_.push_register(to, Operands::kRax);
}

// From i32 or i64, signed or unsigned, in the order of opcodes.
void FunctionCompiler::from_integer(unsigned which, ValueType to) {
    if (which == 3) {
        operands_.force(Operands::kRax, operands_.take());
        operands_.keep(Bank::integer, Operands::kRax);
        operands_.evict(Bank::integer, Operands::kRcx);
        operands_.evict(Bank::floating, 0);
        out_.call(context_.stubs.from_unsigned(to));
        operands_.end_instruction();
        return operands_.push_register(to, 0);
    }
    const Taken taken = operands_.take();
    const Register result = operands_.allocate(Bank::floating);
    const Register reg = operands_.read(taken);
    // A u32 is an i64 that is not negative.
    const x86::Gp from = which == 0 ? dword(reg) : quad(reg);
    out_.clear(vector(result));  // The instruction would keep its upper part.
    out_.op(of_width(x86::kCvtsi2ss, to == ValueType::f32), vector(result), from);
    operands_.push_register(to, result);
}

void FunctionCompiler::reinterpret(std::uint8_t opcode) {
    constexpr std::array kTo{ValueType::i32, ValueType::i64, ValueType::f32, ValueType::f64};
    const ValueType to = kTo[opcode - op::i32_reinterpret_f32];
    const Taken taken = operands_.take();
    if (taken.value.kind == Kind::constant) {
        return operands_.push_constant(to, taken.value.bits);
    }
    const Register from = operands_.read(taken);
    const Register reg = operands_.allocate(bank_of(to));
    if (is_float(to)) {
        out_.op(x86::kMovToXmm, vector(reg), x86::Gp{from, width_of(to)});
    } else {
        out_.op(x86::kMovFromXmm, integer(reg, to), vector(from));
    }
    operands_.push_register(to, reg);
}

}  // namespace chain::vm
