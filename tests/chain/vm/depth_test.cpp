// The deepest calls with the largest frames, on the real machine: they end as a trap, take no more
// of the contract's stack than is counted for them, and never reach its guard pages. The stack is
// filled with a pattern before a run, and what is left of that tells how far the run went.
#include "chain/vm/layout.hpp"
#include "machine.hpp"
#include "node/machine/machine.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace vm = chain::vm;

namespace {

constexpr std::byte kPattern{0xA7};
const vm::Limits kLimits;

class Deep {
  public:
    Deep() {
        REQUIRE(engine_.open().has_value());
        const auto* const room = machine_.room(8, 1);  // That of the engine.
        REQUIRE(room != nullptr);
        stack_ = {room->stack_end - kBytes, kBytes};
    }

    struct Result {
        machine::Seen seen;
        std::size_t used = 0;  // Bytes of the contract's stack.
    };
    Result run(const std::string& fields, std::uint64_t argument = 0) {
        const base::Bytes wasm = machine::assemble("(module " + fields + ")");
        std::ranges::fill(stack_, kPattern);
        Result result{machine::run(engine_, wasm, {.receiver = argument}, 1'000'000'000), 0};
        const auto first =
            std::ranges::find_if(stack_, [](std::byte each) { return each != kPattern; });
        result.used = static_cast<std::size_t>(stack_.end() - first);
        return result;
    }

  private:
    static constexpr std::size_t kBytes = vm::Limits{}.max_stack_bytes + vm::kStackSlack;

    node::ContractMachine machine_;
    vm::Engine engine_{machine::hosts(), {}, machine_};
    std::span<std::byte> stack_;
};

// What a function's frame looks like, and the largest of its kind.
struct Shape {
    std::string name;
    std::uint32_t parameters = 0;
    std::uint32_t locals = 0;
    std::string local_type = "i64";
    std::uint32_t operands = 0;  // Kept while the call runs.
};

std::vector<Shape> shapes() {
    return {
        {"nothing"},
        {"few locals", 2, 5},
        {"64 parameters", 64},
        {"1,023 locals of 64 bits", 0, 1'023},
        {"2,046 locals of 32 bits", 0, 2'046, "i32"},
        {"floats", 8, 1'000, "f64"},
        {"2,000 operands", 0, 0, "i64", 2'000},
        {"some of all", 63, 900, "f32", 1'000},
        {"as many bytes as 251 calls share", 3, 513},
    };
}

// Direct calls, through a table, of two functions by turns.
enum class Way : std::uint8_t { direct, indirect, mutual };

std::string names(const std::string& type, std::uint32_t count) {
    return machine::repeat(" " + type, static_cast<int>(count));
}

// Function `self`, which counts the global down and calls `callee` until it is 0; then the host.
std::string function(const Shape& shape, Way way, const std::string& self, int callee) {
    std::string code =
        "(func $" + self + " (type $t) (local" + names(shape.local_type, shape.locals) + ")";
    code += machine::repeat("(i64.const 1)", static_cast<int>(shape.operands));
    code +=
        "(if (i64.eqz (global.get $left)) (then (call $tell (i64.const 7))) (else"
        " (global.set $left (i64.sub (global.get $left) (i64.const 1)))";
    code += machine::repeat("(i64.const 2)", static_cast<int>(shape.parameters));
    code += way == Way::indirect
                ? "(call_indirect (type $t) (i32.const " + std::to_string(callee) + "))"
                : "(call $" + std::string(callee == 0 ? "f" : "g") + ")";
    code += "))" + machine::repeat(" drop", static_cast<int>(shape.operands));
    return code + ")";
}

// apply(receiver) calls so many functions as the receiver says, each from the one before.
std::string module_of(const Shape& shape, Way way) {
    const bool turns = way == Way::mutual;
    return "(type $t (func (param" + names("i64", shape.parameters) +
           "))) (import \"env\" \"tell\" (func $tell (param i64)))"
           " (table 2 funcref) (elem (i32.const 0) $f $g) (global $left (mut i64) (i64.const 0))" +
           function(shape, way, "f", turns ? 1 : 0) + function(shape, way, "g", 0) +
           "(func (export \"apply\") (param i64 i64 i64)"
           " (global.set $left (i64.sub (local.get 0) (i64.const 1)))" +
           machine::repeat("(i64.const 3)", static_cast<int>(shape.parameters)) + "(call $f))";
}

// Operands at their highest: those kept, and the arguments or the two of a subtraction.
std::uint32_t counted(const Shape& shape, Way way) {
    const std::uint32_t arguments = shape.parameters + (way == Way::indirect ? 1 : 0);
    const std::uint32_t operands = shape.operands + std::max<std::uint32_t>(arguments, 2);
    return vm::kFrameBytes + 8 * (shape.parameters + shape.locals + operands);
}

std::uint32_t counted_apply(const Shape& shape) {
    return vm::kFrameBytes + 8 * (3 + std::max<std::uint32_t>(shape.parameters, 2));
}

// Calls of the function that the limits allow.
std::uint32_t deepest(const Shape& shape, Way way) {
    const std::uint32_t by_bytes =
        (kLimits.max_stack_bytes - counted_apply(shape)) / counted(shape, way);
    // The host's is a call, too.
    return std::min(by_bytes, kLimits.max_call_depth - 1);
}

}  // namespace

TEST_CASE("the deepest calls with every kind of frame fit into what is counted", "[depth]") {
    Deep deep;
    for (const Shape& shape : shapes()) {
        for (const Way way : {Way::direct, Way::indirect, Way::mutual}) {
            const std::string fields = module_of(shape, way);
            const std::uint32_t most = deepest(shape, way);
            CAPTURE(shape.name, static_cast<int>(way), most, counted(shape, way));

            const auto one = deep.run(fields, 1);
            const auto two = deep.run(fields, 2);
            const auto all = deep.run(fields, most);
            REQUIRE(all.seen.kind == vm::Outcome::Kind::ok);
            CHECK(all.seen.told == std::vector<std::uint64_t>{7});
            CHECK(two.used - one.used <= counted(shape, way));
            CHECK(all.used <= std::size_t{most} * counted(shape, way) + counted_apply(shape));
            CHECK(all.used == one.used + (most - 1) * (two.used - one.used));

            const auto over = deep.run(fields, most + 1);
            CHECK(over.seen.kind == vm::Outcome::Kind::trapped);
            CHECK(over.seen.text == "stack overflow");
            CHECK(over.seen.told.empty());
            CHECK(over.seen.trap == (most == kLimits.max_call_depth - 1 ? vm::Trap::call_depth
                                                                        : vm::Trap::stack_bytes));
            const auto endless = deep.run(fields, ~std::uint64_t{0});
            CHECK(endless.seen.text == "stack overflow");
            CHECK(std::max(endless.used, over.used) <= kLimits.max_stack_bytes);
        }
    }
}

TEST_CASE("the pattern shows how far a run went", "[depth]") {
    Deep deep;
    const Shape small{"", 0, 10};
    const Shape large{"", 0, 500};
    const auto used = [&](const Shape& shape, std::uint64_t calls) {
        return deep.run(module_of(shape, Way::direct), calls).used;
    };
    // Nothing but the frames: of 490 locals more, each frame takes the bytes.
    CHECK(used(large, 100) - used(large, 50) == 50 * 8 * 490 + used(small, 100) - used(small, 50));
    CHECK(used(large, 200) > used(large, 100));
}
