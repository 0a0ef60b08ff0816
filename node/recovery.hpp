#pragma once

#include "base/log.hpp"
#include "base/storage.hpp"
#include "genesis/recovery.hpp"
#include "node/options.hpp"
#include "p2p/messages.hpp"

#include <optional>
#include <vector>

namespace node {

// The ids that recover-from names, in their order. invalid: one is no id.
[[nodiscard]] base::Result<std::vector<base::Hash256>> confirmed_recoveries(const Options& options);

// The last recovery that the operator confirms with recover-from, read from the data directory.
// invalid: there is none, it has another id, or too few of the members that it names have signed
// it.
[[nodiscard]] base::Result<std::optional<genesis::Recovery>> read_recovery(
    const Options& options, const chain::ChainId& chain_id);
// What the ledger goes on by; nothing: no recovery, or one that keeps the schedule.
[[nodiscard]] std::optional<chain::ScheduleReset> reset_of(
    const std::optional<genesis::Recovery>& recovery);
// The newest that this chain goes on by: what the operator confirms, or what the stored chain went
// through where that is above it. corrupt: a stored one does not decode.
[[nodiscard]] base::Result<p2p::RecoveryPoint> newest_recovery(
    const std::optional<genesis::Recovery>& confirmed, const base::StorageView& storage);
// Logs which recovery this chain goes on by, or that its file is there and is not confirmed.
void tell_recovery(const Options& options,
                   const std::optional<genesis::Recovery>& recovery,
                   const base::Log& log);

}  // namespace node
