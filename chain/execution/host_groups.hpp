#pragma once

#include "chain/execution/host_thunk.hpp"

namespace chain::host {

// What the signatures of host functions are made of.
using base::Result;
using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;

// The groups of host functions, one .cpp each; host_functions.cpp makes the table of them.
void add_action(Functions& out);       // Action data, authorization, return value, sender.
void add_system(Functions& out);       // Assertions, time, features.
void add_print(Functions& out);        // The console.
void add_crypto(Functions& out);       // Digests, key recovery, crypto primitives.
void add_memory(Functions& out);       // memcpy and its kin.
void add_builtins(Functions& out);     // What compilers leave to a library.
void add_primary(Functions& out);      // db_*_i64.
void add_secondary(Functions& out);    // db_idx*.
void add_transaction(Functions& out);  // Inline actions and the transaction itself.
void add_permission(Functions& out);   // Authority of others.
void add_privileged(Functions& out);   // What only privileged accounts may call.
void add_producer(Functions& out);     // The schedule.

}  // namespace chain::host
