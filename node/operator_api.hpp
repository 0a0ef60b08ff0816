#pragma once

#include "node/admission.hpp"
#include "node/agreement.hpp"
#include "node/bps/service/figures.hpp"
#include "node/calls.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/snapshots/snapshot_store.hpp"
#include "node/transports.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace node {

class SnapshotService;

// The calls that are not about the chain's contents; all arguments outlive the server.
void add_producer_calls(Calls& calls, ProducerSettings& settings);
// Those about snapshots, nodeos' and ours: on this machine only.
void add_snapshot_calls(Calls& calls, SnapshotService& service);
void add_trace_calls(Calls& calls);
void add_bor_calls(Calls& calls);
// /v1/bor/finality: who agrees with whom, and what is wrong.
void add_finality_calls(Calls& calls, OwnStart own);
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
// What others join by.
struct JoinSources {
    std::optional<base::crypto::PublicKey> node_key;  // Absent: there are no peers.
    std::string p2p_address;                          // That peers are told; empty: none.
    // host:port where the chain is served over TCP, as bound.
    std::function<std::vector<std::string>()> http_addresses;
    const SnapshotStore& snapshots;
};
// /v1/bor/join: the join line, or why there is none, and the genesis file.
void add_join_call(Calls& calls, JoinSources sources);
// /v1/bor/broker: what the broker of this node does; without one that there is none.
void add_broker_call(Calls& calls, std::function<bps::Figures()> broker);
void add_db_size_call(Calls& calls, const RocksDbStorage& storage);
// Last: lists what was added before it.
void add_node_call(Calls& calls);

}  // namespace node
