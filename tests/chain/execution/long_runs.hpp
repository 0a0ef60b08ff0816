#pragma once

#include "chain_fixture.hpp"
#include "tests/wabt/text.hpp"

#include <string>
#include <vector>

// Contracts that run for ever, or call a host function that takes long, for whatever looks at how
// runs are stopped.
namespace chain::test {

struct LongRun {
    std::string name;
    std::string body;  // Of apply, again and again.
    // One call of a host function takes so long that the function has to look at the clock itself.
    bool is_long_call = false;
};

namespace detail {

inline constexpr std::uint32_t kAll = 528U * 65'536 - 64;  // Bytes behind the first 64.

inline std::string i32(std::uint32_t value) {
    return "(i32.const " + std::to_string(static_cast<std::int32_t>(value)) + ")";
}

// A call of a host function whose arguments are these numbers.
inline std::string call(const std::string& function, const std::vector<std::uint32_t>& arguments) {
    std::string text = "(call $" + function;
    for (const std::uint32_t each : arguments)
        text += " " + i32(each);
    return text + ")";
}

inline std::string dropped(const std::string& function,
                           const std::vector<std::uint32_t>& arguments) {
    return "(drop " + call(function, arguments) + ")";
}

// Fills memory from 64 on, by instructions.
inline std::string filled(std::uint32_t bytes) {
    return "(local.set $i (i32.const 64)) (loop (i64.store (local.get $i)"
           " (i64.const 0x6161616161616161)) (br_if 0 (i32.lt_u (local.tee $i"
           " (i32.add (local.get $i) (i32.const 8))) " +
           i32(bytes) + ")))";
}

// 510 KB in which nothing is a leader.
inline std::string square_roots() {
    std::string text = "local.get $x ";
    for (int i = 0; i < 509 * 1024; ++i)
        text += "f64.sqrt ";
    return text + "local.set $x";
}

}  // namespace detail

// Every kind of long work that a contract can make.
inline std::vector<LongRun> long_runs() {
    using detail::call;
    using detail::dropped;
    using detail::filled;
    using detail::kAll;
    constexpr std::uint32_t kHalf = kAll / 2;
    return {
        {"an empty loop", ""},
        {"510 KB of f64.sqrt", detail::square_roots()},
        {"memory.grow", "(drop (memory.grow (i32.const 0)))"},
        {"loads",
         "(local.set $i (i32.and (i32.add (i32.load (local.get $i)) (i32.const 4100))"
         " (i32.const 0xfffff)))"},
        {"recover_key", dropped("recover", {64, 1'024, 66, 300, 34})},
        {"find a row",
         "(drop (call $find (i64.const 1) (i64.const 1) (i64.const 1)"
         " (i64.const 1)))"},
        {"memset", dropped("memset", {64, 1, kAll}), true},
        {"memcpy", dropped("memcpy", {64, 64 + kHalf, kHalf}), true},
        {"memmove up", dropped("memmove", {65, 64, kAll - 1}), true},
        {"memcmp", dropped("memcmp", {64, 64 + kHalf, kHalf}), true},
        {"sha1", call("sha1", {64, kAll, 16}), true},
        {"sha256", call("sha256", {64, kAll, 16}), true},
        {"sha512", call("sha512", {64, kAll - 64, kAll}), true},
        {"ripemd160", call("ripemd160", {64, kAll, 16}), true},
        {"assert_sha256", call("assert_sha256", {64, kAll, 16}), true},
        {"sha3", call("sha3", {64, kAll, 16, 32, 0}), true},
        {"keccak", call("sha3", {64, kAll, 16, 32, 1}), true},
        {"blake2_f",
         dropped("blake2_f", {2'000'000, 64, 64, 128, 128, 256, 8, 264, 8, 1, 300, 64}),
         true},
        {"mod_exp 256 by 256",
         filled(40'000) + dropped("mod_exp", {64, 255, 10'000, 255, 20'000, 256, 50'000, 256}),
         true},
        {"mod_exp 4,096 by 4",
         filled(40'000) + dropped("mod_exp", {64, 4'095, 10'000, 4, 20'000, 4'096, 50'000, 4'096}),
         true},
        {"mod_exp 8,192 by 1",
         filled(40'000) + dropped("mod_exp", {64, 8'191, 10'000, 1, 20'000, 8'192, 50'000, 8'192}),
         true},
        {"prints", filled(8'000'000) + call("prints", {64}), true},
        {"prints_l", call("prints_l", {64, 8'000'000}), true},
        {"printhex", call("printhex", {64, 4'000'000}), true},
        {"a long text", filled(33'000'000) + call("eosio_assert", {1, 64}), true},
    };
}

// `again`: for ever, and not once.
inline base::Bytes long_run_code(const LongRun& run, bool again) {
    static const std::string kHead = R"((module
        (import "env" "db_find_i64" (func $find (param i64 i64 i64 i64) (result i32)))
        (import "env" "recover_key" (func $recover (param i32 i32 i32 i32 i32) (result i32)))
        (import "env" "memset" (func $memset (param i32 i32 i32) (result i32)))
        (import "env" "memcpy" (func $memcpy (param i32 i32 i32) (result i32)))
        (import "env" "memmove" (func $memmove (param i32 i32 i32) (result i32)))
        (import "env" "memcmp" (func $memcmp (param i32 i32 i32) (result i32)))
        (import "env" "sha1" (func $sha1 (param i32 i32 i32)))
        (import "env" "sha256" (func $sha256 (param i32 i32 i32)))
        (import "env" "sha512" (func $sha512 (param i32 i32 i32)))
        (import "env" "ripemd160" (func $ripemd160 (param i32 i32 i32)))
        (import "env" "assert_sha256" (func $assert_sha256 (param i32 i32 i32)))
        (import "env" "sha3" (func $sha3 (param i32 i32 i32 i32 i32)))
        (import "env" "blake2_f" (func $blake2_f (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32
            i32 i32) (result i32)))
        (import "env" "mod_exp" (func $mod_exp (param i32 i32 i32 i32 i32 i32 i32 i32)
            (result i32)))
        (import "env" "prints" (func $prints (param i32)))
        (import "env" "prints_l" (func $prints_l (param i32 i32)))
        (import "env" "printhex" (func $printhex (param i32 i32)))
        (import "env" "eosio_assert" (func $eosio_assert (param i32 i32)))
        (memory 528)
        (func (export "apply") (param i64 i64 i64) (local $i i32) (local $x f64)
    )";
    // A signature of the digest that is all zeros.
    base::Writer signature;
    base::crypto::encode(signature, private_key("alice").sign(base::Hash256{}));
    std::string data = "(data (i32.const 1024) \"";
    for (const std::byte each : signature.view())
        data += "\\" + base::to_hex(base::ByteView(&each, 1));
    const std::string body = again ? "(loop " + run.body + " br 0)" : run.body;
    const wabt_text::Assembled out = wabt_text::assemble(kHead + body + ")" + data + "\"))");
    if (!out.error.empty()) throw std::runtime_error(run.name + ": " + out.error);
    return base::to_bytes(std::as_bytes(std::span(out.bytes)));
}

// Accounts that may use any amount of CPU: only the clock ends a run.
inline TestChain::Options endless_options() {
    TestChain::Options options = TestChain::open_options();
    options.config.max_block_cpu_usage = 4'000'000'000;
    options.config.max_transaction_cpu_usage = 4'000'000'000;
    return options;
}

// As TestChain::set_code(), for code of up to 512 KiB.
inline TransactionResult set_long_code(TestChain& chain,
                                       const std::string& account,
                                       base::ByteView code) {
    base::Writer out;
    encode(out, name(account));
    out.u8(0);
    out.u8(0);
    out.bytes(code);
    SignedTransaction transaction =
        chain.make({TestChain::action("eosio", "setcode", account, out.take())});
    transaction.max_net_usage_words = 0;
    return chain.push(std::move(transaction), {account});
}

}  // namespace chain::test
