#pragma once

#include "chain/vm/compile.hpp"
#include "chain/vm/layout.hpp"
#include "chain/vm/machine.hpp"
#include "chain/vm/module.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace chain::vm {

// A module that can run on a machine, and what its memory, table and globals are at the start.
struct Program {
    std::unique_ptr<Machine::Code> code;
    std::uint32_t enter = 0;               // Offset of the way in, see CompiledModule.
    std::vector<std::uint32_t> functions;  // Offsets, imported functions first.
    std::vector<std::uint64_t> globals;    // The mutable ones.
    std::vector<TableEntry> table;
    base::Bytes image;  // The memory from offset 0 to the end of the data.
    std::uint32_t initial_pages = 0;
    std::uint32_t maximum_pages = 0;
    std::uint32_t apply = 0;
    std::optional<std::uint32_t> start;
    std::size_t bytes = 0;  // What it takes of this computer's memory, about.
};

// Compiles what scan() took apart and puts it where it can run. invalid: a body is no valid
// WebAssembly. unavailable: the machine has no memory for the code; another machine may have.
[[nodiscard]] base::Result<Program> make_program(const Module& module,
                                                 const Limits& limits,
                                                 const Prices& prices,
                                                 Machine& machine);

}  // namespace chain::vm
