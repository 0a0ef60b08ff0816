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
};

// invalid: the file holds no R1 key, or an address is not host:port[#PUB_R1_...].
[[nodiscard]] base::Result<PeerSettings> read_peers(const Options& options);

// How the conversation with them is held; nothing: there are none.
[[nodiscard]] std::optional<p2p::Options> network_options(const Options& options,
                                                          const PeerSettings& settings,
                                                          const Ledger& ledger);

}  // namespace node
