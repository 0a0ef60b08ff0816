#pragma once

#include "base/result.hpp"
#include "chain/types/transaction.hpp"

#include <boost/program_options/options_description.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace node {

// What an operator says of the broker for Kafka clients (spec 08): the options bps-*.
struct BrokerSettings {
    bool is_on = false;               // plugin = bps.
    std::int64_t id = -1;             // In the contract's table `brokers`.
    std::string contract;             // Its account.
    std::string account;              // ACCOUNT or ACCOUNT@PERMISSION: whose broker it is.
    std::filesystem::path key_file;   // With a private key that satisfies the permission.
    std::string listen;               // host:port.
    std::string advertised;           // host:port that clients are told; empty: `listen`.
    std::filesystem::path directory;  // Of the logs; relative to the data directory.
    std::filesystem::path tls_cert;
    std::filesystem::path tls_key;
    std::string anonymous;  // ACCOUNT@PERMISSION of who comes without login; empty: nobody may.

    [[nodiscard]] bool has_tls() const { return !tls_cert.empty(); }
    [[nodiscard]] const std::string& told_address() const {
        return advertised.empty() ? listen : advertised;
    }
};

// The options, with their defaults; what is read is put into `out`, which outlives them.
[[nodiscard]] boost::program_options::options_description broker_options(BrokerSettings& out);

// ACCOUNT or ACCOUNT@PERMISSION, without one `active`. invalid: another form.
[[nodiscard]] base::Result<chain::PermissionLevel> principal_from(const std::string& text);

// Their form, and what they allow alone but not together. invalid: names option, value and remedy.
[[nodiscard]] base::Result<void> check_broker(const BrokerSettings& settings);

}  // namespace node
