// The types of function bodies: each rule with code that breaks it.
#include "checked.hpp"

#include <catch2/catch.hpp>

#include <iterator>
#include <limits>
#include <map>
#include <sstream>

namespace vm = chain::vm;

using Catch::Matchers::Contains;
using checked::refusal_of;
using machine::repeat;
using namespace std::string_literals;

namespace {

// The same for a function given as bytes, up to its end.
std::string refusal_of_bytes(const std::string& code, const std::string& end = "\x0b") {
    return checked::check_module(machine::with_body(code, end), 0).refusal;
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

constexpr std::string_view kTypes = "ilfd";

std::string type_name(char type) {
    const std::map<char, std::string> names{{'i', "i32"}, {'l', "i64"}, {'f', "f32"}, {'d', "f64"}};
    return names.at(type);
}

std::string constants(const std::string& types) {
    std::string out;
    for (const char type : types)
        out += type_name(type) + ".const 0 ";
    return out;
}

// Operations of one type: "ii:i" takes two i32 and gives one.
struct Group {
    std::string operands;
    char result;  // Or a space.
    std::string names;
};

const std::vector<Group>& groups() {
    static const std::vector<Group> kGroups{
        {"i", 'i', "i32.eqz i32.clz i32.ctz i32.popcnt"},
        {"l", 'i', "i64.eqz i32.wrap_i64"},
        {"ii", 'i', "i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u"},
        {"ii", 'i', "i32.ge_s i32.ge_u i32.add i32.sub i32.mul i32.div_s i32.div_u i32.rem_s"},
        {"ii", 'i', "i32.rem_u i32.and i32.or i32.xor i32.shl i32.shr_s i32.shr_u i32.rotl"},
        {"ii", 'i', "i32.rotr"},
        {"ll", 'i', "i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u i64.le_s i64.le_u"},
        {"ll", 'i', "i64.ge_s i64.ge_u"},
        {"ff", 'i', "f32.eq f32.ne f32.lt f32.gt f32.le f32.ge"},
        {"dd", 'i', "f64.eq f64.ne f64.lt f64.gt f64.le f64.ge"},
        {"l", 'l', "i64.clz i64.ctz i64.popcnt"},
        {"ll", 'l', "i64.add i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u i64.and"},
        {"ll", 'l', "i64.or i64.xor i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr"},
        {"f", 'f', "f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt"},
        {"ff", 'f', "f32.add f32.sub f32.mul f32.div f32.min f32.max f32.copysign"},
        {"d", 'd', "f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt"},
        {"dd", 'd', "f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign"},
        {"f", 'i', "i32.trunc_f32_s i32.trunc_f32_u i32.reinterpret_f32"},
        {"d", 'i', "i32.trunc_f64_s i32.trunc_f64_u"},
        {"i", 'l', "i64.extend_i32_s i64.extend_i32_u"},
        {"f", 'l', "i64.trunc_f32_s i64.trunc_f32_u"},
        {"d", 'l', "i64.trunc_f64_s i64.trunc_f64_u i64.reinterpret_f64"},
        {"i", 'f', "f32.convert_i32_s f32.convert_i32_u f32.reinterpret_i32"},
        {"l", 'f', "f32.convert_i64_s f32.convert_i64_u"},
        {"d", 'f', "f32.demote_f64"},
        {"i", 'd', "f64.convert_i32_s f64.convert_i32_u"},
        {"l", 'd', "f64.convert_i64_s f64.convert_i64_u f64.reinterpret_i64"},
        {"f", 'd', "f64.promote_f32"},
        {"i", 'i', "i32.load i32.load8_s i32.load8_u i32.load16_s i32.load16_u memory.grow"},
        {"i", 'l', "i64.load i64.load8_s i64.load8_u i64.load16_s i64.load16_u i64.load32_s"},
        {"i", 'l', "i64.load32_u"},
        {"i", 'f', "f32.load"},
        {"i", 'd', "f64.load"},
        {"ii", ' ', "i32.store i32.store8 i32.store16"},
        {"il", ' ', "i64.store i64.store8 i64.store16 i64.store32"},
        {"if", ' ', "f32.store"},
        {"id", ' ', "f64.store"},
        {"", 'i', "memory.size"},
    };
    return kGroups;
}

void check_operation(const Group& group, const std::string& name) {
    const std::string taken = group.result == ' ' ? name : name + " drop";
    CHECK(refusal_of(constants(group.operands) + taken) == "");
    for (std::size_t i = 0; i < group.operands.size(); ++i) {
        for (const char other : kTypes) {
            if (other == group.operands[i]) continue;
            std::string operands = group.operands;
            operands[i] = other;
            CHECK_THAT(refusal_of(constants(operands) + taken),
                       Contains(type_name(other) + " where " + type_name(group.operands[i])));
        }
    }
    if (!group.operands.empty()) {
        CHECK(refusal_of(constants(group.operands.substr(1)) + taken) != "");
    }
    for (const char other : kTypes) {
        const std::string local = "(local " + type_name(other) + ") ";
        const std::string code = local + constants(group.operands) + name + " local.set 0";
        CHECK((refusal_of(code) == "") == (other == group.result));
    }
}

}  // namespace

TEST_CASE("every operation takes its operands and gives its result, and nothing else") {
    std::size_t seen = 0;
    for (const Group& group : groups()) {
        for (const std::string& name : words_of(group.names)) {
            INFO(name);
            check_operation(group, name);
            ++seen;
        }
    }
    CHECK(seen == 0xbf - 0x28 + 1 - 4);  // From i32.load on, but for the constants.
}

TEST_CASE("an access is aligned at most by its natural alignment") {
    const auto access = [](const std::string& name, int alignment) {
        const bool store = name.find("store") != std::string::npos;
        const std::string value = store ? name.substr(0, 3) + ".const 0 " : "";
        return refusal_of("i32.const 0 " + value + name + " align=" + std::to_string(alignment) +
                          (store ? "" : " drop"));
    };
    const std::map<int, std::string> accesses{
        {1, "i32.load8_s i32.load8_u i64.load8_s i64.load8_u i32.store8 i64.store8"},
        {2, "i32.load16_s i32.load16_u i64.load16_s i64.load16_u i32.store16 i64.store16"},
        {4, "i32.load f32.load i64.load32_s i64.load32_u i32.store f32.store i64.store32"},
        {8, "i64.load f64.load i64.store f64.store"}};
    for (const auto& [natural, names] : accesses) {
        for (const std::string& name : words_of(names)) {
            INFO(name);
            CHECK(access(name, natural) == "");
            CHECK(access(name, 1) == "");
            CHECK_THAT(access(name, 2 * natural), Contains("alignment above the natural one"));
        }
    }
    // The exponent, not the bytes: 2^32 does not wrap.
    CHECK_THAT(refusal_of_bytes("\x41\x01\x28\x20\x01\x1a"), Contains("alignment above"));
}

TEST_CASE("a block gives its result and leaves nothing else") {
    CHECK(refusal_of("block (result i32) i32.const 0 end drop") == "");
    CHECK_THAT(refusal_of("block (result i32) end drop"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("block (result i32) i64.const 0 end drop"), Contains("i64 where i32"));
    CHECK_THAT(refusal_of("block i32.const 0 end"), Contains("1 values too many"));
    CHECK_THAT(refusal_of("block (result i32) i32.const 0 i32.const 0 end drop"),
               Contains("1 values too many"));
    CHECK_THAT(refusal_of("i32.const 0 block drop end"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("i32.const 0"), Contains("1 values too many"));
    CHECK_THAT(refusal_of("(result i32)"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("(result i32) i64.const 0"), Contains("i64 where i32"));
    CHECK_THAT(refusal_of("loop (result i32) end drop"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("drop"), Contains("operand is missing"));
}

TEST_CASE("if takes an i32, and both of its arms give the result") {
    CHECK(refusal_of("i32.const 0 if (result i64) i64.const 0 else i64.const 1 end drop") == "");
    CHECK_THAT(refusal_of("i64.const 0 if end"), Contains("i64 where i32"));
    CHECK_THAT(refusal_of("if end"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("i32.const 0 if (result i64) i64.const 0 end drop"),
               Contains("if with a result has no else"));
    CHECK_THAT(refusal_of("i32.const 0 if (result i64) else i64.const 1 end drop"),
               Contains("operand is missing"));
    CHECK_THAT(refusal_of("i32.const 0 if (result i64) i64.const 1 else nop end drop"),
               Contains("operand is missing"));
    CHECK_THAT(refusal_of("i32.const 0 if i64.const 1 else end"), Contains("1 values too many"));
    CHECK_THAT(refusal_of("i32.const 0 if else i64.const 1 end"), Contains("1 values too many"));
    // else begins with an empty stack that is not one of unreachable code.
    CHECK_THAT(refusal_of("i32.const 0 if unreachable else drop end"),
               Contains("operand is missing"));
    CHECK_THAT(refusal_of_bytes("\x05"), Contains("else without if"));
    CHECK_THAT(refusal_of_bytes("\x02\x40\x05\x0b"), Contains("else without if"));
    CHECK_THAT(refusal_of_bytes("\x41\x01\x04\x40\x05\x05\x0b"), Contains("else without if"));
}

TEST_CASE("a branch carries what its label takes") {
    CHECK(refusal_of("block (result i32) i32.const 0 br 0 end drop") == "");
    CHECK(refusal_of("(result i32) loop i32.const 0 br 1 end unreachable") == "");
    CHECK_THAT(refusal_of("block (result i32) br 0 end drop"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("block (result i32) f32.const 0 br 0 end drop"),
               Contains("f32 where i32"));
    CHECK_THAT(refusal_of("br 1"), Contains("label 1 of 1"));
    CHECK_THAT(refusal_of("block br 2 end"), Contains("label 2 of 2"));
    CHECK_THAT(refusal_of("(result i32) br 0"), Contains("operand is missing"));
    // A loop's label is its start, which takes nothing.
    CHECK(refusal_of("loop (result i32) i32.const 1 br_if 0 i32.const 0 end drop") == "");
    CHECK(refusal_of("loop (result i32) br 0 end drop") == "");

    CHECK(refusal_of("block (result i32) i32.const 0 i32.const 1 br_if 0 end drop") == "");
    CHECK_THAT(refusal_of("i64.const 0 br_if 0"), Contains("i64 where i32"));
    CHECK_THAT(refusal_of("i32.const 0 br_if 1"), Contains("label 1 of 1"));
    CHECK_THAT(refusal_of("block (result i32) i32.const 1 br_if 0 i32.const 0 end drop"),
               Contains("operand is missing"));
    CHECK_THAT(refusal_of("block (result i32) i64.const 1 i32.const 1 br_if 0 end drop"),
               Contains("i64 where i32"));

    CHECK(refusal_of("block i32.const 0 br_table 0 1 0 end") == "");
    CHECK_THAT(refusal_of("i64.const 0 br_table 0"), Contains("i64 where i32"));
    CHECK_THAT(refusal_of("i32.const 0 br_table 1 0"), Contains("label 1 of 1"));
    CHECK_THAT(refusal_of("i32.const 0 br_table 0 1"), Contains("label 1 of 1"));
    CHECK_THAT(refusal_of("block (result i32) i32.const 5 i32.const 0 br_table 0 1 end drop"),
               Contains("different types"));
    CHECK_THAT(refusal_of("block (result i32) i32.const 0 br_table 0 end drop"),
               Contains("operand is missing"));

    CHECK(refusal_of("(result i32) block i32.const 0 return end unreachable") == "");
    CHECK_THAT(refusal_of("(result i32) return"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("(result i32) f64.const 0 return"), Contains("f64 where i32"));
}

TEST_CASE("unreachable code has any operand, but may not contradict itself") {
    CHECK(refusal_of("unreachable i32.add drop") == "");
    CHECK(refusal_of("unreachable select drop") == "");
    CHECK(refusal_of("unreachable i64.const 0 i32.const 0 select i64.eqz drop") == "");
    CHECK(refusal_of("(result i32) unreachable") == "");
    CHECK(refusal_of("(result i32) unreachable return br 0") == "");
    CHECK(refusal_of("(result i32) i32.const 0 br_table 0 unreachable") != "");
    CHECK(refusal_of("block (result i32) br 1 end drop") == "");
    CHECK_THAT(refusal_of("unreachable i64.const 0 i32.add drop"), Contains("i64 where i32"));
    CHECK_THAT(refusal_of("unreachable i32.const 0"), Contains("1 values too many"));
    CHECK_THAT(refusal_of("unreachable i32.add i64.eqz drop"), Contains("i32 where i64"));
    CHECK_THAT(refusal_of("unreachable i64.const 0 i32.const 0 select i32.eqz drop"),
               Contains("i64 where i32"));
    CHECK_THAT(refusal_of("unreachable i32.const 0 f32.const 0 i32.const 0 select drop"),
               Contains("i32 where f32"));
    // br_if leaves what its label takes, whatever came in.
    CHECK_THAT(refusal_of("block (result i32) unreachable br_if 0 i64.eqz end drop"),
               Contains("i32 where i64"));
    // A block in unreachable code has a stack of its own, which is empty.
    CHECK_THAT(refusal_of("unreachable block drop end"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("unreachable br 7"), Contains("label 7 of 1"));
    CHECK_THAT(refusal_of("return local.get 0 drop"), Contains("local 0 of 0"));
}

TEST_CASE("select takes two of one type and an i32") {
    CHECK(refusal_of("f32.const 0 f32.const 1 i32.const 0 select drop") == "");
    CHECK_THAT(refusal_of("f32.const 0 f64.const 1 i32.const 0 select drop"),
               Contains("f32 where f64"));
    CHECK_THAT(refusal_of("f32.const 0 f32.const 1 i64.const 0 select drop"),
               Contains("i64 where i32"));
    CHECK_THAT(refusal_of("f32.const 1 i32.const 0 select drop"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("f32.const 0 f32.const 1 i32.const 0 select i32.eqz drop"),
               Contains("f32 where i32"));
}

TEST_CASE("locals and globals keep their types") {
    CHECK(refusal_of("(param i64) (local i32 f64) local.get 2 drop i64.const 0 local.tee 0 drop") ==
          "");
    CHECK_THAT(refusal_of("(param i64) (local i32) local.get 2 drop"), Contains("local 2 of 2"));
    CHECK_THAT(refusal_of("(param i64) (local i32) local.get 1 i64.eqz drop"),
               Contains("i32 where i64"));
    CHECK_THAT(refusal_of("(local f32) i32.const 0 local.set 0"), Contains("i32 where f32"));
    CHECK_THAT(refusal_of("(local f32) i32.const 0 local.tee 0 drop"), Contains("i32 where f32"));
    CHECK_THAT(refusal_of("(local f32) local.set 0"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("(local f32) f32.const 0 local.tee 0"), Contains("1 values too many"));
    // The types of many locals, at both ends of each run.
    const std::string many = "(param i64) (local " + repeat("f32 ", 100) + repeat("f64 ", 100) +
                             repeat("i32 ", 100) + "i64) ";
    const auto is = [&](int local, const std::string& type) {
        return refusal_of(many + "local.get " + std::to_string(local) + " " + type +
                          ".const 0 i32.const 0 select drop") == "";
    };
    CHECK((is(0, "i64") && is(1, "f32") && is(63, "f32") && is(64, "f32") && is(100, "f32")));
    CHECK((is(101, "f64") && is(200, "f64") && is(201, "i32") && is(300, "i32") && is(301, "i64")));
    CHECK_FALSE((is(100, "f64") || is(101, "f32") || is(302, "i64")));

    CHECK(refusal_of("i32.const 0 global.set 0 global.get 1 drop") == "");
    CHECK_THAT(refusal_of("global.get 2 drop"), Contains("global 2 of 2"));
    CHECK_THAT(refusal_of("i32.const 0 global.set 2"), Contains("global 2 of 2"));
    CHECK_THAT(refusal_of("i64.const 0 global.set 1"), Contains("immutable global"));
    CHECK_THAT(refusal_of("i64.const 0 global.set 0"), Contains("i64 where i32"));
    CHECK_THAT(refusal_of("global.get 1 i32.eqz drop"), Contains("i64 where i32"));
}

TEST_CASE("calls take parameters and give the result") {
    CHECK(refusal_of("i32.const 0 i64.const 0 call 1 drop") == "");
    CHECK_THAT(refusal_of("call 3"), Contains("function 3 of 3"));
    CHECK_THAT(refusal_of("i64.const 0 i32.const 0 call 1 drop"), Contains("i32 where i64"));
    CHECK_THAT(refusal_of("i64.const 0 call 1 drop"), Contains("operand is missing"));
    CHECK_THAT(refusal_of("i32.const 0 i64.const 0 call 1 i32.eqz drop"),
               Contains("f32 where i32"));
    CHECK_THAT(refusal_of("call 0 drop"), Contains("operand is missing"));

    const std::string type = "call_indirect (param i32 i64) (result f32) ";
    CHECK(refusal_of("i32.const 0 i64.const 0 i32.const 0 " + type + "drop") == "");
    CHECK_THAT(refusal_of("i32.const 0 i64.const 0 i64.const 0 " + type + "drop"),
               Contains("i64 where i32"));
    CHECK_THAT(refusal_of("i64.const 0 i32.const 0 " + type + "drop"),
               Contains("operand is missing"));
    CHECK_THAT(refusal_of("i32.const 0 i64.const 0 i32.const 0 " + type + "i32.eqz drop"),
               Contains("f32 where i32"));
    CHECK_THAT(refusal_of("i32.const 0 call_indirect (type 9)"), Contains("type 9 of"));
}

TEST_CASE("what is not in the module cannot be used") {
    const auto bare = [](const std::string& code) {
        return checked::check_module(machine::assemble("(module (func " + code + "))"), 0).refusal;
    };
    for (const char* const code : {"i32.const 0 i32.load drop",
                                   "i32.const 0 i32.const 0 i32.store",
                                   "memory.size drop",
                                   "i32.const 0 memory.grow drop"}) {
        CHECK_THAT(bare(code), Contains("the module has no memory"));
    }
    CHECK_THAT(bare("i32.const 0 call_indirect"), Contains("call_indirect without a table"));
}

TEST_CASE("code that does not decode is refused at its byte") {
    CHECK(refusal_of_bytes("\x01") == "");
    CHECK_THAT(refusal_of_bytes("", ""), Contains("function 0: 1 byte wanted, none left"));
    CHECK_THAT(refusal_of_bytes("\x02\x40"), Contains("none left"));
    CHECK_THAT(refusal_of_bytes("\x0b"), Contains("code after the end of the function"));
    CHECK_THAT(refusal_of_bytes("\x06"), Contains("opcode 0x06 is not"));
    CHECK_THAT(refusal_of_bytes("\xc0"), Contains("opcode 0xc0 is not"));
    CHECK_THAT(refusal_of_bytes("\x02\x41\x0b"), Contains("unknown block type"));
    CHECK_THAT(refusal_of_bytes("\x02\x7b\x0b"), Contains("unknown block type"));
    CHECK_THAT(refusal_of_bytes("\x3f\x01\x1a"), Contains("reserved byte is not zero"));
    CHECK_THAT(refusal_of_bytes("\x41\x01\x40\x01\x1a"), Contains("reserved byte is not zero"));
    CHECK_THAT(refusal_of_bytes("\x41\x01\x11\x00\x01"s), Contains("reserved byte is not zero"));
    CHECK_THAT(refusal_of_bytes("\x41\x80\x80\x80\x80\x10\x1a"), Contains("integer too large"));
    CHECK_THAT(refusal_of_bytes("\x42" + repeat("\x80", 10) + "\x01\x1a"),
               Contains("integer too large"));
    CHECK_THAT(refusal_of_bytes("\x43\x01\x01", ""), Contains("4 bytes wanted, 2 left"));
    CHECK_THAT(refusal_of_bytes("\x44\x01\x01", ""), Contains("8 bytes wanted, 2 left"));
    CHECK_THAT(refusal_of_bytes("\x41\x00\x0e\x7f"s), Contains("127 br_table targets"));
    // A nop more, and it is one byte further on.
    CHECK(refusal_of_bytes("\x1a") == "function 0: an operand is missing at byte 38");
    CHECK(refusal_of_bytes("\x01\x1a") == "function 0: an operand is missing at byte 39");
}

TEST_CASE("locals and the highest operand stack share one limit") {
    const auto pushed = [](const std::string& locals, int values) {
        return refusal_of(locals + repeat("i32.const 0 ", values) + repeat("drop ", values));
    };
    CHECK(pushed("", 2048) == "");
    CHECK_THAT(pushed("", 2049), Contains("16392 bytes of locals and operands, limit 16384"));
    CHECK(pushed("(param i32) (local i64 f32)", 2045) == "");
    CHECK_THAT(pushed("(param i32) (local i64 f32)", 2046), Contains("16392 bytes"));
    CHECK(pushed("(local " + repeat("i32 ", 2048) + ")", 0) == "");
    CHECK_THAT(pushed("(local " + repeat("i32 ", 2048) + ")", 1), Contains("16392 bytes"));
    // Unreachable code does not count.
    CHECK(pushed("unreachable ", 2049) == "");
    // Also where Antelope's limit on locals was raised; before anything is sized by them.
    vm::Limits raised;
    raised.max_func_local_bytes = std::numeric_limits<std::uint32_t>::max();
    const auto with_locals = [&](const std::string& runs) {
        base::Bytes wasm = machine::with_body("");
        wasm.resize(wasm.size() - 4);
        const std::string body = runs + "\x0b";
        const std::string tail =
            machine::leb(body.size() + 2) + "\x01" + machine::leb(body.size()) + body;
        const base::ByteView more = base::as_bytes(tail);
        wasm.resize(wasm.size() - 1);
        wasm.insert(wasm.end(), more.begin(), more.end());
        return checked::check_module(wasm, 0, {}, raised).refusal;
    };
    CHECK(with_locals("\x01\xfd\x0f\x7f") == "");  // 2,045 and three parameters.
    CHECK_THAT(with_locals("\x01\xfe\x0f\x7f"), Contains("16392 bytes of locals and operands"));
    CHECK_THAT(with_locals("\x02\xff\xff\xff\x7f\x7f\xff\xff\xff\x7f\x7f"),
               Contains("limit 16384"));
}
