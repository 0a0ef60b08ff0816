// Blocks, branches and calls.

#include "chain/vm/function_compiler.hpp"

namespace chain::vm {

namespace {

std::optional<ValueType> block_type(std::uint8_t byte) {
    if (byte == kEmptyBlock) return std::nullopt;
    return static_cast<ValueType>(0x7F - byte);
}

}  // namespace

void FunctionCompiler::control(std::uint8_t opcode) {
    switch (opcode) {
        case op::unreachable:
            out_.jump(context_.stubs.trap(Trap::unreachable));
            return die();
        case op::block:
        case op::loop:
            return begin_block(opcode);
        case op::if_:
            return begin_if();
        case op::else_:
            return begin_else();
        case op::end:
            return end_block();
        case op::br:
            return branch(in_.u32());
        case op::return_:
            return branch(static_cast<std::uint32_t>(blocks_.size() - 1));
        case op::br_if:
            return branch_if();
        case op::br_table:
            return branch_table();
        case op::call: {
            const std::uint32_t function = in_.u32();
            return call(context_.module.type_of(function), function, 0);
        }
        case op::call_indirect: {
            const std::uint32_t type = in_.u32();
            in_.u8();
            return call(context_.module.types[type], std::nullopt, type);
        }
        case op::drop:
            static_cast<void>(operands_.take());
            return;
        case op::select:
            return select();
        default:  // nop
            return;
    }
}

void FunctionCompiler::begin_block(std::uint8_t opcode) {
    const std::optional<ValueType> result = block_type(in_.u8());
    operands_.settle();
    blocks_.push_back(
        {.opcode = opcode, .result = result, .height = operands_.height(), .begin = out_.here()});
}

void FunctionCompiler::begin_if() {
    const std::optional<ValueType> result = block_type(in_.u8());
    const CondCode condition = take_condition();
    operands_.settle();  // Moves only: the flags stay.
    blocks_.push_back({.opcode = op::if_, .result = result, .height = operands_.height()});
    out_.jump_if(x86::negated(condition), blocks_.back().otherwise);
}

void FunctionCompiler::begin_else() {
    Block& block = blocks_.back();
    if (dead_ == 0) {
        result_to_register(block.result);
        out_.jump(block.exits);
    }
    dead_ = 0;
    operands_.cut(block.height);
    out_.land(block.otherwise);
}

void FunctionCompiler::end_block() {
    Block& block = blocks_.back();
    if (dead_ == 0) result_to_register(block.result);
    const bool in_table = block.label != 0 && block.opcode != op::loop;
    const bool reached =
        dead_ == 0 || !block.exits.is_empty() || !block.otherwise.is_empty() || in_table;
    operands_.cut(block.height);
    out_.land(block.otherwise);
    out_.land(block.exits);
    if (in_table) labels_[block.label - 1] = out_.here();
    const std::optional<ValueType> result = block.result;
    blocks_.pop_back();
    dead_ = reached ? 0 : 1;
    if (blocks_.empty()) return;
    if (reached && result) operands_.push_register(*result, Operands::kRax);
}

// Where all ways to a label have its value: rax or xmm0.
void FunctionCompiler::result_to_register(std::optional<ValueType> type) {
    if (!type) return;
    operands_.force(Operands::kRax, operands_.take());
    operands_.push_register(*type, Operands::kRax);
}

void FunctionCompiler::jump_to(Block& block) {
    block.opcode == op::loop ? out_.jump(block.begin) : out_.jump(block.exits);
}

void FunctionCompiler::jump_to_if(CondCode condition, Block& block) {
    block.opcode == op::loop ? out_.jump_if(condition, block.begin)
                             : out_.jump_if(condition, block.exits);
}

void FunctionCompiler::branch(std::uint32_t depth) {
    Block& to = target(depth);
    result_to_register(to.label_type());
    jump_to(to);
    die();
}

void FunctionCompiler::branch_if() {
    Block& to = target(in_.u32());
    const CondCode condition = take_condition();
    result_to_register(to.label_type());
    jump_to_if(condition, to);
}

void FunctionCompiler::branch_table() {
    const std::uint32_t targets = in_.u32();
    operands_.force(Operands::kRcx, operands_.take());
    operands_.keep(Bank::integer, Operands::kRcx);
    const Cursor table = in_;
    for (std::uint32_t i = 0; i < targets; ++i)
        in_.u32();
    Block& fallback = target(in_.u32());
    result_to_register(fallback.label_type());
    if (targets == 0) {
        jump_to(fallback);
    } else {
        out_.cmp(x86::ecx, static_cast<std::int32_t>(targets));
        jump_to_if(CondCode::ae, fallback);
        write_table(targets, table);
    }
    die();
}

// Each entry is how far its target is from the table.
void FunctionCompiler::write_table(std::uint32_t targets, Cursor read) {
    out_.bytes(0x48, 0x8D, 0x15, 0, 0, 0, 0);  // lea rdx, [rip + ..]: the table
    const Assembler::Offset base = out_.here();
    out_.extend(true, x86::rcx, x86::Mem{x86::rdx.id, 0, 4, x86::rcx.id, 2});
    out_.add(x86::rcx, x86::rdx);
    out_.jump(x86::rcx);
    tables_.push_back({out_.here(), targets});
    out_.set_call(base, out_.here());
    for (std::uint32_t i = 0; i < targets; ++i) {
        const std::uint32_t label = label_of(target(read.u32()));
        out_.bytes(0, 0, 0, 0);
        out_.set_word(out_.here() - 4, static_cast<std::int32_t>(label));
    }
}

std::uint32_t FunctionCompiler::label_of(Block& block) {
    if (block.label == 0) {
        labels_.push_back(block.begin);  // The end of what is no loop comes later.
        block.label = static_cast<std::uint32_t>(labels_.size());
    }
    return block.label;
}

// In the order of their bytes: to go from entry to entry of each label would wait for memory.
void FunctionCompiler::fill_tables() {
    for (const Table& table : tables_) {
        const Assembler::Offset end = table.at + 4 * table.entries;
        for (Assembler::Offset at = table.at; at != end; at += 4) {
            const Assembler::Offset to = labels_[static_cast<std::uint32_t>(out_.word(at)) - 1];
            out_.set_word(at, static_cast<std::int32_t>(to) - static_cast<std::int32_t>(table.at));
        }
    }
}

// Arguments lie in the uppermost slots. The stack pointer goes up to the last one, so that the
// callee finds them above its return address.
void FunctionCompiler::call(const FunctionType& type,
                            std::optional<std::uint32_t> function,
                            std::uint32_t index) {
    if (!function) {
        operands_.force(Operands::kRcx, operands_.take());
        operands_.keep(Bank::integer, Operands::kRcx);
    }
    const auto arguments = static_cast<std::uint32_t>(type.params.size());
    const std::uint32_t height = operands_.height();
    operands_.settle_for_call(arguments);
    const auto unused = static_cast<std::int32_t>(8 * (frame_.height_max() - height));
    if (!function) {
        out_.cmp(x86::ecx, static_cast<std::int32_t>(*context_.module.table));
        out_.jump_if(CondCode::ae, context_.stubs.trap(Trap::indirect_call));
        out_.shift(x86::Shift::shl, x86::ecx, 4);
        const x86::Mem found{x86::r15.id, field::table + 8, 8, x86::rcx.id};
        out_.cmp(found, static_cast<std::int32_t>(context_.types[index]));
        out_.jump_if(CondCode::ne, context_.stubs.trap(Trap::indirect_call));
    }
    if (unused > 0) out_.add(x86::rsp, unused);
    if (function) {
        context_.calls.push_back({out_.open_call(), *function});
    } else {
        out_.call(x86::Mem{x86::r15.id, field::table, 8, x86::rcx.id});
    }
    if (unused > 0) out_.sub(x86::rsp, unused);
    operands_.cut(height - arguments);
    if (type.result) operands_.push_register(*type.result, Operands::kRax);
}

void FunctionCompiler::select() {
    const CondCode condition = take_condition();
    const Taken second = operands_.take();
    const Taken first = operands_.take();
    const ValueType type = first.value.type;
    if (is_float(type)) {
        const Register other = operands_.read(second);
        const Register result = operands_.own(first);
        const Assembler::Offset keep = out_.skip_if(condition);
        out_.op(x86::kMovaps, vector(result), vector(other));
        out_.land_skip(keep);
        return operands_.push_register(type, result);
    }
    const x86::Operand other = operands_.source(second, false);
    const Register result = operands_.own(first);
    out_.move_if(x86::negated(condition), integer(result, type), other);
    operands_.push_register(type, result);
}

}  // namespace chain::vm
