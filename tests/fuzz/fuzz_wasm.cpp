// Modules from strangers: the scan, the validator, the compiler and a short run. Nothing may crash,
// what is accepted must compile, and two runs must end alike.
#include "../chain/vm/machine.hpp"
#include "node/machine/machine.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::uint64_t kFuel = 200'000;
    const auto* first = reinterpret_cast<const std::byte*>(data);
    const base::Bytes wasm(first, first + size);
    const bool valid = chain::vm::validate(wasm, {}, machine::hosts()).has_value();
    node::ContractMachine contract_machine;
    chain::vm::Engine engine(machine::hosts(), {}, contract_machine);
    const machine::Seen seen = machine::run(engine, wasm, {.receiver = 1, .code = 2}, kFuel);
    if (valid == (seen.trap == chain::vm::Trap::invalid_module)) std::abort();
    if (!(machine::run(engine, wasm, {.receiver = 1, .code = 2}, kFuel) == seen)) std::abort();
    return 0;
}
