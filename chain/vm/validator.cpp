#include "chain/vm/validator.hpp"

#include "chain/vm/op_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chain::vm {

namespace {

constexpr std::uint32_t kSerializationError = 3070003;
constexpr std::uint64_t kSlotBytes = 8;
constexpr std::size_t kBytesBetweenCharges = 4096;
// The densest code, of calls. Room that is not written to costs nothing; growing does.
constexpr std::size_t kBytesPerCharge = 2;
constexpr std::uint32_t kLoopsWeighed = 5;
constexpr std::uint32_t kWeightMax = std::uint32_t{1} << 30U;

}  // namespace

BodyValidator::Type BodyValidator::type_of(ValueType type) {
    return static_cast<Type>(type);
}

BodyValidator::BodyValidator(const Module& module, const Limits& limits, const Prices& prices)
    : module_(module), limits_(limits), local_price_(prices.local) {
    for (std::size_t i = 0; i < prices_.size(); ++i) {
        const OpRule& rule = kOpRules[i];
        if (rule.price == nullptr) continue;
        prices_[i] = std::max(prices.*rule.price, rule.never_free ? 1U : 0U);
    }
}

// Operands: inlined, for there are some to each instruction.

inline BodyValidator::Type BodyValidator::pop(Type wanted) {
    if (operands_.size() == floor_) return pop_nothing(wanted);
    const Type found = operands_.back();
    operands_.pop_back();
    return found == wanted ? found : agree(wanted, found);
}

inline void BodyValidator::push(Type type) {
    operands_.push_back(type);
    if (reachable_ && operands_.size() > height_max_) height_max_ = operands_.size();
}

BodyValidator::Type BodyValidator::pop_nothing(Type wanted) {
    if (!blocks_.back().polymorphic) in_.set_error("an operand is missing");
    return wanted;
}

BodyValidator::Type BodyValidator::agree(Type wanted, Type found) {
    if (wanted == Type::any) return found;
    if (found == Type::any) return wanted;
    constexpr std::array<const char*, 4> kNames{"i32", "i64", "f32", "f64"};
    in_.set_error(fmt::format("{} where {} is wanted",
                              kNames[static_cast<std::size_t>(found)],
                              kNames[static_cast<std::size_t>(wanted)]));
    return wanted;
}

void BodyValidator::no_such(const char* what, std::uint32_t index, std::size_t count) {
    in_.set_error(fmt::format("{} {} of {}", what, index, count));
}

base::Result<void> BodyValidator::run(std::size_t index, Plan& out) {
    plan_ = &out;
    start(index);
    while (in_.ok() && !blocks_.empty())
        step();
    settle();
    out.height_max = static_cast<std::uint32_t>(height_max_);
    if (in_.ok() && !in_.done()) in_.set_error("code after the end of the function");
    const std::uint64_t frame = kSlotBytes * (locals_.count() + height_max_);
    if (in_.ok() && frame > limits_.max_frame_bytes) {
        in_.set_error(fmt::format(
            "{} bytes of locals and operands, limit {}", frame, limits_.max_frame_bytes));
    }
    plan_ = nullptr;
    if (in_.ok()) return {};
    return base::fail({base::Errc::invalid,
                       fmt::format("function {}: {}", index, in_.error()),
                       kSerializationError});
}

void BodyValidator::start(std::size_t index) {
    const Module::Body& body = module_.bodies[index];
    const FunctionType& type = module_.types[module_.functions[index]];
    in_ = WasmReader(body.code, body.offset);
    locals_.assign(type, body);
    ++generation_;
    if (seen_.size() < locals_.count()) seen_.resize(locals_.count());
    plan_->charges.clear();
    plan_->charges.reserve(body.code.size() / kBytesPerCharge + 1);
    plan_->uses.clear();
    blocks_.clear();
    operands_.clear();
    floor_ = 0;
    previous_ = op::nop;
    loops_ = 0;
    height_max_ = 0;
    reachable_ = true;
    Block whole;
    whole.opcode = op::block;
    whole.result = type.result ? type_of(*type.result) : Type::none;
    whole.entered = true;
    blocks_.push_back(whole);
    plan_->charges.push_back({});
    open_charge_ = 0;
    charged_at_ = 0;
    accesses_ = 0;
    const auto declared = locals_.count() - static_cast<std::uint32_t>(type.params.size());
    price_ = std::uint64_t{local_price_} * declared;
}

void BodyValidator::step() {
    const std::size_t at = in_.offset();
    const std::uint8_t opcode = in_.u8();
    const OpRule& rule = kOpRules[opcode];
    if (reachable_) {
        if (at - charged_at_ > kBytesBetweenCharges) poll(at, opcode);
        price_ += prices_[opcode];  // No overflow: 2^32 each, fewer than 2^31 bytes of code.
    }
    switch (rule.form) {
        case OpForm::control:
            control(opcode);
            break;
        case OpForm::parametric:
            parametric(opcode);
            break;
        case OpForm::local:
            local(opcode);
            break;
        case OpForm::global:
            global(opcode);
            break;
        case OpForm::load:
        case OpForm::store:
            access(rule);
            break;
        case OpForm::memory:
            size_or_grow(opcode);
            break;
        case OpForm::constant:
            constant(type_of(rule.result));
            break;
        case OpForm::plain:
            plain(rule);
            break;
        case OpForm::unknown:
            return unknown(opcode);
    }
    if (opcode != op::nop) previous_ = opcode;
}

void BodyValidator::unknown(std::uint8_t opcode) {
    in_.set_error(fmt::format("opcode 0x{:02x} is not of the WebAssembly MVP", opcode));
}

void BodyValidator::control(std::uint8_t opcode) {
    switch (opcode) {
        case op::block:
        case op::loop:
        case op::if_:
            return open(opcode);
        case op::else_:
            return close_else();
        case op::end:
            return close_end();
        case op::br:
        case op::br_if:
            return branch(opcode);
        case op::br_table:
            return branch_table();
        case op::call:
            return call_direct();
        case op::call_indirect:
            return call_indirect();
        case op::return_: {
            const Type result = blocks_.front().result;
            if (result != Type::none) pop(result);
            return no_way_on();
        }
        case op::unreachable:
            return no_way_on();
        default:  // nop
            return;
    }
}

void BodyValidator::open(std::uint8_t opcode) {
    const std::uint8_t byte = in_.u8();
    Block block;
    if (byte >= kF64Byte && byte <= kI32Byte) {
        block.result = static_cast<Type>(kI32Byte - byte);
    } else if (byte != kEmptyBlock) {
        return in_.set_error("unknown block type");
    }
    if (opcode == op::if_) pop(Type::i32);
    if (opcode == op::loop) ++loops_;
    block.opcode = opcode;
    block.entered = reachable_;
    block.height = operands_.size();
    floor_ = block.height;
    blocks_.push_back(block);
    if (blocks_.size() > limits_.max_nested_structures) {
        in_.set_error(fmt::format("blocks nested deeper than {}", limits_.max_nested_structures));
    }
    if (opcode != op::block) lead();
}

// The operand stack must hold the result and nothing else.
void BodyValidator::leave_block(const Block& block) {
    if (block.result != Type::none) pop(block.result);
    if (operands_.size() > block.height) {
        in_.set_error(fmt::format("{} values too many at the end of a block",
                                  operands_.size() - block.height));
    }
}

void BodyValidator::close_else() {
    Block& block = blocks_.back();
    if (block.opcode != op::if_) return in_.set_error("else without if");
    leave_block(block);
    if (reachable_) block.targeted = true;  // The first arm goes on to the end.
    block.opcode = op::else_;
    block.polymorphic = false;
    reachable_ = block.entered;
    lead();
}

void BodyValidator::close_end() {
    const Block block = blocks_.back();
    if (block.opcode == op::if_ && block.result != Type::none) {
        return in_.set_error("if with a result has no else");
    }
    leave_block(block);
    blocks_.pop_back();
    floor_ = blocks_.empty() ? 0 : blocks_.back().height;
    if (block.opcode == op::loop) --loops_;
    if (block.targeted || (block.opcode == op::if_ && block.entered)) reachable_ = true;
    if (block.result != Type::none) push(block.result);
    const bool closes_if = block.opcode == op::if_ || block.opcode == op::else_;
    if ((closes_if || block.targeted) && !blocks_.empty()) lead();
}

// The block that a label names; null and an error when there is none.
BodyValidator::Block* BodyValidator::target(std::uint32_t label) {
    if (label >= blocks_.size()) {
        no_such("label", label, blocks_.size());
        return nullptr;
    }
    Block& block = blocks_[blocks_.size() - 1 - label];
    if (reachable_ && block.opcode != op::loop) block.targeted = true;
    return &block;
}

void BodyValidator::branch(std::uint8_t opcode) {
    if (opcode == op::br_if) pop(Type::i32);
    const Block* const block = target(in_.u32());
    if (block == nullptr) return;
    const Type carried = block->opcode == op::loop ? Type::none : block->result;
    if (carried != Type::none) pop(carried);
    if (opcode == op::br) return no_way_on();
    if (carried != Type::none) push(carried);
    lead();
}

void BodyValidator::branch_table() {
    pop(Type::i32);
    const std::uint32_t labels = in_.count(limits_.max_br_table_elements, "br_table targets");
    Type carried = Type::any;
    for (std::uint32_t i = 0; in_.ok() && i <= labels; ++i) {
        const Block* const block = target(in_.u32());
        if (block == nullptr) return;
        const Type here = block->opcode == op::loop ? Type::none : block->result;
        if (carried != Type::any && carried != here) {
            return in_.set_error("labels of br_table with different types");
        }
        carried = here;
    }
    if (in_.ok() && carried != Type::none) pop(carried);
    no_way_on();
}

void BodyValidator::call_direct() {
    const std::uint32_t function = in_.u32();
    if (function >= module_.function_count()) {
        return no_such("function", function, module_.function_count());
    }
    call(module_.type_of(function));
}

void BodyValidator::call_indirect() {
    const std::uint32_t type = in_.u32();
    read_zero();
    if (!module_.table) return in_.set_error("call_indirect without a table");
    if (type >= module_.types.size()) {
        return no_such("type", type, module_.types.size());
    }
    pop(Type::i32);
    call(module_.types[type]);
}

void BodyValidator::call(const FunctionType& type) {
    for (std::size_t i = type.params.size(); i > 0; --i)
        pop(type_of(type.params[i - 1]));
    if (type.result) push(type_of(*type.result));
    lead();
}

void BodyValidator::parametric(std::uint8_t opcode) {
    if (opcode == op::select) pop(Type::i32);
    const Type first = pop(Type::any);
    if (opcode == op::select) push(pop(first));
}

void BodyValidator::local(std::uint8_t opcode) {
    const std::uint32_t index = in_.u32();
    if (index >= locals_.count()) {
        return no_such("local", index, locals_.count());
    }
    const Type type = type_of(locals_.type(index));
    if (opcode != op::local_get) pop(type);
    if (opcode != op::local_set) push(type);
    if (reachable_) use(index);
}

void BodyValidator::global(std::uint8_t opcode) {
    const std::uint32_t index = in_.u32();
    if (index >= module_.globals.size()) {
        return no_such("global", index, module_.globals.size());
    }
    const Module::Global& found = module_.globals[index];
    if (opcode == op::global_get) return push(type_of(found.type));
    if (!found.is_mutable) in_.set_error("global.set of an immutable global");
    pop(type_of(found.type));
}

void BodyValidator::need_memory() {
    if (!module_.memory) in_.set_error("the module has no memory");
}

void BodyValidator::read_zero() {
    if (in_.u8() != 0) in_.set_error("reserved byte is not zero");
}

void BodyValidator::access(const OpRule& rule) {
    const std::uint32_t alignment = in_.u32();
    in_.u32();  // The offset: any is valid.
    if (alignment > rule.alignment) in_.set_error("alignment above the natural one");
    need_memory();
    if (reachable_) ++accesses_;
    if (rule.form == OpForm::store) pop(type_of(rule.operand));
    pop(Type::i32);
    if (rule.form == OpForm::load) push(type_of(rule.result));
}

void BodyValidator::size_or_grow(std::uint8_t opcode) {
    read_zero();
    need_memory();
    if (opcode == op::memory_grow) pop(Type::i32);
    push(Type::i32);
    if (opcode == op::memory_grow) lead();
}

void BodyValidator::constant(Type type) {
    switch (static_cast<ValueType>(type)) {
        case ValueType::i32:
            in_.s32();
            break;
        case ValueType::i64:
            in_.s64();
            break;
        case ValueType::f32:
            in_.raw(4);
            break;
        case ValueType::f64:
            in_.raw(8);
            break;
    }
    push(type);
}

void BodyValidator::plain(const OpRule& rule) {
    const Type type = type_of(rule.operand);
    pop(type);
    if (rule.operands == 2) pop(type);
    push(type_of(rule.result));
}

// The rest of the block cannot be reached: its stack is empty and gives whatever is asked for.
void BodyValidator::no_way_on() {
    Block& block = blocks_.back();
    operands_.resize(block.height);
    block.polymorphic = true;
    reachable_ = false;
}

// A leader: the instruction that is read next.
void BodyValidator::lead() {
    if (!reachable_) return;
    settle();
    charged_at_ = in_.offset();
    open_charge_ = plan_->charges.size();
    plan_->charges.push_back({static_cast<std::uint32_t>(charged_at_), 0, 0});
}

// A leader whose charge is nothing is left out: a thousand ends in a row would cost time for free.
void BodyValidator::settle() {
    const bool is_last = open_charge_ + 1 == plan_->charges.size();
    if (is_last && price_ == 0 && accesses_ == 0) return plan_->charges.pop_back();
    Charge& charge = plan_->charges[open_charge_];
    charge.price = price_;
    charge.accesses = accesses_;
    price_ = 0;
    accesses_ = 0;
}

// Long code without a leader reads the stop flag now and then; but not inside of what the
// compiler makes one machine instruction of.
void BodyValidator::poll(std::size_t at, std::uint8_t opcode) {
    const auto sets = [](std::uint8_t code) {
        return code == op::local_set || code == op::local_tee;
    };
    if (kOpRules[previous_].is_comparison || (sets(opcode) && !sets(previous_))) return;
    charged_at_ = at;
    plan_->charges.push_back({static_cast<std::uint32_t>(at), 0, 0});
}

void BodyValidator::use(std::uint32_t local) {
    Seen& seen = seen_[local];
    if (seen.generation != generation_) {
        seen = {generation_, static_cast<std::uint32_t>(plan_->uses.size())};
        plan_->uses.push_back({local, 0});
    }
    std::uint32_t& weight = plan_->uses[seen.place].weight;
    weight = std::min(weight + (1U << (3 * std::min(loops_, kLoopsWeighed))), kWeightMax);
}

}  // namespace chain::vm
