#include "pattern.hpp"

#include "chain/execution/host_functions.hpp"
#include "tests/wabt/text.hpp"

#include <cstdio>
#include <cstdlib>

namespace patterns {

namespace {

using chain::vm::HostFunction;
using chain::vm::ValueType;

[[noreturn]] void give_up(std::string_view text) {
    std::fprintf(stderr, "bench_patterns: %.*s\n", static_cast<int>(text.size()), text.data());
    std::exit(1);
}

std::string_view name_of(ValueType type) {
    switch (type) {
        case ValueType::i32:
            return "i32";
        case ValueType::i64:
            return "i64";
        case ValueType::f32:
            return "f32";
        case ValueType::f64:
            return "f64";
    }
    return "";
}

const HostFunction& function_of(std::string_view name) {
    const auto index = chain::host_table().find(name);
    if (!index) give_up("there is no host function " + std::string(name));
    return chain::host_table().at(*index);
}

std::string import_of(std::string_view name) {
    const HostFunction& function = function_of(name);
    std::string text = "(import \"env\" \"" + function.name + "\" (func $" + function.name;
    for (const ValueType type : function.params)
        text += " (param " + std::string(name_of(type)) + ")";
    if (function.result) text += " (result " + std::string(name_of(*function.result)) + ")";
    return text + "))\n";
}

std::string loop_of(const std::string& body) {
    return "(if (local.get $n) (then (loop $again"
           " (local.set $key (i64.or (i64.shl (local.get $seed) (i64.const 24))"
           " (i64.extend_i32_u (local.get $n))))\n" +
           body + "(br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))";
}

}  // namespace

std::string module_of(const Code& code, std::uint32_t prepared) {
    std::string text = "(module\n";
    for (const std::string& name : code.imports)
        text += import_of(name);
    text += "(memory " + std::to_string(code.pages) + ")\n" + code.fields + "\n";
    const std::string counters = "(local $n i32) (local $seed i64) (local $key i64)";
    const std::string read =
        "(local.set $n (i32.wrap_i64 (local.get $act)))"
        "(local.set $seed (i64.and (i64.shr_u (local.get $act) (i64.const 32))"
        " (i64.const 0x7fffffff)))\n";
    text +=
        "(func $prepare (param $self i64) (param $act i64)" + counters + " (local $row i64)" + read;
    // The rows of one transaction follow those of the one before.
    text +=
        loop_of("(local.set $row (i64.add (i64.mul (local.get $seed) " + i64(kPreparedRows) +
                ") (i64.sub (i64.extend_i32_u (local.get $n)) (i64.const 1))))" + code.prepare) +
        ")\n";
    text += "(func (export \"apply\") (param $self i64) (param $code i64) (param $act i64)" +
            counters +
            "(local $row i64) (local $a i32) (local $b i64) (local $x f32) (local $y f64)" +
            code.locals + read +
            "(if (i64.lt_s (local.get $act) (i64.const 0))"
            " (then (call $prepare (local.get $self) (local.get $act)) (return)))\n" +
            code.init;
    const std::uint32_t rows = prepared * kPreparedRows;
    const std::string choose =
        rows == 0 ? ""
                  : "(local.set $row (i64.rem_u (i64.shr_u (i64.mul (local.get $key)"
                    " (i64.const 0x9E3779B97F4A7C15)) (i64.const 20)) " +
                        i64(rows) + "))\n";
    return text + loop_of(choose + code.body) + "))";
}

std::string expression(std::string_view name, const std::vector<std::string>& args) {
    const HostFunction& function = function_of(name);
    std::string text = "(call $" + function.name;
    for (const std::string& arg : args)
        text += " " + arg;
    for (std::size_t i = args.size(); i < function.params.size(); ++i)
        text += " (" + std::string(name_of(function.params[i])) + ".const 0)";
    return text + ")";
}

std::string call(std::string_view name, const std::vector<std::string>& args) {
    const std::string text = expression(name, args);
    return function_of(name).result ? "(drop " + text + ")" : text;
}

std::string i32(std::int64_t value) {
    return "(i32.const " + std::to_string(value) + ")";
}

std::string i64(std::int64_t value) {
    return "(i64.const " + std::to_string(value) + ")";
}

std::string repeat(std::string_view text, std::size_t times) {
    std::string out;
    out.reserve(text.size() * times);
    for (std::size_t i = 0; i < times; ++i)
        out += text;
    return out;
}

std::string data_at(std::uint32_t offset, base::ByteView bytes) {
    std::string text = "(data " + i32(offset) + " \"";
    for (const std::byte byte : bytes)
        text += "\\" + base::to_hex(base::ByteView(&byte, 1));
    return text + "\")";
}

base::Bytes assemble(const std::string& text) {
    const wabt_text::Assembled out = wabt_text::assemble(text);
    if (!out.error.empty()) give_up(out.error + "\n" + text.substr(0, 4'000));
    return base::to_bytes(std::as_bytes(std::span(out.bytes)));
}

chain::Action action_of(chain::Name account,
                        std::string_view contract,
                        std::string_view name,
                        base::Bytes data) {
    const auto read = [](std::string_view text) { return chain::Name::from_string(text).value(); };
    return {read(contract), read(name), {{account, read("active")}}, std::move(data)};
}

}  // namespace patterns
