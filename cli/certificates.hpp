#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace cli {

// A certificate and its private key, as PEM.
struct Certified {
    std::string certificate;
    std::string key;
};
struct BrokerCertificates {
    Certified authority;  // Whom clients trust; valid for ten years.
    Certified broker;     // Signed by it, for a server with these names; valid as long.
};

// A certificate authority of a network's own, and what its broker shows to clients (spec 08, "Who
// is who"). `hosts` are names or addresses, at least one.
//
// invalid: one of them is neither. unavailable: OpenSSL fails.
[[nodiscard]] base::Result<BrokerCertificates> make_broker_certificates(
    const std::vector<std::string>& hosts);

// Whether a certificate can name it: an address, or a name of letters, digits, '-' and '.'.
[[nodiscard]] bool is_host(const std::string& host);

}  // namespace cli
