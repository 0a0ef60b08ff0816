#include "chain/vm/compile.hpp"

#include "chain/vm/function_compiler.hpp"
#include "chain/vm/validator.hpp"

#include <map>

namespace chain::vm {

namespace {

constexpr std::uint32_t kFunctionAlignment = 16;
// Of ordinary contracts: bytes of code for each of theirs, and of what every module has.
constexpr std::size_t kExpectedGrowth = 5;
constexpr std::size_t kFirstBytes = 8192;

// Numbers the different types of a module, by type index.
std::vector<std::uint32_t> number_types(const Module& module) {
    std::map<FunctionType, std::uint32_t> seen;
    std::vector<std::uint32_t> out;
    out.reserve(module.types.size());
    for (const FunctionType& type : module.types) {
        out.push_back(seen.emplace(type, static_cast<std::uint32_t>(seen.size())).first->second);
    }
    return out;
}

void place_globals(const Module& module, ModuleContext& context, CompiledModule& out) {
    for (const Module::Global& global : module.globals) {
        context.global_slots.push_back(static_cast<std::uint32_t>(out.globals.size()));
        if (global.is_mutable) out.globals.push_back(global.bits);
    }
    CHECK(out.globals.size() <= kMaxMutableGlobals);
}

void number_functions(const Module& module, const ModuleContext& context, CompiledModule& out) {
    for (const Module::Import& import : module.imports)
        out.types.push_back(context.types[import.type]);
    for (const std::uint32_t type : module.functions)
        out.types.push_back(context.types[type]);
}

}  // namespace

base::Result<CompiledModule> compile(const Module& module,
                                     const Limits& limits,
                                     const Prices& prices) {
    CompiledModule out;
    std::size_t code_bytes = 0;
    for (const Module::Body& body : module.bodies)
        code_bytes += body.code.size();
    Assembler assembler(kFirstBytes + kExpectedGrowth * code_bytes);
    const Stubs stubs(assembler, limits, prices);
    ModuleContext context{module, limits, prices, stubs, number_types(module), {}, {}};
    place_globals(module, context, out);
    number_functions(module, context, out);
    for (const Module::Import& import : module.imports) {
        assembler.align_with_traps(kFunctionAlignment);
        out.functions.push_back(
            stubs.write_host_call(assembler, module.types[import.type], import.host));
    }
    BodyValidator validator(module, limits, prices);
    FunctionCompiler compiler(assembler, context);
    Plan plan;
    for (std::size_t i = 0; i < module.bodies.size(); ++i) {
        if (auto valid = validator.run(i, plan); !valid) return base::fail(valid.error());
        assembler.align_with_traps(kFunctionAlignment);
        out.functions.push_back(compiler.run(i, plan));
    }
    for (const ModuleContext::OpenCall& call : context.calls)
        assembler.set_call(call.at, out.functions[call.function]);
    out.enter = stubs.enter();
    out.code = assembler.take();
    return out;
}

}  // namespace chain::vm
