#include "reference.hpp"

#include <cstdlib>

namespace reference {

namespace {

using chain::vm::Outcome;
using chain::vm::Trap;

// The texts of nodeos with eos-vm.
std::string text_of(Trap trap, const chain::vm::Context& context) {
    switch (trap) {
        case Trap::none:
            return {};
        case Trap::host_stop:
            return context.stop_text;
        case Trap::memory_out_of_bounds:
        case Trap::divide_by_zero:
        case Trap::integer_overflow:
            return "access violation";
        case Trap::call_depth:
        case Trap::stack_bytes:
            return "stack overflow";
        case Trap::out_of_fuel:
            return "transaction was executing for too long";
        default:
            return "eos-vm system failure";
    }
}

End run_both(Instance& instance,
             const chain::vm::ApplyArgs& args,
             chain::vm::Context& context,
             chain::vm::Meter& meter) {
    if (!meter.charge(instance.start_price())) {
        return {Outcome::Kind::trapped, Trap::out_of_fuel, {}, 0};
    }
    const Module& module = instance.module();
    if (module.start) {
        End end = instance.call(*module.start, {}, context, meter);
        if (end.kind != Outcome::Kind::ok) return end;
    }
    const Export* const apply = module.find_export("apply", 0);
    if (apply == nullptr) std::abort();
    const std::uint64_t slots[] = {args.receiver, args.code, args.action};
    return instance.call(apply->index, slots, context, meter);
}

}  // namespace

Result run(const Contract& contract,
           const chain::vm::ApplyArgs& args,
           chain::vm::Context& context,
           chain::vm::Meter& meter) {
    const base::Result<Module> module = decode(contract.wasm);
    if (!module) std::abort();  // The validator should not have let it pass.
    const auto find = [&](std::string_view from,
                          std::string_view name) -> const chain::vm::HostFunction* {
        const auto at = from == "env" ? contract.hosts.find(name) : std::nullopt;
        return at ? &contract.hosts.at(*at) : nullptr;
    };
    const auto instance = Instance::make(*module, contract.rules, find);
    if (!instance) std::abort();
    const std::uint64_t before = meter.remaining();
    const End end = run_both(**instance, args, context, meter);
    Result out;
    out.outcome = {end.kind, end.trap, text_of(end.trap, context)};
    out.used = before - meter.remaining();
    out.rest = end.rest;
    out.memory = (*instance)->memory();
    out.globals = (*instance)->globals();
    return out;
}

Bill bill_by_blocks(const Result& result, std::uint64_t fuel) {
    const bool runs_out =
        result.outcome.trap == Trap::out_of_fuel || result.used + result.rest > fuel;
    if (runs_out) return {Outcome::Kind::trapped, Trap::out_of_fuel, fuel};
    return {result.outcome.kind, result.outcome.trap, result.used + result.rest};
}

}  // namespace reference
