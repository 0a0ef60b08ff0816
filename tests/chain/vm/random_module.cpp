#include "random_module.hpp"

namespace {

constexpr const char* kTypes[] = {"i32", "i64", "f32", "f64"};

std::string in(const std::string& inner) {
    return "(" + inner + ")";
}

}  // namespace

std::string RandomModule::text() {
    std::string out = R"((module
  (import "env" "tell" (func $tell (param i64)))
  (import "env" "sum" (func $sum (param i32 i32) (result i64)))
  (import "env" "fill" (func $fill (param i32 i32 i32)))
  (import "env" "leave" (func $leave))
  (import "env" "mix" (func $mix (param f32 f64) (result f64)))
  (import "env" "digest" (func $digest))
  (type $ti32 (func (param i32 i64 f32 f64) (result i32)))
  (type $ti64 (func (param i32 i64 f32 f64) (result i64)))
  (type $tf32 (func (param i32 i64 f32 f64) (result f32)))
  (type $tf64 (func (param i32 i64 f32 f64) (result f64)))
  (type $twin (func (param i32 i64 f32 f64) (result i64)))
  (memory )" + std::to_string(rng_.below(3) + 1) +
                      (chance(50) ? " 5" : "") + R"()
  (table 8 funcref) (elem (i32.const 1) $f0 $f1 $f2 $f3 $sum $f1)
  (data (i32.const 4090) "\00\01\7f\80\ff\fe words\00\00\00\00\00\f0\7f\01\00\f8\ff")
  (global $gi32 (mut i32) (i32.const -7)) (global $gi64 (mut i64) (i64.const 9000000000))
  (global $gf32 (mut f32) (f32.const -nan:0x123)) (global $gf64 (mut f64) (f64.const 1e-310))
)";
    for (unsigned i = 0; i < kFunctions; ++i)
        out += function(i);
    return out + apply() + ")";
}

std::string RandomModule::function(unsigned index) {
    const Type result = static_cast<Type>(index);
    returns_ = result;
    has_result_ = true;
    const std::string type = kTypes[result];
    return "(func $f" + std::to_string(index) + " (type $" +
           (index == 1 && chance(50) ? std::string("twin") : "t" + type) +
           ") (local i32 i64 f32 f64 i32 i64)\n" + statements(3, 3) + value(result, 3) + ")\n";
}

std::string RandomModule::apply() {
    has_result_ = false;
    std::string out = "(func (export \"apply\") (param i64 i64 i64) (local i32 i64 f32 f64 i32)\n";
    // Locals of apply sit at other places than those of the functions; it only makes calls.
    for (unsigned i = 0; i < 3; ++i) {
        const Type type = any_type();
        const std::string call = "(call $f" + std::to_string(type) + constant(i32) + constant(i64) +
                                 constant(f32) + constant(f64) + ")";
        const char* const bits[] = {"(i64.extend_i32_u ",
                                    "(i64.add (i64.const 0) ",
                                    "(i64.extend_i32_u (i32.reinterpret_f32 ",
                                    "(i64.reinterpret_f64 "};
        out +=
            std::string("(call $tell ") + bits[type] + call + (type == f32 ? ")))" : "))") + "\n";
    }
    for (const char* const name : {"gi32", "gi64", "gf32", "gf64"}) {
        const std::string type = name + 1;
        const std::string get = std::string("(global.get $") + name + ")";
        out +=
            "(" + type + ".store (i32.const " + std::to_string(rng_.below(60000)) + ")" + get + ")";
    }
    return out + "(call $digest))\n";
}

std::string RandomModule::statements(unsigned depth, unsigned many) {
    std::string out;
    for (std::uint64_t i = rng_.below(many) + 1; i > 0; --i)
        out += statement(depth) + "\n";
    return out;
}

std::string RandomModule::statement(unsigned depth) {
    if (depth == 0) return "(nop)";
    const Type type = any_type();
    const unsigned below = depth - 1;
    switch (rng_.below(16)) {
        case 0:
        case 1:
            return in("local.set " + local(type) + value(type, below));
        case 2:
            return in(std::string("global.set $g") + kTypes[type] + value(type, below));
        case 3:
        case 4:
            return store(below);
        case 5:
            return in("drop " + value(type, depth));
        case 6: {
            ++labels_;
            std::string out = "(block " + statements(below, 3) + ")";
            --labels_;
            return out;
        }
        case 7: {  // A loop that counts a local down, and may go on by itself.
            ++labels_;
            const std::string inner = statements(below, 3);
            --labels_;
            return "(local.set 8 (i32.const " + std::to_string(rng_.below(5)) + ")) (loop " +
                   inner +
                   "(br_if 0 (i32.gt_s (local.tee 8 (i32.sub (local.get 8) (i32.const 1)))"
                   " (i32.const 0))))";
        }
        case 8: {
            std::string out = "(if " + value(i32, below);
            ++labels_;
            out += "(then " + statements(below, 2) + ")";
            if (chance(60)) out += "(else " + statements(below, 2) + ")";
            --labels_;
            return out + ")";
        }
        case 9:
            if (labels_ == 0) return "(nop)";
            return in("br_if " + std::to_string(rng_.below(labels_)) + value(i32, below));
        case 10:
            if (labels_ == 0) return "(nop)";
            if (chance(70)) {
                return in("br_table 0 " + std::to_string(rng_.below(labels_)) + " " +
                          std::to_string(rng_.below(labels_)) + value(i32, below));
            }
            return in("br " + std::to_string(rng_.below(labels_)));
        case 11:
            if (!has_result_ || chance(70)) return "(nop)";
            return in("return " + value(returns_, below));
        case 12:
            return in("call $tell " + value(i64, below));
        case 13:
            return in("call $fill " + address(below) + "(i32.const " +
                      std::to_string(rng_.below(300)) + ")" + value(i32, 0));
        case 14:
            return in("drop (memory.grow (i32.const " + std::to_string(rng_.below(3)) + "))");
        default:
            return chance(3) ? pick({"(unreachable)", "(call $leave)"}) : "(nop)";
    }
}

std::string RandomModule::local(Type type) {
    return std::to_string(type + 4 * rng_.below(kLocalsEach)) + " ";
}

std::string RandomModule::value(Type type, unsigned depth) {
    if (depth == 0) return leaf(type);
    const std::string name = kTypes[type];
    const unsigned below = depth - 1;
    switch (rng_.below(12)) {
        case 0:
            return leaf(type);
        case 1:
            return load(type, below);
        case 2:
            return in("local.tee " + local(type) + value(type, below));
        case 3:
            return in("select " + value(type, below) + value(type, below) + value(i32, below));
        case 4: {
            // Labels inside have other depths; nothing inside may branch.
            const unsigned kept = labels_;
            labels_ = 0;
            std::string out = "(if (result " + name + ")" + value(i32, below) + "(then " +
                              value(type, below) + ") (else " + value(type, below) + "))";
            labels_ = kept;
            return out;
        }
        case 5:
            return chance(40) ? call(type, below) : leaf(type);
        default:
            return operation(type, below);
    }
}

std::string RandomModule::leaf(Type type) {
    if (chance(40)) return constant(type);
    if (chance(20)) return in(std::string("global.get $g") + kTypes[type]);
    if (type == i32 && chance(10)) return "(memory.size)";
    return in("local.get " + local(type));
}

std::string RandomModule::constant(Type type) {
    switch (type) {
        case i32:
            return in("i32.const " + pick({"0",
                                           "1",
                                           "-1",
                                           "0x80000000",
                                           "0x7fffffff",
                                           "31",
                                           "32",
                                           "100",
                                           "65535",
                                           "0x12345678"}));
        case i64:
            return in("i64.const " + pick({"0",
                                           "1",
                                           "-1",
                                           "0x8000000000000000",
                                           "0x7fffffffffffffff",
                                           "63",
                                           "4294967296",
                                           "0x8000008000000001",
                                           "-5",
                                           "0xfffffffffffff7ff"}));
        case f32:
            return in("f32.const " + pick({"0",
                                           "-0",
                                           "1",
                                           "-1.5",
                                           "nan",
                                           "-nan:0x200001",
                                           "nan:0x1",
                                           "inf",
                                           "-inf",
                                           "2147483648",
                                           "-2147483648",
                                           "0.1",
                                           "1e-45",
                                           "3.4e38",
                                           "2.5",
                                           "16777217",
                                           "9223372036854775808",
                                           "4294967296"}));
        default:
            return in("f64.const " + pick({"0",
                                           "-0",
                                           "1",
                                           "-1.5",
                                           "nan",
                                           "-nan:0x123",
                                           "nan:0x1",
                                           "inf",
                                           "-inf",
                                           "2147483647.5",
                                           "-2147483648.9",
                                           "0.1",
                                           "5e-324",
                                           "1.7e308",
                                           "2.5",
                                           "9007199254740993",
                                           "9223372036854775808",
                                           "4294967295.9",
                                           "1e39"}));
    }
}

// Mostly inside the first page.
std::string RandomModule::address(unsigned depth) {
    if (chance(3)) return value(i32, depth);
    return "(i32.and " + value(i32, depth) + "(i32.const 65535))";
}

std::string RandomModule::load(Type type, unsigned depth) {
    std::string name = std::string(kTypes[type]) + ".load";
    if (type == i32) name += pick({"", "", "8_s", "8_u", "16_s", "16_u"});
    if (type == i64) name += pick({"", "", "8_s", "8_u", "16_s", "16_u", "32_s", "32_u"});
    return in(name + pick({" ", " offset=1 ", " offset=4090 ", " offset=65530 "}) + address(depth));
}

std::string RandomModule::store(unsigned depth) {
    const Type type = any_type();
    std::string name = std::string(kTypes[type]) + ".store";
    if (type == i32) name += pick({"", "8", "16"});
    if (type == i64) name += pick({"", "8", "16", "32"});
    return in(name + pick({" ", " offset=1 ", " offset=4090 "}) + address(depth) +
              value(type, depth));
}

std::string RandomModule::operation(Type type, unsigned depth) {
    if (type == i32 && chance(35)) return comparison(depth);
    if (type == i64 && chance(25)) return conversion_to_i64(depth);
    return type == i32 || type == i64 ? integer_operation(type, depth)
                                      : float_operation(type, depth);
}

// Or a conversion to i32.
std::string RandomModule::comparison(unsigned depth) {
    const Type from = any_type();
    const bool integer = from == i32 || from == i64;
    if (chance(15)) {
        return chance(50)
                   ? in("i32.wrap_i64 " + value(i64, depth))
                   : in(pick({"i32.trunc_f32_s ", "i32.trunc_f32_u ", "i32.reinterpret_f32 "}) +
                        value(f32, depth));
    }
    if (chance(10)) return in(pick({"i32.trunc_f64_s ", "i32.trunc_f64_u "}) + value(f64, depth));
    if (integer && chance(15)) return in(std::string(kTypes[from]) + ".eqz " + value(from, depth));
    const std::string how =
        integer ? pick({"eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u"})
                : pick({"eq", "ne", "lt", "gt", "le", "ge"});
    return in(std::string(kTypes[from]) + "." + how + " " + value(from, depth) +
              value(from, depth));
}

std::string RandomModule::conversion_to_i64(unsigned depth) {
    switch (rng_.below(3)) {
        case 0:
            return in(pick({"i64.extend_i32_s ", "i64.extend_i32_u "}) + value(i32, depth));
        case 1:
            return in(pick({"i64.trunc_f32_s ", "i64.trunc_f32_u "}) + value(f32, depth));
        default:
            return in(pick({"i64.trunc_f64_s ", "i64.trunc_f64_u ", "i64.reinterpret_f64 "}) +
                      value(f64, depth));
    }
}

std::string RandomModule::integer_operation(Type type, unsigned depth) {
    const std::string name = std::string(kTypes[type]) + ".";
    if (chance(15)) return in(name + pick({"clz ", "ctz ", "popcnt "}) + value(type, depth));
    const std::string how = pick({"add",
                                  "sub",
                                  "mul",
                                  "div_s",
                                  "div_u",
                                  "rem_s",
                                  "rem_u",
                                  "and",
                                  "or",
                                  "xor",
                                  "shl",
                                  "shr_s",
                                  "shr_u",
                                  "rotl",
                                  "rotr"});
    return in(name + how + " " + value(type, depth) + value(type, depth));
}

std::string RandomModule::float_operation(Type type, unsigned depth) {
    const std::string name = std::string(kTypes[type]) + ".";
    if (chance(25)) {
        const Type from = chance(50) ? i32 : i64;
        if (chance(25)) {
            return type == f32 ? in("f32.demote_f64 " + value(f64, depth))
                               : in("f64.promote_f32 " + value(f32, depth));
        }
        if (chance(25)) {
            return type == f32 ? in("f32.reinterpret_i32 " + value(i32, depth))
                               : in("f64.reinterpret_i64 " + value(i64, depth));
        }
        return in(name + "convert_" + kTypes[from] + pick({"_s ", "_u "}) + value(from, depth));
    }
    if (chance(40)) {
        return in(name + pick({"abs ", "neg ", "ceil ", "floor ", "trunc ", "nearest ", "sqrt "}) +
                  value(type, depth));
    }
    const std::string how = pick({"add", "sub", "mul", "div", "min", "max", "copysign"});
    return in(name + how + " " + value(type, depth) + value(type, depth));
}

std::string RandomModule::call(Type result, unsigned depth) {
    const std::string args =
        value(i32, depth) + value(i64, depth) + value(f32, depth) + value(f64, depth);
    if (result == i64 && chance(30)) {
        return "(call $sum " + address(depth) + "(i32.const " + std::to_string(rng_.below(99)) +
               "))";
    }
    if (result == f64 && chance(30)) {
        return "(call $mix " + value(f32, depth) + value(f64, depth) + ")";
    }
    if (chance(50)) return "(call $f" + std::to_string(result) + args + ")";
    const std::string at = chance(85) ? "(i32.const " + std::to_string(result + 1) + ")"
                                      : "(i32.and (i32.const 15)" + value(i32, depth) + ")";
    return std::string("(call_indirect (type $t") + kTypes[result] + ")" + args + at + ")";
}
