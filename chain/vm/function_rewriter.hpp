#pragma once

#include "chain/vm/emitter.hpp"
#include "chain/vm/rewrite.hpp"

#include <array>

namespace chain::vm {

// Indexes of the globals that the rewriter adds.
struct Counters {
    std::uint32_t fuel;
    std::uint32_t stack;
    std::uint32_t trap;
};

// What rewriting a function needs to know of its module.
struct RewriteContext {
    const Module& module;
    const Limits& limits;
    const Prices& prices;
    Counters counters;
    const std::vector<std::uint32_t>& unique_types;  // New index of each type.
};

// Rewrites one function; see rewrite.hpp for the rules. Used once.
class FunctionRewriter {
  public:
    FunctionRewriter(const RewriteContext& context, const FunctionType& type);

    // Locals and code of the rewritten body.
    [[nodiscard]] Emitter run(const Module::Body& body);

  private:
    struct Block {
        std::uint8_t opcode;
        std::uint32_t height;  // Of the operand stack below it.
        bool has_result;
    };

    void step(const Instruction& next);
    void open(const Instruction& next);
    void close(const Instruction& next);
    void leave(const Instruction& next);
    void call(const Instruction& next, const FunctionType& callee, std::uint32_t extra_pops);
    void plain(const Instruction& next);
    bool lower_float(const Instruction& next);
    void lower_copysign(bool is_double);
    void lower_grow();
    void convert_u64(bool is_double);
    void canonical(ValueType value);

    void flush(bool check);
    void charge_pending(bool check);
    void check_fuel();
    void trap_if(std::uint32_t reason);
    void enter();
    [[nodiscard]] std::uint64_t price_of(std::uint8_t opcode) const;
    [[nodiscard]] std::uint64_t frame() const;
    std::uint32_t scratch(ValueType value);
    void pop(std::uint32_t values);
    void push(std::uint32_t values);

    const RewriteContext& context_;
    const FunctionType& type_;
    std::uint32_t locals_ = 0;                // Parameters and original locals.
    std::array<std::uint32_t, 4> scratch_{};  // Index + 1 by value type; 0: none yet.
    std::vector<ValueType> scratch_order_;
    std::vector<Block> blocks_;
    std::uint32_t height_ = 0;
    std::uint32_t height_max_ = 0;
    std::uint32_t dead_ = 0;     // Depth of blocks inside unreachable code, counted from 1.
    std::uint64_t pending_ = 0;  // Price of `segment_`.
    bool check_next_ = false;    // The segment starts at a loop head.
    Emitter segment_;            // Straight code whose price is not known yet.
    Emitter done_;
};

}  // namespace chain::vm
