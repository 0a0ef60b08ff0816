// Transactions of every shape, contracts to compile, and transactions that fail.
#include "base/codec.hpp"
#include "bench/price/wide_authority.hpp"
#include "pattern.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace patterns {

namespace {

using chain::Action;
using chain::Name;

constexpr std::size_t kModuleBytes = 480'000;

Name name(std::string_view text) {
    return Name::from_string(text).value();
}

Action empty_action(Name account, std::size_t bytes = 0) {
    return {account, name("act"), {{account, name("active")}}, base::Bytes(bytes)};
}

void add(std::vector<Pattern>& out,
         std::string what,
         std::function<std::vector<Action>(Name, std::uint32_t)> actions,
         std::string module = {}) {
    out.push_back({.name = std::move(what),
                   .module = std::move(module),
                   .is_stored = true,
                   .actions = std::move(actions)});
}

void add_shapes(std::vector<Pattern>& out) {
    add(out, "transaction of one empty action", [](Name account, std::uint32_t) {
        return std::vector{empty_action(account)};
    });
    for (const std::size_t count : {std::size_t{2'000}, std::size_t{9'000}}) {
        const auto same = [count](Name account, std::uint32_t) {
            return std::vector(count, empty_action(account));
        };
        const std::string what = "transaction of " + std::to_string(count) + " empty actions";
        add(out, what, same);
        if (count == 9'000) add(out, what + " of a contract", same, module_of({}));
    }
    add(out, "transaction of 300 KB of data", [](Name account, std::uint32_t) {
        return std::vector{empty_action(account, 300'000)};
    });
    add(out, "transaction of 200 times 1,000 bytes", [](Name account, std::uint32_t) {
        return std::vector(200, empty_action(account, 1'000));
    });
    for (const auto& [actions, levels] : {std::pair{1, 4'000}, std::pair{20, 1'000}}) {
        add(out,
            "transaction of " + std::to_string(actions) + " actions with " +
                std::to_string(levels) + " levels",
            [actions, levels](Name account, std::uint32_t) {
                Action action = empty_action(account);
                action.authorization.resize(static_cast<std::size_t>(levels),
                                            action.authorization[0]);
                return std::vector(static_cast<std::size_t>(actions), action);
            });
    }
}

template <class... Field>
base::Bytes packed(const Field&... field) {
    base::Writer out;
    (encode(out, field), ...);
    return out.take();
}

void add_natives(std::vector<Pattern>& out) {
    add(out, "newaccount", [](Name account, std::uint32_t number) {
        // Another account for each number, by its 24 bits above the last.
        const Name made{name("new").value | (std::uint64_t{number} << 20U)};
        return std::vector{
            action_of(
                name("eosio"),
                "eosio",
                "newaccount",
                packed(
                    name("eosio"), made, price::authority_of_keys(1), price::authority_of_keys(1))),
            empty_action(account)};
    });
    for (const std::uint32_t keys : {1U, 1'000U}) {
        add(out,
            "updateauth of " + std::to_string(keys) + " keys",
            [keys](Name account, std::uint32_t number) {
                return std::vector{action_of(account,
                                             "eosio",
                                             "updateauth",
                                             packed(account,
                                                    name("wide"),
                                                    name("active"),
                                                    price::authority_of_keys(keys + number % 2)))};
            });
    }
    add(out, "linkauth and unlinkauth", [](Name account, std::uint32_t) {
        return std::vector{
            action_of(account,
                      "eosio",
                      "linkauth",
                      packed(account, name("eosio"), name("x"), name("active"))),
            action_of(account, "eosio", "unlinkauth", packed(account, name("eosio"), name("x")))};
    });
    add(out, "setabi of 300 KB", [](Name account, std::uint32_t number) {
        base::Writer data;
        encode(data, account);
        data.bytes(base::Bytes(300'000, static_cast<std::byte>(number)));
        return std::vector{action_of(account, "eosio", "setabi", data.take())};
    });
}

// As many functions of this code as a module may have bytes.
std::string large_module(const std::string& fields, const std::string& function) {
    const std::size_t bytes =
        assemble("(module (memory 1)" + fields + function + function + ")").size() -
        assemble("(module (memory 1)" + fields + function + ")").size();
    const std::string entry = "(func (export \"apply\") (param i64 i64 i64))";
    return "(module (memory 1)" + fields + entry +
           repeat(function, std::min<std::size_t>(kModuleBytes / bytes, 8'000)) + ")";
}

// A section that means nothing makes it other code for each number.
Action set_code(Name account, base::Bytes code, std::uint32_t number) {
    constexpr std::array<std::uint8_t, 4> kSection{0, 5, 1, 'x'};
    for (const std::uint8_t byte : kSection)
        code.push_back(std::byte{byte});
    for (unsigned shift = 0; shift < 24; shift += 8)
        code.push_back(static_cast<std::byte>(number >> shift));
    base::Writer data;
    encode(data, account);
    data.u8(0);
    data.u8(0);
    data.bytes(code);
    return action_of(account, "eosio", "setcode", data.take());
}

void add_setcode(std::vector<Pattern>& out) {
    const auto add_kind =
        [&out](const std::string& what, const std::string& fields, const std::string& function) {
            // Made when it is needed: it takes a second.
            const auto wasm = std::make_shared<base::Bytes>();
            add(out,
                "setcode of " + what,
                [wasm, fields, function](Name account, std::uint32_t number) {
                    if (wasm->empty()) *wasm = assemble(large_module(fields, function));
                    return std::vector{set_code(account, *wasm, number)};
                });
        };
    const std::string global = "(global $g (mut f64) (f64.const 1))";
    add_kind("additions",
             "",
             "(func (param i64) (drop " + repeat("(i64.add (i64.const 1) ", 1'000) +
                 "(local.get 0)" + repeat(")", 1'000) + "))");
    add_kind("square roots",
             global,
             "(func (global.set $g " + repeat("(f64.sqrt ", 2'000) + "(global.get $g)" +
                 repeat(")", 2'000) + "))");
    add_kind("clz",
             "",
             "(func (param i64) (drop " + repeat("(i64.clz ", 2'000) + "(local.get 0)" +
                 repeat(")", 2'000) + "))");
    add_kind("loads",
             "",
             "(func (param i32) (drop " + repeat("(i32.load offset=70000 ", 1'000) +
                 "(local.get 0)" + repeat(")", 1'000) + "))");
    add_kind("stores",
             "",
             "(func (param i32)" + repeat("(i64.store8 (local.get 0) (i64.const 1))", 500) + ")");
    add_kind("nested blocks", "", "(func" + repeat("(block ", 1'000) + repeat(")", 1'000) + ")");
    add_kind(
        "nested ifs",
        "",
        "(func (param i32)" + repeat("(if (local.get 0) (then ", 400) + repeat("))", 400) + ")");
    add_kind("branches",
             "",
             "(func (param i32) (block " + repeat("(br_if 0 (local.get 0))", 1'000) + "))");
    add_kind("branch tables",
             "",
             "(func (param i32) (block (br_table " + repeat("0 ", 8'000) + "(local.get 0))))");
    add_kind("small branch tables",
             "",
             "(func (param i32)" + repeat("(block (br_table 0 0 (local.get 0)))", 500) + ")");
    add_kind("calls", "(func $e)", "(func" + repeat("(call $e)", 1'000) + ")");
    add_kind("calls of 64 parameters",
             "(func $e (param" + repeat(" i32", 64) + "))",
             "(func (call $e" + repeat(" (i32.const 0)", 64) + "))");
    add_kind("divisions",
             "",
             "(func (param i64) (drop " + repeat("(i64.div_s (i64.const 1) ", 1'000) +
                 "(local.get 0)" + repeat(")", 1'000) + "))");
    add_kind("conversions",
             "",
             "(func (param f64) (drop " + repeat("(f64.convert_i64_u (i64.trunc_f64_u ", 1'000) +
                 "(local.get 0)" + repeat("))", 1'000) + "))");
    add_kind("empty functions", "", "(func)");
    add_kind("functions of 1,000 locals",
             "",
             "(func (local" + repeat(" i64", 1'000) + ") (local.set 0 (i64.const 1)))");
    add_kind("memory.grow", "", "(func" + repeat("(drop (memory.grow (i32.const 0)))", 500) + ")");
}

// A contract that fails after this code.
void add_failing(std::vector<Pattern>& out) {
    const auto one = [&out](const std::string& what,
                            const Code& code,
                            std::uint32_t count = 1,
                            std::uint32_t count_max = 1) {
        out.push_back({.name = "failing: " + what,
                       .module = module_of(code),
                       .count = count,
                       .count_max = count_max});
    };
    one("unreachable", {.body = "unreachable"});
    one("assertion", {.imports = {"eosio_assert"}, .body = call("eosio_assert")});
    one("division by zero", {.body = "(drop (i32.div_s (local.get $n) (i32.const 0)))"});
    one("outside the memory", {.body = "(drop (i32.load (i32.const -8)))"});
    one("calls without end", {.fields = "(func $f (call $f))", .body = "(call $f)"});
    one("the limit of a transaction", {.body = "(loop (br 0))"});
    const std::string at_last = "(if (i32.eq (local.get $n) (i32.const 1)) (then (unreachable)))";
    one("after a long run",
        {.body = at_last + repeat("(local.set $b (i64.mul (local.get $b) (i64.const 3)))", 100)},
        10'000,
        kCountMax);
    one("after storing rows",
        {.imports = {"db_store_i64"},
         .body = call("db_store_i64",
                      {i64(1), i64(1), "(local.get $self)", "(local.get $key)", i32(0), i32(100)}) +
                 at_last},
        10,
        kCountMax);
    one("after printing",
        {.imports = {"prints_l"}, .body = call("prints_l", {i32(0), i32(1'000)}) + at_last},
        10,
        kCountMax);
    add(out, "failing: the last of 2,000 actions", [](Name account, std::uint32_t) {
        auto actions = std::vector(2'000, empty_action(account));
        actions.push_back(action_of(account, "eosio", "reqauth", packed(name("nobody"))));
        return actions;
    });
    add(out, "failing: an account that is not there", [](Name account, std::uint32_t) {
        Action action = empty_action(account);
        action.authorization[0].actor = name("nobody");
        return std::vector{action};
    });
}

}  // namespace

void add_transactions(std::vector<Pattern>& out) {
    add_shapes(out);
    add_natives(out);
    add_setcode(out);
    add_failing(out);
}

}  // namespace patterns
