#include "node/broker_settings.hpp"

#include "genesis/join_line.hpp"
#include "node/option_values.hpp"

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include <limits>
#include <utility>

namespace node {

namespace po = boost::program_options;

namespace {

using option::text;

tl::unexpected<base::Error> invalid(std::string text) {
    return base::fail(base::Errc::invalid, std::move(text));
}

base::Result<void> check_identity(const BrokerSettings& settings) {
    if (settings.id < 0 || settings.id > std::numeric_limits<std::int32_t>::max()) {
        return invalid(
            "plugin = bps needs bps-broker = ID, as the contract's account gave it "
            "('bor-cli bps broker add ID ACCOUNT'; 'bor-cli bps brokers' shows them)");
    }
    if (settings.account.empty()) {
        return invalid("plugin = bps needs bps-account = ACCOUNT[@PERMISSION], whose broker it is");
    }
    if (auto account = principal_from(settings.account); !account) {
        return invalid("bps-account = " + settings.account + ": " + account.error().detail);
    }
    if (settings.key_file.empty()) {
        return invalid(
            "plugin = bps needs bps-account-key = FILE with a private key of bps-account "
            "('bor-cli key create --r1 --node --file FILE')");
    }
    if (auto contract = chain::Name::from_string(settings.contract); !contract) {
        return invalid("bps-contract = " + settings.contract + ": " + contract.error().detail);
    }
    return {};
}

base::Result<void> check_addresses(const BrokerSettings& settings) {
    const auto listen = genesis::HostPort::from_string(settings.listen);
    if (!listen) return invalid("bps-listen-endpoint = " + listen.error().detail);
    if (settings.tls_cert.empty() != settings.tls_key.empty()) {
        return invalid("bps-tls-cert and bps-tls-key belong together: give both, or none");
    }
    if (!settings.has_tls() && !listen->is_loopback()) {
        return invalid("bps-listen-endpoint = " + settings.listen +
                       ": Kafka clients would send tokens in clear; give bps-tls-cert and "
                       "bps-tls-key, or listen on 127.0.0.1");
    }
    const auto told = genesis::HostPort::from_string(settings.told_address());
    if (!told) return invalid("bps-advertised-endpoint = " + told.error().detail);
    if (told->is_wildcard()) {
        return invalid("bps-advertised-endpoint = " + settings.told_address() +
                       ": no client can connect to that; give the host:port where they find this "
                       "broker");
    }
    return {};
}

}  // namespace

po::options_description broker_options(BrokerSettings& out) {
    po::options_description all("Broker for Kafka clients (plugin = bps)");
    auto add = all.add_options();
    add("bps-broker",
        po::value<std::int64_t>(&out.id)->default_value(-1, "none"),
        "number of this broker in the contract's table brokers");
    add("bps-contract", text(out.contract, "bps"), "account that has the broker's contract");
    add("bps-account",
        text(out.account),
        "ACCOUNT or ACCOUNT@PERMISSION that the broker acts as; without a permission active");
    add("bps-account-key",
        text(out.key_file),
        "file with a private key that satisfies bps-account");
    add("bps-listen-endpoint",
        text(out.listen, "127.0.0.1:9092"),
        "host:port where Kafka clients may connect; without bps-tls-cert on loopback only");
    add("bps-advertised-endpoint",
        text(out.advertised),
        "host:port that clients are told; none: bps-listen-endpoint");
    add("bps-data-dir", text(out.directory, "bps"), "directory of the logs, relative to data-dir");
    add("bps-tls-cert",
        text(out.tls_cert),
        "file with the certificate for TLS and those above it, PEM; none: no TLS");
    add("bps-tls-key", text(out.tls_key), "file with the private key of bps-tls-cert, PEM");
    add("bps-anonymous",
        text(out.anonymous),
        "ACCOUNT@PERMISSION of who connects from this machine without login; none: nobody may");
    return all;
}

base::Result<chain::PermissionLevel> principal_from(const std::string& text) {
    const std::size_t at = text.find('@');
    const auto account = chain::Name::from_string(text.substr(0, at));
    if (!account) return base::fail(account.error());
    if (account->value == 0) return invalid("expected ACCOUNT or ACCOUNT@PERMISSION");
    const auto permission =
        chain::Name::from_string(at == std::string::npos ? "active" : text.substr(at + 1));
    if (!permission) return base::fail(permission.error());
    if (permission->value == 0) return invalid("after @ comes a permission");
    return chain::PermissionLevel{*account, *permission};
}

base::Result<void> check_broker(const BrokerSettings& settings) {
    if (!settings.is_on) {
        const bool is_of_broker = settings.id != -1 || !settings.account.empty() ||
                                  !settings.key_file.empty() || settings.has_tls() ||
                                  !settings.tls_key.empty() || !settings.anonymous.empty() ||
                                  !settings.advertised.empty();
        if (!is_of_broker) return {};
        return invalid("options bps-... are of no use without plugin = bps");
    }
    if (auto good = check_identity(settings); !good) return good;
    if (auto good = check_addresses(settings); !good) return good;
    if (settings.anonymous.empty()) return {};
    if (auto who = principal_from(settings.anonymous); !who) {
        return invalid("bps-anonymous = " + settings.anonymous + ": " + who.error().detail);
    }
    return {};
}

}  // namespace node
