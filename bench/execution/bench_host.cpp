// What host functions and actions cost beside their prices: nanoseconds a unit for each host
// function at argument 0, small and the largest, and for transactions of every shape, worst
// first. Nothing should take more than three times its price on any node (spec 03).
//
// The units' nanoseconds are those of the reference machine, on which a key recovery takes 33 us:
// one is measured in the same run, and times are scaled by it.
//
//   usage: bench_host [TEXT]   only what has TEXT in its name
#include "../../tests/chain/execution/host_machine.hpp"
#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"
#include "patterns.hpp"

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

using host_test::Machine;
using price::Result;
using chain::literals::operator""_n;
using std::uint32_t;
using std::uint64_t;
using Args = std::vector<uint64_t>;

constexpr uint64_t kAlice = ("alice"_n).value;
constexpr uint64_t kCode = ("contract"_n).value;
constexpr uint64_t kTable = ("table"_n).value;
constexpr uint64_t kRows = 20'000;
constexpr uint32_t kKey = 100;
constexpr uint32_t kOut = 200;
constexpr uint32_t kDigest = 300;
constexpr uint32_t kSignature = 400;
constexpr uint32_t kPage = 65'536;

// A function, its arguments, and what must be there before.
struct Case {
    std::string label;
    std::string name;
    Args args;
    std::function<void(Machine&)> prepare = {};
    // Makes the arguments of the n-th call; those of `args` if empty.
    std::function<void(uint64_t n, Machine&, Args&)> vary = {};
    uint64_t calls_max = UINT64_MAX;  // After so many calls the machine is made anew.
    host_test::Setup setup = {};
    bool may_fail = false;  // A failing call costs, too.
};

constexpr std::size_t kLargestMemory = 33 * 1'024 * 1'024;

void must(Machine& machine, std::string_view name, const Args& args) {
    if (machine.run(Machine::function(name), args.data())) return;
    std::fprintf(stderr, "%s: %s\n", std::string(name).c_str(), machine.failure().c_str());
    std::abort();
}

void fill_rows(Machine& machine) {
    for (uint64_t i = 0; i < kRows; ++i) {
        must(machine, "db_store_i64", {1, kTable, kAlice, i * 2, kOut, 100});
    }
}
void fill_index(Machine& machine, const std::string& prefix) {
    for (uint64_t i = 0; i < kRows; ++i) {
        machine.write(kKey, static_cast<double>(i * 7919 % kRows));
        Args args{1, kTable, kAlice, i, kKey};
        if (prefix == "db_idx256_") args.push_back(2);
        must(machine, prefix + "store", args);
    }
}

void place_signature(Machine& machine, base::crypto::KeyType type) {
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{0x11});
    const base::crypto::PrivateKey key(type, secret);
    const base::Hash256 digest = base::crypto::sha256(base::as_bytes("message"));
    base::Writer out;
    base::crypto::encode(out, key.sign(digest));
    machine.write(kDigest, digest);
    machine.write_bytes(kSignature, out.view());
}

void random_bytes(Machine& machine) {
    for (std::size_t i = 1000; i < machine.bytes.size(); ++i) {
        machine.bytes[i] = static_cast<std::byte>(i * 2654435761U >> 13U | 1U);
    }
}

void add_memory(std::vector<Case>& all) {
    for (const uint64_t size : {uint64_t{16}, uint64_t{60'000}}) {
        const std::string suffix = "/" + std::to_string(size);
        all.push_back({"memcpy" + suffix, "memcpy", {0, kPage, size}});
        all.push_back({"memcmp" + suffix, "memcmp", {0, kPage, size}});
        all.push_back({"memset" + suffix, "memset", {0, 1, size}});
        for (const char* name : {"sha1", "sha256", "sha512", "ripemd160"}) {
            all.push_back({name + suffix, name, {kPage, size, kOut}});
        }
        all.push_back({"sha3" + suffix, "sha3", {kPage, size, kOut, 32, 0}});
        // A bounded console: its bytes are cleared with the machine.
        all.push_back({"prints_l" + suffix, "prints_l", {kPage, size}, {}, {}, 200});
        all.push_back({"printhex" + suffix, "printhex", {kPage, size}, {}, {}, 100});
        all.push_back(
            {"eosio_assert" + suffix, "eosio_assert", {1, kPage}, [size](Machine& machine) {
                 std::fill_n(machine.bytes.begin() + kPage, size, std::byte{'x'});
             }});
    }
}

void add_numbers(std::vector<Case>& all) {
    static constexpr uint64_t kHigh = 0x3FFD'5555'5555'5555U;
    all.push_back({"__divti3", "__divti3", {kOut, ~uint64_t{0}, 77, 12345, 3}});
    all.push_back({"__udivti3", "__udivti3", {kOut, 1, ~uint64_t{0}, 3, 0}});
    all.push_back({"__multi3", "__multi3", {kOut, 1, 2, 3, 4}});
    for (const char* name : {"__addtf3", "__multf3", "__divtf3"}) {
        all.push_back({name, name, {kOut, 0x1234'5555, kHigh, 0x777, kHigh + 12345}});
    }
    all.push_back({"__trunctfdf2", "__trunctfdf2", {0x1234, kHigh}});
    all.push_back({"__fixtfti", "__fixtfti", {kOut, 0x1234, 0x4050'0000'0000'0000U}});
    all.push_back({"__floattidf", "__floattidf", {0x1234, 0x4050'0000'0000'0000U}});
    all.push_back({"__cmptf2", "__cmptf2", {1, kHigh, 2, kHigh}});
    all.push_back(
        {"printqf", "printqf", {kOut}, [](Machine& m) { m.write(kOut + 8, kHigh); }, {}, 10'000});
    all.push_back({"printqf of the least",
                   "printqf",
                   {kOut},
                   [](Machine& m) { m.write(kOut, 1ULL << 63U); },
                   {},
                   10'000});
    all.push_back({"printdf of the least", "printdf", {1}, {}, {}, 10'000});
    all.push_back({"printui128", "printui128", {kPage}, &random_bytes, {}, 10'000});
    all.push_back({"printi", "printi", {1ULL << 63U}, {}, {}, 10'000});
}

void add_crypto(std::vector<Case>& all) {
    all.push_back(
        {"recover_key K1", "recover_key", {kDigest, kSignature, 66, kOut, 34}, [](Machine& m) {
             place_signature(m, base::crypto::KeyType::k1);
         }});
    all.push_back(
        {"recover_key R1", "recover_key", {kDigest, kSignature, 66, kOut, 34}, [](Machine& m) {
             place_signature(m, base::crypto::KeyType::r1);
         }});
    all.push_back(
        {"k1_recover", "k1_recover", {kSignature + 1, 65, kDigest, 32, 1000, 65}, [](Machine& m) {
             place_signature(m, base::crypto::KeyType::k1);
         }});
    all.push_back(
        {"blake2_f/1000", "blake2_f", {1000, 1000, 64, 2000, 128, 3000, 8, 3100, 8, 1, 4000, 64}});
    for (const uint64_t size : {uint64_t{8}, uint64_t{32}, uint64_t{128}, uint64_t{256}}) {
        all.push_back({"mod_exp/" + std::to_string(size),
                       "mod_exp",
                       {2000, size, 3000, size, 4001, size, 5000, size},
                       &random_bytes});
        all.push_back({"mod_exp even/" + std::to_string(size),
                       "mod_exp",
                       {2000, size, 3000, size, 4000, size, 5000, size},
                       [size](Machine& m) {
                           random_bytes(m);
                           m.write<std::uint8_t>(static_cast<uint32_t>(4000 + size - 1), 0xFE);
                       }});
    }
    all.push_back({"mod_exp long modulus",
                   "mod_exp",
                   {2000, 8000, 11'000, 1, 12'001, 8000, 30'000, 8000},
                   &random_bytes});
}

void add_rows(std::vector<Case>& all) {
    const auto vary_id = [](std::size_t at) {
        return [at](uint64_t n, Machine&, Args& args) { args[at] = n * 7919 % (2 * kRows); };
    };
    all.push_back({"db_find_i64", "db_find_i64", {kCode, 1, kTable, 0}, &fill_rows, vary_id(3)});
    all.push_back({"db_find_i64 no table",
                   "db_find_i64",
                   {kCode, 0, kTable, 0},
                   {},
                   [](uint64_t n, Machine&, Args& args) { args[1] = n; },
                   20'000});
    all.push_back(
        {"db_lowerbound_i64", "db_lowerbound_i64", {kCode, 1, kTable, 0}, &fill_rows, vary_id(3)});
    all.push_back(
        {"db_next_i64", "db_next_i64", {0, kOut}, &fill_rows, [](uint64_t n, Machine&, Args& args) {
             args[0] = n % kRows;
         }});
    all.push_back({"db_previous_i64",
                   "db_previous_i64",
                   {0, kOut},
                   &fill_rows,
                   [](uint64_t n, Machine&, Args& args) { args[0] = n * 7919 % kRows; }});
    all.push_back({"db_get_i64/100",
                   "db_get_i64",
                   {0, kOut, 100},
                   &fill_rows,
                   [](uint64_t n, Machine&, Args& args) { args[0] = n * 7919 % kRows; }});
    all.push_back({"db_update_i64/100",
                   "db_update_i64",
                   {0, 0, kOut, 100},
                   &fill_rows,
                   [](uint64_t n, Machine&, Args& args) { args[0] = n * 7919 % kRows; }});
    all.push_back({"db_update_i64/60000",
                   "db_update_i64",
                   {0, 0, kPage, 60'000},
                   &fill_rows,
                   [](uint64_t n, Machine&, Args& args) { args[0] = n % 10; }});
    all.push_back({"db_store_i64/100",
                   "db_store_i64",
                   {1, kTable, kAlice, 0, kOut, 100},
                   {},
                   [](uint64_t n, Machine&, Args& args) { args[3] = n * 2654435761U; },
                   20'000});
    all.push_back({"db_store_i64 new table",
                   "db_store_i64",
                   {1, kTable, kAlice, 0, kOut, 0},
                   {},
                   [](uint64_t n, Machine&, Args& args) { args[0] = n * 2654435761U; },
                   20'000});
    all.push_back({"db_remove_i64",
                   "db_remove_i64",
                   {0},
                   &fill_rows,
                   [](uint64_t n, Machine&, Args& args) { args[0] = n; },
                   kRows});
}

void add_indexes(std::vector<Case>& all) {
    for (const std::string prefix : {"db_idx64_", "db_idx256_", "db_idx_long_double_"}) {
        const auto fill = [prefix](Machine& machine) { fill_index(machine, prefix); };
        const bool wide = prefix == "db_idx256_";
        const auto with_key = [wide](Args before, const Args& after) {
            before.push_back(kKey);
            if (wide) before.push_back(2);
            before.insert(before.end(), after.begin(), after.end());
            return before;
        };
        const auto vary_key = [](uint64_t n, Machine& machine, Args&) {
            machine.write(kKey, static_cast<double>(n * 104'729 % kRows));
        };
        all.push_back({prefix + "store",
                       prefix + "store",
                       with_key({1, kTable, kAlice, 0}, {}),
                       {},
                       [](uint64_t n, Machine& machine, Args& args) {
                           machine.write(kKey, static_cast<double>(n * 104'729 % kRows));
                           args[3] = n;
                       },
                       20'000});
        all.push_back({prefix + "find_secondary",
                       prefix + "find_secondary",
                       with_key({kCode, 1, kTable}, {kOut}),
                       fill,
                       vary_key});
        all.push_back({prefix + "lowerbound",
                       prefix + "lowerbound",
                       with_key({kCode, 1, kTable}, {kOut}),
                       fill,
                       vary_key});
        all.push_back({prefix + "find_primary",
                       prefix + "find_primary",
                       with_key({kCode, 1, kTable}, {0}),
                       fill,
                       [](uint64_t n, Machine&, Args& args) { args.back() = n * 7919 % kRows; }});
        all.push_back({prefix + "next",
                       prefix + "next",
                       {0, kOut},
                       fill,
                       [](uint64_t n, Machine&, Args& args) { args[0] = n * 7919 % kRows; }});
        all.push_back({prefix + "update",
                       prefix + "update",
                       with_key({0, 0}, {}),
                       fill,
                       [](uint64_t n, Machine& machine, Args& args) {
                           machine.write(kKey, static_cast<double>(n * 104'729 % kRows));
                           args[0] = n * 7919 % kRows;
                       }});
        all.push_back({prefix + "remove",
                       prefix + "remove",
                       {0},
                       fill,
                       [](uint64_t n, Machine&, Args& args) { args[0] = n; },
                       kRows});
    }
}

void add_rest(std::vector<Case>& all) {
    all.push_back({"current_receiver", "current_receiver", {}});
    all.push_back({"has_auth", "has_auth", {kAlice}});
    all.push_back({"is_account", "is_account", {kAlice}});
    all.push_back({"is_account unknown",
                   "is_account",
                   {0},
                   {},
                   [](uint64_t n, Machine&, Args& args) { args[0] = n << 8U; },
                   20'000});
    all.push_back({"get_code_hash", "get_code_hash", {kAlice, 0, kOut, 43}});
    all.push_back({"is_feature_activated", "is_feature_activated", {kOut}});
    all.push_back({"read_transaction", "read_transaction", {kOut, 1000}});
    all.push_back({"get_action", "get_action", {1, 0, kOut, 1000}});
    all.push_back({"require_recipient",
                   "require_recipient",
                   {0},
                   {},
                   [](uint64_t n, Machine&, Args& args) { args[0] = n + 1; },
                   1000});
    all.push_back({"check_permission_authorization",
                   "check_permission_authorization",
                   {kAlice, ("active"_n).value, kPage, 0, kPage, 0, 0}});
}

// Every function with arguments that are all zero, which many refuse.
void add_zeros(std::vector<Case>& all) {
    const chain::vm::HostTable& table = chain::host_table();
    for (uint32_t i = 0; i < table.size(); ++i) {
        const chain::vm::HostFunction& function = table.at(i);
        all.push_back({.label = function.name + " of zeros",
                       .name = function.name,
                       .args = Args(function.params.size()),
                       .calls_max = 10'000,
                       .setup = {.privileged = true},
                       .may_fail = true});
    }
}

// Ranges as long as a memory can be.
void add_largest(std::vector<Case>& all) {
    constexpr uint64_t kHalf = kLargestMemory / 2 - 1'024;
    const auto add = [&all](const char* name, Args args, uint64_t calls_max = UINT64_MAX) {
        all.push_back({.label = std::string(name) + " of 33 MiB",
                       .name = name,
                       .args = std::move(args),
                       .calls_max = calls_max,
                       .setup = {.read_only = true, .memory_bytes = kLargestMemory},
                       .may_fail = true});
    };
    add("memcpy", {1'024, kHalf + 1'024, kHalf});
    add("memmove", {1'024, kHalf, kHalf});
    add("memcmp", {1'024, kHalf + 1'024, kHalf});
    add("memset", {1'024, 7, kLargestMemory - 1'024});
    for (const char* name : {"sha1", "sha256", "sha512", "ripemd160"})
        add(name, {1'024, kLargestMemory - 1'024, kOut});
    add("sha3", {1'024, kLargestMemory - 1'024, kOut, 32, 0});
    add("eosio_assert_message", {0, 0, kLargestMemory});
    add("set_action_return_value", {0, kLargestMemory});
    add("prints_l", {0, kLargestMemory}, 1);
    add("read_transaction", {0, kLargestMemory});
    add("get_action", {1, 0, 0, kLargestMemory});
    add("send_inline", {0, 512 * 1'024 - 1}, 1'000);
    add("get_active_producers", {0, 1'024});
    add("recover_key", {kOut, kPage, 16'000, 0, 34});
    all.push_back({.label = "eosio_assert of 33 MiB",
                   .name = "eosio_assert",
                   .args = {1, 0},
                   .prepare = [](Machine& m) { std::ranges::fill(m.bytes, std::byte{'x'}); },
                   .setup = {.memory_bytes = kLargestMemory},
                   .may_fail = true});
    all.push_back({.label = "db_store_i64 of 1 MiB",
                   .name = "db_store_i64",
                   .args = {1, kTable, kAlice, 0, 0, 1'024 * 1'024},
                   .vary = [](uint64_t n, Machine&, Args& args) { args[3] = n; },
                   .calls_max = 50,
                   .setup = {.memory_bytes = kLargestMemory}});
}

chain::Action of_many_levels() {
    chain::Action action{"contract"_n, "act"_n, {}, base::Bytes(400'000)};
    for (uint64_t i = 0; i < 4'000; ++i)
        action.authorization.push_back({chain::Name{i * 1'000 + 7}, chain::Name{i}});
    return action;
}

// Functions whose work grows with the transaction that they are called in.
void add_large_actions(std::vector<Case>& all) {
    const auto add = [&all](const char* name, Args args, uint64_t calls_max = UINT64_MAX) {
        all.push_back({.label = std::string(name) + " in a large transaction",
                       .name = name,
                       .args = std::move(args),
                       .calls_max = calls_max,
                       .setup = {.action = of_many_levels(), .memory_bytes = kLargestMemory},
                       .may_fail = true});
    };
    add("transaction_size", {});
    add("read_transaction", {0, 1'000'000});
    add("get_action", {1, 0, 0, 10});
    add("get_action", {1, 0, 0, 1'000'000});
    add("read_action_data", {0, 1'000'000});
    add("has_auth", {1'999'007});
    add("require_auth2", {3'999'007, 3'999});
}

// The units that a machine has, in both of its meters.
uint64_t units_of(const Machine& machine) {
    return machine.meter.remaining() + machine.transaction->meter().remaining();
}

Result measure(const Case& one) {
    const chain::vm::HostFunction& function = Machine::function(one.name);
    host_test::Setup setup = one.setup;
    setup.units = UINT64_MAX / 8;
    std::unique_ptr<Machine> machine;
    uint64_t calls = one.calls_max;
    Args args = one.args;
    price::Clock clock;
    while (clock.wants_more()) {
        if (machine == nullptr || calls >= one.calls_max) {
            machine.reset();
            machine = std::make_unique<Machine>(setup);
            if (one.prepare) one.prepare(*machine);
            calls = 0;
        }
        const uint64_t batch = std::min<uint64_t>(one.calls_max - calls, clock.batch());
        const uint64_t before = units_of(*machine);
        clock.start();
        for (uint64_t i = 0; i < batch; ++i) {
            if (one.vary) one.vary(calls + i, *machine, args);
            const bool done = machine->run(function, args.data()).has_value();
            if (!done && !one.may_fail) {
                std::fprintf(stderr, "%s: %s\n", one.label.c_str(), machine->failure().c_str());
                std::abort();
            }
        }
        clock.stop(batch);
        clock.add_units(before - units_of(*machine));
        calls += batch;
    }
    return clock.result(one.label);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string wanted = argc > 1 ? argv[1] : "";
    std::vector<Case> all;
    add_memory(all);
    add_numbers(all);
    add_crypto(all);
    add_rows(all);
    add_indexes(all);
    add_rest(all);
    add_zeros(all);
    add_largest(all);
    add_large_actions(all);
    std::vector<Result> results;
    const double scale = price::reference_scale();
    for (const Case& one : all) {
        if (one.label.find(wanted) != std::string::npos) results.push_back(measure(one));
    }
    patterns::measure_transactions(wanted, results);
    price::print(results, scale);
    return 0;
}
