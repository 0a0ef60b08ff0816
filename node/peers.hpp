#pragma once

#include "node/ledger.hpp"
#include "p2p/network.hpp"

#include <optional>
#include <vector>

namespace node {

// What the options say of peers.
struct PeerSettings {
    std::optional<base::crypto::PrivateKey> node_key;  // Absent: there are none.
    std::vector<p2p::input::Dial> dials;
    p2p::input::ListsChanged lists;
    std::optional<p2p::Checkpoint> checkpoint;
};

// invalid: the file holds no R1 key, an address is not host:port[#PUB_R1_...], the checkpoint not
// HEIGHT:ID, or read_lists() refuses.
[[nodiscard]] base::Result<PeerSettings> read_peers(const Options& options);

// The operator's local lists, from a file of lines "allow KEY" and "deny KEY"; # begins a comment.
// invalid: names the line.
[[nodiscard]] base::Result<p2p::input::ListsChanged> read_lists(const std::string& path);

// host:port that peers are told; empty: none.
[[nodiscard]] std::string listen_address(const Options& options);

// How the conversation with them is held; nothing: there are none.
[[nodiscard]] std::optional<p2p::Options> network_options(const Options& options,
                                                          const PeerSettings& settings,
                                                          const Ledger& ledger,
                                                          const p2p::RecoveryPoint& recovery);

}  // namespace node
