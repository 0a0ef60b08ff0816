#pragma once

#include "base/crypto/hash.hpp"
#include "chain/vm/vm.hpp"
#include "tests/wabt/text.hpp"

#include <stdexcept>
#include <string>

// A small host and helpers for the tests and benchmarks of the VM.
namespace machine {

namespace vm = chain::vm;

// Remembers what the contract told it.
struct Recorder : vm::Context {
    std::vector<std::uint64_t> told;
    base::Hash256 memory;
};

inline bool tell(
    vm::Context& context, vm::Memory&, vm::Meter&, const std::uint64_t* args, std::uint64_t*) {
    static_cast<Recorder&>(context).told.push_back(args[0]);
    return true;
}

// sum(offset, length): adds bytes of the memory.
inline bool sum(vm::Context&,
                vm::Memory& memory,
                vm::Meter& meter,
                const std::uint64_t* args,
                std::uint64_t* result) {
    const auto bytes =
        memory.read(static_cast<std::uint32_t>(args[0]), static_cast<std::uint32_t>(args[1]));
    if (!bytes || !meter.charge(args[1])) return false;
    *result = 0;
    for (const std::byte byte : *bytes)
        *result += std::to_integer<std::uint64_t>(byte);
    return true;
}

// fill(offset, length, value)
inline bool fill(vm::Context& context,
                 vm::Memory& memory,
                 vm::Meter&,
                 const std::uint64_t* args,
                 std::uint64_t*) {
    const auto bytes =
        memory.write(static_cast<std::uint32_t>(args[0]), static_cast<std::uint32_t>(args[1]));
    if (!bytes) {
        context.stop_text = "fill outside the memory";
        return false;
    }
    for (std::byte& byte : *bytes)
        byte = static_cast<std::byte>(args[2]);
    return true;
}

inline bool leave(
    vm::Context& context, vm::Memory&, vm::Meter&, const std::uint64_t*, std::uint64_t*) {
    context.stop = vm::Stop::exit;
    return false;
}

// mix(f32, f64) -> f64: the arguments come as bits.
inline bool mix(vm::Context& context,
                vm::Memory&,
                vm::Meter&,
                const std::uint64_t* args,
                std::uint64_t* result) {
    static_cast<Recorder&>(context).told.push_back(args[0]);
    *result = args[1] ^ (args[0] << 20U);
    return true;
}

// many(...) -> i64: more arguments than there are registers for, of all types.
inline bool many(
    vm::Context&, vm::Memory&, vm::Meter&, const std::uint64_t* args, std::uint64_t* result) {
    *result = 0;
    for (std::size_t i = 0; i < 12; ++i)
        *result = *result * 31 + args[i];
    return true;
}

// low(i64) -> i32 and halves(i64) -> f32: results of 32 bits.
inline bool low(
    vm::Context&, vm::Memory&, vm::Meter&, const std::uint64_t* args, std::uint64_t* result) {
    *result = args[0] & 0xFFFFFFFFU;
    return true;
}

inline bool halves(
    vm::Context&, vm::Memory&, vm::Meter& meter, const std::uint64_t* args, std::uint64_t* result) {
    *result = (args[0] ^ (args[0] >> 32U)) & 0xFFFFFFFFU;
    return meter.charge(3);
}

// digest(): hashes the whole memory.
inline bool digest(
    vm::Context& context, vm::Memory& memory, vm::Meter&, const std::uint64_t*, std::uint64_t*) {
    const auto whole = memory.read(0, static_cast<std::uint32_t>(memory.size()));
    if (!whole) return false;
    static_cast<Recorder&>(context).memory = base::crypto::sha256(*whole);
    return true;
}

inline const vm::HostTable& hosts() {
    using T = vm::ValueType;
    static const vm::HostTable kTable({
        {"tell", {T::i64}, std::nullopt, &tell, 10},
        {"sum", {T::i32, T::i32}, T::i64, &sum, 20},
        {"fill", {T::i32, T::i32, T::i32}, std::nullopt, &fill, 20},
        {"leave", {}, std::nullopt, &leave, 1},
        {"mix", {T::f32, T::f64}, T::f64, &mix, 5},
        {"digest", {}, std::nullopt, &digest, 0},
        {"many",
         {T::i32,
          T::f32,
          T::i64,
          T::f64,
          T::i32,
          T::i64,
          T::f64,
          T::f32,
          T::i64,
          T::i32,
          T::f64,
          T::i64},
         T::i64,
         &many,
         7},
        {"low", {T::i64}, T::i32, &low, 2},
        {"halves", {T::i64}, T::f32, &halves, 0},
    });
    return kTable;
}

inline base::Bytes assemble(const std::string& text) {
    const wabt_text::Assembled out = wabt_text::assemble(text);
    if (!out.error.empty()) throw std::invalid_argument(out.error);
    return base::to_bytes(std::as_bytes(std::span(out.bytes)));
}

inline std::string repeat(const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i)
        out += text;
    return out;
}

inline std::string leb(std::size_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7U)
        out += static_cast<char>(value | 0x80U);
    return out + static_cast<char>(value);
}

// A module whose only function is apply, with these bytes as its code and no locals.
inline base::Bytes with_body(const std::string& code, const std::string& end = "\x0b") {
    base::Bytes wasm = assemble("(module (func (export \"apply\") (param i64 i64 i64)))");
    wasm.resize(wasm.size() - 5);  // Size of the section, count, size of the body, locals, end.
    const std::string body = std::string(1, '\0') + code + end;
    const std::string section = "\x01" + leb(body.size()) + body;
    const std::string tail = leb(section.size()) + section;
    const base::ByteView more = base::as_bytes(tail);
    wasm.insert(wasm.end(), more.begin(), more.end());
    return wasm;
}

// Everything that consensus could see of a run.
struct Seen {
    vm::Outcome::Kind kind{};
    vm::Trap trap{};
    std::string text;
    std::uint64_t used = 0;
    std::vector<std::uint64_t> told;
    base::Hash256 memory;

    friend bool operator==(const Seen&, const Seen&) = default;
};

inline Seen run(vm::Engine& engine,
                const base::Bytes& wasm,
                const vm::ApplyArgs& args = {},
                std::uint64_t fuel = 100'000'000) {
    Recorder context;
    vm::Meter meter(fuel);
    const vm::Outcome outcome = engine.run(base::crypto::sha256(wasm), wasm, args, context, meter);
    return {outcome.kind,
            outcome.trap,
            outcome.text,
            fuel - meter.remaining(),
            context.told,
            context.memory};
}

}  // namespace machine
