#pragma once

#include "chain/vm/host.hpp"

namespace chain {

// Every function that contracts may import: all that Leap 5.0.3 registers, with the same
// names, signatures, results and errors (spec 03, "Contracts"). Immutable; any thread.
// Their context must be an ApplyContext.
[[nodiscard]] const vm::HostTable& host_table();

}  // namespace chain
