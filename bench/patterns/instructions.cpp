// Each class of instructions, and what the processor makes slow: chains that wait for the memory,
// branches that nobody can predict, code that is not in its caches.
#include "pattern.hpp"

#include <array>
#include <utility>

namespace patterns {

namespace {

// Times that an instruction is in the loop, so that the loop does not count.
constexpr std::size_t kUnrolled = 100;
constexpr std::uint32_t kPages = 528;

void add(std::vector<Pattern>& out,
         const std::string& name,
         const Code& code,
         std::uint32_t count) {
    out.push_back(
        {.name = name, .module = module_of(code), .count = count, .count_max = kCountMax});
}

std::string set(std::string_view local, const std::string& value) {
    return "(local.set $" + std::string(local) + " " + value + ")\n";
}

std::string get(std::string_view local) {
    return "(local.get $" + std::string(local) + ")";
}

// One result the operand of the next: its latency counts.
std::string chain_of(const std::string& before,
                     const std::string& after,
                     const std::string& first) {
    return repeat(before, kUnrolled) + first + repeat(after, kUnrolled);
}

void add_unary(std::vector<Pattern>& out) {
    for (const char* name : {"i32.clz", "i32.popcnt", "i32.eqz"}) {
        add(out,
            name,
            {.body = set("a", chain_of("(" + std::string(name) + " ", ")", get("a")))},
            100);
    }
    for (const char* name : {"i64.clz", "i64.ctz", "i64.popcnt"}) {
        add(out,
            name,
            {.body = set("b", chain_of("(" + std::string(name) + " ", ")", get("b")))},
            100);
    }
    for (const char* name : {"f64.sqrt", "f64.nearest", "f64.floor", "f64.abs"}) {
        add(out,
            name,
            {.init = "(local.set $y (f64.const 0x1.921fb54442d18p+1))",
             .body = set("y", chain_of("(" + std::string(name) + " ", ")", get("y")))},
            100);
    }
    add(out, "f32.sqrt", {.body = set("x", chain_of("(f32.sqrt ", ")", "(f32.const 3.7)"))}, 100);
    add(out,
        "i64.trunc_f64_u, f64.convert_i64_u",
        {.body = set("y",
                     chain_of("(f64.convert_i64_u (i64.trunc_f64_u ",
                              "))",
                              "(f64.const 12345678901234567890)"))},
        50);
    add(out,
        "f32.demote_f64, f64.promote_f32",
        {.body =
             set("y", chain_of("(f64.promote_f32 (f32.demote_f64 ", "))", "(f64.const 1.1e-42)"))},
        50);
    add(out,
        "i64.reinterpret_f64, f64.reinterpret_i64",
        {.body = set("y", chain_of("(f64.reinterpret_i64 (i64.reinterpret_f64 ", "))", get("y")))},
        100);
}

void add_binary(std::vector<Pattern>& out) {
    for (const char* name : {"add", "mul", "shl", "rotl", "xor", "shr_s"}) {
        const std::string op = std::string("i64.") + name;
        add(out,
            op,
            {.body = set("b", chain_of("(" + op + " ", " (i64.const 77))", get("b")))},
            100);
    }
    for (const char* name : {"mul", "rotr"}) {
        const std::string op = std::string("i32.") + name;
        add(out,
            op,
            {.body = set("a", chain_of("(" + op + " ", " (i32.const 77))", get("a")))},
            100);
    }
    for (const char* name : {"div_s", "div_u", "rem_s", "rem_u"}) {
        const std::string op = std::string("i64.") + name;
        add(out,
            op,
            {.body =
                 set("b",
                     chain_of("(" + op + " (i64.const -9000000000000000000) (i64.or (i64.const 3) ",
                              "))",
                              get("b")))},
            50);
    }
    for (const char* name : {"div_s", "rem_u"}) {
        const std::string op = std::string("i32.") + name;
        add(out,
            op,
            {.body = set("a",
                         chain_of("(" + op + " (i32.const -2000000000) (i32.or (i32.const 3) ",
                                  "))",
                                  get("a")))},
            50);
    }
    add(out,
        "i64.lt_s",
        {.body = set("a", "(i32.const 0)") +
                 repeat(set("a", "(i64.lt_s (i64.extend_i32_u (local.get $a)) (i64.const 1))"),
                        kUnrolled)},
        50);
}

void add_floating(std::vector<Pattern>& out) {
    // Normal numbers, and those whose results the processor has to normalise by microcode.
    const std::array<std::pair<const char*, const char*>, 2> starts{
        {{"", "1.7"}, {" of subnormal numbers", "0x0.8p-1022"}}};
    for (const auto& [suffix, start] : starts) {
        for (const auto& [name, operand] : {std::pair{"f64.mul", "0.9999"},
                                            std::pair{"f64.div", "1.0001"},
                                            std::pair{"f64.add", "0x0.01p-1022"},
                                            std::pair{"f64.min", "0x0.7p-1022"}}) {
            const std::string after = " (f64.const " + std::string(operand) + "))";
            add(out,
                name + std::string(suffix),
                {.body = set("y",
                             chain_of("(" + std::string(name) + " ",
                                      after,
                                      "(f64.const " + std::string(start) + ")"))},
                50);
        }
    }
    add(out,
        "f32.div of subnormal numbers",
        {.body = set("x", chain_of("(f32.div ", " (f32.const 1.01))", "(f32.const 0x1p-130)"))},
        50);
    add(out,
        "f64.copysign",
        {.body = set("y", chain_of("(f64.copysign ", " (f64.const -1))", get("y")))},
        100);
    add(out,
        "f64.lt",
        {.body = repeat(set("a", "(f64.lt (local.get $y) (f64.const 2))"), kUnrolled)},
        100);
}

void add_control(std::vector<Pattern>& out) {
    const std::string random =
        set("b",
            "(i64.add (i64.mul (local.get $b) (i64.const 6364136223846793005))"
            " (i64.const 1442695040888963407))");
    const auto bit = [](int at) {
        return "(i32.wrap_i64 (i64.and (i64.shr_u (local.get $b) " + i64(at) + ") (i64.const 1)))";
    };
    std::string branches = random;
    std::string ifs = random;
    std::string selects = random;
    for (int i = 0; i < 24; ++i) {
        branches += "(block (br_if 0 " + bit(33 + i) + ") (local.set $a (i32.const 1)))\n";
        ifs += "(if " + bit(33 + i) +
               " (then (local.set $a (i32.const 1))) (else (local.set $a (i32.const 2))))\n";
        selects += set("a", "(select (i32.const 1) (local.get $a) " + bit(33 + i) + ")");
    }
    add(out, "br_if by chance", {.body = branches}, 100);
    add(out, "if and else by chance", {.body = ifs}, 100);
    add(out, "select by chance", {.body = selects}, 100);
    std::string table = "(block ";
    for (int i = 0; i < 200; ++i)
        table += "(block ";
    table += "(br_table";
    for (int i = 0; i < 200; ++i)
        table += " " + std::to_string(i);
    table +=
        " (i32.wrap_i64 (i64.rem_u (i64.shr_u (local.get $b) (i64.const 33)) (i64.const 200))))";
    for (int i = 0; i < 200; ++i)
        table += ") (local.set $a " + i32(i) + ") (br " + std::to_string(199 - i) + ")\n";
    table += ")";
    add(out, "br_table by chance", {.body = random + table}, 1'000);
    add(out, "empty loop", {.body = ""}, 10'000);
    add(out, "nop", {.body = repeat("(nop)", 1'000)}, 100);
    add(out, "block and end", {.body = repeat("(block", 500) + repeat(")", 500)}, 1'000);
    add(out,
        "global.set, global.get",
        {.fields = "(global $g (mut i64) (i64.const 1))",
         .body = repeat("(global.set $g (i64.add (global.get $g) (i64.const 1)))\n", kUnrolled)},
        100);
    add(out, "local.tee", {.body = set("b", chain_of("(local.tee $key ", ")", get("b")))}, 100);
    add(out, "drop", {.body = repeat("(drop (local.get $b))", kUnrolled)}, 100);
}

void add_calls(std::vector<Pattern>& out) {
    add(out,
        "call of an empty function",
        {.fields = "(func $f)", .body = repeat("(call $f)\n", kUnrolled)},
        100);
    std::string params;
    std::string args;
    for (int i = 0; i < 64; ++i) {
        params += " i64";
        args += "(local.get $key)";
    }
    add(out,
        "call with 64 parameters",
        {.fields = "(func $f (param" + params + "))",
         .body = repeat("(call $f " + args + ")\n", 10)},
        100);
    add(out,
        "call that zeroes 1,000 locals",
        {.fields = "(func $f (local" + repeat(" i64", 1'000) + "))", .body = "(call $f)"},
        100);
    add(out,
        "calls 240 deep",
        {.fields = "(func $f (param i32) (if (local.get 0) (then"
                   " (call $f (i32.sub (local.get 0) (i32.const 1))))))",
         .body = "(call $f (i32.const 240))"},
        100);
    add(out,
        "calls 240 deep, each with 500 locals",
        {.fields = "(func $f (param i32) (local" + repeat(" i64", 500) +
                   ") (if (local.get 0) (then (call $f (i32.sub (local.get 0) (i32.const 1))))))",
         .body = "(call $f (i32.const 240))"},
        10);
    add(out,
        "calls 240 deep that return into long code",
        {.fields = "(global $g (mut f64) (f64.const 2))"
                   "(func $f (param i32) (if (local.get 0) (then (call $f (i32.sub (local.get 0)"
                   " (i32.const 1))))) (global.set $g " +
                   chain_of("(f64.sqrt ", ")", "(global.get $g)") + "))",
         .body = "(call $f (i32.const 240))"},
        2);
    // Functions that do not fit the first caches, called by a table in a random order.
    std::string many =
        "(type $t (func)) (table 1024 funcref) (global $g (mut i64) (i64.const 1)) (elem "
        "(i32.const 0)";
    std::string functions;
    for (int i = 0; i < 1'024; ++i) {
        many += " $f" + std::to_string(i);
        functions += "(func $f" + std::to_string(i) +
                     " (type $t) (global.set $g (i64.xor (global.get $g) " + i64(i) + ")))\n";
    }
    const std::string random =
        set("b",
            "(i64.add (i64.mul (local.get $b) (i64.const 6364136223846793005))"
            " (i64.const 1442695040888963407))");
    add(out,
        "call_indirect by chance among 1,024",
        {.fields = many + ")\n" + functions,
         .body = repeat(random + "(call_indirect (type $t) (i32.wrap_i64 (i64.shr_u (local.get $b)"
                                 " (i64.const 54))))\n",
                        10)},
        100);
    add(out,
        "call_indirect of one",
        {.fields = "(type $t (func)) (table 1 funcref) (elem (i32.const 0) $f) (func $f (type $t))",
         .body = repeat("(call_indirect (type $t) (i32.const 0))\n", kUnrolled)},
        100);
}

// Every page is touched first: those that are not lead to one page of zeros.
std::string touch(std::uint32_t pages) {
    return "(local.set $a " + i32((pages << 4U) - 1) +
           ") (loop $touch (i32.store (i32.shl (local.get $a) (i32.const 12)) (i32.const 0))"
           " (br_if $touch (local.tee $a (i32.sub (local.get $a) (i32.const 1)))))";
}

void add_memory(std::vector<Pattern>& out) {
    // A load's result is in the next one's address. 33 MiB: to the last bytes.
    for (const auto& [name, pages, mask] : {std::tuple{"16 KiB", 1U, 0x3fc0},
                                            std::tuple{"1 MiB", 16U, 0xfffc0},
                                            std::tuple{"4 MiB", 64U, 0x3fffc0},
                                            std::tuple{"33 MiB", kPages, 0x1ffffc0}}) {
        const std::string next = set("a",
                                     "(i32.add (i32.load (i32.and (local.get $a) " + i32(mask) +
                                         ")) (i32.add (i32.mul (local.get $a) (i32.const 1664525)) "
                                         "(i32.const 1013904223)))");
        add(out,
            std::string("chained loads over ") + name,
            {.pages = pages, .init = touch(pages), .body = repeat(next, 20)},
            100);
        const std::string store =
            set("a",
                "(i32.add (i32.mul (local.get $a) (i32.const 1664525)) (i32.const 1013904223))") +
            "(i64.store (i32.and (local.get $a) " + i32(mask) + ") (i64.const 1))\n";
        add(out,
            std::string("stores over ") + name,
            {.pages = pages, .init = touch(pages), .body = repeat(store, 20)},
            100);
    }
    add(out,
        "loads across lines and pages",
        {.pages = 16,
         .init = touch(16),
         .body = repeat(set("a",
                            "(i32.add (i32.load (i32.and (local.get $a) (i32.const 0xf0000)))"
                            " (i32.add (local.get $a) (i32.load offset=4093 (i32.and (local.get "
                            "$a) (i32.const 0xff000)))))"),
                        20)},
        100);
    for (const char* name : {"i32.load8_s", "i64.load32_u", "i64.load", "f64.load"}) {
        add(out,
            name,
            {.body = repeat("(drop (" + std::string(name) + " (i32.const 64)))\n", kUnrolled)},
            100);
    }
    for (const char* name : {"i32.store8", "i64.store32"}) {
        const std::string type = std::string(name).substr(0, 3);
        add(out,
            name,
            {.body = repeat("(" + std::string(name) + " (i32.const 64) (" + type + ".const 7))\n",
                            kUnrolled)},
            100);
    }
    add(out,
        "stores behind loads of the same bytes",
        {.body = repeat(
             "(i64.store (i32.const 64) (i64.add (i64.load (i32.const 64)) (i64.const 1)))\n",
             kUnrolled)},
        100);
    out.push_back({.name = "33 MiB touched in a run",
                   .module = module_of({.pages = kPages, .init = touch(kPages)})});
    add(out,
        "memory.grow to 33 MiB",
        {.init = "(drop (memory.grow (i32.const 527)))",
         .body = "(drop (memory.grow (i32.const 1)))"},
        100);
    add(out, "memory.size", {.body = repeat("(drop (memory.size))", kUnrolled)}, 100);
    out.push_back({.name = "64 KiB of data",
                   .module = module_of({.fields = data_at(0, base::Bytes(65'000, std::byte{7}))})});
    out.push_back({.name = "run of an empty contract", .module = module_of({})});
}

// More code than the processor's caches hold, once through in each turn.
void add_code(std::vector<Pattern>& out) {
    constexpr int kFunctions = 400;
    const auto long_code = [](const std::string& one, std::size_t times) {
        std::string fields =
            "(global $g (mut i64) (i64.const 1)) (global $h (mut f64) (f64.const 3))";
        std::string body;
        for (int i = 0; i < kFunctions; ++i) {
            fields += "(func $f" + std::to_string(i) + " " + repeat(one, times) + ")\n";
            body += "(call $f" + std::to_string(i) + ")";
        }
        return Code{.fields = fields, .body = body};
    };
    add(out,
        "long code of additions",
        long_code("(global.set $g (i64.add (global.get $g) (i64.const 1)))", 150),
        1);
    add(out,
        "long code of branches",
        long_code("(block (br_if 0 (i64.eqz (global.get $g))) (global.set $g (i64.const 1)))", 80),
        1);
    add(out,
        "long code of square roots",
        long_code("(global.set $h (f64.sqrt (global.get $h)))", 200),
        1);
    add(out, "long code of calls", long_code("(call $e)", 600), 1);
    out.back().module.insert(out.back().module.find("(func $f0"), "(func $e)");
    // First used in each block: its load is billed and, after a restart, done.
    Code unused = long_code("(global.set $g (i64.add (global.get $g) (i64.const 1)))", 150);
    unused.body.clear();
    out.push_back({.name = "run of a contract of 500 KB", .module = module_of(unused)});
}

}  // namespace

void add_instructions(std::vector<Pattern>& out) {
    add_unary(out);
    add_binary(out);
    add_floating(out);
    add_control(out);
    add_calls(out);
    add_memory(out);
    add_code(out);
}

}  // namespace patterns
