// What the validator plans for the compiler: where charges stand and what they take (spec 03,
// "Metering"), the highest operand stack, the uses of locals.
#include "checked.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace vm = chain::vm;

using machine::repeat;

namespace {

// As "at:price at:price/accesses".
std::string charges_of(const std::string& code, const vm::Prices& prices = checked::kTens) {
    const checked::Body found = checked::check(code, prices);
    std::string out = found.refusal;
    for (const vm::Charge& charge : found.plan.charges) {
        out += fmt::format("{}{}:{}", out.empty() ? "" : " ", charge.at, charge.price);
        if (charge.accesses != 0) out += fmt::format("/{}", charge.accesses);
    }
    return out;
}

std::uint32_t height_of(const std::string& code) {
    const checked::Body found = checked::check(code);
    CHECK(found.refusal == "");
    return found.plan.height_max;
}

// As "local:weight local:weight".
std::string text_of(const std::vector<vm::LocalUse>& uses) {
    std::string out;
    for (const vm::LocalUse& use : uses)
        out += fmt::format("{}{}:{}", out.empty() ? "" : " ", use.local, use.weight);
    return out;
}

std::string uses_of(const std::string& code) {
    const checked::Body found = checked::check(code);
    return found.refusal + text_of(found.plan.uses);
}

// Two units, three bytes.
const std::string kWork = "i32.const 0 drop ";

}  // namespace

TEST_CASE("a charge stands at each leader and takes what runs up to the next") {
    CHECK(charges_of("") == "");  // Nothing to pay: no charge.
    CHECK(charges_of(kWork) == "0:2");
    CHECK(charges_of("loop " + kWork + "end") == "2:2");
    CHECK(charges_of("i32.const 1 if " + kWork + "end " + kWork) == "0:2 4:2 8:2");
    CHECK(charges_of("i32.const 1 if " + kWork + "else " + kWork + "end " + kWork) ==
          "0:2 4:2 8:2 12:2");
    CHECK(charges_of("i32.const 1 br_if 0 " + kWork) == "0:2 4:2");
    CHECK(charges_of("call 0 " + kWork) == "0:100000 2:2");
    CHECK(charges_of("i32.const 0 call_indirect " + kWork) == "0:100001 5:2");
    CHECK(charges_of("i32.const 0 memory.grow drop") == "0:100001 4:1");
}

// Compared with the fuel for nothing, each would cost time that nobody pays.
TEST_CASE("a leader up to which nothing costs has no charge") {
    CHECK(charges_of(repeat("loop end ", 1000) + kWork) == "2999:2");
    CHECK(charges_of(repeat("block ", 500) + "i32.const 0 br_table " + repeat("0 ", 1) + "499 " +
                     repeat("end ", 500) + kWork) == "0:100001 1507:2");
    CHECK(charges_of("i32.const 1 if end " + kWork) == "0:2 5:2");
}

TEST_CASE("the end of a block is a leader when a branch that can run goes there") {
    CHECK(charges_of("block " + kWork + "end " + kWork) == "0:4");
    CHECK(charges_of("block br 0 end " + kWork) == "0:1 5:2");
    CHECK(charges_of("block i32.const 0 br_if 0 " + kWork + "end " + kWork) == "0:2 6:2 10:2");
    CHECK(charges_of("block i32.const 0 br_table 0 0 end " + kWork) == "0:100001 9:2");
    // Each label of a table, the last one too, and no other.
    CHECK(charges_of("block block block i32.const 0 br_table 0 2 end " + kWork + "end " + kWork +
                     "end " + kWork) == "0:100001 13:4 21:2");
    CHECK(charges_of("block block br 1 end " + kWork + "end " + kWork) == "0:1 11:2");
    // A branch to a loop goes to its start.
    CHECK(charges_of("loop br 0 end " + kWork) == "2:1");
    CHECK(charges_of("loop i32.const 0 br_if 0 end " + kWork) == "2:2 6:2");
    // return goes to no inner end, and the function's own end has nothing to pay for.
    CHECK(charges_of("block return end " + kWork) == "0:1");
    CHECK(charges_of("br 0") == "0:1");
    CHECK(charges_of("block br 1 end") == "0:1");
    // A branch that cannot run makes nothing reachable.
    CHECK(charges_of("block return br 0 end " + kWork) == "0:1");
    CHECK(charges_of("block return i32.const 0 br_if 0 end " + kWork) == "0:1");
    CHECK(charges_of("block return i32.const 0 br_table 0 0 end " + kWork) == "0:1");
}

TEST_CASE("the end of an if is a leader when anything comes there") {
    CHECK(charges_of("i32.const 1 if return end " + kWork) == "0:2 4:1 6:2");
    CHECK(charges_of("i32.const 1 if return else nop end " + kWork) == "0:2 4:1 8:2");
    CHECK(charges_of("i32.const 1 if nop else return end " + kWork) == "0:2 6:1 8:2");
    CHECK(charges_of("i32.const 1 if return else unreachable end " + kWork) == "0:2 4:1 6:1");
    CHECK(charges_of("i32.const 1 if br 0 else return end " + kWork) == "0:2 4:1 7:1 9:2");
    CHECK(charges_of("i32.const 1 if return else br 0 end " + kWork) == "0:2 4:1 6:1 9:2");
    CHECK(charges_of("i32.const 1 if br 1 else return end " + kWork) == "0:2 4:1 7:1");
}

TEST_CASE("code that cannot run is free and has no charges") {
    for (const char* const way : {"return ", "unreachable ", "br 0 "}) {
        const std::string charges = charges_of(std::string(way) + "i32.const 1 if nop else nop " +
                                               "end loop br 0 end block br 0 end call 0 " +
                                               "i32.const 0 memory.grow br_if 0 " + kWork);
        CHECK(charges == "0:1");
    }
    CHECK(charges_of("i32.const 0 br_table 0 " + kWork) == "0:100001");
    CHECK(charges_of("return block " + kWork + "end " + kWork) == "0:1");
    CHECK(charges_of("return i32.const 0 if " + kWork + "end " + kWork) == "0:1");
    CHECK(charges_of("return i32.const 0 if return else " + kWork + "end " + kWork) == "0:1");
    CHECK(charges_of("block br 0 i32.const 0 i32.load drop end " + kWork) == "0:1 11:2");
}

TEST_CASE("each instruction has the price of its class") {
    // The price of an operation over constants, which are plain.
    const auto price = [](const std::string& operands, const std::string& operation) {
        const std::string code = operands + ' ' + operation;
        const auto plain = charges_of(code + " drop");
        const auto constants = std::count(operands.begin(), operands.end(), '.');
        return std::stoull(plain.substr(2)) - static_cast<std::uint64_t>(constants) - 1;
    };
    struct Row {
        std::uint64_t wanted;
        std::string operands;
        std::string operations;
    };
    const std::string i = "i32.const 1";
    const std::string l = "i64.const 1";
    const std::string f = "f32.const 1";
    const std::string d = "f64.const 1";
    const std::vector<Row> rows{
        {1, i, "i32.eqz i32.clz i32.ctz i32.popcnt i64.extend_i32_s i64.extend_i32_u"},
        {1, i, "f32.reinterpret_i32"},
        {1, l, "i64.eqz i64.clz i64.popcnt i32.wrap_i64 f64.reinterpret_i64"},
        {1, f, "i32.reinterpret_f32"},
        {1, d, "i64.reinterpret_f64"},
        {1, i + ' ' + i, "i32.eq i32.ge_u i32.add i32.sub i32.mul i32.and i32.shl i32.rotr"},
        {1, l + ' ' + l, "i64.eq i64.ge_u i64.add i64.sub i64.mul i64.and i64.shl i64.rotr"},
        {1, i + ' ' + i + ' ' + i, "select"},
        {100, i + ' ' + i, "i32.div_s i32.div_u i32.rem_s i32.rem_u"},
        {100, l + ' ' + l, "i64.div_s i64.div_u i64.rem_s i64.rem_u"},
        {1000, f, "f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest i32.trunc_f32_s"},
        {1000, f, "i32.trunc_f32_u i64.trunc_f32_s i64.trunc_f32_u f64.promote_f32"},
        {1000, d, "f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest i32.trunc_f64_s"},
        {1000, d, "i32.trunc_f64_u i64.trunc_f64_s i64.trunc_f64_u f32.demote_f64"},
        {1000, i, "f32.convert_i32_s f32.convert_i32_u f64.convert_i32_s f64.convert_i32_u"},
        {1000, l, "f32.convert_i64_s f32.convert_i64_u f64.convert_i64_s f64.convert_i64_u"},
        {1000, f + ' ' + f, "f32.eq f32.ge f32.add f32.sub f32.mul f32.min f32.max f32.copysign"},
        {1000, d + ' ' + d, "f64.eq f64.ge f64.add f64.sub f64.mul f64.min f64.max f64.copysign"},
        {10'000, f, "f32.sqrt"},
        {10'000, d, "f64.sqrt"},
        {10'000, f + ' ' + f, "f32.div"},
        {10'000, d + ' ' + d, "f64.div"},
        {10, "", "global.get|0 memory.size"},
    };
    for (const Row& row : rows) {
        std::istringstream in(row.operations);
        for (std::string name; in >> name;) {
            std::replace(name.begin(), name.end(), '|', ' ');
            INFO(name);
            CHECK(price(row.operands, name) == row.wanted);
        }
    }
    CHECK(charges_of("i32.const 0 global.set 0") == "0:11");
    CHECK(charges_of("(param i32) local.get 0 local.tee 0 local.set 0") == "0:3");
    CHECK(charges_of("i64.const 0 drop f32.const 0 drop f64.const 0 drop nop") == "0:6");
    CHECK(charges_of("block end loop end") == "");
    CHECK(charges_of("return") == "0:1");
    CHECK(charges_of("unreachable") == "0:1");
    CHECK(charges_of("i32.const 0 i32.load drop i32.const 0 i64.const 0 i64.store8") == "0:24/2");
    // Declared locals, not parameters.
    CHECK(charges_of("(param i32 i32) (local i32 i64) (local f32)") == "0:3000000");
}

TEST_CASE("what could make a loop or a recursion free costs something at any price") {
    const vm::Prices nothing{
        .plain = 0, .memory = 0, .divide = 0, .floating = 0, .root = 0, .call = 0, .local = 0};
    CHECK(charges_of("(local i32) loop i32.const 0 if nop end br 0 end", nothing) == "8:1");
    CHECK(charges_of("i32.const 0 br_if 0 return", nothing) == "0:1");
    CHECK(charges_of("i32.const 0 br_table 0", nothing) == "0:1");
    CHECK(charges_of("call 0", nothing) == "0:1");
    CHECK(charges_of("i32.const 0 call_indirect", nothing) == "0:1");
    CHECK(charges_of("i32.const 0 memory.grow drop", nothing) == "0:1");
}

TEST_CASE("sums of the highest prices do not wrap") {
    constexpr std::uint32_t kMax = std::numeric_limits<std::uint32_t>::max();
    const vm::Prices highest{.plain = kMax, .local = kMax};
    const std::uint64_t wanted = std::uint64_t{kMax} * 1004;
    CHECK(charges_of("(local " + repeat("i32 ", 1000) + ")" + kWork + kWork, highest) ==
          fmt::format("0:{}", wanted));
}

TEST_CASE("long code without a leader reads the stop flag every 4 KiB") {
    CHECK(charges_of(repeat("nop ", 4096)) == "");
    CHECK(charges_of(repeat("nop ", 4097)) == "0:0 4097:0");
    CHECK(charges_of(repeat("nop ", 10'000)) == "0:0 4097:0 8194:0");
    // Between whole instructions; the price is that of the leader.
    CHECK(charges_of(repeat(kWork, 2000)) == "0:4000 4097:0");
    // A leader begins it anew.
    CHECK(charges_of(repeat("nop ", 3000) + "call 0 " + repeat("nop ", 4096)) == "0:100000");
    CHECK(charges_of(repeat("nop ", 3000) + "loop " + repeat("nop ", 4098) + "end") ==
          "3002:0 7099:0");
    // Not in code that cannot run.
    CHECK(charges_of("block br 0 " + repeat("nop ", 10'000) + "end") == "0:1");
}

TEST_CASE("what the compiler joins is not torn apart by reading the stop flag") {
    // A comparison and what follows it: the instruction at 4,097 is the one after.
    const std::string first = "i32.const 0 " + repeat("nop ", 4094);
    CHECK(charges_of(first + "i32.eqz drop nop") == "0:3 4098:0");
    CHECK(charges_of(first + "i32.clz drop nop") == "0:3 4097:0");
    CHECK(charges_of(first + "i32.eqz i32.eqz drop nop") == "0:4 4099:0");
    // No machine instruction comes of a nop.
    CHECK(charges_of(first + "i32.eqz nop drop nop") == "0:3 4099:0");
    const std::string two = "i64.const 0 i64.const 0 " + repeat("nop ", 4092);
    CHECK(charges_of(two + "i64.lt_u drop nop") == "0:4 4098:0");
    const std::string floats = "f32.const 0 f32.const 0 " + repeat("nop ", 4086);
    CHECK(charges_of(floats + "f32.lt drop nop") == "0:1003 4098:0");
    // An operation and the local that takes its result.
    const std::string local = "(local i32) i32.const 0 " + repeat("nop ", 4094);
    CHECK(charges_of(local + "i32.clz local.set 0 nop nop") == "0:1000003 4099:0");
    CHECK(charges_of(local + "i32.clz local.tee 0 drop") == "0:1000004 4099:0");
    // One that takes a tee's value is joined with nothing.
    CHECK(charges_of("(local i32) i32.const 0 " + repeat("nop ", 4093) +
                     "local.tee 0 local.set 0 nop nop") == "0:1000003 4097:0");
}

TEST_CASE("the highest operand stack is that of code that can run") {
    CHECK(height_of("") == 0);
    CHECK(height_of(kWork) == 1);
    CHECK(height_of("i32.const 0 i32.const 0 i32.add i32.const 0 drop drop") == 2);
    CHECK(height_of("i32.const 0 block i32.const 0 i32.const 0 drop drop end drop") == 3);
    CHECK(height_of("return i32.const 0 i32.const 0 drop drop") == 0);
    CHECK(height_of("i32.const 0 block return i32.const 0 i32.const 0 drop drop end drop") == 1);
    CHECK(height_of("block (result i32) unreachable end drop") == 0);
    CHECK(height_of("block (result i32) i32.const 0 br 0 end i32.const 0 drop drop") == 2);
    CHECK(height_of("i32.const 0 if unreachable else i32.const 0 i32.const 0 drop drop end") == 2);
    CHECK(height_of("i32.const 0 i64.const 0 call 1 drop") == 2);
    CHECK(height_of("memory.size drop") == 1);
    CHECK(height_of("(param i32) local.get 0 local.tee 0 drop") == 1);
}

TEST_CASE("uses of locals weigh more in loops, and count where they can run") {
    CHECK(uses_of("(local i32 i32)") == "");
    CHECK(uses_of("(local i32 i32) local.get 1 local.tee 0 local.set 1") == "1:2 0:1");
    CHECK(uses_of("(local i32 i32) loop local.get 1 drop end local.get 1 drop") == "1:9");
    CHECK(uses_of("(local i32) block loop loop local.get 0 drop end end end") == "0:64");
    CHECK(uses_of("(local i32)" + repeat("loop ", 5) + "local.get 0 drop " + repeat("end ", 5)) ==
          "0:32768");
    CHECK(uses_of("(local i32)" + repeat("loop ", 9) + "local.get 0 drop " + repeat("end ", 9)) ==
          "0:32768");
    CHECK(uses_of("(local i32)" + repeat("loop ", 5) + repeat("local.get 0 drop ", 33'000) +
                  repeat("end ", 5)) == "0:1073741824");
    CHECK(uses_of("(local i32 i32) local.get 1 drop return local.get 0 drop") == "1:1");
}

TEST_CASE("one validator plans one body after the other") {
    const base::Bytes wasm = machine::assemble(R"((module
        (func (local i32 i32) local.get 1 drop loop local.get 0 drop end)
        (func (local i64) local.get 0 drop)
        (func i32.const 0)
        (func (result i32) i32.const 0)))");
    const auto module = vm::scan(wasm, {}, machine::hosts(), {.contract = false});
    REQUIRE(module);
    const vm::Limits limits;
    vm::BodyValidator validator(*module, limits, checked::kTens);
    vm::Plan plan;
    CHECK(validator.run(0, plan));
    CHECK(text_of(plan.uses) == "1:1 0:8");
    CHECK(validator.run(1, plan));
    CHECK(text_of(plan.uses) == "0:1");
    CHECK(plan.charges == std::vector<vm::Charge>{{0, 0, 1'000'002}});
    CHECK_FALSE(validator.run(2, plan));
    CHECK(validator.run(3, plan));
    CHECK(plan.charges == std::vector<vm::Charge>{{0, 0, 1}});
    CHECK(plan.height_max == 1);
    CHECK(validator.run(0, plan));
    CHECK(text_of(plan.uses) == "1:1 0:8");
}
