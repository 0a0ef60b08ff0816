#pragma once

#include "base/bytes.hpp"
#include "chain/vm/programs.hpp"
#include "node/dry_run.hpp"
#include "node/history.hpp"

#include <memory>
#include <vector>

namespace node {

// The hashes of all contracts' codes in a view: those of the newest blocks' actions first, the most
// used before the others. Traces that are not stored, or do not decode, do not count.
[[nodiscard]] std::vector<base::Hash256> contracts_by_use(const Published& view,
                                                          const History& history);

// Compiles the contracts of a view in the background, on a thread of dry runs, until all are
// compiled or `programs` is full (spec 03, "Contracts": at start). All outlive the dry runs.
void compile_ahead(DryRun& dry_runs,
                   std::shared_ptr<const Published> view,
                   const History& history,
                   const chain::vm::Programs& programs);

}  // namespace node
