#pragma once

#include "base/bytes.hpp"

namespace chain {

class ApplyContext;

// Runs the native part of an action whose account and receiver are eosio (spec 03, "Native
// actions"): nothing for a name that is none, and, while a contract is set on eosio, nothing
// for the bios and governance names. False: the context has the failure.
[[nodiscard]] bool run_native_action(ApplyContext& context);

// The ABI of eosio while setabi has set none: packed abi_def of all native actions.
[[nodiscard]] const base::Bytes& native_abi();

}  // namespace chain
