#include "oracle_engines.hpp"

#include "tests/wabt/interpreter.hpp"

#include <fmt/format.h>

namespace oracle {

namespace {

using Kind = vm::Outcome::Kind;

// Lends machine::hosts() to WABT.
class Lender final : public wabt_interpreter::Host {
  public:
    bool call(const std::string& name,
              std::uint8_t* memory,
              std::size_t memory_bytes,
              const std::uint64_t* args,
              std::uint64_t* result) override {
        const vm::HostFunction& host = machine::hosts().at(*machine::hosts().find(name));
        vm::Memory view({reinterpret_cast<std::byte*>(memory), memory_bytes});
        return host.call(context, view, meter_, args, result);
    }

    machine::Recorder context;

  private:
    vm::Meter meter_{~std::uint64_t{0}};
};

std::optional<vm::Trap> trap_of(std::string_view text) {
    constexpr std::pair<std::string_view, vm::Trap> kTexts[] = {
        {"unreachable executed", vm::Trap::unreachable},
        {"out of bounds memory access", vm::Trap::memory_out_of_bounds},
        {"integer divide by zero", vm::Trap::divide_by_zero},
        {"integer overflow", vm::Trap::integer_overflow},
        {"invalid conversion to integer", vm::Trap::invalid_conversion},
        {"undefined table index", vm::Trap::indirect_call},
        {"uninitialized table element", vm::Trap::indirect_call},
        {"indirect call signature mismatch", vm::Trap::indirect_call},
        {"host", vm::Trap::host_stop},
    };
    for (const auto& [begin, trap] : kTexts) {
        if (text.starts_with(begin)) return trap;
    }
    return std::nullopt;
}

std::string name_of(Kind kind, vm::Trap trap) {
    return fmt::format("kind {} trap {}", static_cast<int>(kind), static_cast<int>(trap));
}

std::string ends(const Seen& expected, const Seen& found) {
    if (expected.kind == found.kind && expected.trap == found.trap) return {};
    return name_of(expected.kind, expected.trap) + " and " + name_of(found.kind, found.trap);
}

}  // namespace

std::optional<Seen> ReferenceEngine::run(const base::Bytes& wasm, std::uint64_t fuel) {
    machine::Recorder context;
    vm::Meter meter(fuel);
    reference::Result result =
        reference::run({wasm, machine::hosts(), rules_}, kArgs, context, meter);
    return Seen{.kind = result.outcome.kind,
                .trap = result.outcome.trap,
                .used = result.used,
                .told = std::move(context.told),
                .digest = context.memory,
                .memory = std::move(result.memory),
                .globals = std::move(result.globals),
                .rest = result.rest};
}

std::optional<Seen> WabtEngine::run(const base::Bytes& wasm, std::uint64_t) {
    const auto* const first = reinterpret_cast<const std::uint8_t*>(wasm.data());
    Lender lender;
    const wabt_interpreter::Seen ended = wabt_interpreter::run(
        {first, first + wasm.size()}, {kArgs.receiver, kArgs.code, kArgs.action}, lender);
    if (!ended.loaded) base::check_failed(ended.trap, __FILE__, __LINE__);
    Seen seen;
    if (!ended.trap.empty()) {
        const std::optional<vm::Trap> trap = trap_of(ended.trap);
        if (!trap) return std::nullopt;  // Its stack.
        seen.kind = Kind::trapped;
        seen.trap = *trap;
        if (*trap == vm::Trap::host_stop && lender.context.stop == vm::Stop::exit) {
            seen.kind = Kind::exited;
            seen.trap = vm::Trap::none;
        }
    }
    seen.told = std::move(lender.context.told);
    seen.digest = lender.context.memory;
    // A start function that ends the run leaves no instance to look into.
    if (ended.globals.empty()) return seen;
    const auto* const memory = reinterpret_cast<const std::byte*>(ended.memory.data());
    seen.memory = base::Bytes(memory, memory + ended.memory.size());
    seen.globals = ended.globals;
    return seen;
}

std::optional<Seen> ProductEngine::run(const base::Bytes& wasm, std::uint64_t fuel) {
    machine::Seen ended = machine::run(engine_, wasm, kArgs, fuel);
    return Seen{.kind = ended.kind,
                .trap = ended.trap,
                .used = ended.used,
                .told = std::move(ended.told),
                .digest = ended.memory};
}

std::string difference_by_blocks(const Seen& expected, const Seen& found, std::uint64_t fuel) {
    reference::Result result;
    result.outcome = {expected.kind, expected.trap, {}};
    result.used = expected.used;
    result.rest = expected.rest;
    const reference::Bill bill = reference::bill_by_blocks(result, fuel);
    if (bill.kind != found.kind || bill.trap != found.trap) {
        return name_of(bill.kind, bill.trap) + " and " + name_of(found.kind, found.trap);
    }
    if (bill.used != found.used) return fmt::format("bill {} and {}", bill.used, found.used);
    if (expected.told != found.told) return "what the host was told";
    if (expected.digest != found.digest) return "memory";
    return {};
}

std::string difference(const Seen& expected, const Seen& found) {
    std::string out = ends(expected, found);
    if (!out.empty()) return out;
    if (expected.told != found.told) return "what the host was told";
    if (expected.digest != found.digest) return "memory, as the contract saw it";
    if (found.memory && expected.memory != found.memory) return "memory at the end";
    if (found.globals && expected.globals != found.globals) return "globals";
    return {};
}

}  // namespace oracle
