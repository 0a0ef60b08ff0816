#include "node/options.hpp"

#include "node/option_names.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

namespace node {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

constexpr std::array kPlugins = {"bor::chain_api_plugin",
                                 "bor::producer_api_plugin",
                                 "bor::db_size_api_plugin",
                                 "bor::trace_api_plugin",
                                 "bor::net_api_plugin",
                                 "bor::prometheus_plugin"};

po::options_description file_options() {
    po::options_description all("Files");
    all.add_options()("data-dir",
                      po::value<std::string>()->default_value("bor-data"),
                      "directory of the ledger")("genesis-json",
                                                 po::value<std::string>()->default_value(""),
                                                 "genesis file; needed by the first start only")(
        "plugin",
        po::value<Texts>()->composing(),
        "interface to switch on, by nodeos' name (chain_api_plugin is always on): "
        "producer_api_plugin, net_api_plugin, db_size_api_plugin, trace_api_plugin, "
        "prometheus_plugin")("logfile",
                             po::value<std::string>()->default_value(""),
                             "file that the log is appended to; none: standard error")(
        "log-level",
        po::value<std::string>()->default_value("info"),
        "debug, info, warn or error, and those of modules: info,http=debug")(
        "log-json", po::value<bool>()->default_value(false), "log lines are JSON objects");
    return all;
}

po::options_description http_options() {
    po::options_description all("HTTP");
    all.add_options()("http-server-address",
                      po::value<std::string>()->default_value("127.0.0.1:8888"),
                      "host:port to serve; empty: none")(
        "unix-socket-path",
        po::value<std::string>()->default_value(""),
        "Unix socket to serve, relative to data-dir; empty: none")(
        "http-category-address",
        po::value<Texts>()->composing(),
        "category,address: serve one category there (http-server-address = http-category-address)")(
        "http-threads", po::value<unsigned>()->default_value(2), "threads that serve HTTP")(
        "max-body-size",
        po::value<std::size_t>()->default_value(4U << 20U),
        "largest request body, bytes")(
        "http-max-connections", po::value<std::size_t>()->default_value(1024), "open connections")(
        "http-max-bytes-in-flight-mb",
        po::value<std::int64_t>()->default_value(500),
        "requests and answers under way, MiB; -1: no limit")(
        "http-requests-per-second",
        po::value<unsigned>()->default_value(0),
        "of one address that is not loopback; 0: no limit")(
        "http-max-response-time-ms",
        po::value<std::int64_t>()->default_value(100),
        "time to collect one answer, ms; -1: no limit")(
        "verbose-http-errors",
        po::value<bool>()->default_value(false)->implicit_value(true),
        "errors carry all their details")("http-validate-host",
                                          po::value<bool>()->default_value(true),
                                          "refuse requests for another Host")(
        "http-alias",
        po::value<Texts>()->composing(),
        "accepted as Host besides our own addresses")(
        "access-control-allow-origin", po::value<std::string>()->default_value(""), "CORS header")(
        "access-control-allow-headers", po::value<std::string>()->default_value(""), "CORS header")(
        "access-control-max-age", po::value<std::string>()->default_value(""), "CORS header, s")(
        "access-control-allow-credentials",
        po::value<bool>()->default_value(false)->implicit_value(true),
        "CORS header");
    return all;
}

po::options_description ledger_options() {
    po::options_description all("Ledger and production");
    all.add_options()("chain-threads",
                      po::value<unsigned>()->default_value(2),
                      "threads that check signatures")("pool-size-mb",
                                                       po::value<std::size_t>()->default_value(64),
                                                       "transactions that wait for a block, MiB")(
        "max-transaction-time",
        po::value<std::int64_t>()->default_value(150),
        "a transaction may run, ms; it is dropped, not billed, after that; -1: no limit")(
        "subjective-failure-ms-per-minute",
        po::value<std::uint32_t>()->default_value(200),
        "ms a minute that failing transactions of an account may take here, at most 60000; over "
        "it they are refused at once; 0: no limit")("history",
                                                    po::value<std::uint32_t>()->default_value(0),
                                                    "blocks whose traces are kept; 0: all")(
        "producer-name", po::value<Texts>()->composing(), "validator of this node")(
        "signature-provider",
        po::value<Texts>()->composing(),
        "PUB=KEY:file:PATH or PUB=WALLET:socket")(
        "enable-stale-production",
        po::value<bool>()->default_value(false)->implicit_value(true),
        "accepted; a validator of BoR always builds on what is final")(
        "recover-from",
        po::value<std::string>()->default_value(""),
        "id of the recovery in the data directory ('bor-cli recover'): a new first schedule, after "
        "more than a third of the validators were lost for ever")(
        "pause-on-startup",
        po::value<bool>()->default_value(false)->implicit_value(true),
        "make no blocks before /v1/producer/resume");
    return all;
}

po::options_description peer_options() {
    po::options_description all("Peers");
    all.add_options()("p2p-listen-endpoint",
                      po::value<Texts>()->composing(),
                      "host:port where peers may connect; may come several times")(
        "p2p-server-address",
        po::value<std::string>()->default_value(""),
        "host:port that peers are told; none: the first p2p-listen-endpoint")(
        "p2p-peer-address",
        po::value<Texts>()->composing(),
        "host:port to keep connected, with #PUB_R1_... of its node if that is known; may come "
        "several times")("p2p-node-key",
                         po::value<std::string>()->default_value(""),
                         "file with the R1 private key of this node; needed with either of these")(
        "p2p-max-peers", po::value<std::size_t>()->default_value(64), "connected peers, 1 to 64")(
        "p2p-access-file",
        po::value<std::string>()->default_value(""),
        "file with lines 'allow PUB_R1_...' and 'deny PUB_R1_...': of the registered nodes only "
        "these, and not those, may connect; read again on SIGHUP")(
        "checkpoint",
        po::value<std::string>()->default_value(""),
        "HEIGHT:ID of a block that a joining node's history must have")(
        "trust",
        po::value<std::string>()->default_value("full"),
        "full: check every signature of blocks that are synced")(
        "transport",
        po::value<std::string>()->default_value("auto"),
        "how messages reach peers; auto: by shared memory where the peer runs on this host, by "
        "the memory of ntb-device where the peer is at its other end, by RDMA where both are on "
        "one RDMA network, else by TCP with TLS; shm, ntb, rdma, or several with commas between, "
        "the preferred first: by these or TCP; tcp: by TCP only")(
        "rdma-address",
        po::value<std::string>()->default_value(""),
        "IP address of the RDMA device to use; empty: the first that is connected")(
        "ntb-device",
        po::value<std::string>()->default_value(""),
        "slot of the PCI device that shares memory with another machine, as 0000:00:04.0: an "
        "ivshmem device, or with ntb-memory a bridge; empty: none")(
        "ntb-memory",
        po::value<std::string>()->default_value(""),
        "file of the memory that the bridge's inbound translation points at, as whoever set up "
        "the bridge knows; empty: the device's BAR is memory of both machines");
    return all;
}

po::options_description accepted_options() {
    po::options_description all("Known to nodeos' operators; always on, or without effect here");
    all.add_options()(
        "enable-account-queries", po::value<bool>()->implicit_value(true), "always on")(
        "transaction-finality-status-max-storage-size-gb", po::value<std::uint64_t>(), "always on")(
        "abi-serializer-max-time-ms",
        po::value<std::uint32_t>(),
        "http-max-response-time-ms holds")("subjective-account-max-failures",
                                           po::value<std::uint32_t>(),
                                           "nothing is billed subjectively")(
        "trace-no-abis", po::value<bool>()->implicit_value(true), "ABIs are those of the chain");
    return all;
}

po::options_description command_options() {
    po::options_description all("Command line only");
    all.add_options()("help,h", "print this")("version,v", "print the version")(
        "config-dir",
        po::value<std::string>()->default_value("bor-config"),
        "directory of config.ini")("config,c",
                                   po::value<std::string>()->default_value("config.ini"),
                                   "configuration file in config-dir")(
        "verify-chain", po::bool_switch(), "replay every block from genesis, compare, and exit")(
        "accept-amnesia",
        po::bool_switch(),
        "let keys whose safety journal is lost vote at once; recorded on the chain. They must be "
        "used nowhere else, and no block may be final elsewhere that this node does not have");
    return all;
}

po::options_description config_options() {
    po::options_description all;
    all.add(file_options()).add(http_options()).add(ledger_options()).add(peer_options());
    all.add(accepted_options());
    return all;
}

Texts names_of(const po::options_description& description) {
    Texts names;
    for (const auto& option : description.options())
        names.push_back(option->long_name());
    return names;
}

std::string unknown_text(const std::string& name, const po::options_description& description) {
    if (const std::string_view reason = reason_not_served(name); !reason.empty()) {
        return fmt::format("option '{}': {}", name, reason);
    }
    const std::string nearest = nearest_name(name, names_of(description));
    return fmt::format(
        "unknown option '{}'{}",
        name,
        nearest.empty() ? "; see bor-node --help" : "; did you mean '" + nearest + "'?");
}

// The number of the line that sets `name`; 0: not found.
std::size_t line_of(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        const std::size_t start = line.find_first_not_of(" \t");
        if (start == std::string::npos || line.compare(start, name.size(), name) != 0) continue;
        const std::size_t after = line.find_first_not_of(" \t\r", start + name.size());
        if (after == std::string::npos || line[after] == '=') return number;
    }
    return 0;
}

std::string place_of(const fs::path& file, const std::string& text, const std::string& name) {
    const std::size_t line = line_of(text, name);
    return line == 0 ? file.string() : fmt::format("{}:{}", file.string(), line);
}

// Adds what the file says. The one place, with parse_command, that catches what
// Boost.Program_options throws.
base::Result<void> parse_file(const fs::path& file, po::variables_map& values) {
    std::ifstream in(file);
    if (!in) {
        return base::fail(base::Errc::invalid, "cannot read " + file.string());
    }
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const po::options_description description = config_options();
    std::istringstream stream(text);
    try {
        po::store(po::parse_config_file(stream, description), values);
    } catch (const po::unknown_option& error) {
        const std::string name = error.get_option_name();
        return base::fail(base::Errc::invalid,
                          place_of(file, text, name) + ": " + unknown_text(name, description));
    } catch (const po::error_with_option_name& error) {
        std::string name = error.get_option_name();
        name.erase(0, name.find_first_not_of('-'));
        return base::fail(base::Errc::invalid, place_of(file, text, name) + ": " + error.what());
    } catch (const std::exception& error) {
        return base::fail(base::Errc::invalid, file.string() + ": " + error.what());
    }
    return {};
}

base::Result<void> parse_command(const Texts& arguments, po::variables_map& values) {
    po::options_description description = command_options();
    description.add(config_options());
    try {
        po::store(
            po::command_line_parser(arguments)
                .options(description)
                .positional(po::positional_options_description())
                .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
                .run(),
            values);
    } catch (const po::unknown_option& error) {
        std::string name = error.get_option_name();
        name.erase(0, name.find_first_not_of('-'));
        return base::fail(base::Errc::invalid, "command line: " + unknown_text(name, description));
    } catch (const std::exception& error) {
        return base::fail(base::Errc::invalid, std::string("command line: ") + error.what());
    }
    return {};
}

std::string help_text() {
    po::options_description all(
        "usage: bor-node [option]...\n\nEvery option but the last group "
        "may also stand in config.ini as name = value",
        100,
        50);
    all.add(file_options()).add(http_options()).add(ledger_options()).add(peer_options());
    all.add(accepted_options()).add(command_options());
    std::ostringstream out;
    out << all;
    return out.str();
}

template <class T>
T get(const po::variables_map& values, const char* name) {
    return values[name].as<T>();
}

Texts get_list(const po::variables_map& values, const char* name) {
    return values.count(name) == 0 ? Texts{} : values[name].as<Texts>();
}

// nodeos' and our own spelling of a plugin's name to the bare one.
std::string bare_plugin(std::string name) {
    if (const std::size_t colon = name.rfind(':'); colon != std::string::npos) {
        name.erase(0, colon + 1);
    }
    return name;
}

base::Result<void> fill_files(const po::variables_map& values, Options& out) {
    out.data_dir = get<std::string>(values, "data-dir");
    out.genesis_json = get<std::string>(values, "genesis-json");
    out.log_file = get<std::string>(values, "logfile");
    out.log_level = get<std::string>(values, "log-level");
    out.log_json = get<bool>(values, "log-json");
    out.plugins.insert("chain_api_plugin");
    for (const std::string& given : get_list(values, "plugin")) {
        const std::string name = bare_plugin(given);
        if (is_implied_plugin(name)) continue;
        const bool known = std::ranges::any_of(
            kPlugins, [&](const char* each) { return bare_plugin(each) == name; });
        if (!known) {
            Texts names;
            for (const char* each : kPlugins)
                names.push_back(bare_plugin(each));
            const std::string nearest = nearest_name(name, names);
            return base::fail(base::Errc::invalid,
                              "plugin = " + given + ": no such plugin here" +
                                  (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
        }
        out.plugins.insert(name);
    }
    return {};
}

// -1, nodeos' "no limit", becomes the largest value.
std::chrono::milliseconds time_limit(std::int64_t milliseconds) {
    constexpr std::int64_t kLongest = 3'600'000;
    return std::chrono::milliseconds(milliseconds < 0 ? kLongest : milliseconds);
}

void fill_http(const po::variables_map& values, Options& out) {
    out.http_server_address = get<std::string>(values, "http-server-address");
    out.unix_socket_path = get<std::string>(values, "unix-socket-path");
    out.category_addresses = get_list(values, "http-category-address");
    out.http_threads = get<unsigned>(values, "http-threads");
    out.max_body_size = get<std::size_t>(values, "max-body-size");
    out.http_max_connections = get<std::size_t>(values, "http-max-connections");
    const std::int64_t flight = get<std::int64_t>(values, "http-max-bytes-in-flight-mb");
    out.http_max_bytes_in_flight = flight < 0 ? SIZE_MAX : static_cast<std::size_t>(flight) << 20U;
    out.http_requests_per_second = get<unsigned>(values, "http-requests-per-second");
    out.http_max_response_time = time_limit(get<std::int64_t>(values, "http-max-response-time-ms"));
    out.verbose_http_errors = get<bool>(values, "verbose-http-errors");
    out.http_validate_host = get<bool>(values, "http-validate-host");
    for (const std::string& alias : get_list(values, "http-alias"))
        out.http_aliases.insert(alias);
    out.access_control_allow_origin = get<std::string>(values, "access-control-allow-origin");
    out.access_control_allow_headers = get<std::string>(values, "access-control-allow-headers");
    out.access_control_max_age = get<std::string>(values, "access-control-max-age");
    out.access_control_allow_credentials = get<bool>(values, "access-control-allow-credentials");
}

void fill_ledger(const po::variables_map& values, Options& out) {
    out.chain_threads = get<unsigned>(values, "chain-threads");
    out.pool_bytes_max = get<std::size_t>(values, "pool-size-mb") << 20U;
    out.max_transaction_time = time_limit(get<std::int64_t>(values, "max-transaction-time"));
    out.failures_per_minute =
        std::chrono::milliseconds(get<std::uint32_t>(values, "subjective-failure-ms-per-minute"));
    out.history_blocks = get<std::uint32_t>(values, "history");
    out.producer_names = get_list(values, "producer-name");
    out.signature_providers = get_list(values, "signature-provider");
    out.enable_stale_production = get<bool>(values, "enable-stale-production");
    out.pause_on_startup = get<bool>(values, "pause-on-startup");
    out.verify_chain = get<bool>(values, "verify-chain");
    out.recover_from = get<std::string>(values, "recover-from");
    out.accept_amnesia = get<bool>(values, "accept-amnesia");
}

void fill_peers(const po::variables_map& values, Options& out) {
    out.p2p_listen_endpoints = get_list(values, "p2p-listen-endpoint");
    out.p2p_server_address = get<std::string>(values, "p2p-server-address");
    out.p2p_peer_addresses = get_list(values, "p2p-peer-address");
    out.p2p_node_key = get<std::string>(values, "p2p-node-key");
    out.p2p_max_peers = get<std::size_t>(values, "p2p-max-peers");
    out.p2p_access_file = get<std::string>(values, "p2p-access-file");
    out.checkpoint = get<std::string>(values, "checkpoint");
    out.trust = get<std::string>(values, "trust");
    out.transports = {.choice = get<std::string>(values, "transport"),
                      .rdma_address = get<std::string>(values, "rdma-address"),
                      .ntb_device = get<std::string>(values, "ntb-device"),
                      .ntb_memory = get<std::string>(values, "ntb-memory")};
}

base::Result<void> check_peers(const Options& options) {
    const auto invalid = [](const std::string& text) {
        return base::fail(base::Errc::invalid, text);
    };
    if (options.p2p_max_peers == 0 || options.p2p_max_peers > 64) {
        return invalid("p2p-max-peers must be 1 to 64");
    }
    if (options.has_peers() && options.p2p_node_key.empty()) {
        return invalid(
            "p2p-listen-endpoint and p2p-peer-address need p2p-node-key = FILE with "
            "this node's R1 key ('bor-cli key create --r1 --node --file FILE')");
    }
    if (!options.has_peers() && !(options.p2p_access_file.empty() && options.checkpoint.empty())) {
        return invalid(
            "p2p-access-file and checkpoint are of no use without p2p-listen-endpoint or "
            "p2p-peer-address");
    }
    if (options.trust == "certified") {
        return invalid("trust = certified: this release checks every signature; use trust = full");
    }
    if (options.trust != "full") return invalid("trust = " + options.trust + ": expected full");
    return check_transports(options.transports);
}

// What each option allows alone but not together.
base::Result<void> check(const Options& options) {
    const auto invalid = [](const std::string& text) {
        return base::fail(base::Errc::invalid, text);
    };
    if (!options.producer_names.empty() && options.signature_providers.empty()) {
        return invalid("producer-name = " + options.producer_names.front() +
                       " needs a signature-provider with its key");
    }
    if (options.http_threads == 0 || options.http_threads > 64) {
        return invalid("http-threads must be 1 to 64");
    }
    if (options.chain_threads == 0 || options.chain_threads > 64) {
        return invalid("chain-threads must be 1 to 64");
    }
    if (auto good = check_peers(options); !good) return good;
    const bool by_category = options.http_server_address == "http-category-address";
    if (by_category && options.category_addresses.empty()) {
        return invalid("http-server-address = http-category-address needs http-category-address");
    }
    if (!by_category && !options.category_addresses.empty()) {
        return invalid("http-category-address needs http-server-address = http-category-address");
    }
    for (const std::string& each : options.category_addresses) {
        if (each.find(',') == std::string::npos) {
            return invalid("http-category-address = " + each + ": expected category,address");
        }
    }
    return {};
}

}  // namespace

base::Result<Command> read_options(const std::vector<std::string>& arguments) {
    po::variables_map values;
    if (auto parsed = parse_command(arguments, values); !parsed) return base::fail(parsed.error());
    Command command;
    if (values.count("help") != 0) {
        command.text = help_text();
        return command;
    }
    if (values.count("version") != 0) {
        command.text = std::string(kVersion) + "\n";
        return command;
    }
    Options& options = command.options;
    options.config_dir = get<std::string>(values, "config-dir");
    const fs::path file = options.config_dir / get<std::string>(values, "config");
    if (fs::exists(file)) {
        options.config_file = file;
        if (auto parsed = parse_file(file, values); !parsed) return base::fail(parsed.error());
    } else if (!values["config"].defaulted()) {
        return base::fail(base::Errc::invalid, "there is no " + file.string());
    }
    if (auto filled = fill_files(values, options); !filled) return base::fail(filled.error());
    fill_http(values, options);
    fill_ledger(values, options);
    fill_peers(values, options);
    if (auto checked = check(options); !checked) return base::fail(checked.error());
    return command;
}

}  // namespace node
