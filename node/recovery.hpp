#pragma once

#include "genesis/recovery.hpp"
#include "node/options.hpp"

#include <optional>

namespace node {

// The recovery that the operator confirms with recover-from, read from the data directory. invalid:
// there is none, it has another id, or too few of the members that it names have signed it.
[[nodiscard]] base::Result<std::optional<genesis::Recovery>> read_recovery(
    const Options& options, const chain::ChainId& chain_id);

}  // namespace node
