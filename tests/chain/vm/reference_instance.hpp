#pragma once

#include "chain/vm/vm.hpp"
#include "reference_module.hpp"

#include <functional>
#include <memory>
#include <span>

namespace reference {

struct Rules {
    chain::vm::Limits limits;
    chain::vm::Prices prices;
    // Nothing: each instruction is charged by itself, immediately before it runs. Else by blocks
    // as a compiler does it, at these leaders: to test what compares with a compiler.
    std::optional<Leaders> by_blocks;
};

// How a call from outside ended.
struct End {
    chain::vm::Outcome::Kind kind{};
    chain::vm::Trap trap{};
    std::optional<std::uint64_t> result;  // Raw bits; only when ok.
    // Units that a compiler which charges by blocks has charged more than was executed: see
    // rest_of_block() in the .cpp. 0 when ok.
    std::uint64_t rest = 0;
};

// A module that runs: memory, table and globals stay from call to call. Slow and plain: it walks
// the decoded instructions.
// Thread: one.
class Instance : base::Pinned {
  public:
    // The function that the module imports under these names, which outlives the instance.
    using Imports =
        std::function<const chain::vm::HostFunction*(std::string_view from, std::string_view name)>;

    // `module` outlives it. Does not call the start function. invalid: an import is missing or
    // has another type, or a segment lies outside.
    static base::Result<std::unique_ptr<Instance>> make(const Module& module,
                                                        const Rules& rules,
                                                        const Imports& imports);

    // Calls a function of the module or an imported one; `args` fit its type.
    [[nodiscard]] End call(std::uint32_t function,
                           std::span<const std::uint64_t> args,
                           chain::vm::Context& context,
                           chain::vm::Meter& meter);

    // Units for starting a run: the action, its first pages, its data.
    [[nodiscard]] std::uint64_t start_price() const;

    [[nodiscard]] const Module& module() const { return module_; }
    [[nodiscard]] const std::vector<std::uint64_t>& globals() const { return globals_; }
    [[nodiscard]] const base::Bytes& memory() const { return memory_; }

  private:
    struct Label {
        std::uint32_t at = 0;  // Of the block, loop or if; of a function's label: its end.
        bool is_loop = false;
        std::uint32_t results = 0;
        std::size_t height = 0;
    };

    struct Frame {
        const Function* function = nullptr;
        std::uint32_t next = 0;       // Instruction.
        std::size_t first_local = 0;  // Parameters first.
        std::size_t first_label = 0;  // The function's own.
        std::uint64_t bytes = 0;      // That count for the limit of the stack.
    };

    Instance(const Module& module, const Rules& rules) : module_(module), rules_(rules) {}

    std::string link(const Imports& imports);
    std::string fill();

    void enter(std::uint32_t function);
    void call_host(const chain::vm::HostFunction& host, const FunctionType& type);
    void leave();
    void step();
    void control(const Instruction& instruction);
    void begin(const Instruction& instruction, std::uint32_t at);
    void branch(std::uint32_t label);
    void branch_by_table(const Instruction& instruction);
    void call_indirect(const Instruction& instruction);
    void variable(const Instruction& instruction);
    void access(const Instruction& instruction);
    void grow();
    void evaluate(const Instruction& instruction);

    bool charge(std::uint64_t units);
    [[nodiscard]] std::uint64_t price_of(const Instruction& instruction) const;
    [[nodiscard]] std::uint64_t access_price() const;
    [[nodiscard]] bool charge_next(const Frame& frame);
    [[nodiscard]] std::uint64_t price_of_block(const std::vector<Instruction>& code,
                                               std::size_t at,
                                               const Leaders& leaders) const;
    [[nodiscard]] std::uint64_t rest_of_block() const;
    void trap(chain::vm::Trap trap) { trap_ = trap; }
    void push(std::uint64_t bits) { operands_.push_back(bits); }
    std::uint64_t pop();

    const Module& module_;
    const Rules rules_;
    std::vector<const chain::vm::HostFunction*> hosts_;  // By import.
    base::Bytes memory_;
    std::vector<std::uint64_t> globals_;
    std::vector<std::optional<std::uint32_t>> table_;

    // Of the present call.
    chain::vm::Context* context_ = nullptr;
    chain::vm::Meter* meter_ = nullptr;
    chain::vm::Trap trap_{};
    std::vector<std::uint64_t> operands_;
    std::vector<std::uint64_t> locals_;
    std::vector<Label> labels_;
    std::vector<Frame> frames_;
    std::uint64_t stack_bytes_ = 0;
    std::uint64_t steps_ = 0;
};

}  // namespace reference
