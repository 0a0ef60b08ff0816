#pragma once

#include "node/calls.hpp"
#include "node/dry_run.hpp"
#include "node/transaction_status.hpp"

namespace node {

// The calls of /v1/chain about transactions; `calls` and the others outlive the server.
void add_push_calls(Calls& calls);
void add_dry_run_calls(Calls& calls, DryRun& runs);
void add_status_call(Calls& calls, const TransactionStatus& status);

// Transactions as clients send them: packed, or as JSON with data for the contracts' ABIs.
[[nodiscard]] base::Result<chain::PackedTransaction> packed_from_json(const ApiContext& context,
                                                                      const Json& json);

}  // namespace node
