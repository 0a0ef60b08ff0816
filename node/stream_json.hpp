#pragma once

#include "chain/abi/serializer.hpp"
#include "chain/state/changes.hpp"

namespace node {

// The changes of one block as a list of {table, key, value}; rows of contracts have {code, scope,
// name, primary_key, payer} and the row by its ABI instead of the raw key. Erased: value is null.
[[nodiscard]] chain::abi::Json deltas_to_json(const chain::ChangeSet& changes,
                                              const chain::abi::Resolver& resolver);

}  // namespace node
