#pragma once

#include "base/crypto/keys.hpp"
#include "cli/command.hpp"
#include "cli/network_file.hpp"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

namespace cli {

// The broker for Kafka's clients that `network up --broker` gives the first node of a network: the
// contract in the account bps, the broker's own account, and one for who comes without login.
struct LocalBroker {
    std::string anonymous;  // The account of who comes from this machine without login.
    std::string host;       // By which other machines reach it, with TLS; empty: none does.
    std::uint16_t port = 0;
    base::crypto::PrivateKey key = base::crypto::PrivateKey::generate(base::crypto::KeyType::r1);

    [[nodiscard]] std::string address() const;
};

// On Kafka's port 9092, or another one that is free where that is not; it is put into `taken`.
// invalid: `account` is no name, or one that `up` needs itself; `host` is none.
[[nodiscard]] base::Result<LocalBroker> plan_broker(const std::string& account,
                                                    const std::string& host,
                                                    std::set<std::uint16_t>& taken);

// Its keys, and what config.ini of its node has of it. `network` is the folder of the network,
// where who signed its certificate is (kAuthorityFile), `node` that of its node.
inline constexpr const char* kAuthorityFile = "ca.pem";
[[nodiscard]] base::Result<void> write_broker(const LocalBroker& broker,
                                              const std::filesystem::path& network,
                                              const std::filesystem::path& node);
[[nodiscard]] std::string broker_lines(const LocalBroker& broker,
                                       const std::filesystem::path& node);

// Makes all that the broker needs on a chain that runs, signed with the system's key, which is in
// the wallet, and waits until the broker has started on it. unavailable: what does not come to be.
[[nodiscard]] base::Result<void> set_up_broker(const Session& session,
                                               const LocalBroker& broker,
                                               const std::string& system_key);

// Waits until the brokers of the nodes that run serve clients, or have said why they do not. One
// that does neither is named on standard error.
void wait_for_brokers(const NetworkFile& file);

}  // namespace cli
