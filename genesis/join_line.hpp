#pragma once

#include "base/crypto/keys.hpp"
#include "base/result.hpp"
#include "chain/types/transaction.hpp"
#include "genesis/snapshot_proof.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace genesis {

// HEIGHT:ID, where the ID begins with the height. invalid: it is not that.
[[nodiscard]] base::Result<Checkpoint> checkpoint_from(std::string_view text);

// What a new node needs to know of a network (spec 05, "Who may connect"): where one of its nodes
// is and by which key that is known, which chain this is, and a final block of it. As text:
// bor://HOST:P2P-PORT:HTTP-PORT#NODE-KEY/CHAIN-ID/HEIGHT:ID. Value.
struct JoinLine {
    std::string host;  // A name, an IPv4 address, or an IPv6 address in brackets.
    std::uint16_t p2p_port = 0;
    std::uint16_t http_port = 0;
    base::crypto::PublicKey node_key{};  // R1.
    chain::ChainId chain_id{};
    Checkpoint checkpoint;

    [[nodiscard]] std::string p2p_address() const;  // host:port.
    [[nodiscard]] std::string http_url() const;     // http://host:port.
    [[nodiscard]] std::string to_string() const;
    // Strict; at most kJoinLineBytesMax. invalid: names the part that is wrong, and what it says.
    [[nodiscard]] static base::Result<JoinLine> from_string(std::string_view text);
};
inline constexpr std::size_t kJoinLineBytesMax = 600;

// host:port as options have it. invalid: it is not that, or the port is not 1 to 65535.
struct HostPort {
    std::string host;
    std::uint16_t port = 0;

    // Nobody connects to these: every address of the machine, and only from this machine.
    [[nodiscard]] bool is_wildcard() const;
    [[nodiscard]] bool is_loopback() const;
    [[nodiscard]] static base::Result<HostPort> from_string(std::string_view text);
};

}  // namespace genesis
