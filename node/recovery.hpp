#pragma once

#include "genesis/recovery.hpp"
#include "node/options.hpp"

#include <optional>
#include <vector>

namespace node {

// The id that recover-from names, if it names one. invalid: it is no id.
[[nodiscard]] base::Result<std::vector<base::Hash256>> confirmed_recoveries(const Options& options);

// The recovery that the operator confirms with recover-from, read from the data directory. invalid:
// there is none, it has another id, or too few of the members that it names have signed it.
[[nodiscard]] base::Result<std::optional<genesis::Recovery>> read_recovery(
    const Options& options, const chain::ChainId& chain_id);

}  // namespace node
