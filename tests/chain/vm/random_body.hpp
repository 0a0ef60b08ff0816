#pragma once

#include "random_binary.hpp"
#include "wasm_writer.hpp"

#include <array>
#include <initializer_list>

namespace random_binary {

// Writes one function body, instruction after instruction, and follows the types on the operand
// stack as a validator does: whatever lies there is used when it fits, so that operands stay on
// the stack across blocks, branches and calls.
class BodyMaker {
  public:
    BodyMaker(const Plan& plan, std::uint32_t index, const Options& options, base::Rng& rng);

    base::Bytes make();

  private:
    struct Block {
        std::uint8_t opcode = 0;
        std::optional<Type> result;
        std::size_t height = 0;  // Of the stack below it.
        bool is_dead = false;    // The rest of it is never reached.
        bool has_else = false;
    };

    void declare_locals();
    void step();
    void leaf(Type type);
    void need(const std::vector<Type>& types);
    void need_condition(std::optional<Type> below);
    void pop(std::size_t many);
    void push(Type type) { stack_.push_back(type); }
    void die();

    // Instructions, by kind.
    void operate();
    void guard_division(Type type);
    void guard_truncation(Type type);
    void make_canonical(Type type);
    void load();
    void store();
    void address();
    void access(std::uint8_t opcode, unsigned width);
    void variable();
    void drop_or_select();
    void resize_memory();
    void trap_sometimes();
    void observe();

    // Control and calls.
    void open();
    void open_many();
    void close();
    void end_block();
    void settle();
    void branch();
    void branch_back(std::uint32_t label);
    void branch_by_table();
    void leave_function();
    void call();
    void call_indirect();
    void call_host();
    void count_down();

    [[nodiscard]] Block& block() { return blocks_.back(); }
    [[nodiscard]] const Block& target(std::uint32_t label) const {
        return blocks_[blocks_.size() - 1 - label];
    }
    [[nodiscard]] std::optional<Type> taken_by(std::uint32_t label) const {
        const Block& to = target(label);
        return to.opcode == op::loop ? std::nullopt : to.result;
    }
    [[nodiscard]] std::uint32_t any_label() {
        return below(static_cast<std::uint32_t>(blocks_.size()));
    }
    [[nodiscard]] std::optional<std::uint32_t> local_of(Type type);
    [[nodiscard]] std::uint32_t scratch(Type type) const {
        return scratch_ + static_cast<std::uint32_t>(type);
    }
    [[nodiscard]] Type any_type() { return static_cast<Type>(below(4)); }
    [[nodiscard]] bool chance(unsigned percent) { return rng_.below(100) < percent; }
    [[nodiscard]] std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(rng_.below(bound));
    }

    const Plan& plan_;
    const std::uint32_t index_;
    const Signature& type_;
    const Options& options_;
    base::Rng& rng_;
    WasmWriter declared_;        // Runs of locals.
    WasmWriter out_;             // Instructions.
    std::vector<Type> locals_;   // Parameters first.
    std::uint32_t scratch_ = 0;  // Locals of the generator's own, one of each type.
    std::vector<Type> stack_;
    std::vector<Block> blocks_;
};

}  // namespace random_binary
