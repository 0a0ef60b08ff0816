#include "chain/vm/program.hpp"

#include <algorithm>

namespace chain::vm {

namespace {

base::Bytes image_of(const Module& module) {
    base::Bytes image(module.data_end());
    for (const Module::Data& segment : module.data) {
        std::copy(segment.bytes.begin(), segment.bytes.end(), image.begin() + segment.offset);
    }
    return image;
}

std::vector<TableEntry> table_of(const Module& module,
                                 const CompiledModule& compiled,
                                 const std::byte* code) {
    std::vector<TableEntry> table(module.table.value_or(0), TableEntry{nullptr, kNoType});
    for (const Module::Elements& segment : module.elements) {
        for (std::size_t i = 0; i < segment.functions.size(); ++i) {
            const std::uint32_t function = segment.functions[i];
            table[segment.offset + i] = {code + compiled.functions[function],
                                         compiled.types[function]};
        }
    }
    return table;
}

}  // namespace

base::Result<Program> make_program(const Module& module,
                                   const Limits& limits,
                                   const Prices& prices,
                                   Machine& machine) {
    auto compiled = compile(module, limits, prices);
    if (!compiled) return base::fail(compiled.error());
    Program out;
    out.code = machine.publish(compiled->code.view());
    if (!out.code) {
        return base::fail(base::Errc::unavailable,
                          "this computer has no executable memory left for a contract's " +
                              std::to_string(compiled->code.size()) + " bytes of code");
    }
    out.enter = compiled->enter;
    out.table = table_of(module, *compiled, out.code->begin());
    out.functions = std::move(compiled->functions);
    out.globals = std::move(compiled->globals);
    out.image = image_of(module);
    out.initial_pages = module.initial_pages();
    out.maximum_pages = module.memory ? module.memory->maximum : 0;
    out.apply = module.apply;
    out.start = module.start;
    out.bytes = compiled->code.size() + out.image.size() + out.table.size() * sizeof(TableEntry) +
                out.functions.size() * sizeof(std::uint32_t) + sizeof(Program);
    return out;
}

}  // namespace chain::vm
