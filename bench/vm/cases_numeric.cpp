#include "cases.hpp"

// Integers and floating point, as chains in which each waits for the one before.

namespace vm_bench {

namespace {

using chain::Cost;
using std::string;

constexpr unsigned kMany = 50;

void add(std::vector<Case>& all, Cost row, const string& label, const Module& module, double per) {
    all.push_back({row, label, text_of(module), kMany * per});
}

void add_chain(std::vector<Case>& all,
               Cost row,
               const string& label,
               const string& body,
               const string& setup = "") {
    add(all, row, label, {.body = repeated(body, kMany), .setup = setup}, 1);
}

struct Values {
    const char* name;
    const char* first;
    const char* second;
};

// Of each type: ordinary, not a number, and so small that some processors take a detour.
constexpr Values kDoubles[] = {{"", "1.5", "1.0000001"},
                               {" of NaN", "nan", "1"},
                               {" of denormals", "1e-310", "1"},
                               {" of denormals and large", "1e-310", "1e10"},
                               {" to denormals", "1e-300", "1e-10"}};
constexpr Values kSingles[] = {{"", "1.5", "1.0000001"},
                               {" of NaN", "nan", "1"},
                               {" of denormals", "1e-40", "1"},
                               {" to denormals", "1e-30", "1e-10"}};

void add_arithmetic(std::vector<Case>& all, const string& type, const Values& values) {
    const bool wide = type == "f64";
    const string a = wide ? "$f" : "$g";
    const string b = wide ? "$h" : "$k";
    const string setup = "(local.set " + a + "(" + type + ".const " + values.first +
                         ")) (local.set " + b + "(" + type + ".const " + values.second + "))";
    for (const char* const op : {"add", "sub", "mul", "div", "min", "max", "copysign"}) {
        const Cost row = string(op) == "div" ? Cost::root : Cost::floating;
        const string label = type + "." + op + values.name;
        // From the same values each time: a chain would leave them.
        add_chain(all,
                  row,
                  label,
                  "(local.set " + a + "(" + type + "." + op + "(" + type + ".const " +
                      values.first + ") (local.get " + b + ")))",
                  setup);
        add_chain(all,
                  row,
                  label + ", chained",
                  "(local.set " + a + "(" + type + "." + op + "(local.get " + a + ") (local.get " +
                      b + ")))",
                  setup);
    }
    for (const char* const op : {"abs", "neg", "ceil", "floor", "trunc", "nearest", "sqrt"}) {
        const Cost row = string(op) == "sqrt" ? Cost::root : Cost::floating;
        add_chain(all,
                  row,
                  type + "." + op + values.name,
                  "(local.set " + a + "(" + type + "." + op + "(" + type + ".const " +
                      values.first + ")))",
                  setup);
    }
    for (const char* const op : {"eq", "ne", "lt", "gt", "le", "ge"}) {
        add_chain(all,
                  Cost::floating,
                  type + "." + op + values.name,
                  "(local.set $i (i32.xor (local.get $i) (" + type + "." + op + "(local.get " + a +
                      ") (local.get " + b + "))))",
                  setup);
    }
}

void add_conversions(std::vector<Case>& all) {
    for (const string type : {"f32", "f64"}) {
        const string at = type == "f32" ? "$g" : "$f";
        for (const string to : {"i32", "i64"}) {
            for (const string sign : {"_s", "_u"}) {
                const string large = to == "i64" ? "1e19" : "4e9";
                const string value = sign == "_u" ? large : "-12345.5";
                add(all,
                    Cost::floating,
                    to + ".trunc_" + type + sign + " and back",
                    {.body =
                         repeated("(local.set " + at + "(" + type + ".convert_" + to + sign + "(" +
                                      to + ".trunc_" + type + sign + "(local.get " + at + "))))",
                                  kMany),
                     .setup = "(local.set " + at + "(" + type + ".const " + value + "))"},
                    2);
            }
        }
    }
    for (const Values& values : kDoubles) {
        add(all,
            Cost::floating,
            string("f32.demote_f64, f64.promote_f32") + values.name,
            {.body = repeated("(local.set $f (f64.promote_f32 (f32.demote_f64 (f64.const " +
                                  string(values.first) + "))))",
                              kMany)},
            2);
    }
    add(all,
        Cost::floating,
        "f32.demote_f64, f64.promote_f32 of f32's denormals",
        {.body =
             repeated("(local.set $f (f64.promote_f32 (f32.demote_f64 (local.get $f))))", kMany),
         .setup = "(local.set $f (f64.const 1e-40))"},
        2);
}

void add_plain_cases(std::vector<Case>& all) {
    add_chain(all,
              Cost::plain,
              "i64.extend_i32_s, i32.wrap_i64",
              "(local.set $x (i64.extend_i32_s (i32.wrap_i64 (local.get $x))))");
    add_chain(all,
              Cost::plain,
              "reinterpret there and back",
              "(local.set $x (i64.reinterpret_f64 (f64.reinterpret_i64 (local.get $x))))");
    add_chain(all,
              Cost::plain,
              "select",
              "(local.set $x (select (local.get $x) (local.get $y) (local.get $i)))");
    string locals;
    string body;
    for (int i = 0; i < 40; ++i)
        locals += "(local $l" + std::to_string(i) + " i64)";
    for (int i = 0; i < 50; ++i) {
        const string at = "$l" + std::to_string(i % 40);
        body += "(local.set " + at + "(i64.add (local.get $l" + std::to_string((i + 39) % 40) +
                ") (local.get " + at + ")))";
    }
    add(all, Cost::plain, "locals without registers", {.body = body, .locals = locals}, 4);
    // More code than caches hold, run straight through.
    constexpr unsigned kLong = 25'000;
    all.push_back({Cost::plain,
                   "long straight code, 450 KB",
                   text_of({.body = repeated("(local.set $x (i64.add (local.get $y) (i64.const "
                                             "0x1234567#)))",
                                             kLong)}),
                   4 * kLong});
}

}  // namespace

void add_integer_cases(std::vector<Case>& all) {
    for (const string type : {"i32", "i64"}) {
        const string a = type == "i32" ? "$i" : "$x";
        const string b = type == "i32" ? "$j" : "$y";
        const string setup = "(local.set " + a + "(" + type + ".const 77)) (local.set " + b + "(" +
                             type + ".const 7))";
        for (const char* const op : {"clz", "ctz", "popcnt"}) {
            add_chain(all,
                      Cost::plain,
                      type + "." + op,
                      "(local.set " + a + "(" + type + "." + op + "(local.get " + a + ")))",
                      setup);
        }
        for (const char* const op :
             {"add", "sub", "mul", "and", "xor", "shl", "shr_s", "shr_u", "rotl", "rotr"}) {
            add_chain(all,
                      Cost::plain,
                      type + "." + op,
                      "(local.set " + a + "(" + type + "." + op + "(local.get " + a +
                          ") (local.get " + b + ")))",
                      setup);
        }
        add_chain(all,
                  Cost::plain,
                  type + " compare",
                  "(local.set $i (i32.add (local.get $i) (" + type + ".lt_s (local.get " + a +
                      ") (local.get " + b + "))))",
                  setup);
        const string large = type == "i32" ? "-2000000000" : "-9000000000000000000";
        for (const string op : {"div_s", "div_u", "rem_s", "rem_u"}) {
            const string divisor = op[0] == 'd' ? "(local.get " + a + ")"
                                                : "(" + type + ".or (local.get " + a + ") (" +
                                                      type + ".const 0x10001))";
            add_chain(all,
                      Cost::divide,
                      type + "." + op,
                      "(local.set " + a + "(" + type + "." + op + "(" + type + ".const " + large +
                          ")" + divisor + "))",
                      "(local.set " + a + "(" + type + ".const 3))");
        }
    }
    add_plain_cases(all);
}

void add_float_cases(std::vector<Case>& all) {
    for (const Values& values : kDoubles)
        add_arithmetic(all, "f64", values);
    for (const Values& values : kSingles)
        add_arithmetic(all, "f32", values);
    add_conversions(all);
}

}  // namespace vm_bench
