#pragma once

#include "base/result.hpp"
#include "chain/vm/instruction.hpp"
#include "chain/vm/module.hpp"
#include "chain/vm/vm.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace chain::vm {

struct OpRule;

// Where a charge stands, and what it takes: the price of everything from there to the next
// leader (spec 03, "Metering").
struct Charge {
    std::uint32_t at = 0;        // Offset in Module::Body::code: before this instruction runs.
    std::uint32_t accesses = 0;  // Loads and stores among what it pays for.
    std::uint64_t price = 0;     // Units; accesses are in it at the price of near memory.

    friend bool operator==(const Charge&, const Charge&) = default;
};

// How often reachable code names a local, more for each loop around it.
struct LocalUse {
    std::uint32_t local = 0;
    std::uint32_t weight = 0;
};

// What the compiler must know of a function before it writes the first instruction.
struct Plan {
    std::vector<Charge> charges;   // By ascending offset; the first is at 0.
    std::uint32_t height_max = 0;  // The highest operand stack, in values.
    std::vector<LocalUse> uses;    // Each local once, in the order of their first use.
};

// Checks the types of function bodies by the WebAssembly MVP, and plans them. Time and memory of
// a body are linear in its bytes. One for all bodies of a module: it keeps its tables.
class BodyValidator {
  public:
    // All outlive it.
    BodyValidator(const Module& module, const Limits& limits, const Prices& prices);

    // Body number `index`; `out` is filled anew. invalid (with Antelope's number): the reason
    // names what is wrong, and at which byte of the module.
    [[nodiscard]] base::Result<void> run(std::size_t index, Plan& out);

  private:
    // Values as in ValueType; any: from the empty stack of unreachable code, fits everywhere.
    enum class Type : std::uint8_t { i32, i64, f32, f64, any, none };

    struct Block {
        std::uint8_t opcode = 0;   // block, loop, if, or else after an else.
        Type result = Type::none;  //
        bool entered = false;      // Its first instruction can be reached.
        bool polymorphic = false;  // What follows an unconditional branch: any operand is there.
        bool targeted = false;     // A reachable branch goes to its end.
        std::size_t height = 0;    // Of the operand stack below it.
    };
    // Tells whether a local is in Plan::uses, without clearing a table for each body.
    struct Seen {
        std::uint32_t generation = 0;
        std::uint32_t place = 0;
    };

    static Type type_of(ValueType type);
    void start(std::size_t index);
    void step();
    void control(std::uint8_t opcode);
    void open(std::uint8_t opcode);
    void close_else();
    void close_end();
    void leave_block(const Block& block);
    void branch(std::uint8_t opcode);
    void branch_table();
    void call_direct();
    void call_indirect();
    void call(const FunctionType& type);
    void parametric(std::uint8_t opcode);
    void local(std::uint8_t opcode);
    void global(std::uint8_t opcode);
    void access(const OpRule& rule);
    void size_or_grow(std::uint8_t opcode);
    void constant(Type type);
    void plain(const OpRule& rule);
    void read_zero();
    void need_memory();

    Block* target(std::uint32_t label);
    Type pop(Type wanted);
    void push(Type type);
    Type pop_nothing(Type wanted);
    Type agree(Type wanted, Type found);
    void no_way_on();
    void no_such(const char* what, std::uint32_t index, std::size_t count);
    void unknown(std::uint8_t opcode);

    void lead();
    void settle();
    void poll(std::size_t at, std::uint8_t opcode);
    void use(std::uint32_t local);

    const Module& module_;
    const Limits& limits_;
    std::array<std::uint32_t, 256> prices_{};  // By opcode.
    std::uint32_t local_price_;

    // Of the body at hand.
    WasmReader in_{{}};
    Plan* plan_ = nullptr;
    Locals locals_;
    std::vector<Block> blocks_;
    std::vector<Type> operands_;
    std::size_t floor_ = 0;       // Height of the innermost block.
    std::size_t height_max_ = 0;  // Of reachable code.
    bool reachable_ = false;
    std::uint8_t previous_ = 0;    // Opcode; no nop.
    std::uint32_t loops_ = 0;      // Open ones.
    std::uint32_t accesses_ = 0;   // Of the open charge.
    std::uint64_t price_ = 0;      // Of the open charge.
    std::size_t open_charge_ = 0;  // Its index.
    std::size_t charged_at_ = 0;   // Offset of the last charge, open or not.
    std::uint32_t generation_ = 0;
    std::vector<Seen> seen_;  // By local.
};

}  // namespace chain::vm
