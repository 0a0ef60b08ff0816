// Each host function with arguments that are all zero, which many refuse; and with the largest
// or slowest ones that a transaction can pay for.
#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"
#include "chain/execution/host_functions.hpp"
#include "pattern.hpp"

namespace patterns {

namespace {

constexpr std::uint32_t kPages = 528;
constexpr std::int64_t kMemory = std::int64_t{kPages} << 16U;
constexpr std::int64_t kMebibyte = 1 << 20U;
constexpr std::uint32_t kDigest = 300;
constexpr std::uint32_t kSignature = 400;
constexpr std::int64_t kHigh = 0x3FFD'5555'5555'5555;  // Of a 128-bit float below 1.

void add_zeros(std::vector<Pattern>& out) {
    const chain::vm::HostTable& table = chain::host_table();
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        const std::string& name = table.at(i).name;
        out.push_back({.name = name + " of zeros",
                       .module = module_of({.imports = {name}, .body = call(name)}),
                       .is_privileged = true,
                       .count = 100,
                       .count_max = kCountMax});
    }
}

// One function, called with these arguments.
struct Largest {
    std::string name;
    std::string what;
    std::string call;
    std::uint32_t pages = kPages;
    std::string fields = {};
    std::string init = {};
};

void add(std::vector<Pattern>& out, const Largest& one) {
    out.push_back({.name = one.name + " " + one.what,
                   .module = module_of({.imports = {one.name},
                                        .pages = one.pages,
                                        .fields = one.fields,
                                        .init = one.init,
                                        .body = one.call}),
                   .is_privileged = true,
                   .count_max = kCountMax});
}

void add_ranges(std::vector<Pattern>& out) {
    const std::int64_t half = kMemory / 2 - 1'024;
    add(out, {"memcpy", "of 16 MiB", call("memcpy", {i32(1'024), i32(half + 1'024), i32(half)})});
    add(out, {"memmove", "of 16 MiB", call("memmove", {i32(1'024), i32(half), i32(half)})});
    add(out, {"memcmp", "of 16 MiB", call("memcmp", {i32(1'024), i32(half + 1'024), i32(half)})});
    add(out, {"memset", "of 33 MiB", call("memset", {i32(1'024), i32(7), i32(kMemory - 1'024)})});
    // Eight bytes at a time, each time elsewhere.
    add(out,
        {"memcpy",
         "of 8 bytes in 33 MiB",
         "(local.set $a (i32.add (i32.mul (local.get $a) (i32.const 1664525)) (i32.const "
         "1013904223)))" +
             call("memcpy",
                  {"(i32.and (local.get $a) (i32.const 0x1ffffc0))",
                   "(i32.xor (i32.and (local.get $a) (i32.const 0x1ffffc0)) (i32.const 64))",
                   i32(8)})});
    for (const char* name : {"sha1", "sha256", "sha512", "ripemd160"}) {
        add(out, {name, "of 4 MiB", call(name, {i32(1'024), i32(4 * kMebibyte), i32(200)})});
        add(out, {name, "of 64 bytes", call(name, {i32(1'024), i32(64), i32(200)}), 1});
        add(out,
            {std::string("assert_") + name,
             "of 4 MiB, wrong",
             call(std::string("assert_") + name, {i32(1'024), i32(4 * kMebibyte), i32(200)})});
    }
    add(out,
        {"sha3",
         "of 2 MiB",
         call("sha3", {i32(1'024), i32(2 * kMebibyte), i32(200), i32(32), i32(0)})});
    add(out,
        {"sha3",
         "of 136 bytes",
         call("sha3", {i32(1'024), i32(136), i32(200), i32(32), i32(1)}),
         1});
}

void add_texts(std::vector<Pattern>& out) {
    add(out, {"prints_l", "of 1 MiB", call("prints_l", {i32(1'024), i32(kMebibyte)})});
    add(out, {"prints_l", "of a byte", call("prints_l", {i32(1'024), i32(1)}), 1});
    add(out, {"printhex", "of 512 KiB", call("printhex", {i32(1'024), i32(kMebibyte / 2)})});
    const std::string fill =
        "(local.set $a " + i32(kMebibyte) +
        ") (loop $fill (i32.store8 (local.get $a)"
        " (i32.const 120)) (br_if $fill (local.tee $a (i32.sub (local.get $a) (i32.const 1)))))";
    add(out, {"prints", "of 1 MiB", call("prints", {i32(1)}), 32, {}, fill});
    add(out,
        {"eosio_assert",
         "with a text of 1 MiB, true",
         call("eosio_assert", {i32(1), i32(1)}),
         32,
         {},
         fill});
    add(out,
        {"eosio_assert",
         "with a text of 1 MiB, false",
         call("eosio_assert", {i32(0), i32(1)}),
         32,
         {},
         fill});
    add(out,
        {"eosio_assert_message",
         "of 33 MiB, false",
         call("eosio_assert_message", {i32(0), i32(0), i32(kMemory)})});
    add(out,
        {"set_action_return_value",
         "of 256 bytes",
         call("set_action_return_value", {i32(0), i32(256)})});
    add(out,
        {"read_transaction", "into 1 MiB", call("read_transaction", {i32(0), i32(kMebibyte)}), 32});
    add(out,
        {"get_action",
         "of the transaction",
         call("get_action", {i32(1), i32(0), i32(0), i32(kMebibyte)}),
         32});
    add(out,
        {"read_action_data", "into 1 MiB", call("read_action_data", {i32(0), i32(kMebibyte)}), 32});
    add(out,
        {"get_active_producers",
         "into 64 KiB",
         call("get_active_producers", {i32(0), i32(65'536)})});
    add(out,
        {"get_context_free_data",
         "outside",
         call("get_context_free_data", {i32(9), i32(0), i32(100)}),
         1});
}

void add_numbers(std::vector<Pattern>& out) {
    const auto small = [&out](const char* name, const char* what, const std::string& call) {
        add(out, {name, what, call, 1});
    };
    small("__divti3", "slow", call("__divti3", {i32(200), i64(-1), i64(77), i64(12345), i64(3)}));
    small("__udivti3", "slow", call("__udivti3", {i32(200), i64(1), i64(-1), i64(3)}));
    small("__modti3", "slow", call("__modti3", {i32(200), i64(-1), i64(77), i64(12345), i64(3)}));
    small("__umodti3", "slow", call("__umodti3", {i32(200), i64(-1), i64(-1), i64(12345), i64(3)}));
    small("__multi3", "large", call("__multi3", {i32(200), i64(-1), i64(77), i64(12345), i64(-3)}));
    for (const char* name : {"__addtf3", "__subtf3", "__multf3", "__divtf3"}) {
        small(name,
              "slow",
              call(name, {i32(200), i64(0x12345555), i64(kHigh), i64(0x777), i64(kHigh + 12345)}));
    }
    // The smallest numbers above zero.
    for (const char* name : {"__multf3", "__divtf3", "__addtf3"}) {
        small(name,
              "subnormal",
              call(name, {i32(200), i64(0x12345555), i64(1), i64(0x777), i64(0x1234)}));
    }
    small("__trunctfdf2", "slow", call("__trunctfdf2", {i64(0x1234), i64(kHigh)}));
    small("__trunctfsf2", "slow", call("__trunctfsf2", {i64(0x1234), i64(0x3F81'0000'0000'0001)}));
    small("__fixtfti",
          "large",
          call("__fixtfti", {i32(200), i64(0x1234), i64(0x4050'0000'0000'0000)}));
    small("__floattidf", "large", call("__floattidf", {i64(0x1234), i64(0x4050'0000'0000'0000)}));
    small("__cmptf2", "equal", call("__cmptf2", {i64(1), i64(kHigh), i64(1), i64(kHigh)}));
    small("printi", "long", call("printi", {i64(std::int64_t{1} << 62)}));
    small("printn", "long", call("printn", {i64(-1)}));
    small("printsf", "long", call("printsf", {"(f32.const 1.2345e-40)"}));
    small("printdf", "long", call("printdf", {"(f64.const 1.2345e-310)"}));
    const std::string number =
        "(i64.store (i32.const 200) (i64.const -7777)) (i64.store (i32.const 208) (i64.const ";
    add(out, {"printqf", "long", call("printqf", {i32(200)}), 1, {}, number + "1))"});
    add(out, {"printui128", "long", call("printui128", {i32(200)}), 1, {}, number + "-1))"});
    add(out,
        {"printi128", "long", call("printi128", {i32(200)}), 1, {}, number + "-99999999999))"});
}

std::string signature_data(base::crypto::KeyType type) {
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{0x11});
    const base::Hash256 digest = base::crypto::sha256(base::as_bytes("message"));
    base::Writer out;
    base::crypto::encode(out, base::crypto::PrivateKey(type, secret).sign(digest));
    return data_at(kDigest, digest.view()) + data_at(kSignature, out.view());
}

base::Bytes scattered(std::size_t size) {
    base::Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(i * 2654435761U >> 13U | 1U);
    return bytes;
}

void add_crypto(std::vector<Pattern>& out) {
    using base::crypto::KeyType;
    const std::string recover =
        call("recover_key", {i32(kDigest), i32(kSignature), i32(66), i32(200), i32(34)});
    add(out, {"recover_key", "K1", recover, 1, signature_data(KeyType::k1)});
    add(out, {"recover_key", "R1", recover, 1, signature_data(KeyType::r1)});
    add(out,
        {"recover_key",
         "of 16,000 bytes, wrong",
         call("recover_key", {i32(kDigest), i32(kSignature), i32(16'000), i32(200), i32(34)}),
         1});
    add(out,
        {"assert_recover_key",
         "wrong key",
         call("assert_recover_key", {i32(kDigest), i32(kSignature), i32(66), i32(200), i32(34)}),
         1,
         signature_data(KeyType::k1)});
    add(out,
        {"k1_recover",
         "",
         call("k1_recover",
              {i32(kSignature + 1), i32(65), i32(kDigest), i32(32), i32(1'000), i32(65)}),
         1,
         signature_data(KeyType::k1)});
    add(out,
        {"blake2_f",
         "of 100,000 rounds",
         call("blake2_f",
              {i32(100'000),
               i32(1'000),
               i32(64),
               i32(2'000),
               i32(128),
               i32(3'000),
               i32(8),
               i32(3'100),
               i32(8),
               i32(1),
               i32(4'000),
               i32(64)}),
         1});
    for (const int size : {8, 32, 128, 256}) {
        const auto power = [size](int modulus) {
            return call("mod_exp",
                        {i32(2'000),
                         i32(size),
                         i32(3'000),
                         i32(size),
                         i32(modulus),
                         i32(size),
                         i32(5'000),
                         i32(size)});
        };
        const std::string bytes = std::to_string(size) + " bytes";
        add(out, {"mod_exp", "of " + bytes, power(4'001), 1, data_at(1'000, scattered(5'000))});
        add(out,
            {"mod_exp",
             "of " + bytes + ", even modulus",
             power(4'001),
             1,
             data_at(1'000, scattered(5'000)) + data_at(static_cast<std::uint32_t>(4'000 + size),
                                                        base::Bytes(1, std::byte{0xFE}))});
    }
}

void add_queries(std::vector<Pattern>& out) {
    const std::string unknown = "(i64.shl (local.get $key) (i64.const 8))";
    add(out, {"is_account", "of unknown ones", call("is_account", {unknown}), 1});
    add(out,
        {"get_code_hash",
         "of its own",
         call("get_code_hash", {"(local.get $self)", i32(0), i32(200), i32(43)}),
         1});
    add(out, {"has_auth", "of another", call("has_auth", {unknown}), 1});
    add(out, {"require_auth", "of its own", call("require_auth", {"(local.get $self)"}), 1});
    add(out,
        {"require_recipient", "of itself", call("require_recipient", {"(local.get $self)"}), 1});
    add(out, {"is_privileged", "of unknown ones", call("is_privileged", {unknown}), 1});
    add(out,
        {"get_resource_limits",
         "of its own",
         call("get_resource_limits", {"(local.get $self)", i32(200), i32(208), i32(216)}),
         1});
    add(out,
        {"set_resource_limits",
         "of its own",
         call("set_resource_limits",
              {"(local.get $self)", i64(-1), i64(-1), "(i64.extend_i32_u (local.get $n))"}),
         1});
    add(out,
        {"set_privileged", "of its own", call("set_privileged", {"(local.get $self)", i32(1)}), 1});
    add(out,
        {"get_blockchain_parameters_packed",
         "",
         call("get_blockchain_parameters_packed", {i32(200), i32(1'000)}),
         1});
    add(out,
        {"get_wasm_parameters_packed",
         "",
         call("get_wasm_parameters_packed", {i32(200), i32(1'000), i32(0)}),
         1});
    add(out,
        {"get_account_creation_time",
         "of its own",
         call("get_account_creation_time", {"(local.get $self)"}),
         1});
    add(out,
        {"check_permission_authorization",
         "by no key",
         call("check_permission_authorization",
              {"(local.get $self)",
               "(i64.const 0x3232eda800000000)",
               i32(0),
               i32(0),
               i32(0),
               i32(0),
               i64(0)}),
         1});
}

void add_inline(std::vector<Pattern>& out) {
    // An action without authorization: account, name, no levels, and data of so many bytes.
    const auto action = [](int length_low, int length_high) {
        return "(i64.store (i32.const 200) (i64.const 0x5530ea0000000000))"  // eosio
               "(i64.store (i32.const 208) (i64.const 0))"
               "(i32.store8 (i32.const 217) " +
               i32(length_low) + ") (i32.store8 (i32.const 218) " + i32(length_high) + ")";
    };
    add(out,
        {"send_inline",
         "of nothing to eosio",
         "(i64.store (i32.const 200) (local.get $self))" + call("send_inline", {i32(200), i32(18)}),
         1,
         {},
         action(0, 0)});
    add(out,
        {"send_context_free_inline",
         "of nothing",
         "(i64.store (i32.const 200) (local.get $self))" +
             call("send_context_free_inline", {i32(200), i32(18)}),
         1,
         {},
         action(0, 0)});
    add(out,
        {"send_inline",
         "of 4,000 bytes",
         "(i64.store (i32.const 200) (local.get $self))" +
             call("send_inline", {i32(200), i32(4'019)}),
         1,
         {},
         action(0xA0, 0x1F)});
    add(out, {"send_inline", "of 512 KiB, wrong", call("send_inline", {i32(0), i32(524'287)}), 32});
}

}  // namespace

void add_hosts(std::vector<Pattern>& out) {
    add_zeros(out);
    add_ranges(out);
    add_texts(out);
    add_numbers(out);
    add_crypto(out);
    add_queries(out);
    add_inline(out);
}

}  // namespace patterns
