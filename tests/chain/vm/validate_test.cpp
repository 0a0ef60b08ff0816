// What setcode accepts and refuses: each limit of Limits with a module just inside and one
// just outside, and hostile modules that only a careless decoder would believe.
#include "machine.hpp"

#include <catch2/catch.hpp>

namespace vm = chain::vm;

namespace {

constexpr const char* kApply = "(func (export \"apply\") (param i64 i64 i64))";

std::string refusal(const base::Bytes& wasm, const vm::Limits& limits = {}) {
    const auto found = vm::validate(wasm, limits, machine::hosts());
    if (found) return {};
    CHECK(found.error().code == base::Errc::invalid);
    CHECK(found.error().exception / 100 == 30700);
    return found.error().detail;
}

std::string refusal_of(const std::string& fields) {
    return refusal(machine::assemble("(module " + fields + kApply + ")"));
}

std::string repeat(const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i)
        out += text;
    return out;
}

std::string leb(std::size_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7U)
        out += static_cast<char>(value | 0x80U);
    return out + static_cast<char>(value);
}

// A module whose apply has exactly this code and no locals; the end is added.
base::Bytes with_body(const std::string& code) {
    base::Bytes wasm = machine::assemble(std::string("(module ") + kApply + ")");
    wasm.resize(wasm.size() - 5);  // Size of the section, count, size of the body, locals, end.
    const std::string body = std::string(1, '\0') + code + "\x0b";
    const std::string section = "\x01" + leb(body.size()) + body;
    const std::string tail = leb(section.size()) + section;
    const base::ByteView more = base::as_bytes(tail);
    wasm.insert(wasm.end(), more.begin(), more.end());
    return wasm;
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("a module with what contracts use is accepted and described") {
    const auto found =
        vm::validate(machine::assemble(R"((module (import "env" "tell" (func (param i64)))
            (memory 2) (data (i32.const 100) "abc") (global (mut i32) (i32.const 1))
            (table 2 funcref) (elem (i32.const 0) 0 1)
            (func (export "apply") (param i64 i64 i64) (call 0 (local.get 0)))))"),
                     {},
                     machine::hosts());
    REQUIRE(found);
    CHECK(found->imports == std::vector<std::string>{"tell"});
    CHECK(found->functions == 1);
    CHECK(found->initial_pages == 2);
    CHECK(found->data_bytes == 103);
}

TEST_CASE("apply must be there and have its type, in nodeos' words") {
    CHECK(refusal(machine::assemble("(module)")) == "apply not exported");
    CHECK(refusal(machine::assemble("(module (memory (export \"apply\") 1))")) ==
          "apply not exported");
    CHECK(refusal(machine::assemble("(module (func (export \"apply\") (param i64 i64)))")) ==
          "apply has wrong type");
    CHECK(refusal(machine::assemble(
              "(module (func (export \"apply\") (param i64 i64 i64) (result i32) i32.const 0))")) ==
          "apply has wrong type");
    CHECK(refusal_of("") == "");
}

TEST_CASE("an import that the host does not have is refused by its name") {
    CHECK(refusal_of("(import \"env\" \"frobnicate\" (func))") ==
          "no mapping for imported function env.frobnicate");
    CHECK(refusal_of("(import \"wasi\" \"tell\" (func (param i64)))") ==
          "no mapping for imported function wasi.tell");
    CHECK(refusal_of("(import \"env\" \"tell\" (func (param i32)))") ==
          "imported function env.tell has the wrong type");
    CHECK_THAT(refusal_of("(import \"env\" \"memory\" (memory 1))"),
               Contains("import env.memory is not a function"));
    CHECK_THAT(refusal_of("(import \"env\" \"g\" (global i32))"), Contains("env.g"));
}

TEST_CASE("sizes and counts are bounded") {
    CHECK(refusal_of("(table 1024 funcref)") == "");
    CHECK_THAT(refusal_of("(table 1025 funcref)"), Contains("1025 elements in the table"));
    CHECK_THAT(refusal_of("(table 4000000000 funcref)"), Contains("limit 1024"));
    CHECK_THAT(refusal_of("(table 1 funcref) (func $f) (elem (i32.const 1) $f)"),
               Contains("outside the table"));
    CHECK(refusal_of("(memory 528)") == "");
    CHECK_THAT(refusal_of("(memory 529)"), Contains("529 pages of memory, limit 528"));
    CHECK(refusal_of("(memory 1) (data (i32.const 65535) \"x\")") == "");
    CHECK_THAT(refusal_of("(memory 1) (data (i32.const 65535) \"xy\")"), Contains("limit 65536"));
    CHECK_THAT(refusal_of("(memory 2) (data (i32.const 65536) \"x\")"), Contains("limit 65536"));
    CHECK_THAT(refusal_of("(memory 1) (data (i32.const -1) \"x\")"), Contains("limit"));
    CHECK(refusal_of(repeat("(global (mut i64) (i64.const 0))", 128)) == "");
    CHECK_THAT(refusal_of(repeat("(global (mut i64) (i64.const 0))", 129)),
               Contains("1032 bytes of mutable globals"));
    CHECK(refusal_of(repeat("(func)", 8191)) == "");
    CHECK_THAT(refusal_of(repeat("(func)", 8192)), Contains("8193 functions, limit 8192"));
    CHECK_THAT(refusal_of("(func (export \"" + std::string(8193, 'x') + "\"))"),
               Contains("8193 bytes in a name"));
    vm::Limits small;
    small.max_module_bytes = 20;
    CHECK_THAT(refusal(machine::assemble(std::string("(module ") + kApply + ")"), small),
               Contains("limit 20"));
    small = {};
    small.max_code_bytes = 4;
    CHECK_THAT(refusal(machine::assemble(std::string("(module (func nop nop nop) ") + kApply + ")"),
                       small),
               Contains("5 bytes of code, limit 4"));
}

TEST_CASE("functions are bounded in locals, nesting and jump tables") {
    CHECK(refusal_of("(func (local " + repeat("i64 ", 1024) + "))") == "");
    CHECK_THAT(refusal_of("(func (param i32) (local " + repeat("i64 ", 1024) + "))"),
               Contains("8196 bytes of locals"));
    CHECK(refusal_of("(func " + repeat("block ", 1023) + repeat("end ", 1023) + ")") == "");
    CHECK_THAT(refusal_of("(func " + repeat("block ", 1024) + repeat("end ", 1024) + ")"),
               Contains("nested deeper than 1024"));
    // The nesting that WABT's C writer would die of.
    CHECK_THAT(refusal(with_body(repeat("\x03\x40", 120000) + repeat("\x0b", 120000))),
               Contains("nested deeper"));
    CHECK(refusal_of("(func i32.const 0 br_table " + repeat("0 ", 8192) + ")") == "");
    CHECK_THAT(refusal_of("(func i32.const 0 br_table " + repeat("0 ", 8193) + ")"),
               Contains("8192 br_table targets, limit 8191"));
}

TEST_CASE("what came after the MVP is refused") {
    CHECK_THAT(refusal_of("(func (drop (i32.extend8_s (i32.const 0))))"), Contains("0xc0"));
    CHECK_THAT(refusal_of("(func (result i32 i32) i32.const 0 i32.const 0)"), Contains("results"));
    CHECK_THAT(refusal_of("(memory 1) (func (memory.fill (i32.const 0) (i32.const 0)"
                          " (i32.const 0)))"),
               Contains("0xfc"));
    CHECK_THAT(refusal_of("(func (drop (i32.trunc_sat_f32_s (f32.const 0))))"), Contains("0xfc"));
    CHECK(refusal_of("(table 1 externref)") != "");
    CHECK(refusal_of("(memory 1) (data \"passive\")") != "");
}

TEST_CASE("the start function must exist and take nothing") {
    CHECK(refusal_of("(func $s) (start $s)") == "");
    CHECK(refusal_of("(func $s (param i32)) (start $s)") == "start function has wrong type");
}

TEST_CASE("ill-typed code is refused by the validator") {
    const auto wrong = [](const std::string& code) { return refusal(with_body(code)); };
    CHECK(wrong("\x01") == "");
    CHECK(wrong("\x41\x01") != "");      // A value too many.
    CHECK(wrong("\x6a\x1a") != "");      // An operand too few.
    CHECK(wrong("\x0c\x05") != "");      // No such label.
    CHECK(wrong("\x10\x7f") != "");      // No such function.
    CHECK(wrong("\x20\x09\x1a") != "");  // No such local.
    CHECK(wrong("\x05") != "");          // else without if.
    CHECK(wrong("\x40\x01") != "");      // memory.grow with a reserved byte.
}

TEST_CASE("every shortened module is refused, and none does harm") {
    const base::Bytes wasm = machine::assemble(R"((module
        (import "env" "sum" (func (param i32 i32) (result i64)))
        (memory 1) (table 1 funcref) (elem (i32.const 0) 1) (data (i32.const 0) "data")
        (global f64 (f64.const 1)) (func $s) (start $s)
        (func (export "apply") (param i64 i64 i64) (local f32)
          (drop (call 0 (i32.const 0) (i32.const 4))))))");
    REQUIRE(refusal(wasm) == "");
    for (std::size_t size = 0; size < wasm.size(); ++size) {
        // Without its last section, the data of 12 bytes, it is whole again.
        const bool whole = size == wasm.size() - 12;
        const base::Bytes shorter(wasm.begin(), wasm.begin() + std::ptrdiff_t(size));
        CHECK((refusal(shorter) == "") == whole);
    }
    // Whatever one changed byte makes of it, it is decided without a crash.
    for (std::size_t i = 0; i < wasm.size(); ++i) {
        base::Bytes changed = wasm;
        changed[i] ^= std::byte{0x81};
        (void)refusal(changed);
    }
}

TEST_CASE("sections out of order, doubled or overlong are refused") {
    const auto with = [](std::string_view tail) {
        base::Bytes wasm = machine::assemble(std::string("(module ") + kApply + ")");
        const base::ByteView more = base::as_bytes(tail);
        wasm.insert(wasm.end(), more.begin(), more.end());
        return refusal(wasm);
    };
    using namespace std::string_view_literals;
    CHECK_THAT(with("\x01\x01\x00"sv), Contains("section 1 after section 10"));
    CHECK_THAT(with("\x0a\x01\x00"sv), Contains("section 10 after section 10"));
    CHECK_THAT(with("\x0b\x7f\x00"sv), Contains("127 bytes wanted"));
    CHECK_THAT(with("\x0b\xff\xff\xff\xff\x7f"sv), Contains("integer too large"));
    CHECK_THAT(with("\x0b\x02\x00\x00"sv), Contains("bytes after the section's end"));
    // Custom sections are skipped, whatever they hold.
    CHECK(with("\x00\x05\x04name"sv) == "");
}
