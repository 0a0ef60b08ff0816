#pragma once

#include "cli/bps_contract.hpp"
#include "cli/kafka.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// What the commands that speak to brokers share: where brokers are, who comes, and errors for
// people.

// --broker, --as, those of TLS, --contract, and the command's own.
[[nodiscard]] std::vector<Option> with_client_options(std::vector<Option> own);

// Where to begin. TLS unless all are on this machine and nothing of TLS was asked for, since
// brokers listen without it on loopback only.
struct Bootstrap {
    std::string brokers;
    bool is_tls = false;
};
// Of the addresses that were typed. invalid: one that is not HOST:PORT.
[[nodiscard]] base::Result<Bootstrap> bootstrap_of(const std::vector<std::string>& addresses,
                                                   bool wants_tls);
// Of the contract's rows of brokers: those that are up. not_found: none is.
[[nodiscard]] base::Result<Bootstrap> bootstrap_of_rows(const Json& brokers, bool wants_tls);

[[nodiscard]] base::Result<KafkaSettings> client_settings(const Session& session,
                                                          const Arguments& arguments);

// "beginning", "end" or a number, as the library has it. invalid.
[[nodiscard]] base::Result<std::int64_t> offset_of(const std::string& text);

// What was asked of the broker, for the error.
struct AskedOf {
    std::string topic{};
    std::string group{};
    std::string_view right = "consume";
};
// The error for a person: the thing, the value and what to do about it.
[[nodiscard]] base::Error explained(const Session& session,
                                    const Arguments& arguments,
                                    const KafkaError& error,
                                    const AskedOf& asked);

}  // namespace cli
