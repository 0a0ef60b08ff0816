#include "compiled_suite.hpp"

#include "chain/vm/sandbox.hpp"
#include "node/machine/machine.hpp"
#include "reference_module.hpp"

#include <algorithm>

namespace vm = chain::vm;

namespace suite {

namespace {

constexpr std::uint64_t kFuel = std::uint64_t{1} << 40U;

// The suite's modules are larger than contracts may be in some ways that it does not test.
vm::Limits suite_limits() {
    vm::Limits limits;
    limits.max_linear_memory_init = 65'536 * 528;
    limits.max_func_local_bytes = 1U << 20U;
    return limits;
}

struct Nothing : vm::Context {};

// One module at a time: a sandbox keeps the memory of the last one.
class CompiledInstance final : public Engine::Instance {
  public:
    base::Bytes wasm;
    vm::Limits limits = suite_limits();
    vm::Prices prices;
    node::ContractMachine machine;
    std::unique_ptr<vm::Sandbox> sandbox;
    vm::Module module;
    vm::Program program;
    reference::Module exports;
    Nothing context;
    vm::Meter meter{kFuel};

    Answer call(std::uint32_t function, std::span<const std::uint64_t> args) {
        meter = vm::Meter(kFuel);
        const std::optional<vm::ValueType> type = module.type_of(function).result;
        const bool is_float = type == vm::ValueType::f32 || type == vm::ValueType::f64;
        std::uint64_t result = 0;
        const vm::Trap trap = sandbox->invoke(function, args, is_float, result);
        if (trap != vm::Trap::none || !type) return {trap, std::nullopt};
        const bool narrow = type == vm::ValueType::i32 || type == vm::ValueType::f32;
        return {trap, narrow ? result & UINT32_MAX : result};
    }

    std::optional<Answer> invoke(const std::string& name,
                                 std::span<const std::uint64_t> args) override {
        const reference::Export* const found = exports.find_export(name, 0);
        if (found == nullptr) return std::nullopt;
        return call(found->index, args);
    }

    std::optional<std::uint64_t> global(const std::string& name) override {
        const reference::Export* const found = exports.find_export(name, 3);
        if (found == nullptr) return std::nullopt;
        const vm::Module::Global& wanted = module.globals[found->index];
        if (!wanted.is_mutable) return wanted.bits;
        const auto before = module.globals.begin() + found->index;
        const auto place = std::count_if(
            module.globals.begin(), before, [](const auto& each) { return each.is_mutable; });
        return sandbox->global(static_cast<std::size_t>(place));
    }
};

class CompiledEngine final : public Engine {
  public:
    [[nodiscard]] bool validates() const override { return true; }

    Loaded load(base::ByteView wasm) override {
        auto out = std::make_unique<CompiledInstance>();
        out->wasm = base::to_bytes(wasm);
        const auto decoded = reference::decode(out->wasm);
        if (!decoded && decoded.error().code == base::Errc::invalid) {
            return {nullptr, Refusal::unsupported, decoded.error().detail};
        }
        if (decoded) {
            for (const reference::Import& import : decoded->imports) {
                if (import.from == "spectest") continue;
                return {nullptr, Refusal::unsupported, "imports from another module"};
            }
        }
        auto module = vm::scan(out->wasm, out->limits, spectest(), {.contract = false});
        if (!module) return refused(module.error().detail);
        out->module = std::move(*module);
        auto program = vm::make_program(out->module, out->limits, out->prices, out->machine);
        if (!program) return refused(program.error().detail);
        out->program = std::move(*program);
        if (!decoded) return {nullptr, Refusal::invalid, decoded.error().detail};
        out->exports = *decoded;
        out->sandbox =
            std::make_unique<vm::Sandbox>(spectest(), out->limits, out->prices, out->machine);
        if (auto opened = out->sandbox->open(); !opened) {
            return {nullptr, Refusal::unsupported, opened.error().detail};
        }
        if (!out->sandbox->begin(out->program, out->context, out->meter)) {
            return {nullptr, Refusal::unsupported, "stopped"};
        }
        if (out->program.start && out->call(*out->program.start, {}).trap != vm::Trap::none) {
            return {nullptr, Refusal::trapped, "the start function traps"};
        }
        return {std::move(out), Refusal::none, {}};
    }

  private:
    // A limit of contracts is no rule of WebAssembly.
    static Loaded refused(const std::string& detail) {
        if (detail.find(", limit ") != std::string::npos) {
            return {nullptr, Refusal::unsupported, "a limit of contracts"};
        }
        const bool unlinkable = detail.find("no mapping for") != std::string::npos ||
                                detail.find("has the wrong type") != std::string::npos ||
                                detail.find("segment outside") != std::string::npos;
        return {nullptr, unlinkable ? Refusal::unlinkable : Refusal::invalid, detail};
    }
};

}  // namespace

std::unique_ptr<Engine> make_compiled_engine() {
    return std::make_unique<CompiledEngine>();
}

}  // namespace suite
