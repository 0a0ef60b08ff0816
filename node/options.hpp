#pragma once

#include "base/result.hpp"
#include "node/broker_settings.hpp"
#include "node/http_settings.hpp"
#include "node/transport_settings.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace node {

// Everything an operator can set: config.ini and the command line, which wins.
// Names, defaults and units are those of `bor-node --help` (options.cpp).
struct Options {
    // Files.
    std::filesystem::path config_dir;
    std::filesystem::path data_dir;
    std::filesystem::path genesis_json;  // Empty: the data directory has it from the first start.
    std::set<std::string> plugins;       // nodeos' names; those that switch interfaces on.

    HttpSettings http;

    // Ledger.
    unsigned chain_threads = 1;
    std::size_t pool_bytes_max = 0;
    std::chrono::milliseconds max_transaction_time{0};
    std::chrono::milliseconds failures_per_minute{0};  // By account, and by sender; 0: no limit.
    std::string history;        // How many blocks stay: see chain::Retention.
    std::string trace_history;  // The same of their traces.

    // Snapshots.
    std::uint32_t snapshot_every = 1;       // Of the heights that the chain names, each or fewer.
    std::size_t snapshot_keep = 2;          // 0: none is made unasked.
    std::uint64_t snapshot_rate_bytes = 0;  // Of rows a second; 0: no limit.
    std::filesystem::path snapshot;         // To load at the first start; empty: none.

    // Production.
    std::vector<std::string> producer_names;
    std::vector<std::string> signature_providers;
    bool pause_on_startup = false;
    // Ids of the recoveries that the operator confirms, in their order.
    std::vector<std::string> recover_from;
    bool accept_amnesia = false;                 // Keys with a lost safety journal vote at once.
    std::chrono::milliseconds clock_bound{100};  // How far the clocks of validators may differ.

    // Peers.
    std::vector<std::string> p2p_listen_endpoints;  // host:port.
    std::vector<std::string> p2p_peer_addresses;    // host:port or host:port#PUB_R1_....
    std::filesystem::path p2p_node_key;             // Needed with either of these.
    std::size_t p2p_max_peers = 64;
    std::string p2p_server_address;         // That others are told; empty: the first endpoint.
    std::filesystem::path p2p_access_file;  // Local lists; empty: none.
    std::string checkpoint;                 // HEIGHT:ID; empty: none.
    bool join_with_one_organisation = false;
    std::string trust = "full";
    TransportSettings transports;
    [[nodiscard]] bool has_peers() const {
        return !p2p_listen_endpoints.empty() || !p2p_peer_addresses.empty();
    }

    BrokerSettings broker;

    // Log.
    std::filesystem::path log_file;  // Empty: standard error.
    std::string log_level;           // "info" or "info,http=debug,core=warn".
    bool log_json = false;

    // What to do instead of serving.
    bool verify_chain = false;

    [[nodiscard]] bool serves_plugin(const std::string& name) const {
        return plugins.contains(name);
    }
};

// What the command line asks for.
struct Command {
    Options options;
    std::string text;  // Not empty: print this and exit (--help, --version).
};

// invalid: an unknown, malformed or contradictory option; the text names the file, the line and
// the nearest valid name, or what to change.
[[nodiscard]] base::Result<Command> read_options(const std::vector<std::string>& arguments);

// The name in `names` with the fewest letters to change; empty when all are too far.
[[nodiscard]] std::string nearest_name(const std::string& name,
                                       const std::vector<std::string>& names);

}  // namespace node
