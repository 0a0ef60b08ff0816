#pragma once

#include "node/admission.hpp"
#include "node/calls.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/transports.hpp"

namespace node {

class SnapshotService;

// The calls that are not about the chain's contents; all arguments outlive the server.
void add_producer_calls(Calls& calls, ProducerSettings& settings);
// Those about snapshots, nodeos' and ours: on this machine only.
void add_snapshot_calls(Calls& calls, SnapshotService& service);
void add_trace_calls(Calls& calls);
void add_bor_calls(Calls& calls);
// /v1/bor/finality and what else tells who agrees with whom.
void add_finality_calls(Calls& calls);
// /v1/bor/validators, evidence: what is on chain about them.
void add_validator_calls(Calls& calls);
// /v1/bor/answer_recovery, on this machine only.
void add_recovery_calls(Calls& calls);
// /v1/bor/proof, headers: what `bor-cli proof verify` checks, and what proves a fork.
void add_proof_calls(Calls& calls);
// /v1/bor/peers, sync, transports.
// Without transports: there are no peers.
void add_peer_calls(Calls& calls, const Transports* transports);
// /v1/net, as Antelope has it.
void add_net_calls(Calls& calls);
void add_db_size_call(Calls& calls, const RocksDbStorage& storage);
// Last: lists what was added before it.
void add_node_call(Calls& calls);

}  // namespace node
