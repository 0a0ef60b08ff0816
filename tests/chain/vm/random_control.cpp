// Blocks, branches and calls of modules made by chance.
#include "random_body.hpp"

#include <algorithm>

namespace random_binary {

namespace {

constexpr Type kI32 = Type::i32;
constexpr std::uint8_t kNoResult = 0x40;

}  // namespace

void BodyMaker::open() {
    constexpr std::uint8_t kKinds[] = {op::block, op::loop, op::if_, op::if_};
    if (blocks_.size() > 900) return;
    const std::uint8_t opcode = kKinds[below(std::size(kKinds))];
    std::optional<Type> result;
    if (chance(45)) result = any_type();
    if (opcode == op::if_) {
        need({kI32});
        pop(1);
    }
    out_.u8(opcode);
    if (result) {
        out_.value_type(*result);
    } else {
        out_.u8(kNoResult);
    }
    blocks_.push_back({.opcode = opcode, .result = result, .height = stack_.size()});
}

void BodyMaker::open_many() {
    const std::uint32_t many = 20 + below(300);
    for (std::uint32_t i = 0; i < many; ++i)
        open();
}

// Leaves exactly the block's result above its height.
void BodyMaker::settle() {
    const std::optional<Type> result = block().result;
    const std::size_t there = stack_.size() - block().height;
    if (block().is_dead && there == 0) return;
    if (there == (result ? 1 : 0) && (!result || stack_.back() == *result)) return;
    if (chance(35)) {
        if (result) need({*result});
        out_.indexed(op::br, 0);
        return die();
    }
    const bool keeps = result && there > 0 && stack_.back() == *result;
    if (keeps) {
        out_.indexed(op::local_set, scratch(*result));
        pop(1);
    }
    while (stack_.size() > block().height) {
        out_.u8(op::drop);
        pop(1);
    }
    if (!result) return;
    if (!keeps) return leaf(*result);
    out_.indexed(op::local_get, scratch(*result));
    push(*result);
}

// The function's own block ends last.
void BodyMaker::close() {
    if (blocks_.size() > 1) end_block();
}

// Ends the innermost block, or begins its else.
void BodyMaker::end_block() {
    settle();
    Block& top = block();
    stack_.resize(top.height);
    if (top.opcode == op::if_ && !top.has_else && (top.result || chance(60))) {
        out_.u8(op::else_);
        top.has_else = true;
        top.is_dead = false;
        return;
    }
    out_.u8(op::end);
    const std::optional<Type> result = top.result;
    blocks_.pop_back();
    if (result) push(*result);
}

// Counts one jump and leaves whether any was left. It ends most loops.
void BodyMaker::count_down() {
    out_.indexed(op::global_get, 0);
    out_.constant(kI32, 1);
    out_.u8(0x6B);  // i32.sub
    out_.indexed(op::global_set, 0);
    out_.indexed(op::global_get, 0);
    out_.constant(kI32, 0);
    out_.u8(0x4A);  // i32.gt_s
}

void BodyMaker::branch_back(std::uint32_t label) {
    if (chance(97)) {
        count_down();
        return out_.indexed(op::br_if, label);
    }
    need({kI32});
    out_.indexed(op::br_if, label);
    pop(1);
}

void BodyMaker::branch() {
    const std::uint32_t label = any_label();
    if (target(label).opcode == op::loop) return branch_back(label);
    if (chance(15)) return leave_function();
    const std::optional<Type> taken = taken_by(label);
    if (chance(80)) {
        need_condition(taken);
        out_.indexed(op::br_if, label);
        return pop(1);
    }
    if (taken) need({*taken});
    out_.indexed(op::br, label);
    die();
}

void BodyMaker::leave_function() {
    if (type_.result) need({*type_.result});
    out_.u8(op::return_);
    die();
}

void BodyMaker::branch_by_table() {
    const std::uint32_t otherwise = any_label();
    if (target(otherwise).opcode == op::loop) return;
    const std::optional<Type> taken = taken_by(otherwise);
    std::vector<std::uint32_t> fitting;
    bool is_counted = false;
    for (std::uint32_t label = 0; label < blocks_.size(); ++label) {
        if (taken_by(label) != taken) continue;
        const bool back = target(label).opcode == op::loop;
        if (back && chance(50)) continue;
        is_counted = is_counted || back;
        fitting.push_back(label);
    }
    std::uint32_t many = below(6);
    if (chance(5)) many = 200 + below(300);
    if (fitting.empty()) many = 0;
    need_condition(taken);
    // When no jump is left, the default, which leads forward.
    if (is_counted) {
        out_.constant(kI32, ~std::uint32_t{0});
        count_down();
        out_.u8(op::select);
    } else if (many > 0 && chance(70)) {
        out_.constant(kI32, many + 1);
        out_.u8(0x70);  // i32.rem_u
    }
    out_.u8(op::br_table);
    out_.u32(many);
    for (std::uint32_t i = 0; i < many; ++i)
        out_.u32(fitting[below(static_cast<std::uint32_t>(fitting.size()))]);
    out_.u32(otherwise);
    die();
}

// Mostly a later function, so that calls end.
void BodyMaker::call() {
    const auto all = static_cast<std::uint32_t>(plan_.functions.size());
    std::uint32_t to = index_ + 1;
    if (chance(5)) {
        to = host_count + below(all - host_count);
    } else if (to < all) {
        to += below(all - to);
    }
    if (to >= all) return;
    const Signature& type = plan_.of(to);
    need(type.params);
    out_.indexed(op::call, to);
    pop(type.params.size());
    if (type.result) push(*type.result);
}

void BodyMaker::call_indirect() {
    if (plan_.table.empty() || chance(50)) return;
    const auto element = below(static_cast<std::uint32_t>(plan_.table.size()));
    const std::uint32_t function = plan_.table[element];
    if (function == leave || (function <= index_ && function >= host_count && chance(90))) return;
    std::uint32_t type_index = plan_.functions[function];
    if (chance(2)) type_index = below(static_cast<std::uint32_t>(plan_.types.size()));
    const Signature& type = plan_.types[type_index];
    need(type.params);
    if (chance(95)) {
        out_.constant(kI32, element + 1);
    } else {
        out_.constant(kI32, any_bits(kI32, rng_));
    }
    out_.indexed(op::call_indirect, type_index);
    out_.u8(0);
    pop(type.params.size());
    if (type.result) push(*type.result);
}

void BodyMaker::call_host() {
    const std::uint32_t host = below(host_count);
    if (host == leave && !chance(3)) return;
    if (host == digest && !chance(3)) return;
    if (host == sum || host == fill) {
        if (plan_.pages == 0) return;
        need({kI32});
        address();
        out_.constant(kI32, below(100));
        if (host == fill) out_.constant(kI32, below(256));
        out_.indexed(op::call, host);
        pop(1);
    } else {
        need(plan_.of(host).params);
        out_.indexed(op::call, host);
        pop(plan_.of(host).params.size());
    }
    if (plan_.of(host).result) push(*plan_.of(host).result);
}

}  // namespace random_binary
