#include "chain/vm/stubs.hpp"

#include "chain/vm/operands.hpp"

namespace chain::vm {

namespace {

using x86::CondCode;

// Registers of locals that C++ code may change.
constexpr std::int32_t kKeptIntegers = 3;  // r9, r10, r11
constexpr std::int32_t kKeptFloats = 8;    // xmm8 to xmm15
constexpr std::int32_t kKept = kKeptIntegers + kKeptFloats;

std::size_t truncation_index(ValueType from, ValueType to, bool is_signed) {
    return (from == ValueType::f64 ? 4U : 0U) + (to == ValueType::i64 ? 2U : 0U) +
           (is_signed ? 1U : 0U);
}

}  // namespace

Stubs::Stubs(Assembler& out, const Limits& limits, const Prices& prices) : out_(out) {
    write_enter();
    write_traps();
    for (const ValueType from : {ValueType::f32, ValueType::f64}) {
        for (const ValueType to : {ValueType::i32, ValueType::i64}) {
            for (const bool is_signed : {false, true})
                write_truncation(from, to, is_signed);
        }
        write_from_unsigned(from);
    }
    write_nans();
    write_grow(limits, prices);
}

Stubs::Offset Stubs::truncation(ValueType from, ValueType to, bool is_signed) const {
    return truncations_[truncation_index(from, to, is_signed)];
}

// As C++ calls it: rdi memory, rsi function, rdx arguments, rcx their number.
void Stubs::write_enter() {
    constexpr x86::Gp kSaved[] = {x86::rbx, x86::rbp, x86::r12, x86::r13, x86::r14, x86::r15};
    enter_ = out_.here();
    for (const x86::Gp& reg : kSaved)
        out_.push(reg);
    out_.mov(x86::r15, x86::rdi);
    out_.store_mode(at_field(field::host_mxcsr, 4));
    out_.load_mode(at_field(field::mxcsr, 4));
    out_.mov(at_field(field::host_stack), x86::rsp);
    out_.mov(x86::rsp, at_field(field::contract_stack));
    out_.mov(x86::r13, at_field(field::fuel));
    out_.mov(x86::r14d, at_field(field::budget, 4));
    const Offset more = out_.here();
    out_.test(x86::rcx, x86::rcx);
    const Offset go = out_.skip_if(CondCode::e);
    out_.push(x86::Mem{x86::rdx.id});
    out_.add(x86::rdx, 8);
    out_.sub(x86::rcx, 1);
    out_.jump(more);
    out_.land_skip(go);
    out_.call(x86::rsi);
    out_.mov(at_field(field::result), x86::rax);
    out_.op(of_width(x86::kMovss, false), at_field(field::float_result), x86::xmm0);
    out_.clear(x86::rax);
    leave_ = out_.here();  // With the number of the trap in eax, from any depth.
    out_.mov(x86::rsp, at_field(field::host_stack));
    out_.mov(at_field(field::fuel), x86::r13);
    out_.load_mode(at_field(field::host_mxcsr, 4));
    for (std::size_t i = std::size(kSaved); i > 0; --i)
        out_.pop(kSaved[i - 1]);
    out_.ret();
}

void Stubs::write_traps() {
    for (std::uint32_t trap = 1; trap < kTraps; ++trap) {
        traps_[trap] = out_.here();
        out_.mov_constant(x86::eax, trap);
        out_.jump(leave_);
    }
    fuel_low_ = out_.here();
    out_.test(x86::r13, x86::r13);
    out_.jump_if(CondCode::ns, trap(Trap::stopped));
    out_.jump(trap(Trap::out_of_fuel));
    budget_low_ = out_.here();
    out_.test(x86::r14d, static_cast<std::int32_t>(kBytesExhausted));
    out_.jump_if(CondCode::ne, trap(Trap::stack_bytes));
    out_.jump(trap(Trap::call_depth));
}

// The range is compared before the conversion: the processor's own answer has no reason.
void Stubs::write_truncation(ValueType from, ValueType to, bool is_signed) {
    truncations_[truncation_index(from, to, is_signed)] = out_.here();
    const bool single = from == ValueType::f32;
    const auto compare = [&](Constant of_single, Constant of_double) {
        out_.op(of_width(x86::kUcomiss, single),
                x86::xmm0,
                at_constant(single ? of_single : of_double));
    };
    out_.op(of_width(x86::kUcomiss, single), x86::xmm0, x86::xmm0);
    out_.jump_if(CondCode::p, trap(Trap::invalid_conversion));
    if (!is_signed) {
        compare(Constant::minus_one32, Constant::minus_one64);
        out_.jump_if(CondCode::be, trap(Trap::integer_overflow));
        write_unsigned_truncation(single, to);
        return;
    }
    if (to == ValueType::i32) {
        // A double may lie between the least integer and the one below it.
        compare(Constant::minus_two_to_31_32, Constant::below_minus_two_to_31_64);
        out_.jump_if(single ? CondCode::b : CondCode::be, trap(Trap::integer_overflow));
        compare(Constant::two_to_31_32, Constant::two_to_31_64);
    } else {
        compare(Constant::minus_two_to_63_32, Constant::minus_two_to_63_64);
        out_.jump_if(CondCode::b, trap(Trap::integer_overflow));
        compare(Constant::two_to_63_32, Constant::two_to_63_64);
    }
    out_.jump_if(CondCode::ae, trap(Trap::integer_overflow));
    out_.op(of_width(x86::kCvttss2si, single), integer(0, to), x86::xmm0);
    out_.ret();
}

void Stubs::write_unsigned_truncation(bool single, ValueType to) {
    const auto compare = [&](Constant of_single, Constant of_double) {
        out_.op(of_width(x86::kUcomiss, single),
                x86::xmm0,
                at_constant(single ? of_single : of_double));
    };
    const auto convert = [&] { out_.op(of_width(x86::kCvttss2si, single), x86::rax, x86::xmm0); };
    if (to == ValueType::i32) {
        compare(Constant::two_to_32_32, Constant::two_to_32_64);
        out_.jump_if(CondCode::ae, trap(Trap::integer_overflow));
        convert();
        out_.mov(x86::eax, x86::eax);
        out_.ret();
        return;
    }
    compare(Constant::two_to_64_32, Constant::two_to_64_64);
    out_.jump_if(CondCode::ae, trap(Trap::integer_overflow));
    compare(Constant::two_to_63_32, Constant::two_to_63_64);
    const Offset large = out_.skip_if(CondCode::ae);
    convert();
    out_.ret();
    out_.land_skip(large);
    out_.op(of_width(x86::kSubss, single),
            x86::xmm0,
            at_constant(single ? Constant::two_to_63_32 : Constant::two_to_63_64));
    convert();
    out_.complement_top_bit(x86::rax);
    out_.ret();
}

void Stubs::write_from_unsigned(ValueType to) {
    const bool single = to == ValueType::f32;
    unsigned_[single ? 0 : 1] = out_.here();
    const auto convert = [&] { out_.op(of_width(x86::kCvtsi2ss, single), x86::xmm0, x86::rax); };
    out_.clear(x86::xmm0);
    out_.test(x86::rax, x86::rax);
    const Offset large = out_.skip_if(CondCode::s);
    convert();
    out_.ret();
    out_.land_skip(large);
    // Half of it, with the lost bit kept for rounding, and doubled.
    out_.mov(x86::rcx, x86::rax);
    out_.shift(x86::Shift::shr, x86::rcx, 1);
    out_.op(x86::kAnd, x86::eax, 1);
    out_.op(x86::kOr, x86::rax, x86::rcx);
    convert();
    out_.op(of_width(x86::kAddss, single), x86::xmm0, x86::xmm0);
    out_.ret();
}

void Stubs::write_nans() {
    for (std::size_t which = 0; which < nans_.size(); ++which) {
        nans_[which] = out_.here();
        const bool single = which >= kVectors;
        load_nan(out_, vector(static_cast<Register>(which % kVectors)), single);
        out_.ret();
    }
}

// Host functions run on the stack of the call from outside: the contract's has room for the
// contract alone.
void Stubs::leave_contract(Assembler& out, std::uint32_t words) {
    out.push(x86::rbp);
    out.mov(x86::rbp, x86::rsp);
    out.mov(x86::rsp, at_field(field::host_stack));
    out.sub(x86::rsp, 8 * (static_cast<std::int32_t>(words) + kKept));
    out.op(x86::kAnd, x86::rsp, -16);
    const auto keep = static_cast<std::int32_t>(8 * words);
    out.mov(on_stack(keep), x86::r9);
    out.mov(on_stack(keep + 8), x86::r10);
    out.mov(on_stack(keep + 16), x86::r11);
    for (std::int32_t i = 0; i < kKeptFloats; ++i) {
        out.op(of_width(x86::kMovss, false),
               on_stack(keep + 8 * (kKeptIntegers + i)),
               vector(static_cast<Register>(8 + i)));
    }
    out.mov(at_field(field::fuel), x86::r13);
    out.mov(x86::rdi, at_field(field::self));
}

void Stubs::return_to_contract(Assembler& out, std::uint32_t words) {
    const auto keep = static_cast<std::int32_t>(8 * words);
    out.mov(x86::r9, on_stack(keep));
    out.mov(x86::r10, on_stack(keep + 8));
    out.mov(x86::r11, on_stack(keep + 16));
    for (std::int32_t i = 0; i < kKeptFloats; ++i) {
        out.op(of_width(x86::kMovss, false),
               vector(static_cast<Register>(8 + i)),
               on_stack(keep + 8 * (kKeptIntegers + i)));
    }
    out.mov(x86::rsp, x86::rbp);
    out.pop(x86::rbp);
    out.ret();
}

Stubs::Offset Stubs::write_host_call(Assembler& out,
                                     const FunctionType& type,
                                     std::uint32_t host) const {
    const Offset begin = out.here();
    const auto many = static_cast<std::int32_t>(type.params.size());
    const auto words = static_cast<std::uint32_t>(many) + 1;  // Arguments, then the result.
    leave_contract(out, words);
    for (std::int32_t i = 0; i < many; ++i) {
        const std::uint8_t bytes = width_of(type.params[static_cast<std::size_t>(i)]);
        // The last argument lies above the return address and the saved rbp.
        const x86::Mem from{x86::rbp.id, 16 + 8 * (many - 1 - i), bytes};
        out.mov(x86::Gp{x86::rax.id, bytes}, from);
        out.mov(on_stack(8 * i), x86::rax);
    }
    out.mov_constant(x86::esi, host);
    out.mov(x86::rdx, x86::rsp);
    out.lea(x86::rcx, on_stack(8 * many));
    out.call(at_field(field::call_host));
    out.mov(x86::r13, at_field(field::fuel));
    out.test(x86::al, x86::al);
    out.jump_if(CondCode::e, trap(Trap::host_stop));
    if (type.result) {
        move_in(out, *type.result, Operands::kRax, on_stack(8 * many, width_of(*type.result)));
    }
    return_to_contract(out, words);
    return begin;
}

// Pays for the new pages first. A request beyond the limit fails in the host and is free.
void Stubs::write_grow(const Limits& limits, const Prices& prices) {
    grow_ = out_.here();
    out_.cmp(x86::eax, static_cast<std::int32_t>(limits.max_pages));
    const Offset free = out_.skip_if(CondCode::a);
    out_.mov_constant(x86::rcx, prices.page);
    out_.op(x86::kImul, x86::rcx, x86::rax);
    out_.sub(x86::r13, x86::rcx);
    out_.cmp(x86::r13, at_field(field::limit));
    out_.jump_if(CondCode::l, fuel_low_);
    out_.land_skip(free);
    leave_contract(out_, 1);
    out_.mov(x86::esi, x86::eax);
    out_.call(at_field(field::grow));
    return_to_contract(out_, 1);
}

}  // namespace chain::vm
