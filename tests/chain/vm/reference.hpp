#pragma once

#include "reference_instance.hpp"

namespace reference {

// What a run of a contract came to.
struct Result {
    chain::vm::Outcome outcome;
    std::uint64_t used = 0;  // Units, the host's included.
    std::uint64_t rest = 0;  // As End::rest.
    base::Bytes memory;
    std::vector<std::uint64_t> globals;  // Raw bits.
};

// All of it outlives the call of run().
struct Contract {
    base::ByteView wasm;  // The product's validator accepted it.
    const chain::vm::HostTable& hosts;
    const Rules& rules;
};

// Runs apply(receiver, code, action), and the start function before it. Takes what it used from
// `meter`.
[[nodiscard]] Result run(const Contract& contract,
                         const chain::vm::ApplyArgs& args,
                         chain::vm::Context& context,
                         chain::vm::Meter& meter);

// What an engine that charges by blocks must bill for the same run with the same fuel.
//
// It charges a block at its leader, when everything before was executed and paid for singly: there
// both bills are equal. So
// * with less fuel than that bill and the block's price it ends there, out_of_fuel. Executed
//   singly, the run then either runs out inside this block as well, or something in the block
//   traps before: then what was used and the rest of the block are together more than the fuel.
//   It cannot come out of the block in another way, since all of the block is paid for by then;
//   calls (of the host, too), returns and memory.grow stand at the end of a block.
// * with enough fuel it ends in the same way, and its bill is higher by the rest of the block.
// What the host was told is the same in all cases.
struct Bill {
    chain::vm::Outcome::Kind kind{};
    chain::vm::Trap trap{};
    std::uint64_t used = 0;

    friend bool operator==(const Bill&, const Bill&) = default;
};
[[nodiscard]] Bill bill_by_blocks(const Result& result, std::uint64_t fuel);

}  // namespace reference
