#include "chain/vm/function_compiler.hpp"

#include "chain/vm/op_rules.hpp"

#include <algorithm>

namespace chain::vm {

namespace {

// From so many on, locals are zeroed by one instruction.
constexpr std::uint32_t kManyLocals = 8;

// A whole register of a bank.
ValueType word_of(Bank bank) {
    return bank == Bank::integer ? ValueType::i64 : ValueType::f64;
}

}  // namespace

Assembler::Offset FunctionCompiler::run(std::size_t index, const Plan& plan) {
    const Module& module = context_.module;
    const FunctionType& type = module.types[module.functions[index]];
    const Module::Body& body = module.bodies[index];
    locals_.assign(type, body);
    const auto parameters = static_cast<std::uint32_t>(type.params.size());
    frame_.begin(locals_, parameters, plan);
    operands_.begin();
    plan_ = &plan;
    next_charge_ = 0;
    next_leader_ = plan.charges.empty() ? UINT32_MAX : plan.charges.front().at;
    blocks_.clear();
    tables_.clear();
    labels_.clear();
    dead_ = 0;
    condition_.reset();
    in_ = Cursor(body.code);
    const Assembler::Offset begin = out_.here();
    enter(parameters);
    blocks_.push_back({.opcode = op::block, .result = type.result});
    while (!blocks_.empty()) {
        if (dead_ == 0 && in_.offset() == next_leader_) charge_leader();
        operands_.end_instruction();
        step();
    }
    CHECK(next_charge_ == plan.charges.size());
    leave();
    fill_tables();
    return begin;
}

void FunctionCompiler::enter(std::uint32_t parameters) {
    budget_ = kOneCall + frame_.counted_bytes() / 8;
    out_.sub(x86::r14d, static_cast<std::int32_t>(budget_));
    out_.test(x86::r14d, static_cast<std::int32_t>(kCallsExhausted | kBytesExhausted));
    out_.jump_if(CondCode::ne, context_.stubs.budget_low());
    const auto bytes = static_cast<std::int32_t>(frame_.bytes());
    if (bytes > 0) out_.sub(x86::rsp, bytes);
    std::int32_t at = bytes;
    for (const Frame::Saved& each : frame_.saved()) {
        at -= 8;
        move_out(out_, word_of(each.bank), on_stack(at), each.reg);
    }
    zero_locals();
    for (const Frame::Saved& each : frame_.saved()) {
        const Frame::Home& home = frame_.home(each.local);
        if (each.local < parameters) {
            move_in(out_, home.type, home.reg, frame_.place(home, width_of(home.type)));
        } else if (is_float(home.type)) {
            out_.clear(vector(home.reg));
        } else {
            out_.clear(quad(home.reg));
        }
    }
}

// Those in memory lie side by side above the operands.
void FunctionCompiler::zero_locals() {
    const std::uint32_t many = frame_.in_memory();
    const auto first = static_cast<std::int32_t>(8 * frame_.height_max());
    if (many > kManyLocals) {
        out_.lea(x86::rdi, on_stack(first));
        out_.mov_constant(x86::ecx, many);
        out_.clear(x86::rax);
        out_.fill_words();
        return;
    }
    for (std::uint32_t i = 0; i < many; ++i)
        out_.mov(on_stack(first + 8 * static_cast<std::int32_t>(i)), 0);
}

void FunctionCompiler::leave() {
    const auto bytes = static_cast<std::int32_t>(frame_.bytes());
    std::int32_t at = bytes;
    for (const Frame::Saved& each : frame_.saved()) {
        at -= 8;
        move_in(out_, word_of(each.bank), each.reg, on_stack(at));
    }
    if (bytes > 0) out_.add(x86::rsp, bytes);
    out_.add(x86::r14d, static_cast<std::int32_t>(budget_));
    out_.ret();
}

// Spec 03, "Metering": the price of all up to the next leader is taken before the first of it
// runs. Here a run is also stopped from outside.
void FunctionCompiler::charge_leader() {
    const Charge& next = plan_->charges[next_charge_++];
    next_leader_ =
        next_charge_ < plan_->charges.size() ? plan_->charges[next_charge_].at : UINT32_MAX;
    charge(next.price);
    if (next.accesses > 0 && context_.module.memory &&
        context_.module.memory->maximum > kNearPages) {
        const Register extra = operands_.allocate(Bank::integer);
        out_.imul(
            quad(extra), at_field(field::surcharge), static_cast<std::int32_t>(next.accesses));
        out_.sub(x86::r13, quad(extra));
    }
    check_limit();
}

void FunctionCompiler::charge(std::uint64_t units) {
    if (units == 0) return;
    if (units <= INT8_MAX) return out_.bytes(0x49, 0x83, 0xED, units);
    if (units <= INT32_MAX) {
        out_.sub(x86::r13, static_cast<std::int32_t>(units));
        return;
    }
    // More than any fuel is as good as all of it.
    const Register all = operands_.allocate(Bank::integer);
    out_.mov_constant(quad(all), std::min(units, kMostFuel + 1));
    out_.sub(x86::r13, quad(all));
}

// Leaders are everywhere: their few bytes are written as they are.
void FunctionCompiler::check_limit() {
    static_assert(field::limit == -8);
    out_.bytes(0x4D, 0x3B, 0x6F, 0xF8, 0x0F, 0x8C, 0, 0, 0, 0);  // cmp r13, [r15 - 8]; jl
    out_.set_call(out_.here(), context_.stubs.fuel_low());
}

void FunctionCompiler::step() {
    const std::uint8_t opcode = in_.u8();
    if (dead_ > 0 && skip_dead(opcode)) return;
    switch (kOpRules[opcode].form) {
        case OpForm::control:
        case OpForm::parametric:
            return control(opcode);
        case OpForm::local:
        case OpForm::global:
        case OpForm::constant:
            return variable(opcode);
        case OpForm::load:
            return load(opcode);
        case OpForm::store:
            return store(opcode);
        case OpForm::memory:
            return opcode == op::memory_grow ? grow_memory() : memory_size();
        default:
            CHECK(integer_operation(opcode) || float_operation(opcode));
    }
}

// Nothing is written for what cannot be reached. False: at this instruction code is alive again.
bool FunctionCompiler::skip_dead(std::uint8_t opcode) {
    if (opcode == op::block || opcode == op::loop || opcode == op::if_) ++dead_;
    if (dead_ == 1 && (opcode == op::else_ || opcode == op::end)) return false;
    if (opcode == op::end) --dead_;
    skip_immediate(opcode);
    return true;
}

void FunctionCompiler::skip_immediate(std::uint8_t opcode) {
    if (opcode >= op::i32_load && opcode <= op::i64_store32) {
        in_.u32();
        in_.u32();
        return;
    }
    switch (opcode) {
        case op::block:
        case op::loop:
        case op::if_:
        case op::memory_size:
        case op::memory_grow:
            in_.u8();
            return;
        case op::br_table:
            for (std::uint32_t left = in_.u32() + 1; left > 0; --left)
                in_.u32();
            return;
        case op::call_indirect:
            in_.u32();
            in_.u8();
            return;
        case op::br:
        case op::br_if:
        case op::call:
        case op::local_get:
        case op::local_set:
        case op::local_tee:
        case op::global_get:
        case op::global_set:
            in_.u32();
            return;
        case op::i32_const:
        case op::i64_const:
            in_.s64();
            return;
        case op::f32_const:
            in_.fixed(4);
            return;
        case op::f64_const:
            in_.fixed(8);
            return;
        default:
            return;
    }
}

void FunctionCompiler::die() {
    operands_.cut(blocks_.back().height);
    dead_ = 1;
}

}  // namespace chain::vm
