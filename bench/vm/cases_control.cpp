#include "cases.hpp"

// Branches, calls, and what starting a run costs.

namespace vm_bench {

namespace {

using chain::Cost;
using std::string;

constexpr unsigned kMany = 30;

// Writes to every 4 KiB of the first `bytes`.
string touched(std::uint32_t bytes) {
    return "(loop $touch (i32.store8 (local.get $i) (i32.const 1)) (br_if $touch"
           " (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 4096)))"
           " (i32.const " +
           std::to_string(bytes) + "))))";
}
constexpr std::uint32_t kNear = 16 * 65'536;
constexpr std::uint32_t kFar = 528 * 65'536;

void add(std::vector<Case>& all,
         Cost row,
         const string& label,
         const Module& module,
         double items = kMany) {
    all.push_back({row, label, text_of(module), items});
}

void add_branches(std::vector<Case>& all) {
    const string bit = "(i32.and (local.get $j) (i32.shl (i32.const 1) (i32.const #)))";
    const string sign =
        "(i32.lt_s (local.tee $j (i32.shl (local.get $j) (i32.const 1)))"
        "(i32.const 0))";
    add(all,
        Cost::plain,
        "br_if by chance",
        {.body = next_random() + repeated("(block (br_if 0 " + bit + "))", kMany)});
    add(all,
        Cost::plain,
        "br_if by chance, by the sign",
        {.body = next_random() + repeated("(block (br_if 0 " + sign + "))", kMany)});
    add(all,
        Cost::plain,
        "if, else by chance",
        {.body = next_random() +
                 repeated("(if " + bit + "(then (local.set $y (i64.const #))) (else))", kMany)});
    add(all,
        Cost::plain,
        "select of floats by chance",
        {.body =
             next_random() +
             repeated("(local.set $f (select (local.get $f) (local.get $h)" + bit + "))", kMany)});
    add(all,
        Cost::plain,
        "br_if of a constant",
        {.body = repeated("(block (br_if 0 (i32.const 0)))", kMany)},
        2 * kMany);
    add(all,
        Cost::plain,
        "br_if of a constant, taken",
        {.body = repeated("(block (br_if 0 (i32.const 1)))", kMany)},
        2 * kMany);
    add(all, Cost::plain, "br to the end", {.body = repeated("(block (br 0))", kMany)});
    add(all,
        Cost::plain,
        "if and else with nothing in them",
        {.body = repeated("(if (local.get $i) (then) (else))", kMany)},
        2 * kMany);
    // These are free; so the rest pays.
    add(all, Cost::plain, "10,000 loops of nothing", {.body = repeated("(loop)", 10'000)}, 6);
    add(all, Cost::plain, "10,000 blocks of nothing", {.body = repeated("(block)", 10'000)}, 6);
    string ends;
    for (int i = 0; i < 1'000; ++i)
        ends += "(block ";
    ends += "(br_table";
    for (int i = 0; i < 1'000; ++i)
        ends += " " + std::to_string(i);
    ends += "(local.get $i))" + string(1'000, ')');
    add(all, Cost::call, "br_table into 1,000 ends", {.body = ends}, 1);
}

// Jumps that the processor cannot foresee, among `targets`, each with `code` of its own.
void add_jumps(std::vector<Case>& all, unsigned targets, const string& code, const string& label) {
    const string which = "(i32.and (local.get $j) (i32.const " + std::to_string(targets - 1) + "))";
    string inner = "(br_table";
    string elements;
    string functions;
    for (unsigned i = 0; i < targets; ++i) {
        const string number = std::to_string(i);
        inner += " " + number;
        elements += " $f" + number;
        functions += "(func $f" + number + " (type $none) (local i64 i64 i64 i64 i64)" + code + ")";
    }
    inner += which + ")";
    string nested = "(block $out ";
    for (unsigned i = 0; i < targets; ++i)
        nested += "(block ";
    nested += inner + ")";
    for (unsigned i = 1; i < targets; ++i)
        nested += code + "(br $out))";
    nested += ")";
    add(all,
        Cost::call,
        "br_table by chance" + label,
        {.body = repeated(next_random() + nested, 2)},
        2);
    add(all,
        Cost::call,
        "call_indirect by chance" + label,
        {.body = repeated(next_random() + "(call_indirect (type $none) " + which + ")", 8),
         .fields = "(type $none (func)) (table " + std::to_string(targets) +
                   " funcref) (elem (i32.const 0) " + elements + ")" + functions},
        8);
}

string many(const string& text, unsigned times) {
    string out;
    for (unsigned i = 0; i < times; ++i)
        out += " " + text;
    return out;
}

void add_calls(std::vector<Case>& all) {
    add(all, Cost::call, "call", {.body = many("(call $empty)", kMany), .fields = "(func $empty)"});
    add(all,
        Cost::call,
        "call with 64 parameters",
        {.body = many("(call $wide" + many("(local.get $x)", 64) + ")", kMany),
         .fields = "(func $wide (param" + many("i64", 64) + "))"});
    add(all,
        Cost::call,
        "call that keeps 14 registers",
        {.body = many("(call $full)", kMany),
         .fields = "(func $full (local" + many("i64", 6) + many("f64", 8) + ")" + [] {
             string uses;
             for (int i = 0; i < 14; ++i) {
                 const string local = std::to_string(i);
                 uses += repeated("(local.set " + local + " (local.get " + local + "))", 2);
             }
             return uses;
         }() + ")"});
    add(all,
        Cost::call,
        "recursion of 240",
        {.body = "(call $deep (i32.const 240))",
         .fields = "(func $deep (param i32) (if (local.get 0) (then (call $deep (i32.sub"
                   " (local.get 0) (i32.const 1))))))"},
        240);
    add(all,
        Cost::call,
        "call_indirect",
        {.body = many("(call_indirect (type $none) (i32.const 0))", kMany),
         .fields = "(type $none (func)) (table 1 funcref) (elem (i32.const 0) $empty)"
                   "(func $empty (type $none))"});
    add_jumps(all, 256, "", "");
    add_jumps(all,
              512,
              repeated("(local.set 4 (i64.add (local.get 4) (i64.const 0x1234567#)))", 4),
              ", with code");
    add(all, Cost::call, "call of the host", {.body = many("(call $nothing)", kMany)});
    add(all,
        Cost::call,
        "memory.grow of nothing",
        {.body = many("(drop (memory.grow (i32.const 0)))", kMany)});
    add(all,
        Cost::call,
        "memory.grow that fails",
        {.body = many("(drop (memory.grow (i32.const -1)))", kMany)});
    for (const unsigned locals : {4U, 8U, 9U, 20U, 100U, 1'000U, 2'000U}) {
        add(all,
            Cost::local,
            "call of " + std::to_string(locals) + " locals",
            {.body = many("(call $zero)", kMany),
             .fields = "(func $zero (local" + many("i32", locals) + "))"},
            kMany * locals);
    }
    add(all,
        Cost::local,
        "recursion of 60, 2,000 locals",
        {.body = "(call $deep (i32.const 60))",
         .fields = "(func $deep (param i32) (local" + many("i32", 2'000) +
                   ") (if (local.get 0) (then (call $deep (i32.sub (local.get 0)"
                   " (i32.const 1))))))"},
        60 * 2'000);
}

}  // namespace

void add_control_cases(std::vector<Case>& all) {
    add_branches(all);
    add_calls(all);
}

void add_start_cases(std::vector<Case>& all) {
    const auto start = [&all](Cost row, const string& label, const Module& module, double items) {
        all.push_back({row, label, text_of(module), items, true});
    };
    start(Cost::run, "run", {}, 1);
    const string table =
        "(type $none (func)) (func $empty (type $none)) (table 1024 funcref)"
        "(elem (i32.const 0)" +
        many("$empty", 1'024) + ")";
    start(Cost::run, "run, table of 1,024, after another", {.fields = table}, 1);
    all.back().other = text_of({});
    start(Cost::page, "run, 528 pages, not touched", {.pages = 528}, 528);
    start(
        Cost::page, "run, 33 MiB, every 4 KiB touched", {.body = touched(kFar), .pages = 528}, 528);
    start(Cost::page, "run, 1 MiB, every 4 KiB touched", {.body = touched(kNear), .pages = 16}, 16);
    start(Cost::page,
          "run, 33 MiB by memory.grow, every 4 KiB touched",
          {.body = "(drop (memory.grow (i32.const 527)))" + touched(kFar)},
          527);
    const string data = "(data (i32.const 0) \"" + string(65'536, 'x') + "\")";
    start(Cost::data, "run, 64 KiB of data", {.fields = data}, 64);
    start(Cost::data, "run, 64 KiB of data, after another", {.fields = data}, 64);
    all.back().other = text_of({.fields = data + "(func)"});
    start(Cost::data,
          "run, 64 KiB of data overwritten",
          {.body = "(loop $touch (i32.store8 (local.get $i) (i32.const 1)) (br_if $touch"
                   " (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 4096)))"
                   " (i32.const 65536))))",
           .fields = data},
          64);
}

}  // namespace vm_bench
