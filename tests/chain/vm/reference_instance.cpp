#include "reference_instance.hpp"

#include "opcodes.hpp"

#include <algorithm>
#include <cstring>

namespace reference {

namespace {

using chain::vm::Trap;
using chain::vm::ValueType;

constexpr std::uint64_t kPageBytes = 65536;
constexpr std::uint64_t kFrameBytes = 48;
constexpr std::uint64_t kStepsByBlocks = 3'000'000;

std::uint64_t pages_limit(const Module& module, const Rules& rules) {
    const std::uint64_t limit = rules.limits.max_pages;
    return std::min<std::uint64_t>(limit, module.memory->maximum.value_or(rules.limits.max_pages));
}

// Bytes that a load or store moves.
std::size_t width_of(std::uint8_t opcode) {
    constexpr std::size_t kLoads[] = {4, 8, 4, 8, 1, 1, 2, 2, 1, 1, 2, 2, 4, 4};
    constexpr std::size_t kStores[] = {4, 8, 4, 8, 1, 2, 1, 2, 4};
    return op::is_load(opcode) ? kLoads[opcode - op::i32_load] : kStores[opcode - op::i32_store];
}

// The low `bits` bits of a number, as a signed one.
std::uint64_t sign_extended(std::uint64_t number, unsigned bits) {
    const unsigned unused = 64 - bits;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(number << unused) >> unused);
}

// What a load makes of the bytes that it read.
std::uint64_t extended(std::uint8_t opcode, std::uint64_t number) {
    switch (opcode) {
        case 0x2C:  // i32.load8_s
            return static_cast<std::uint32_t>(sign_extended(number, 8));
        case 0x2E:  // i32.load16_s
            return static_cast<std::uint32_t>(sign_extended(number, 16));
        case 0x30:  // i64.load8_s
            return sign_extended(number, 8);
        case 0x32:  // i64.load16_s
            return sign_extended(number, 16);
        case 0x34:  // i64.load32_s
            return sign_extended(number, 32);
        default:
            return number;
    }
}

bool is_narrow(ValueType type) {
    return type == ValueType::i32 || type == ValueType::f32;
}

}  // namespace

base::Result<std::unique_ptr<Instance>> Instance::make(const Module& module,
                                                       const Rules& rules,
                                                       const Imports& imports) {
    std::unique_ptr<Instance> out(new Instance(module, rules));
    std::string reason = out->link(imports);
    if (reason.empty()) reason = out->fill();
    if (!reason.empty()) return base::fail(base::Errc::invalid, reason);
    return out;
}

std::string Instance::link(const Imports& imports) {
    for (const Import& import : module_.imports) {
        const chain::vm::HostFunction* host = imports(import.from, import.name);
        if (host == nullptr) return "no function " + import.from + "." + import.name;
        const FunctionType& type = module_.types[import.type];
        FunctionType offered{host->params, {}};
        if (host->result) offered.results.push_back(*host->result);
        if (type != offered) return import.from + "." + import.name + " has another type";
        hosts_.push_back(host);
    }
    return {};
}

// Gives memory, table and globals their initial values.
std::string Instance::fill() {
    if (module_.memory) memory_.resize(module_.memory->initial * kPageBytes);
    table_.resize(module_.table.value_or(0));
    for (const Global& global : module_.globals)
        globals_.push_back(global.bits);
    for (const Elements& segment : module_.elements) {
        if (segment.offset + std::uint64_t{segment.functions.size()} > table_.size()) {
            return "elements outside the table";
        }
    }
    if (module_.data_end() > memory_.size()) return "data outside the memory";
    for (const Elements& segment : module_.elements)
        std::ranges::copy(segment.functions, table_.begin() + segment.offset);
    for (const Data& segment : module_.data)
        std::ranges::copy(segment.bytes, memory_.begin() + segment.offset);
    return {};
}

std::uint64_t Instance::start_price() const {
    const std::uint64_t pages = module_.memory ? module_.memory->initial : 0;
    const std::uint64_t data = (module_.data_end() + 1023) / 1024;
    const chain::vm::Prices& prices = rules_.prices;
    return prices.run + pages * prices.page + data * prices.data;
}

End Instance::call(std::uint32_t function,
                   std::span<const std::uint64_t> args,
                   chain::vm::Context& context,
                   chain::vm::Meter& meter) {
    context_ = &context;
    meter_ = &meter;
    trap_ = Trap::none;
    operands_.assign(args.begin(), args.end());
    locals_.clear();
    labels_.clear();
    frames_.clear();
    stack_bytes_ = 0;
    steps_ = 0;
    enter(function);
    while (trap_ == Trap::none && !frames_.empty())
        step();
    // Whoever finds the meter empty, the contract or the host, has run out of fuel.
    if (meter.exhausted()) trap_ = Trap::out_of_fuel;
    using Kind = chain::vm::Outcome::Kind;
    if (trap_ == Trap::host_stop && context.stop == chain::vm::Stop::exit) {
        return {Kind::exited, Trap::none, {}, 0};
    }
    if (trap_ != Trap::none) return {Kind::trapped, trap_, {}, rest_of_block()};
    End end;
    if (!module_.type_of(function).results.empty()) end.result = pop();
    return end;
}

std::uint64_t Instance::pop() {
    const std::uint64_t top = operands_.back();
    operands_.pop_back();
    return top;
}

// Calls function number `index` with the arguments on the operand stack. Whoever calls has paid.
void Instance::enter(std::uint32_t index) {
    const FunctionType& type = module_.type_of(index);
    if (index < hosts_.size()) return call_host(*hosts_[index], type);
    const Function& function = module_.functions[index - hosts_.size()];
    const std::size_t params = type.params.size();
    Frame frame;
    frame.function = &function;
    frame.bytes = kFrameBytes + 8 * (params + function.locals.size() + function.height_max);
    // Compiled code looks at both limits at once, and names the stack first.
    if (stack_bytes_ + frame.bytes > rules_.limits.max_stack_bytes) return trap(Trap::stack_bytes);
    if (frames_.size() + 1 > rules_.limits.max_call_depth) return trap(Trap::call_depth);
    if (!charge(std::uint64_t{rules_.prices.local} * function.locals.size())) return;
    stack_bytes_ += frame.bytes;
    frame.first_local = locals_.size();
    frame.first_label = labels_.size();
    const auto first_argument = operands_.end() - static_cast<std::ptrdiff_t>(params);
    locals_.insert(locals_.end(), first_argument, operands_.end());
    operands_.erase(first_argument, operands_.end());
    locals_.insert(locals_.end(), function.locals.size(), 0);
    labels_.push_back({.at = static_cast<std::uint32_t>(function.code.size() - 1),
                       .results = static_cast<std::uint32_t>(type.results.size()),
                       .height = operands_.size()});
    frames_.push_back(frame);
}

void Instance::call_host(const chain::vm::HostFunction& host, const FunctionType& type) {
    const auto first_argument = operands_.end() - static_cast<std::ptrdiff_t>(type.params.size());
    const std::vector<std::uint64_t> args(first_argument, operands_.end());
    operands_.erase(first_argument, operands_.end());
    if (!charge(host.base_price)) return;
    chain::vm::Memory memory(memory_);
    std::uint64_t result = 0;
    if (!host.call(*context_, memory, *meter_, args.data(), &result)) return trap(Trap::host_stop);
    if (meter_->exhausted()) return trap(Trap::out_of_fuel);
    if (type.results.empty()) return;
    push(is_narrow(type.results[0]) ? static_cast<std::uint32_t>(result) : result);
}

// Returns from the innermost function, whose results are on the operand stack.
void Instance::leave() {
    const Frame& frame = frames_.back();
    locals_.resize(frame.first_local);
    labels_.resize(frame.first_label);
    stack_bytes_ -= frame.bytes;
    frames_.pop_back();
}

void Instance::step() {
    Frame& frame = frames_.back();
    const Instruction& instruction = frame.function->code[frame.next];
    if (!charge_next(frame)) return;
    ++frame.next;
    if (instruction.opcode <= op::call_indirect) return control(instruction);
    if (op::is_access(instruction.opcode)) return access(instruction);
    if (numeric(instruction.opcode).operands > 0) return evaluate(instruction);
    variable(instruction);
}

void Instance::control(const Instruction& instruction) {
    Frame& frame = frames_.back();
    const std::uint32_t at = frame.next - 1;
    switch (instruction.opcode) {
        case op::unreachable:
            return trap(Trap::unreachable);
        case op::block:
        case op::loop:
        case op::if_:
            return begin(instruction, at);
        case op::else_:  // The end of what stands before it.
            frame.next = instruction.end;
            return;
        case op::end:
            labels_.pop_back();
            if (labels_.size() == frame.first_label) leave();
            return;
        case op::br:
            return branch(instruction.index);
        case op::br_if:
            if (static_cast<std::uint32_t>(pop()) != 0) branch(instruction.index);
            return;
        case op::br_table:
            return branch_by_table(instruction);
        case op::return_:
            return branch(static_cast<std::uint32_t>(labels_.size() - frame.first_label - 1));
        case op::call:
            return enter(instruction.index);
        case op::call_indirect:
            return call_indirect(instruction);
        default:
            return;  // nop
    }
}

void Instance::begin(const Instruction& instruction, std::uint32_t at) {
    Frame& frame = frames_.back();
    const bool is_if = instruction.opcode == op::if_;
    const bool taken = !is_if || static_cast<std::uint32_t>(pop()) != 0;
    labels_.push_back({.at = at,
                       .is_loop = instruction.opcode == op::loop,
                       .results = instruction.results,
                       .height = operands_.size()});
    if (taken) return;
    // Behind the `else`; without one the `end` comes next.
    const bool has_else = instruction.otherwise != instruction.end;
    frame.next = instruction.otherwise + (has_else ? 1 : 0);
}

// Branches to the label with this number, 0 being the innermost: to the beginning of a loop, with
// nothing on the stack, or to the end of a block, with its results.
void Instance::branch(std::uint32_t number) {
    Frame& frame = frames_.back();
    const std::size_t place = labels_.size() - 1 - number;
    const Label label = labels_[place];
    const std::size_t results = label.is_loop ? 0 : label.results;
    const auto kept = operands_.end() - static_cast<std::ptrdiff_t>(results);
    operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(label.height), kept);
    labels_.resize(place + 1);
    if (label.is_loop) {
        frame.next = label.at + 1;
    } else {
        // The block's own `end` is executed next; it is free.
        const bool is_function = place == frame.first_label;
        frame.next = is_function ? label.at : frame.function->code[label.at].end;
    }
}

void Instance::branch_by_table(const Instruction& instruction) {
    const auto index = static_cast<std::uint32_t>(pop());
    const std::size_t last = instruction.labels.size() - 1;
    branch(instruction.labels[std::min<std::size_t>(index, last)]);
}

void Instance::call_indirect(const Instruction& instruction) {
    const auto element = static_cast<std::uint32_t>(pop());
    if (element >= table_.size() || !table_[element]) return trap(Trap::indirect_call);
    const std::uint32_t function = *table_[element];
    if (module_.type_of(function) != module_.types[instruction.index]) {
        return trap(Trap::indirect_call);
    }
    enter(function);
}

void Instance::variable(const Instruction& instruction) {
    const std::size_t local = frames_.back().first_local + instruction.index;
    switch (instruction.opcode) {
        case op::drop:
            pop();
            return;
        case op::select: {
            const bool first = static_cast<std::uint32_t>(pop()) != 0;
            const std::uint64_t b = pop();
            const std::uint64_t a = pop();
            return push(first ? a : b);
        }
        case op::local_get:
            return push(locals_[local]);
        case op::local_set:
            locals_[local] = pop();
            return;
        case op::local_tee:
            locals_[local] = operands_.back();
            return;
        case op::global_get:
            return push(globals_[instruction.index]);
        case op::global_set:
            globals_[instruction.index] = pop();
            return;
        case op::memory_size:
            return push(memory_.size() / kPageBytes);
        case op::memory_grow:
            return grow();
        default:
            return push(instruction.bits);  // A constant.
    }
}

void Instance::access(const Instruction& instruction) {
    const std::size_t width = width_of(instruction.opcode);
    const bool is_load = op::is_load(instruction.opcode);
    std::uint64_t bits = is_load ? 0 : pop();
    const std::uint64_t at = std::uint64_t{static_cast<std::uint32_t>(pop())} + instruction.index;
    if (at + width > memory_.size()) return trap(Trap::memory_out_of_bounds);
    if (is_load) {
        std::memcpy(&bits, memory_.data() + at, width);
        push(extended(instruction.opcode, bits));
    } else {
        std::memcpy(memory_.data() + at, &bits, width);
    }
}

// Pages that no memory could have are refused without a price.
void Instance::grow() {
    const std::uint64_t more = static_cast<std::uint32_t>(pop());
    if (more <= rules_.limits.max_pages && !charge(more * rules_.prices.page)) return;
    const std::uint64_t pages = memory_.size() / kPageBytes;
    if (pages + more > pages_limit(module_, rules_)) return push(0xFFFFFFFFU);
    memory_.resize((pages + more) * kPageBytes);
    push(pages);
}

void Instance::evaluate(const Instruction& instruction) {
    const Numeric& how = numeric(instruction.opcode);
    const std::uint64_t b = how.operands == 2 ? pop() : 0;
    const std::uint64_t a = pop();
    push(how.evaluate(a, b, trap_));
}

bool Instance::charge(std::uint64_t units) {
    if (units == 0 || meter_->charge(units)) return true;
    trap(Trap::out_of_fuel);
    return false;
}

std::uint64_t Instance::access_price() const {
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
    if (memory_.size() <= kMiB) return rules_.prices.memory;
    return memory_.size() <= 4 * kMiB ? rules_.prices.memory_mid : rules_.prices.memory_far;
}

std::uint64_t Instance::price_of(const Instruction& instruction) const {
    const chain::vm::Prices& prices = rules_.prices;
    switch (instruction.price) {
        case Class::free:
            return 0;
        case Class::plain:
            return prices.plain;
        case Class::branch:
            return std::max<std::uint64_t>(prices.plain, 1);
        case Class::global:
            return prices.memory;
        case Class::access:
            return access_price();
        case Class::divide:
            return prices.divide;
        case Class::floating:
            return prices.floating;
        case Class::root:
            return prices.root;
        default:
            return std::max<std::uint64_t>(prices.call, 1);
    }
}

// Takes what must be paid before the frame's next instruction runs.
bool Instance::charge_next(const Frame& frame) {
    const std::vector<Instruction>& code = frame.function->code;
    if (!rules_.by_blocks) return charge(price_of(code[frame.next]));
    // With a leader missing a loop may cost nothing.
    if (++steps_ > kStepsByBlocks) {
        trap(Trap::out_of_fuel);
        return false;
    }
    const bool is_leader =
        frame.next == 0 || is_followed_by_leader(code[frame.next - 1], *rules_.by_blocks);
    return !is_leader || charge(price_of_block(code, frame.next, *rules_.by_blocks));
}

// Of what runs from instruction `at` on up to the next leader, in straight line.
std::uint64_t Instance::price_of_block(const std::vector<Instruction>& code,
                                       std::size_t at,
                                       const Leaders& leaders) const {
    std::uint64_t units = 0;
    for (; at < code.size(); ++at) {
        const Instruction& next = code[at];
        // Into an else code falls from the other branch's end. It goes on behind the `end`, where
        // a leader is.
        if (next.opcode == op::else_) break;
        units += price_of(next);
        if (is_followed_by_leader(next, leaders) || op::never_goes_on(next.opcode)) break;
    }
    return units;
}

// A compiler that charges by blocks takes, at each leader, the price of all instructions up to
// the next leader before the first of them runs. When an instruction inside a block ends the run,
// what stands behind it in the block was charged and not executed: this is its price.
//
// Only the innermost frame has such a rest: in all others a call is in progress, and behind a
// call stands a leader. The memory cannot have changed its size since the block's leader, so that
// the present price of an access is the one that was charged. A trap at a function's entry (the
// stack) is one at the end of the caller's block.
std::uint64_t Instance::rest_of_block() const {
    // Who runs out of fuel pays all that there was.
    if (frames_.empty() || trap_ == Trap::out_of_fuel || rules_.by_blocks) return 0;
    const Frame& frame = frames_.back();
    const std::vector<Instruction>& code = frame.function->code;
    const Instruction& last = code[frame.next - 1];
    if (is_followed_by_leader(last, {}) || op::never_goes_on(last.opcode)) return 0;
    return price_of_block(code, frame.next, {});
}

}  // namespace reference
