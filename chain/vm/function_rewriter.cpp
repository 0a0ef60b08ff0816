#include "chain/vm/function_rewriter.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace chain::vm {

namespace {

constexpr std::uint32_t kSign32 = 0x80000000U;
constexpr std::uint64_t kSign64 = 0x8000000000000000U;
constexpr std::uint32_t kNan32 = 0x7FC00000U;
constexpr std::uint64_t kNan64 = 0x7FF8000000000000U;
constexpr std::uint64_t kTwoTo32 = 0x41F0000000000000U;  // 4294967296.0
constexpr std::uint32_t kTwo = 0x40000000U;              // 2.0f
constexpr std::uint32_t kFrameBytes = 48;
constexpr std::uint32_t kSlotBytes = 8;
constexpr std::uint64_t kOneCall = std::uint64_t{1} << 32U;
constexpr std::uint64_t kBothSigns = kSign64 | kSign32;

bool within(std::uint8_t opcode, std::uint8_t first, std::uint8_t last) {
    return opcode >= first && opcode <= last;
}

std::int64_t as_signed(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

}  // namespace

FunctionRewriter::FunctionRewriter(const RewriteContext& context, const FunctionType& type)
    : context_(context), type_(type), locals_(static_cast<std::uint32_t>(type.params.size())) {}

Emitter FunctionRewriter::run(const Module::Body& body) {
    for (const auto& [many, value] : body.locals)
        locals_ += many;
    blocks_.push_back({op::block, 0, type_.result.has_value()});
    WasmReader in(body.code);
    while (!blocks_.empty()) {
        const Instruction next = read_instruction(in, context_.limits.max_br_table_elements);
        CHECK(in.ok());
        step(next);
    }

    Emitter out;
    out.u32(static_cast<std::uint32_t>(body.locals.size() + scratch_order_.size()));
    for (const auto& [many, value] : body.locals) {
        out.u32(many);
        out.value_type(value);
    }
    for (const ValueType value : scratch_order_) {
        out.u32(1);
        out.value_type(value);
    }
    segment_.clear();
    enter();
    out.raw(segment_.view());
    out.u8(op::block);
    if (type_.result) {
        out.value_type(*type_.result);
    } else {
        out.u8(kEmptyBlock);
    }
    out.raw(done_.view());  // Ends with the end of this block.
    out.indexed(op::global_get, context_.counters.stack);
    out.i64_const(as_signed(frame()));
    out.u8(op::i64_add);
    out.indexed(op::global_set, context_.counters.stack);
    out.u8(op::end);
    return out;
}

std::uint64_t FunctionRewriter::frame() const {
    return kOneCall + kFrameBytes + std::uint64_t{kSlotBytes} * (locals_ + height_max_);
}

// Takes the frame from "stack" and looks at both halves. Fuel is checked here too, so that
// a recursion is stopped as a loop is.
void FunctionRewriter::enter() {
    const std::uint32_t stack = context_.counters.stack;
    segment_.indexed(op::global_get, stack);
    segment_.i64_const(as_signed(frame()));
    segment_.u8(op::i64_sub);
    segment_.indexed(op::global_set, stack);
    segment_.indexed(op::global_get, stack);
    segment_.i64_const(as_signed(kBothSigns));
    segment_.u8(op::i64_and);
    segment_.i64_const(0);
    segment_.u8(op::i64_ne);
    trap_if(kTrapStack);
    check_fuel();
}

// Takes a condition from the operand stack.
void FunctionRewriter::trap_if(std::uint32_t reason) {
    segment_.u8(op::if_);
    segment_.u8(kEmptyBlock);
    segment_.i32_const(static_cast<std::int32_t>(reason));
    segment_.indexed(op::global_set, context_.counters.trap);
    segment_.u8(op::unreachable);
    segment_.u8(op::end);
}

void FunctionRewriter::check_fuel() {
    segment_.indexed(op::global_get, context_.counters.fuel);
    segment_.i64_const(0);
    segment_.u8(op::i64_lt_s);
    trap_if(kTrapFuel);
}

// Writes the charge for the pending segment, then the segment. `check`: the next segment
// starts at a loop head.
void FunctionRewriter::flush(bool check) {
    Emitter code = std::move(segment_);
    segment_ = {};
    if (pending_ != 0) {
        segment_.indexed(op::global_get, context_.counters.fuel);
        segment_.i64_const(as_signed(pending_));
        segment_.u8(op::i64_sub);
        segment_.indexed(op::global_set, context_.counters.fuel);
    }
    if (check_next_) check_fuel();
    done_.raw(segment_.view());
    done_.raw(code.view());
    segment_.clear();
    pending_ = 0;
    check_next_ = check;
}

void FunctionRewriter::step(const Instruction& next) {
    if (dead_ > 0) {
        if (within(next.op, op::block, op::if_)) ++dead_;
        const bool ends_here = dead_ == 1 && (next.op == op::else_ || next.op == op::end);
        if (next.op == op::end) --dead_;
        if (!ends_here) return;
        dead_ = 0;
    } else {
        pending_ += price_of(next.op);
    }
    switch (next.op) {
        case op::block:
        case op::loop:
        case op::if_:
            return open(next);
        case op::else_:
        case op::end:
            return close(next);
        case op::unreachable:
        case op::br:
        case op::br_if:
        case op::br_table:
        case op::return_:
            return leave(next);
        case op::call:
            return call(next, context_.module.type_of(next.index), 0);
        case op::call_indirect:
            return call(next, context_.module.types[next.index], 1);
        default:
            return plain(next);
    }
}

void FunctionRewriter::open(const Instruction& next) {
    if (next.op == op::if_) pop(1);
    segment_.raw(next.raw);
    blocks_.push_back({next.op, height_, next.block != kEmptyBlock});
    if (next.op != op::block) flush(next.op == op::loop);
}

void FunctionRewriter::close(const Instruction& next) {
    flush(false);
    segment_.raw(next.raw);
    Block& block = blocks_.back();
    height_ = block.height;
    if (next.op == op::else_) return;
    if (block.has_result) push(1);
    blocks_.pop_back();
    if (blocks_.empty()) flush(false);
}

// Instructions that may or do leave the straight line.
void FunctionRewriter::leave(const Instruction& next) {
    if (next.op == op::br_if || next.op == op::br_table) pop(1);
    if (next.op == op::return_) {
        segment_.indexed(op::br, static_cast<std::uint32_t>(blocks_.size() - 1));
    } else {
        segment_.raw(next.raw);
    }
    flush(false);
    if (next.op != op::br_if) dead_ = 1;
}

void FunctionRewriter::call(const Instruction& next,
                            const FunctionType& callee,
                            std::uint32_t extra_pops) {
    pop(extra_pops + static_cast<std::uint32_t>(callee.params.size()));
    push(callee.result ? 1 : 0);
    if (next.op == op::call) return segment_.raw(next.raw);
    segment_.indexed(op::call_indirect, context_.unique_types[next.index]);
    segment_.u8(0);
}

void FunctionRewriter::plain(const Instruction& next) {
    const std::optional<StackEffect> effect = stack_effect(next.op);
    if (effect) {
        pop(effect->pops);
        push(effect->pushes);
    }
    if (next.op == op::memory_grow) return lower_grow();
    if (next.op != op::nop && !lower_float(next)) segment_.raw(next.raw);
}

// Spells what C compilers or processors may do differently. False: nothing to do.
bool FunctionRewriter::lower_float(const Instruction& next) {
    switch (next.op) {
        case op::f32_const:
            segment_.f32_bits(static_cast<std::uint32_t>(next.bits));
            return true;
        case op::f64_const:
            segment_.f64_bits(next.bits);
            return true;
        case op::f32_abs:
        case op::f32_neg:
            segment_.u8(op::i32_reinterpret_f32);
            segment_.i32_const(
                static_cast<std::int32_t>(next.op == op::f32_neg ? kSign32 : ~kSign32));
            segment_.u8(next.op == op::f32_neg ? op::i32_xor : op::i32_and);
            segment_.u8(op::f32_reinterpret_i32);
            return true;
        case op::f64_abs:
        case op::f64_neg:
            segment_.u8(op::i64_reinterpret_f64);
            segment_.i64_const(as_signed(next.op == op::f64_neg ? kSign64 : ~kSign64));
            segment_.u8(next.op == op::f64_neg ? op::i64_xor : op::i64_and);
            segment_.u8(op::f64_reinterpret_i64);
            return true;
        case op::f32_copysign:
        case op::f64_copysign:
            lower_copysign(next.op == op::f64_copysign);
            return true;
        case op::f32_convert_i32_u:
        case op::f64_convert_i32_u:
            segment_.u8(op::i64_extend_i32_u);
            segment_.u8(next.op == op::f32_convert_i32_u ? op::f32_convert_i64_s
                                                         : op::f64_convert_i64_s);
            return true;
        case op::f32_convert_i64_u:
        case op::f64_convert_i64_u:
            convert_u64(next.op == op::f64_convert_i64_u);
            return true;
        default:
            break;
    }
    const bool single = within(next.op, op::f32_ceil, op::f32_max) || next.op == op::f32_demote_f64;
    const bool twice = within(next.op, op::f64_ceil, op::f64_max) || next.op == op::f64_promote_f32;
    if (!single && !twice) return false;
    segment_.raw(next.raw);
    canonical(single ? ValueType::f32 : ValueType::f64);
    return true;
}

// The value on top, or the canonical NaN when it is not equal to itself.
void FunctionRewriter::canonical(ValueType value) {
    const std::uint32_t kept = scratch(value);
    const bool single = value == ValueType::f32;
    segment_.indexed(op::local_tee, kept);
    if (single) {
        segment_.f32_bits(kNan32);
    } else {
        segment_.f64_bits(kNan64);
    }
    segment_.indexed(op::local_get, kept);
    segment_.indexed(op::local_get, kept);
    segment_.u8(single ? op::f32_eq : op::f64_eq);
    segment_.u8(op::select);
}

void FunctionRewriter::lower_copysign(bool is_double) {
    const std::uint32_t sign = scratch(is_double ? ValueType::i64 : ValueType::i32);
    const auto mask = [&](bool keep_sign) {
        segment_.u8(is_double ? op::i64_reinterpret_f64 : op::i32_reinterpret_f32);
        if (is_double) {
            segment_.i64_const(as_signed(keep_sign ? kSign64 : ~kSign64));
        } else {
            segment_.i32_const(static_cast<std::int32_t>(keep_sign ? kSign32 : ~kSign32));
        }
        segment_.u8(is_double ? op::i64_and : op::i32_and);
    };
    mask(true);
    segment_.indexed(op::local_set, sign);
    mask(false);
    segment_.indexed(op::local_get, sign);
    segment_.u8(is_double ? op::i64_or : op::i32_or);
    segment_.u8(is_double ? op::f64_reinterpret_i64 : op::f32_reinterpret_i32);
}

// Unsigned to floating point with signed conversions only; rounds once, to nearest.
void FunctionRewriter::convert_u64(bool is_double) {
    const std::uint32_t kept = scratch(ValueType::i64);
    segment_.indexed(op::local_set, kept);
    if (is_double) {  // High half times 2^32, which is exact, plus the low half.
        segment_.indexed(op::local_get, kept);
        segment_.i64_const(32);
        segment_.u8(op::i64_shr_u);
        segment_.u8(op::f64_convert_i64_s);
        segment_.f64_bits(kTwoTo32);
        segment_.u8(op::f64_mul);
        segment_.indexed(op::local_get, kept);
        segment_.i64_const(0xFFFFFFFF);
        segment_.u8(op::i64_and);
        segment_.u8(op::f64_convert_i64_s);
        segment_.u8(op::f64_add);
        return;
    }
    // Below 2^63 as it is; above, half of it with the lost bit kept for rounding, doubled.
    segment_.indexed(op::local_get, kept);
    segment_.u8(op::f32_convert_i64_s);
    segment_.indexed(op::local_get, kept);
    segment_.i64_const(1);
    segment_.u8(op::i64_shr_u);
    segment_.indexed(op::local_get, kept);
    segment_.i64_const(1);
    segment_.u8(op::i64_and);
    segment_.u8(op::i64_or);
    segment_.u8(op::f32_convert_i64_s);
    segment_.f32_bits(kTwo);
    segment_.u8(static_cast<std::uint8_t>(op::f32_add + 2));  // f32.mul
    segment_.indexed(op::local_get, kept);
    segment_.i64_const(0);
    segment_.u8(op::i64_ge_s);
    segment_.u8(op::select);
}

// Pays for the new pages first. A request beyond the limit fails in the module and is free.
void FunctionRewriter::lower_grow() {
    const std::uint32_t pages = scratch(ValueType::i32);
    const std::uint32_t fuel = context_.counters.fuel;
    segment_.indexed(op::local_set, pages);
    segment_.indexed(op::global_get, fuel);
    segment_.indexed(op::local_get, pages);
    segment_.u8(op::i64_extend_i32_u);
    segment_.i64_const(0);
    segment_.indexed(op::local_get, pages);
    segment_.i32_const(static_cast<std::int32_t>(context_.limits.max_pages));
    segment_.u8(op::i32_le_u);
    segment_.u8(op::select);
    segment_.i64_const(context_.prices.page);
    segment_.u8(op::i64_mul);
    segment_.u8(op::i64_sub);
    segment_.indexed(op::global_set, fuel);
    check_fuel();
    segment_.indexed(op::local_get, pages);
    segment_.u8(op::memory_grow);
    segment_.u8(0);
}

std::uint64_t FunctionRewriter::price_of(std::uint8_t opcode) const {
    const Prices& prices = context_.prices;
    switch (opcode) {
        case op::nop:
        case op::block:
        case op::loop:
        case op::else_:
        case op::end:
            return 0;
        case op::call:
        case op::call_indirect:
        case op::br_table:
        case op::memory_grow:
            return std::max(prices.call, 1U);
        // Without a price here a loop or a recursion could go on for ever.
        case op::br:
        case op::br_if:
            return std::max(prices.plain, 1U);
        default:
            break;
    }
    if (within(opcode, op::global_get, op::memory_size)) return prices.memory;
    if (within(opcode, op::i32_div_s, op::i32_rem_u)) return prices.divide;
    if (within(opcode, op::i64_div_s, op::i64_rem_u)) return prices.divide;
    if (within(opcode, op::f32_eq, op::f64_eq + 5)) return prices.floating;
    if (within(opcode, op::f32_abs, op::f64_copysign)) return prices.floating;
    if (within(opcode, op::i32_trunc_f32_s, op::i32_trunc_f64_u)) return prices.floating;
    if (within(opcode, op::i64_trunc_f32_s, op::f64_promote_f32)) return prices.floating;
    return prices.plain;
}

std::uint32_t FunctionRewriter::scratch(ValueType value) {
    std::uint32_t& index = scratch_[static_cast<std::size_t>(value)];
    if (index == 0) {
        scratch_order_.push_back(value);
        index = locals_ + static_cast<std::uint32_t>(scratch_order_.size());
    }
    return index - 1;
}

void FunctionRewriter::pop(std::uint32_t values) {
    CHECK(height_ >= values);
    height_ -= values;
}

void FunctionRewriter::push(std::uint32_t values) {
    height_ += values;
    height_max_ = std::max(height_max_, height_);
}

}  // namespace chain::vm
