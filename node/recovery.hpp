#pragma once

#include "chain/types/schedule_reset.hpp"
#include "genesis/genesis.hpp"
#include "node/options.hpp"

#include <optional>

namespace node {

// The new first schedule that the operator confirms with recover-from, read from the data
// directory. invalid: there is none, it has another id, or too few members have signed it.
[[nodiscard]] base::Result<std::optional<chain::ScheduleReset>> read_reset(
    const Options& options, const genesis::Genesis& genesis);

}  // namespace node
