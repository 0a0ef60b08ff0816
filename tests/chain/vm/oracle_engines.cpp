#include "oracle_engines.hpp"

#include "tests/wabt/interpreter.hpp"
#include "wasm_writer.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <utility>

namespace oracle {

namespace {

using Kind = vm::Outcome::Kind;

// Lends a table of host functions to WABT.
class Lender final : public wabt_interpreter::Host {
  public:
    Lender(const vm::HostTable& hosts, std::uint64_t seed) : context(seed), hosts_(hosts) {}

    bool call(const std::string& name,
              std::uint8_t* memory,
              std::size_t memory_bytes,
              const std::uint64_t* args,
              std::uint64_t* result) override {
        const vm::HostFunction& host = hosts_.at(*hosts_.find(name));
        vm::Memory view({reinterpret_cast<std::byte*>(memory), memory_bytes});
        return host.call(context, view, meter_, args, result);
    }

    Context context;

  private:
    const vm::HostTable& hosts_;
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

// The module with a maximum for its memory, where it had none: WABT does not know the limit of
// pages.
base::Bytes bounded(const base::Bytes& wasm) {
    reference::ByteReader in(wasm);
    WasmWriter out;
    out.raw(in.take(8));
    while (!in.is_done()) {
        const std::uint8_t id = in.byte();
        const base::ByteView content = in.take(in.u32());
        reference::ByteReader memory(content);
        WasmWriter changed;
        constexpr std::uint8_t kMemory = 5;
        if (id == kMemory && memory.u32() == 1 && memory.byte() == 0) {
            changed.u32(1);
            changed.u8(1);
            changed.u32(memory.u32());
            changed.u32(vm::Limits{}.max_pages);
        } else {
            changed.raw(content);
        }
        out.u8(id);
        out.sized(changed.bytes());
    }
    return out.take();
}

std::string name_of(Kind kind, vm::Trap trap) {
    return fmt::format("kind {} trap {}", static_cast<int>(kind), static_cast<int>(trap));
}

// Tells its arguments, fills what may be a buffer in the memory (a pointer and a length), and
// answers: mostly 0, small numbers and -1, as a host does that is asked for sizes and iterators.
template <std::size_t Params, bool HasResult, bool IsNarrow>
bool answer(vm::Context& context,
            vm::Memory& memory,
            vm::Meter& meter,
            const std::uint64_t* args,
            std::uint64_t* result) {
    auto& self = static_cast<Context&>(context);
    self.told.insert(self.told.end(), args, args + Params);
    if (Params >= 2 && args[0] > 1024 && args[0] < 65536 && args[1] <= 512) {
        const auto bytes =
            memory.write(static_cast<std::uint32_t>(args[0]), static_cast<std::uint32_t>(args[1]));
        if (!bytes) return false;
        for (std::byte& byte : *bytes)
            byte = static_cast<std::byte>(self.rng.below(256));
    }
    constexpr std::uint64_t kAnswers[] = {0, 0, 1, 1, 2, 8, 16, 40, 100, 0xFFFFFFFF};
    std::uint64_t bits = kAnswers[self.rng.below(std::size(kAnswers))];
    if (!IsNarrow && bits == 0xFFFFFFFF) bits = ~std::uint64_t{0};
    if (HasResult) *result = bits;
    return self.rng.below(200) != 0 && meter.charge(5);
}

using Answer = decltype(vm::HostFunction::call);

template <std::size_t... Params>
Answer answer_for(std::size_t params, int kind, std::index_sequence<Params...>) {
    if (params >= sizeof...(Params)) throw std::invalid_argument("too many parameters");
    constexpr Answer kByParams[][3] = {{&answer<Params, false, false>,
                                        &answer<Params, true, true>,
                                        &answer<Params, true, false>}...};
    return kByParams[params][kind];
}

std::string ends(const Seen& expected, const Seen& found) {
    if (expected.kind == found.kind && expected.trap == found.trap) return {};
    return name_of(expected.kind, expected.trap) + " and " + name_of(found.kind, found.trap);
}

}  // namespace

vm::HostTable chance_hosts(const reference::Module& module) {
    std::map<std::string, vm::HostFunction> by_name;
    for (const reference::Import& import : module.imports) {
        const reference::FunctionType& type = module.types[import.type];
        vm::HostFunction host;
        host.name = import.name;
        host.params = type.params;
        int kind = 0;
        if (!type.results.empty()) {
            host.result = type.results[0];
            const bool narrow =
                host.result == vm::ValueType::i32 || host.result == vm::ValueType::f32;
            kind = narrow ? 1 : 2;
        }
        host.call = answer_for(type.params.size(), kind, std::make_index_sequence<16>());
        host.base_price = 3;
        by_name[import.name] = host;
    }
    std::vector<vm::HostFunction> all;
    all.reserve(by_name.size());
    for (const auto& [name, host] : by_name)
        all.push_back(host);
    return vm::HostTable(std::move(all));
}

std::optional<Seen> ReferenceEngine::run(const base::Bytes& wasm, const Call& call) {
    Context context(call.seed);
    vm::Meter meter(call.fuel);
    reference::Result result = reference::run({wasm, hosts_, rules_}, call.args, context, meter);
    return Seen{.kind = result.outcome.kind,
                .trap = result.outcome.trap,
                .used = result.used,
                .told = std::move(context.told),
                .digest = context.memory,
                .memory = std::move(result.memory),
                .globals = std::move(result.globals),
                .rest = result.rest};
}

std::optional<Seen> WabtEngine::run(const base::Bytes& wasm, const Call& call) {
    const base::Bytes module = bounded(wasm);
    const auto* const first = reinterpret_cast<const std::uint8_t*>(module.data());
    Lender lender(hosts_, call.seed);
    const wabt_interpreter::Seen ended =
        wabt_interpreter::run({first, first + module.size()},
                              {call.args.receiver, call.args.code, call.args.action},
                              lender);
    if (!ended.loaded) throw std::runtime_error(ended.trap);
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

std::optional<Seen> ProductEngine::run(const base::Bytes& wasm, const Call& call) {
    engine_.begin_block();  // What ran before need not be kept.
    Context context(call.seed);
    vm::Meter meter(call.fuel);
    const vm::Outcome outcome =
        engine_.run(base::crypto::sha256(wasm), wasm, call.args, context, meter);
    return Seen{.kind = outcome.kind,
                .trap = outcome.trap,
                .used = call.fuel - meter.remaining(),
                .told = std::move(context.told),
                .digest = context.memory};
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

std::string difference_at_fuels(Engine& reference,
                                Engine& by_blocks,
                                const base::Bytes& wasm,
                                Call call) {
    const auto whole = reference.run(wasm, call);
    const std::uint64_t block_end = whole->used + whole->rest;
    for (const std::uint64_t fuel : {call.fuel, whole->used / 2, block_end, block_end - 1}) {
        call.fuel = fuel;
        const auto expected = reference.run(wasm, call);
        const auto found = by_blocks.run(wasm, call);
        const std::string difference = difference_by_blocks(*expected, *found, fuel);
        if (!difference.empty()) return fmt::format("fuel {}: {}", fuel, difference);
    }
    return {};
}

bool is_of_the_module(vm::Trap trap) {
    return trap != vm::Trap::out_of_fuel && trap != vm::Trap::call_depth &&
           trap != vm::Trap::stack_bytes;
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
