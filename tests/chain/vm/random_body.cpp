#include "random_body.hpp"

#include <algorithm>

namespace random_binary {

namespace {

constexpr std::size_t kHighStack = 40;  // Above it values are dropped, mostly.

// An instruction of the opcodes 0x45 to 0xBF by what it takes and makes.
struct Operation {
    std::uint8_t first = 0;  // From this opcode on.
    std::uint8_t operands = 0;
    Type from{};
    Type to{};
};

constexpr Type kI32 = Type::i32;
constexpr Type kI64 = Type::i64;
constexpr Type kF32 = Type::f32;
constexpr Type kF64 = Type::f64;

constexpr Operation kOperations[] = {
    {0x45, 1, kI32, kI32}, {0x46, 2, kI32, kI32}, {0x50, 1, kI64, kI32}, {0x51, 2, kI64, kI32},
    {0x5B, 2, kF32, kI32}, {0x61, 2, kF64, kI32}, {0x67, 1, kI32, kI32}, {0x6A, 2, kI32, kI32},
    {0x79, 1, kI64, kI64}, {0x7C, 2, kI64, kI64}, {0x8B, 1, kF32, kF32}, {0x92, 2, kF32, kF32},
    {0x99, 1, kF64, kF64}, {0xA0, 2, kF64, kF64}, {0xA7, 1, kI64, kI32}, {0xA8, 1, kF32, kI32},
    {0xAA, 1, kF64, kI32}, {0xAC, 1, kI32, kI64}, {0xAE, 1, kF32, kI64}, {0xB0, 1, kF64, kI64},
    {0xB2, 1, kI32, kF32}, {0xB4, 1, kI64, kF32}, {0xB6, 1, kF64, kF32}, {0xB7, 1, kI32, kF64},
    {0xB9, 1, kI64, kF64}, {0xBB, 1, kF32, kF64}, {0xBC, 1, kF32, kI32}, {0xBD, 1, kF64, kI64},
    {0xBE, 1, kI32, kF32}, {0xBF, 1, kI64, kF64}, {0xC0, 0, kI32, kI32}};

constexpr std::uint8_t kF32Eq = 0x5B;
constexpr std::uint8_t kF64Eq = 0x61;
constexpr std::uint8_t kF32Min = 0x96;
constexpr std::uint8_t kF64Min = 0xA4;

const Operation& operation_of(std::uint8_t opcode) {
    const Operation* at = std::begin(kOperations);
    while (at[1].first <= opcode)
        ++at;
    return *at;
}

bool is_within(std::uint8_t opcode, unsigned first, unsigned last) {
    return opcode >= first && opcode <= last;
}

// Whether arithmetic makes the result, and not only moves bits.
bool may_make_nan(std::uint8_t opcode) {
    return is_within(opcode, 0x8D, 0x97) || is_within(opcode, 0x9B, 0xA5) || opcode == 0xB6 ||
           opcode == 0xBB;
}

bool is_division(std::uint8_t opcode) {
    return is_within(opcode, 0x6D, 0x70) || is_within(opcode, 0x7F, 0x82);
}

bool is_truncation(std::uint8_t opcode) {
    return is_within(opcode, 0xA8, 0xAB) || is_within(opcode, 0xAE, 0xB1);
}

struct Access {
    std::uint8_t opcode = 0;
    Type type{};
    unsigned width = 0;  // Logarithm of the bytes.
};

constexpr Access kLoads[] = {{0x28, kI32, 2},
                             {0x29, kI64, 3},
                             {0x2A, kF32, 2},
                             {0x2B, kF64, 3},
                             {0x2C, kI32, 0},
                             {0x2D, kI32, 0},
                             {0x2E, kI32, 1},
                             {0x2F, kI32, 1},
                             {0x30, kI64, 0},
                             {0x31, kI64, 0},
                             {0x32, kI64, 1},
                             {0x33, kI64, 1},
                             {0x34, kI64, 2},
                             {0x35, kI64, 2}};
constexpr Access kStores[] = {{0x36, kI32, 2},
                              {0x37, kI64, 3},
                              {0x38, kF32, 2},
                              {0x39, kF64, 3},
                              {0x3A, kI32, 0},
                              {0x3B, kI32, 1},
                              {0x3C, kI64, 0},
                              {0x3D, kI64, 1},
                              {0x3E, kI64, 2}};

}  // namespace

BodyMaker::BodyMaker(const Plan& plan, std::uint32_t index, const Options& options, base::Rng& rng)
    : plan_(plan), index_(index), type_(plan.of(index)), options_(options), rng_(rng) {}

base::Bytes BodyMaker::make() {
    declare_locals();
    blocks_.push_back({.opcode = op::block, .result = type_.result});
    if (chance(3)) open_many();
    std::uint32_t steps = 3 + below(chance(5) ? 600 : 50);
    if (index_ == plan_.apply) steps += 10;
    for (std::uint32_t i = 0; i < steps; ++i)
        step();
    while (blocks_.size() > 1)
        close();
    if (index_ == plan_.apply && !block().is_dead) {
        for (int i = 0; i < 3; ++i)
            observe();
        if (plan_.pages > 0 && plan_.pages < 10) out_.indexed(op::call, digest);
    }
    end_block();
    WasmWriter whole;
    whole.raw(declared_.bytes());
    whole.raw(out_.bytes());
    return whole.take();
}

void BodyMaker::declare_locals() {
    locals_ = type_.params;
    std::vector<std::pair<std::uint32_t, Type>> runs;
    const std::uint32_t many = below(5);
    for (std::uint32_t i = 0; i < many; ++i) {
        std::uint32_t length = below(4);
        if (chance(3)) length = 50 + below(200);
        runs.emplace_back(length, any_type());
        locals_.insert(locals_.end(), length, runs.back().second);
    }
    scratch_ = static_cast<std::uint32_t>(locals_.size());
    for (const Type type : {kI32, kI64, kF32, kF64})
        runs.emplace_back(1, type);
    declared_.u32(static_cast<std::uint32_t>(runs.size()));
    for (const auto& [length, type] : runs) {
        declared_.u32(length);
        declared_.value_type(type);
    }
}

void BodyMaker::step() {
    if (stack_.size() - block().height > kHighStack && chance(90)) {
        out_.u8(op::drop);
        return pop(1);
    }
    using Make = void (BodyMaker::*)();
    struct Choice {
        unsigned weight;
        Make make;
    };
    static constexpr Choice kChoices[] = {{30, &BodyMaker::operate},
                                          {16, &BodyMaker::variable},
                                          {8, &BodyMaker::load},
                                          {7, &BodyMaker::store},
                                          {6, &BodyMaker::open},
                                          {7, &BodyMaker::close},
                                          {6, &BodyMaker::branch},
                                          {2, &BodyMaker::call},
                                          {2, &BodyMaker::call_indirect},
                                          {4, &BodyMaker::call_host},
                                          {4, &BodyMaker::observe},
                                          {4, &BodyMaker::drop_or_select},
                                          {2, &BodyMaker::branch_by_table},
                                          {1, &BodyMaker::resize_memory},
                                          {1, &BodyMaker::trap_sometimes}};
    unsigned total = 0;
    for (const Choice& choice : kChoices)
        total += choice.weight;
    std::uint64_t drawn = rng_.below(total);
    for (const Choice& choice : kChoices) {
        if (drawn < choice.weight) return (this->*choice.make)();
        drawn -= choice.weight;
    }
}

std::optional<std::uint32_t> BodyMaker::local_of(Type type) {
    if (locals_.empty()) return std::nullopt;
    const auto from = below(static_cast<std::uint32_t>(locals_.size()));
    for (std::size_t i = 0; i < locals_.size(); ++i) {
        const std::size_t at = (from + i) % locals_.size();
        if (locals_[at] == type) return static_cast<std::uint32_t>(at);
    }
    return std::nullopt;
}

// Puts a value on the stack that needs no other.
void BodyMaker::leaf(Type type) {
    push(type);
    if (chance(50)) {
        if (const auto local = local_of(type)) return out_.indexed(op::local_get, *local);
    }
    if (chance(15)) {
        // The first global counts jumps; what it holds must not decide.
        const auto from = 1 + below(static_cast<std::uint32_t>(plan_.globals.size()));
        for (std::size_t i = from; i < plan_.globals.size(); ++i) {
            if (plan_.globals[i].type != type) continue;
            return out_.indexed(op::global_get, static_cast<std::uint32_t>(i));
        }
    }
    if (type == kI32 && plan_.pages > 0 && chance(5)) {
        out_.u8(op::memory_size);
        return out_.u8(0);
    }
    out_.constant(type, any_bits(type, rng_));
}

// Makes the stack end in values of these types: the first ones are taken from there when they
// fit. Where code is never reached, there may be none at all: any value could be there.
void BodyMaker::need(const std::vector<Type>& types) {
    const std::size_t there = stack_.size() - block().height;
    if (block().is_dead && there == 0 && chance(60)) {
        stack_.insert(stack_.end(), types.begin(), types.end());
        return;
    }
    std::size_t fit = std::min(there, types.size());
    const auto begin = types.begin();
    while (fit > 0) {
        const auto many = static_cast<std::ptrdiff_t>(fit);
        if (std::equal(begin, begin + many, stack_.end() - many)) break;
        --fit;
    }
    for (std::size_t i = fit; i < types.size(); ++i)
        leaf(types[i]);
}

void BodyMaker::need_condition(std::optional<Type> below_it) {
    if (below_it) return need({*below_it, kI32});
    need({kI32});
}

void BodyMaker::pop(std::size_t many) {
    stack_.resize(stack_.size() - many);
}

// What follows in this block is never reached.
void BodyMaker::die() {
    stack_.resize(block().height);
    block().is_dead = true;
}

void BodyMaker::operate() {
    const auto opcode = static_cast<std::uint8_t>(0x45 + below(0xC0 - 0x45));
    const Operation& how = operation_of(opcode);
    need(std::vector<Type>(how.operands, how.from));
    if (is_division(opcode) && chance(90)) guard_division(how.from);
    if (is_truncation(opcode) && chance(90)) guard_truncation(how.from);
    out_.u8(opcode);
    pop(how.operands);
    push(how.to);
    if (options_.canonical_nans && may_make_nan(opcode)) make_canonical(how.to);
}

// A divisor that is not zero.
void BodyMaker::guard_division(Type type) {
    out_.constant(type, 1 + below(7));
    out_.u8(type == kI32 ? 0x72 : 0x84);  // or
}

// A number between 0 and 1,000,000.
void BodyMaker::guard_truncation(Type type) {
    const bool is_f32 = type == kF32;
    const std::uint8_t min = is_f32 ? kF32Min : kF64Min;
    out_.indexed(op::local_tee, scratch(type));
    out_.constant(type, is_f32 ? 0x3FC00000U : 0x3FF8000000000000U);
    out_.indexed(op::local_get, scratch(type));
    out_.indexed(op::local_get, scratch(type));
    out_.u8(is_f32 ? kF32Eq : kF64Eq);
    out_.u8(op::select);
    out_.constant(type, 0);
    out_.u8(static_cast<std::uint8_t>(min + 1));  // max
    out_.constant(type, is_f32 ? 0x49742400U : 0x412E848000000000U);
    out_.u8(min);
}

void BodyMaker::make_canonical(Type type) {
    const bool is_f32 = type == kF32;
    out_.indexed(op::local_tee, scratch(type));
    out_.constant(type, is_f32 ? 0x7FC00000U : 0x7FF8000000000000U);
    out_.indexed(op::local_get, scratch(type));
    out_.indexed(op::local_get, scratch(type));
    out_.u8(is_f32 ? kF32Eq : kF64Eq);
    out_.u8(op::select);
}

// Makes of the i32 on the stack one that mostly lies in the memory.
void BodyMaker::address() {
    if (chance(3)) return;
    if (chance(10)) {  // Near the end.
        out_.u8(op::drop);
        out_.constant(kI32, plan_.pages * 65536 - below(20));
        return;
    }
    constexpr std::uint32_t kMasks[] = {0xFF, 0xFFF, 0x7FFC, 0xFFF8, 0xFFFF};
    std::uint32_t mask = kMasks[below(std::size(kMasks))];
    if (plan_.pages > 16 && chance(50)) mask = 0xFFFFF;
    out_.constant(kI32, mask);
    out_.u8(0x71);  // and
}

void BodyMaker::access(std::uint8_t opcode, unsigned width) {
    out_.u8(opcode);
    out_.u32(below(width + 1));
    std::uint32_t offset = chance(50) ? 0 : below(200);
    if (chance(3)) offset = 65536 - below(16);
    if (chance(1)) offset = ~std::uint32_t{0} - below(10);
    out_.u32(offset);
}

void BodyMaker::load() {
    if (plan_.pages == 0) return;
    const Access& how = kLoads[below(std::size(kLoads))];
    need({kI32});
    address();
    access(how.opcode, how.width);
    pop(1);
    push(how.type);
}

void BodyMaker::store() {
    if (plan_.pages == 0) return;
    const Access& how = kStores[below(std::size(kStores))];
    // The value may be there already, the address comes under it.
    need({how.type});
    out_.indexed(op::local_set, scratch(how.type));
    pop(1);
    need({kI32});
    address();
    out_.indexed(op::local_get, scratch(how.type));
    access(how.opcode, how.width);
    pop(1);
}

void BodyMaker::variable() {
    const Type type = any_type();
    if (chance(25)) return leaf(type);
    if (chance(25)) {
        const auto global = below(static_cast<std::uint32_t>(plan_.globals.size()));
        if (global == 0 || !plan_.globals[global].is_mutable) return;
        need({plan_.globals[global].type});
        out_.indexed(op::global_set, global);
        return pop(1);
    }
    const auto local = local_of(type);
    if (!local) return;
    need({type});
    const bool tee = chance(50);
    out_.indexed(tee ? op::local_tee : op::local_set, *local);
    if (!tee) pop(1);
}

void BodyMaker::drop_or_select() {
    const Type type = any_type();
    if (chance(20)) {
        need({type});
        out_.u8(op::drop);
        return pop(1);
    }
    // Of a value that could be of any type the result would be one as well.
    if (block().is_dead) leaf(type);
    need({type, type, kI32});
    out_.u8(op::select);
    pop(2);
}

void BodyMaker::resize_memory() {
    if (plan_.pages == 0) return;
    constexpr std::uint32_t kMore[] = {0, 1, 2, 1, 1, 15, 50, 528, 529, 65536, 0xFFFFFFFF};
    out_.constant(kI32, kMore[below(std::size(kMore))]);
    out_.u8(op::memory_grow);
    out_.u8(0);
    push(kI32);
}

void BodyMaker::trap_sometimes() {
    if (chance(85)) return out_.u8(op::nop);
    out_.u8(op::unreachable);
    die();
}

// Tells the host a value.
void BodyMaker::observe() {
    const Type type = any_type();
    need({type});
    if (type == kF32) out_.u8(0xBC);                  // i32.reinterpret_f32
    if (type == kI32 || type == kF32) out_.u8(0xAD);  // i64.extend_i32_u
    if (type == kF64) out_.u8(0xBD);                  // i64.reinterpret_f64
    out_.indexed(op::call, tell);
    pop(1);
}

base::Bytes make_body(const Plan& plan,
                      std::uint32_t index,
                      const Options& options,
                      base::Rng& rng) {
    return BodyMaker(plan, index, options, rng).make();
}

}  // namespace random_binary
