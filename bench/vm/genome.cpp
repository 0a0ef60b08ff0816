#include "genome.hpp"

#include "cases.hpp"

#include <array>

namespace vm_bench {

namespace {

using std::string;

constexpr std::size_t kStatementsMax = 40;
constexpr unsigned kTimesMax = 3'000;
constexpr unsigned kCallees = 16;

template <std::size_t N>
string one_of(base::Rng& rng, const std::array<const char*, N>& all) {
    return all[rng.below(N)];
}

constexpr std::array kDoubles{"0",     "1",    "nan",   "-1",     "inf",    "1e-310", "5e-324",
                              "1e308", "-inf", "0.1",   "1e-300", "1e-10",  "1.5",    "3e9",
                              "1e-40", "1e19", "-1e15", "2.5",    "1e-160", "4e-308"};
constexpr std::array kIntegers{"0",
                               "1",
                               "-1",
                               "7",
                               "63",
                               "0x7fffffff",
                               "-0x7fffffff",
                               "4096",
                               "0x10001",
                               "255",
                               "64",
                               "12345678"};

string value(base::Rng& rng, const string& type, unsigned depth);

string constant(base::Rng& rng, const string& type) {
    const bool is_float = type[0] == 'f';
    return "(" + type + ".const " + (is_float ? one_of(rng, kDoubles) : one_of(rng, kIntegers)) +
           ")";
}

string local(base::Rng& rng, const string& type) {
    const bool first = rng.below(2) == 0;
    if (type == "i32") return first ? "$i" : "$j";
    if (type == "i64") return first ? "$x" : "$y";
    if (type == "f32") return first ? "$g" : "$k";
    return first ? "$f" : "$h";
}

string address(base::Rng& rng, unsigned depth) {
    constexpr std::array kMasks{"0xfff8", "0xffff", "0xfffff8", "0x1ffffff", "0x3fff", "0xfffff"};
    if (rng.below(3) == 0) return "(local.get " + local(rng, "i32") + ")";
    return "(i32.and " + value(rng, "i32", depth) + "(i32.const " + one_of(rng, kMasks) + "))";
}

string offset(base::Rng& rng) {
    constexpr std::array kOffsets{"0", "1", "4093", "4092", "60", "63", "65530", "8", "2048"};
    return " offset=" + one_of(rng, kOffsets) + " ";
}

string load(base::Rng& rng, const string& type, unsigned depth) {
    constexpr std::array kNarrow{"", "8_s", "8_u", "16_s", "16_u"};
    const string how = type[0] == 'i' ? one_of(rng, kNarrow) : "";
    return "(" + type + ".load" + how + offset(rng) + address(rng, depth) + ")";
}

string convert(base::Rng& rng, const string& type, unsigned depth) {
    if (type == "i32") {
        if (rng.below(2) == 0) return "(i32.wrap_i64 " + value(rng, "i64", depth) + ")";
        return "(f64.lt " + value(rng, "f64", depth) + value(rng, "f64", depth) + ")";
    }
    if (type == "i64") {
        if (rng.below(2) == 0) return "(i64.reinterpret_f64 " + value(rng, "f64", depth) + ")";
        return "(i64.extend_i32_u " + value(rng, "i32", depth) + ")";
    }
    constexpr std::array kFrom{"convert_i32_s", "convert_i32_u", "convert_i64_s", "convert_i64_u"};
    const string from = one_of(rng, kFrom);
    if (rng.below(3) > 0) {
        return "(" + type + "." + from + " " + value(rng, from.substr(8, 3), depth) + ")";
    }
    if (type == "f32") return "(f32.demote_f64 " + value(rng, "f64", depth) + ")";
    return "(f64.promote_f32 " + value(rng, "f32", depth) + ")";
}

string integer(base::Rng& rng, const string& type, unsigned depth) {
    constexpr std::array kUnary{"clz", "ctz", "popcnt"};
    constexpr std::array kBinary{
        "add", "sub", "mul", "and", "or", "xor", "shl", "shr_s", "shr_u", "rotl", "rotr"};
    constexpr std::array kDivide{"div_u", "rem_u", "div_s", "rem_s"};
    const auto of = [&](const string& op, const string& right) {
        return "(" + type + "." + op + " " + value(rng, type, depth) + right + ")";
    };
    switch (rng.below(6)) {
        case 0:
            return of(one_of(rng, kUnary), "");
        case 1:  // The divisor is never zero.
            return of(one_of(rng, kDivide),
                      "(" + type + ".or (" + type + ".shr_u " + value(rng, type, depth) + "(" +
                          type + ".const 2)) (" + type + ".const 3))");
        default:
            return of(one_of(rng, kBinary), value(rng, type, depth));
    }
}

string floating(base::Rng& rng, const string& type, unsigned depth) {
    constexpr std::array kUnary{"abs", "neg", "ceil", "floor", "trunc", "nearest", "sqrt"};
    constexpr std::array kBinary{"add", "sub", "mul", "div", "min", "max", "copysign"};
    if (rng.below(3) == 0) {
        return "(" + type + "." + one_of(rng, kUnary) + " " + value(rng, type, depth) + ")";
    }
    return "(" + type + "." + one_of(rng, kBinary) + " " + value(rng, type, depth) +
           value(rng, type, depth) + ")";
}

// NOLINTNEXTLINE(misc-no-recursion): bounded by depth.
string value(base::Rng& rng, const string& type, unsigned depth) {
    if (depth == 0 || rng.below(3) == 0) {
        return rng.below(3) == 0 ? constant(rng, type) : "(local.get " + local(rng, type) + ")";
    }
    switch (rng.below(8)) {
        case 0:
            return load(rng, type, depth - 1);
        case 1:
            return convert(rng, type, depth - 1);
        case 2:
            return "(select " + value(rng, type, depth - 1) + value(rng, type, depth - 1) +
                   value(rng, "i32", depth - 1) + ")";
        case 3:
            if (type == "i64") return "(global.get $global)";
            [[fallthrough]];
        default:
            return type[0] == 'i' ? integer(rng, type, depth - 1) : floating(rng, type, depth - 1);
    }
}

string any_type(base::Rng& rng) {
    constexpr std::array kTypes{"i32", "i64", "f32", "f64"};
    return one_of(rng, kTypes);
}

string store(base::Rng& rng) {
    const string type = any_type(rng);
    return "(" + type + ".store" + (type[0] == 'i' && rng.below(3) == 0 ? "8" : "") + offset(rng) +
           address(rng, 1) + value(rng, type, 2) + ")";
}

string table_of_blocks(base::Rng& rng) {
    const unsigned blocks = 1U << (1 + rng.below(8));
    string out;
    for (unsigned i = 0; i < blocks; ++i)
        out += "(block ";
    out += "(br_table";
    for (unsigned i = 0; i < blocks; ++i)
        out += " " + std::to_string(i);
    return out + "(i32.and " + value(rng, "i32", 2) + "(i32.const " + std::to_string(blocks - 1) +
           ")))" + string(blocks, ')');
}

string branch(base::Rng& rng) {
    switch (rng.below(5)) {
        case 0:
            return "(block (br_if 0 " + value(rng, "i32", 2) + "))";
        case 1:
            return "(if " + value(rng, "i32", 2) + "(then (local.set $x " + value(rng, "i64", 1) +
                   ")) (else (local.set $y " + value(rng, "i64", 1) + ")))";
        case 2:
            return table_of_blocks(rng);
        case 3:
            return "(loop)";
        default:
            return "(block (br 0))";
    }
}

string statement(base::Rng& rng) {
    switch (rng.below(12)) {
        case 0:
        case 1:
            return store(rng);
        case 2:
        case 3:
            return branch(rng);
        case 4:
            return next_random();
        case 5:
            return rng.below(2) == 0 ? "(call $nothing)"
                                     : "(drop (memory.grow " + constant(rng, "i32") + "))";
        case 6:
            return "(call $callee)";
        case 7:
            return "(call_indirect (type $none) (i32.and " + value(rng, "i32", 1) + "(i32.const " +
                   std::to_string(kCallees - 1) + ")))";
        case 8:
            return "(local.set $i (i32.load (local.get $i)))";
        case 9:
            return "(global.set $global " + value(rng, "i64", 2) + ")";
        default: {
            const string type = any_type(rng);
            return "(local.set " + local(rng, type) + " " + value(rng, type, 3) + ")";
        }
    }
}

string many(const string& text, unsigned times) {
    string out;
    for (unsigned i = 0; i < times; ++i)
        out += " " + text;
    return out;
}

}  // namespace

Genome::Genome(base::Rng& rng) {
    for (std::uint64_t i = rng.below(6) + 1; i > 0; --i)
        statements_.push_back({statement(rng), 1});
    mutate(rng);
}

Genome::Statement& Genome::any(base::Rng& rng) {
    return statements_[rng.below(statements_.size())];
}

void Genome::mutate(base::Rng& rng) {
    for (std::uint64_t i = rng.below(3) + 1; i > 0; --i)
        change(rng);
}

void Genome::change(base::Rng& rng) {
    switch (rng.below(12)) {
        case 0:
        case 1:
            any(rng).text = statement(rng);
            return;
        case 2:
            if (statements_.size() < kStatementsMax) {
                const auto at = static_cast<std::ptrdiff_t>(rng.below(statements_.size()));
                statements_.insert(statements_.begin() + at, {statement(rng), 1});
            }
            return;
        case 3:
        case 4:
            if (statements_.size() > 1) {
                const auto at = static_cast<std::ptrdiff_t>(rng.below(statements_.size()));
                statements_.erase(statements_.begin() + at);
            }
            return;
        case 5: {
            unsigned& times = any(rng).times;
            times = std::min(kTimesMax, times * static_cast<unsigned>(2 + rng.below(20)));
            return;
        }
        case 6: {
            unsigned& times = any(rng).times;
            times = times / 2 + 1;
            return;
        }
        case 7:
            std::swap(any(rng), any(rng));
            return;
        case 8: {
            constexpr std::array kPages{1U, 16U, 17U, 64U, 65U, 528U};
            pages_ = kPages[rng.below(kPages.size())];
            return;
        }
        case 9:
            ring_bytes_ = rng.below(4) == 0 ? 0 : 1U << (12 + rng.below(14));
            ring_offset_ = static_cast<unsigned>(rng.below(60));
            return;
        case 10:
            callee_locals_ = static_cast<unsigned>(rng.below(rng.below(2) == 0 ? 20 : 900));
            callee_parameters_ = static_cast<unsigned>(rng.below(64));
            return;
        default:
            f_ = one_of(rng, kDoubles);
            h_ = one_of(rng, kDoubles);
    }
}

string Genome::text() const {
    constexpr std::size_t kTextMax = 600'000;
    string body;
    for (const Statement& each : statements_) {
        for (unsigned i = 0; i < each.times && body.size() < kTextMax; ++i)
            body += each.text;
    }
    string table;
    string functions;
    for (unsigned i = 0; i < kCallees; ++i) {
        table += " $f" + std::to_string(i);
        functions += "(func $f" + std::to_string(i) +
                     " (type $none) (global.set $global (i64.const " + std::to_string(i) + ")))";
    }
    unsigned bytes = ring_bytes_;
    while (bytes > pages_ * 65'536U)
        bytes /= 2;
    return text_of({.body = body,
                    .setup = "(local.set $f (f64.const " + f_ + ")) (local.set $h (f64.const " +
                             h_ +
                             ")) (local.set $g (f32.demote_f64 (local.get $f)))"
                             "(local.set $k (f32.demote_f64 (local.get $h)))" +
                             (bytes > 0 ? chain_of(bytes, 64, ring_offset_) : "") +
                             "(local.set $i (i32.const 0))",
                    .fields = "(type $none (func)) (table " + std::to_string(kCallees) +
                              " funcref) (elem (i32.const 0)" + table + ")" + functions +
                              "(global $global (mut i64) (i64.const 1)) (func $wide (param" +
                              many("i64", callee_parameters_) + ") (local" +
                              many("i64", callee_locals_) + ")) (func $callee (call $wide" +
                              many("(i64.const 3)", callee_parameters_) + "))",
                    .pages = pages_});
}

}  // namespace vm_bench
