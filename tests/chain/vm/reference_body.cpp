// Reads function bodies for the reference interpreter, and plans them.
#include "opcodes.hpp"
#include "reference_module.hpp"

#include <algorithm>

namespace reference {

namespace {

constexpr std::uint8_t kNoResult = 0x40;

void read_labels(ByteReader& in, Instruction& out) {
    const std::uint32_t many = in.u32();
    for (std::uint32_t i = 0; i <= many && !in.has_failed(); ++i)
        out.labels.push_back(in.u32());
}

// What follows the opcode.
void read_immediates(ByteReader& in, Instruction& out) {
    switch (out.opcode) {
        case op::block:
        case op::loop:
        case op::if_:
            out.results = in.byte() == kNoResult ? 0 : 1;
            return;
        case op::br_table:
            return read_labels(in, out);
        case op::br:
        case op::br_if:
        case op::call:
        case op::local_get:
        case op::local_set:
        case op::local_tee:
        case op::global_get:
        case op::global_set:
            out.index = in.u32();
            return;
        case op::call_indirect:
            out.index = in.u32();
            [[fallthrough]];
        case op::memory_size:
        case op::memory_grow:
            if (in.byte() != 0) in.fail();
            return;
        case op::i32_const:
            out.bits = static_cast<std::uint32_t>(in.s32());
            return;
        case op::i64_const:
            out.bits = static_cast<std::uint64_t>(in.s64());
            return;
        case op::f32_const:
            out.bits = in.fixed(4);
            return;
        case op::f64_const:
            out.bits = in.fixed(8);
            return;
        default:
            if (!op::is_access(out.opcode)) return;
            in.u32();  // Alignment: a hint.
            out.index = in.u32();
    }
}

Class class_of(std::uint8_t opcode) {
    switch (opcode) {
        case op::nop:
        case op::block:
        case op::loop:
        case op::else_:
        case op::end:
            return Class::free;
        case op::br:
        case op::br_if:
            return Class::branch;
        case op::call:
        case op::call_indirect:
        case op::br_table:
        case op::memory_grow:
            return Class::call;
        case op::global_get:
        case op::global_set:
        case op::memory_size:
            return Class::global;
        default:
            if (op::is_access(opcode)) return Class::access;
            return numeric(opcode).operands > 0 ? numeric(opcode).price : Class::plain;
    }
}

bool is_known(std::uint8_t opcode) {
    return opcode <= op::else_ || (opcode >= op::end && opcode <= op::call_indirect) ||
           opcode == op::drop || opcode == op::select ||
           (opcode >= op::local_get && opcode <= op::global_set) || op::is_access(opcode) ||
           (opcode >= op::memory_size && opcode <= op::f64_const) || numeric(opcode).operands > 0;
}

// What an instruction takes from the operand stack and puts there.
struct Effect {
    std::size_t pops = 0;
    std::size_t pushes = 0;
};

Effect effect_of(const Instruction& instruction, const Module& module) {
    switch (instruction.opcode) {
        case op::local_get:
        case op::global_get:
        case op::memory_size:
        case op::i32_const:
        case op::i64_const:
        case op::f32_const:
        case op::f64_const:
            return {0, 1};
        case op::if_:
        case op::br_if:
        case op::br_table:
        case op::drop:
        case op::local_set:
        case op::global_set:
            return {1, 0};
        case op::local_tee:
        case op::memory_grow:
            return {1, 1};
        case op::select:
            return {3, 1};
        case op::call: {
            const FunctionType& type = module.type_of(instruction.index);
            return {type.params.size(), type.results.size()};
        }
        case op::call_indirect: {
            const FunctionType& type = module.types[instruction.index];
            return {type.params.size() + 1, type.results.size()};
        }
        default:
            if (op::is_load(instruction.opcode)) return {1, 1};
            if (op::is_access(instruction.opcode)) return {2, 0};
            if (const unsigned many = numeric(instruction.opcode).operands; many > 0) {
                return {many, 1};
            }
            return {0, 0};
    }
}

// Follows a body as a validator does, in one pass.
class Planner {
  public:
    Planner(const Module& module, Function& function) : module_(module), function_(function) {
        const std::size_t results = module.types[function.type].results.size();
        open_.push_back({.opcode = op::block, .results = results});
    }

    // Takes the next instruction. False: no valid module has it here.
    bool add(Instruction instruction);
    [[nodiscard]] bool is_done() const { return open_.empty(); }

  private:
    struct Open {
        std::uint8_t opcode = 0;
        std::size_t at = 0;
        std::size_t height = 0;
        std::size_t results = 0;
        bool is_dead = false;    // It stands in code that is never reached.
        bool is_target = false;  // A branch that can be reached leads to its end.
        bool goes_on = false;    // The first arm of an if reaches its end.
        std::size_t else_at = 0;
    };

    bool apply(Effect effect);
    void set_height(std::size_t height) {
        height_ = height;
        function_.height_max = std::max(function_.height_max, static_cast<std::uint32_t>(height_));
    }
    void begin(const Instruction& instruction, std::size_t at);
    bool otherwise(std::size_t at);
    void end(Instruction& instruction, std::size_t at);
    bool target(std::uint32_t label);
    bool branch(const Instruction& instruction);

    const Module& module_;
    Function& function_;
    std::vector<Open> open_;
    std::size_t height_ = 0;
    bool is_dead_ = false;
};

bool Planner::apply(Effect effect) {
    if (is_dead_) return true;
    if (effect.pops > height_) return false;
    set_height(height_ - effect.pops + effect.pushes);
    return true;
}

void Planner::begin(const Instruction& instruction, std::size_t at) {
    open_.push_back({.opcode = instruction.opcode,
                     .at = at,
                     .height = height_,
                     .results = instruction.results,
                     .is_dead = is_dead_});
}

bool Planner::otherwise(std::size_t at) {
    Open& block = open_.back();
    if (block.opcode != op::if_ || block.else_at != 0) return false;
    block.else_at = at;
    function_.code[block.at].otherwise = static_cast<std::uint32_t>(at);
    block.goes_on = !is_dead_;
    is_dead_ = block.is_dead;
    if (!is_dead_) set_height(block.height);
    return true;
}

void Planner::end(Instruction& instruction, std::size_t at) {
    const Open block = open_.back();
    open_.pop_back();
    instruction.closes_if = block.opcode == op::if_;
    instruction.is_target = block.is_target;
    const bool skips = block.opcode == op::if_ && block.else_at == 0 && !block.is_dead;
    is_dead_ = is_dead_ && !block.is_target && !block.goes_on && !skips;
    if (!is_dead_) set_height(block.height + block.results);
    if (open_.empty()) return;
    Instruction& opening = function_.code[block.at];
    opening.end = static_cast<std::uint32_t>(at);
    if (block.opcode != op::if_) return;
    if (block.else_at == 0) {
        opening.otherwise = opening.end;
    } else {
        function_.code[block.else_at].end = opening.end;
    }
}

bool Planner::target(std::uint32_t label) {
    if (label >= open_.size()) return false;
    Open& block = open_[open_.size() - 1 - label];
    if (!is_dead_ && block.opcode != op::loop) block.is_target = true;
    return true;
}

bool Planner::branch(const Instruction& instruction) {
    if (instruction.opcode == op::br || instruction.opcode == op::br_if) {
        return target(instruction.index);
    }
    return std::ranges::all_of(instruction.labels,
                               [this](std::uint32_t label) { return target(label); });
}

bool Planner::add(Instruction instruction) {
    const std::size_t at = function_.code.size();
    const bool is_call = instruction.opcode == op::call;
    if (is_call && instruction.index >= module_.imports.size() + module_.functions.size()) {
        return false;
    }
    if (instruction.opcode == op::call_indirect && instruction.index >= module_.types.size()) {
        return false;
    }
    if (!apply(effect_of(instruction, module_))) return false;
    bool ok = true;
    switch (instruction.opcode) {
        case op::block:
        case op::loop:
        case op::if_:
            begin(instruction, at);
            break;
        case op::else_:
            ok = otherwise(at);
            break;
        case op::end:
            end(instruction, at);
            break;
        case op::br:
        case op::br_if:
        case op::br_table:
            ok = branch(instruction);
            break;
        default:
            break;
    }
    if (op::never_goes_on(instruction.opcode)) is_dead_ = true;
    function_.code.push_back(std::move(instruction));
    return ok;
}

}  // namespace

bool is_followed_by_leader(const Instruction& instruction, const Leaders& leaders) {
    switch (instruction.opcode) {
        case op::loop:
            return leaders.after_loop;
        case op::if_:
            return leaders.after_if;
        case op::else_:
            return leaders.after_else;
        case op::br_if:
            return leaders.after_br_if;
        case op::call:
            return leaders.after_call;
        case op::call_indirect:
            return leaders.after_call_indirect;
        case op::memory_grow:
            return leaders.after_memory_grow;
        case op::end:
            return (instruction.closes_if && leaders.after_end_of_if) ||
                   (instruction.is_target && leaders.after_target);
        default:
            return false;
    }
}

bool decode_body(ByteReader& in, const Module& module, Function& out) {
    Planner planner(module, out);
    while (!in.has_failed() && !planner.is_done()) {
        Instruction next;
        next.opcode = in.byte();
        if (in.has_failed() || !is_known(next.opcode)) return false;
        next.price = class_of(next.opcode);
        read_immediates(in, next);
        if (in.has_failed() || !planner.add(std::move(next))) return false;
    }
    return !in.has_failed() && in.is_done();
}

}  // namespace reference
