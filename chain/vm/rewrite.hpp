#pragma once

#include "chain/vm/module.hpp"

namespace chain::vm {

// The rewritten module, which the engine runs. It differs from the original thus:
// * every stretch of straight code first takes its price from the global "fuel"; at loop
//   heads, function entries and memory.grow the module traps when fuel is below zero
//   (elsewhere it may run a little further, which no one can observe);
// * every function takes 2^32 plus the bytes of its frame from the global "stack" and gives
//   them back: the upper half counts calls, the lower half bytes; a negative half traps;
// * NaN results become the canonical NaN; negation, absolute value, copysign, constants and
//   conversions from unsigned integers are spelled with exact integer operations, because
//   C compilers differ there in the bits of a NaN or in speed;
// * imports are named "h"."f<index in the host table>"; types are unique; data segments,
//   dead code, custom sections and other exports are gone; a start function runs first.
// It exports "apply", "fuel" (i64), "stack" (i64), "trap" (i32) and, if there is one, "memory".
//
// `module` passed scan_and_validate(). Pure.
[[nodiscard]] base::Bytes rewrite(const Module& module, const Limits& limits, const Prices& prices);

// Values of the global "trap", the reason of an `unreachable` that the rewriter put in.
inline constexpr std::uint32_t kTrapFuel = 1;
inline constexpr std::uint32_t kTrapStack = 2;

// What "stack" holds before apply.
[[nodiscard]] std::uint64_t initial_stack(const Limits& limits);

}  // namespace chain::vm
