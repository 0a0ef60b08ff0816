#pragma once

#include "chain/state/state.hpp"
#include "genesis/recovery.hpp"
#include "node/options.hpp"

#include <optional>

namespace node {

// The recovery that the operator confirms with recover-from, read from the data directory. invalid:
// there is none, it has another id, or too few of the members that it names have signed it.
[[nodiscard]] base::Result<std::optional<genesis::Recovery>> read_recovery(
    const Options& options, const chain::ChainId& chain_id);

// Whether the members that it names, each with its active permission, and the schedules that it
// replaces are those of this state, which is that of the block it begins from. invalid: says which
// is not.
[[nodiscard]] base::Result<void> check_origin(const genesis::Recovery& recovery,
                                              const chain::StateView& state);

}  // namespace node
