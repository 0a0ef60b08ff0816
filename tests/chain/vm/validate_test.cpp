// What setcode accepts and refuses: each limit of Limits with a module just inside and one
// just outside, and hostile modules that only a careless decoder would believe.
#include "chain/vm/module.hpp"
#include "machine.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

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

using Catch::Matchers::Contains;
using machine::repeat;
using machine::with_body;

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

TEST_CASE("parameters and imports are bounded") {
    const auto params = [](int many) { return "(func (param " + repeat("i32 ", many) + "))"; };
    CHECK(refusal_of(params(64)) == "");
    CHECK_THAT(refusal_of(params(65)), Contains("65 parameters, limit 64"));
    // apply's three, 156 times 64, and 13 or 14 more. A type is counted once.
    std::string types;
    for (int i = 0; i < 156; ++i) {
        std::string bits;
        for (int j = 0; j < 8; ++j)
            bits += (i >> j & 1) != 0 ? "i64 " : "f64 ";
        types += "(type (func (param " + repeat("i32 ", 56) + bits + ")))";
    }
    const auto more = [&](int many) {
        return "(type (func (param " + repeat("i32 ", many) + ")))" + types;
    };
    CHECK(refusal_of(more(13)) == "");
    CHECK_THAT(refusal_of(more(14)), Contains("10001 parameters of all functions, limit 10000"));
    const std::string import = "(import \"env\" \"tell\" (func (param i64)))";
    CHECK(refusal_of(repeat(import, 1023)) == "");
    CHECK_THAT(refusal_of(repeat(import, 1024)), Contains("1024 imports, limit 1023"));
}

TEST_CASE("exports have names of their own and name what is there") {
    CHECK(refusal_of("(func (export \"a\") (export \"b\"))") == "");
    CHECK_THAT(refusal_of("(func (export \"b\") (export \"a\") (export \"b\"))"),
               Contains("two exports named b"));
    CHECK_THAT(refusal_of("(memory (export \"apply\") 1)"), Contains("two exports named apply"));
    CHECK(refusal_of(
              "(table (export \"t\") 1 funcref) (global (export \"g\") i32 (i32.const 0))") == "");
    CHECK_THAT(refusal_of("(export \"f\" (func 1))"), Contains("export of function 1 of 1"));
    CHECK_THAT(refusal_of("(export \"t\" (table 0))"), Contains("export of table 0 of 0"));
    CHECK_THAT(refusal_of("(export \"m\" (memory 0))"), Contains("export of memory 0 of 0"));
    CHECK_THAT(refusal_of("(memory 1) (export \"m\" (memory 1))"),
               Contains("export of memory 1 of 1"));
    CHECK_THAT(refusal_of("(export \"g\" (global 0))"), Contains("export of global 0 of 0"));
}

TEST_CASE("a global begins with a constant of its type, and the scan keeps its bits") {
    const std::string globals = R"((global i32 (i32.const -2)) (global (mut i64) (i64.const -3))
        (global f32 (f32.const -inf)) (global f64 (f64.const inf))
        (global f32 (f32.const nan:0x200001)))";
    const base::Bytes wasm = machine::assemble("(module " + globals + kApply + ")");
    const auto found = vm::scan(wasm, {}, machine::hosts());
    REQUIRE(found);
    std::vector<std::uint64_t> bits;
    for (const vm::Module::Global& global : found->globals)
        bits.push_back(global.bits);
    CHECK(bits == std::vector<std::uint64_t>{
                      0xFFFFFFFE, 0xFFFFFFFFFFFFFFFD, 0xFF800000, 0x7FF0000000000000, 0x7FA00001});
    CHECK(refusal(wasm) == "");
    for (const char* const other : {"i64", "f32", "f64"}) {
        CHECK_THAT(refusal_of(std::string("(global i32 (") + other + ".const 0))"),
                   Contains("of another type than the global"));
    }
    CHECK_THAT(refusal_of("(global i64 (i32.const 0))"), Contains("of another type"));
    CHECK_THAT(refusal_of("(global i32 (i32.const 0)) (global i32 (global.get 0))"),
               Contains("not a constant"));
    CHECK_THAT(refusal_of("(global i32 (i32.const 0) (i32.const 0))"), Contains("has no end"));
}

TEST_CASE("tables, memories and their segments fit together") {
    CHECK(refusal_of("(table 2 2 funcref) (memory 2 2)") == "");
    CHECK_THAT(refusal_of("(table 3 2 funcref)"), Contains("table larger than its maximum"));
    CHECK_THAT(refusal_of("(memory 3 2)"), Contains("memory larger than its maximum"));
    CHECK(refusal_of("(memory 1 65536)") == "");
    const auto memory = [](const std::string& limits) {
        base::Bytes wasm = machine::assemble("(module)");
        const std::string section = "\x05" + machine::leb(limits.size() + 1) + "\x01" + limits;
        const base::ByteView more = base::as_bytes(section);
        wasm.insert(wasm.end(), more.begin(), more.end());
        return refusal(wasm);
    };
    using namespace std::string_literals;
    CHECK(memory("\x01\x01\x80\x80\x04"s) == "apply not exported");
    CHECK_THAT(memory("\x01\x01\x81\x80\x04"s), Contains("65537 pages of memory at most"));
    CHECK_THAT(memory("\x02\x01"s), Contains("unknown kind of memory"));
    CHECK(refusal_of("(table 1 funcref) (elem (i32.const 1))") == "");
    CHECK_THAT(refusal_of("(elem (i32.const 0))"), Contains("element segment without a table"));
    CHECK_THAT(refusal_of("(data (i32.const 0) \"\")"), Contains("data segment without a memory"));
    CHECK_THAT(refusal_of("(table 1 funcref) (elem (i64.const 0))"), Contains("not an i32.const"));
    CHECK_THAT(refusal_of("(memory 1) (data (f32.const 0) \"\")"), Contains("not an i32.const"));
    CHECK_THAT(refusal_of("(table 1 funcref) (elem (i32.const 0) 1)"), Contains("function 1 of 1"));
}

TEST_CASE("names are UTF-8") {
    // WABT does not write bad names: this one is put in place of another.
    const auto named = [](const std::string& fields, const std::string& name) {
        std::string text = fields;
        const std::string stand_in(name.size(), 'Q');
        text.replace(text.find('@'), 1, stand_in);
        base::Bytes wasm = machine::assemble("(module " + text + kApply + ")");
        const base::ByteView wanted = base::as_bytes(stand_in);
        const auto at = std::search(wasm.begin(), wasm.end(), wanted.begin(), wanted.end());
        const base::ByteView bytes = base::as_bytes(name);
        std::copy(bytes.begin(), bytes.end(), at);
        return refusal(wasm);
    };
    const auto exported = [&](const std::string& name) {
        return named("(func (export \"@\"))", name);
    };
    for (const char* const good : {"\x7f",
                                   "\xc2\x80",
                                   "\xdf\xbf",
                                   "\xe0\xa0\x80",
                                   "\xed\x9f\xbf",
                                   "\xee\x80\x80",
                                   "\xef\xbf\xbf",
                                   "\xf0\x90\x80\x80",
                                   "\xf4\x8f\xbf\xbf",
                                   "a\xc3\xa4z"}) {
        CHECK(exported(good) == "");
    }
    for (const char* const bad : {"\x80",
                                  "\xbf",
                                  "\xc0\x80",
                                  "\xc1\xbf",
                                  "\xc2",
                                  "\xc2\x7f",
                                  "\xc2\xc0",
                                  "\xe0\x9f\xbf",
                                  "\xe1\x80",
                                  "\xe1\x80\x7f",
                                  "\xed\xa0\x80",
                                  "\xef\xbf\xc0",
                                  "\xf0\x8f\xbf\xbf",
                                  "\xf1\x80\x80",
                                  "\xf1\x80\x80\xc0",
                                  "\xf4\x90\x80\x80",
                                  "\xf5\x80\x80\x80",
                                  "\xff"}) {
        CHECK_THAT(exported(bad), Contains("name that is no UTF-8"));
    }
    CHECK_THAT(named("(import \"@\" \"tell\" (func (param i64)))", "\xff"), Contains("no UTF-8"));
    CHECK_THAT(named("(import \"env\" \"@\" (func (param i64)))", "\xff"), Contains("no UTF-8"));
}

TEST_CASE("without the demands on a contract any export and any importing module will do") {
    const auto found = vm::scan_and_validate(
        machine::assemble("(module (import \"m\" \"tell\" (func (param i64))) (func))"),
        {},
        machine::hosts(),
        {.contract = false});
    CHECK(found);
    CHECK_FALSE(vm::scan_and_validate(
        machine::assemble("(module (func drop))"), {}, machine::hosts(), {.contract = false}));
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
    // Custom sections are skipped, whatever they hold behind a name.
    CHECK(with("\x00\x05\x04name"sv) == "");
    CHECK(with("\x00\x06\x04name\xff"sv) == "");
    CHECK_THAT(with("\x00\x05\x04n\xe4me"sv), Contains("custom section: name that is no UTF-8"));
    CHECK_THAT(with("\x00\x00"sv), Contains("custom section: 1 byte wanted"));
    CHECK_THAT(with("\x00\x03\x04nam"sv), Contains("custom section: 4 bytes in a name, limit 3"));
}
