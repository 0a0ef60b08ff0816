#include "node/options.hpp"

#include "chain/pruning.hpp"
#include "node/mistyped_options.hpp"
#include "node/option_names.hpp"
#include "node/option_values.hpp"
#include "p2p/messages.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace node {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

using option::converted;
using option::flag;
using option::list;
using option::milliseconds;
using option::number;
using option::text;
using option::time_limit;
using Texts = std::vector<std::string>;

constexpr std::array kPlugins = {"bor::chain_api_plugin",
                                 "bor::producer_api_plugin",
                                 "bor::db_size_api_plugin",
                                 "bor::trace_api_plugin",
                                 "bor::net_api_plugin",
                                 "bor::prometheus_plugin",
                                 "bor::bps"};

po::options_description file_options(Options& out) {
    po::options_description all("Files");
    auto add = all.add_options();
    add("data-dir", text(out.data_dir, "bor-data"), "directory of the ledger");
    add("genesis-json", text(out.genesis_json), "genesis file; needed by the first start only");
    add("plugin",
        po::value<Texts>()->composing(),
        "interface to switch on, by nodeos' name (chain_api_plugin is always on): "
        "producer_api_plugin, net_api_plugin, db_size_api_plugin, trace_api_plugin, "
        "prometheus_plugin; bps: the broker for Kafka clients");
    add("logfile", text(out.log_file), "file that the log is appended to; none: standard error");
    add("log-level",
        text(out.log_level, "info"),
        "debug, info, warn or error, and those of modules: info,http=debug");
    add("log-json", number(out.log_json, false), "log lines are JSON objects");
    return all;
}

po::options_description ledger_options(Options& out) {
    po::options_description all("Ledger and production");
    auto add = all.add_options();
    add("chain-threads", number(out.chain_threads, 2U), "threads that check signatures");
    add("pool-size-mb",
        converted(std::size_t{64},
                  [&out](std::size_t mebibytes) { out.pool_bytes_max = mebibytes << 20U; }),
        "transactions that wait for a block, MiB");
    add("max-transaction-time",
        time_limit(out.max_transaction_time, 150),
        "a transaction may run, ms; it is dropped, not billed, after that; -1: no limit");
    add("subjective-failure-ms-per-minute",
        milliseconds(out.failures_per_minute, 200),
        "ms a minute that failing transactions of an account may take here, at most 60000; over "
        "it they are refused at once; 0: no limit");
    add("history",
        text(out.history, "full"),
        "blocks that stay stored: full; the newest, as 1000b or 30d; none, which is as few as "
        "others "
        "need to join with a snapshot of this node");
    add("trace-history",
        text(out.trace_history, "full"),
        "blocks whose traces stay stored, as history");
    add("snapshot-every",
        number(out.snapshot_every, std::uint32_t{1}),
        "1: a snapshot at each multiple of the chain's parameter snapshot_period (blocks), as all "
        "nodes make them; m: at each m-th of these heights");
    add("snapshot-keep",
        number(out.snapshot_keep, std::size_t{2}),
        "snapshots that are kept beside those that were asked for; 0: none is made unasked");
    add("snapshot-rate",
        converted(std::uint64_t{128},
                  [&out](std::uint64_t mebibytes) { out.snapshot_rate_bytes = mebibytes << 20U; }),
        "MiB of rows a second that a snapshot may read; 0: no limit");
    add("producer-name", list(out.producer_names), "validator of this node");
    add("signature-provider",
        list(out.signature_providers),
        "PUB=KEY:file:PATH or PUB=WALLET:socket; at most 16");
    add("enable-stale-production",
        po::value<bool>()->default_value(false)->implicit_value(true),
        "accepted; a validator of BoR always builds on what is final");
    add("recover-from",
        po::value<Texts>(&out.recover_from),
        "id of the recovery in the data directory ('bor-cli recover'): a new first schedule, after "
        "more than a third of the validators were lost for ever, or other times for the slots that "
        "come, when what is final is dated ahead of the right time; before it, to begin with a "
        "snapshot, those of all earlier new first schedules, in their order");
    add("clock-bound",
        milliseconds(out.clock_bound, 100),
        "ms by which right clocks of validators may differ: nothing is signed for a slot before "
        "the clocks of a quorum have come that near to it");
    add("pause-on-startup",
        flag(out.pause_on_startup),
        "make no blocks before /v1/producer/resume");
    return all;
}

po::options_description peer_options(Options& out) {
    po::options_description all("Peers");
    auto add = all.add_options();
    add("p2p-listen-endpoint",
        list(out.p2p_listen_endpoints),
        "host:port where peers may connect; may come several times");
    add("p2p-server-address",
        text(out.p2p_server_address),
        "host:port that peers are told, and who joins (/v1/bor/join); none: the first "
        "p2p-listen-endpoint; its host is accepted like an http-alias");
    add("p2p-peer-address",
        list(out.p2p_peer_addresses),
        "host:port to keep connected, with #PUB_R1_... of its node if that is known; may come "
        "several times");
    add("p2p-node-key",
        text(out.p2p_node_key),
        "file with the R1 private key of this node; needed with either of these");
    add("p2p-max-peers", number(out.p2p_max_peers, std::size_t{64}), "connected peers, 1 to 64");
    add("p2p-access-file",
        text(out.p2p_access_file),
        "file with lines 'allow PUB_R1_...' and 'deny PUB_R1_...': of the registered nodes only "
        "these, and not those, may connect; read again on SIGHUP");
    add("checkpoint",
        text(out.checkpoint),
        "HEIGHT:ID of a block that a joining node's history must have; without it nodes of two "
        "organisations of the genesis list must be on one chain before any is taken");
    add("join-with-one-organisation",
        flag(out.join_with_one_organisation),
        "a node with no block yet and no checkpoint believes one organisation of the genesis list; "
        "its keys, with those that voted once, could forge the history");
    add("trust",
        text(out.trust, "full"),
        "full: check every signature of final blocks that are synced before they are executed; "
        "certified: only that a quorum has signed one above them, and the rest once they are "
        "stored, "
        "before they are shown or served");
    add("transport",
        text(out.transports.choice, "auto"),
        "how messages reach peers; auto: by shared memory where the peer runs on this host, by "
        "the memory of ntb-device where the peer is at its other end, by RDMA where both are on "
        "one RDMA network, else by TCP with TLS; shm, ntb, rdma, or several with commas between, "
        "the preferred first: by these or TCP; tcp: by TCP only");
    add("rdma-address",
        text(out.transports.rdma_address),
        "IP address of the RDMA device to use; empty: the first that is connected");
    add("ntb-device",
        text(out.transports.ntb_device),
        "slot of the PCI device that shares memory with another machine, as 0000:00:04.0: an "
        "ivshmem device, or with ntb-memory a bridge; empty: none");
    add("ntb-memory",
        text(out.transports.ntb_memory),
        "file of the memory that the bridge's inbound translation points at, as whoever set up "
        "the bridge knows; empty: the device's BAR is memory of both machines");
    return all;
}

po::options_description accepted_options() {
    po::options_description all("Known to nodeos' operators; always on, or without effect here");
    auto add = all.add_options();
    add("enable-account-queries", po::value<bool>()->implicit_value(true), "always on");
    add("transaction-finality-status-max-storage-size-gb", po::value<std::uint64_t>(), "always on");
    add("abi-serializer-max-time-ms",
        po::value<std::uint32_t>(),
        "http-max-response-time-ms holds");
    add("subjective-account-max-failures",
        po::value<std::uint32_t>(),
        "nothing is billed subjectively");
    add("trace-no-abis", po::value<bool>()->implicit_value(true), "ABIs are those of the chain");
    return all;
}

po::options_description command_options(Options& out) {
    po::options_description all("Command line only");
    auto add = all.add_options();
    add("help,h", "print this");
    add("version,v", "print the version");
    add("config-dir", text(out.config_dir, "bor-config"), "directory of config.ini");
    add("config,c",
        po::value<std::string>()->default_value("config.ini"),
        "configuration file in config-dir");
    add("snapshot",
        text(out.snapshot),
        "folder of a snapshot to begin with; the data directory has no chain yet");
    add("verify-chain",
        po::bool_switch(&out.verify_chain),
        "replay every block from genesis, compare, and exit");
    add("accept-amnesia",
        po::bool_switch(&out.accept_amnesia),
        "let keys whose safety journal is lost vote at once, and give up a lock on a block that no "
        "peer has sent for 10 s; recorded on the chain. They must be used nowhere else, and no "
        "block may be final elsewhere that this node does not have. What such a key signed before "
        "may then be evidence against it, which takes its weight for ever ('reportbad'): when "
        "blocks are final again, give the validator a new key ('bor-cli system regproducer NAME "
        "NEWKEY'). A key in bor-wallet is freed of its lock there, too ('bor-cli wallet "
        "give_up_lock KEY')");
    return all;
}

po::options_description config_options(Options& out) {
    po::options_description all;
    all.add(file_options(out)).add(http_options(out.http)).add(ledger_options(out));
    all.add(peer_options(out)).add(broker_options(out.broker)).add(accepted_options());
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
base::Result<void> parse_file(const fs::path& file, Options& out, po::variables_map& values) {
    std::ifstream in(file);
    if (!in) {
        return base::fail(base::Errc::invalid, "cannot read " + file.string());
    }
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const po::options_description description = config_options(out);
    std::istringstream stream(text);
    try {
        const auto parsed = po::parse_config_file(stream, description);
        if (const auto wrong = find_mistyped(parsed)) {
            return base::fail(base::Errc::invalid,
                              place_of(file, text, wrong->option) + ": " + wrong->text);
        }
        po::store(parsed, values);
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

base::Result<void> parse_command(const Texts& arguments, Options& out, po::variables_map& values) {
    po::options_description description = command_options(out);
    description.add(config_options(out));
    try {
        const auto parsed =
            po::command_line_parser(arguments)
                .options(description)
                .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
                .run();
        if (const auto wrong = find_mistyped(parsed)) {
            return base::fail(base::Errc::invalid, "command line: " + wrong->text);
        }
        po::store(parsed, values);
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
    Options options;
    po::options_description all(
        "usage: bor-node [option]...\n\nEvery option but the last group "
        "may also stand in config.ini as name = value",
        100,
        50);
    all.add(file_options(options)).add(http_options(options.http)).add(ledger_options(options));
    all.add(peer_options(options)).add(broker_options(options.broker));
    all.add(accepted_options()).add(command_options(options));
    std::ostringstream out;
    out << all;
    return out.str();
}

// nodeos' and our own spelling of a plugin's name to the bare one.
std::string bare_plugin(std::string name) {
    if (const std::size_t colon = name.rfind(':'); colon != std::string::npos) {
        name.erase(0, colon + 1);
    }
    return name;
}

base::Result<void> fill_plugins(const Texts& given_names, Options& out) {
    out.plugins.insert("chain_api_plugin");
    for (const std::string& given : given_names) {
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
    out.broker.is_on = out.serves_plugin("bps");
    return {};
}

struct Range {
    std::string_view option;
    std::uint64_t value;
    std::uint64_t least;
    std::uint64_t most;
    std::string_view unit{};
};

base::Result<void> check_range(const Range& range) {
    if (range.value >= range.least && range.value <= range.most) return {};
    return base::fail(base::Errc::invalid,
                      fmt::format("{} = {}: it must be {} to {}{}",
                                  range.option,
                                  range.value,
                                  range.least,
                                  range.most,
                                  range.unit));
}

base::Result<void> check_ranges(const Options& options) {
    const auto milliseconds = [](base::Duration time) {
        return static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
    };
    const std::array ranges{
        Range{"p2p-max-peers", options.p2p_max_peers, 1, 64},
        Range{"http-threads", options.http.threads, 1, 64},
        Range{"chain-threads", options.chain_threads, 1, 64},
        Range{"clock-bound", milliseconds(options.clock_bound), 1, 10'000, " milliseconds"},
        Range{"subjective-failure-ms-per-minute",
              milliseconds(options.failures_per_minute),
              0,
              60'000,
              " milliseconds"}};
    for (const Range& range : ranges)
        if (auto good = check_range(range); !good) return good;
    return {};
}

base::Result<void> check_peers(const Options& options) {
    const auto invalid = [](const std::string& text) {
        return base::fail(base::Errc::invalid, text);
    };
    if (options.has_peers() && options.p2p_node_key.empty()) {
        return invalid(
            "p2p-listen-endpoint and p2p-peer-address need p2p-node-key = FILE with "
            "this node's R1 key ('bor-cli key create --r1 --node --file FILE')");
    }
    const bool is_of_peers = !options.p2p_access_file.empty() || !options.checkpoint.empty() ||
                             options.join_with_one_organisation;
    if (!options.has_peers() && is_of_peers) {
        return invalid(
            "p2p-access-file, checkpoint and join-with-one-organisation are of no use without "
            "p2p-listen-endpoint or p2p-peer-address");
    }
    if (options.trust != "full" && options.trust != "certified") {
        return invalid("trust = " + options.trust + ": expected full or certified");
    }
    return check_transports(options.transports);
}

base::Result<void> check_history(const Options& options) {
    const auto blocks = chain::Retention::from_string(options.history);
    if (!blocks) {
        const bool is_number = options.history.find_first_not_of("0123456789") == std::string::npos;
        return base::fail(
            base::Errc::invalid,
            "history = " + blocks.error().detail +
                (is_number ? "; for how many blocks traces are kept says "
                             "trace-history = " +
                                 (options.history == "0" ? "full" : options.history + "b")
                           : ""));
    }
    const auto traces = chain::Retention::from_string(options.trace_history);
    if (!traces) {
        return base::fail(base::Errc::invalid, "trace-history = " + traces.error().detail);
    }
    if (*blocks == chain::Retention{} || options.snapshot_keep != 0) return {};
    return base::fail(base::Errc::invalid,
                      "history = " + options.history +
                          ": blocks are pruned only below a snapshot of this node, so that others "
                          "can join; set snapshot-keep to 1 or more");
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
    if (options.signature_providers.size() > p2p::kVoteKeysMax) {
        return invalid(
            fmt::format("signature-provider is given {} times, at most {} fit into what "
                        "peers are told; leave out keys that no schedule has any more",
                        options.signature_providers.size(),
                        p2p::kVoteKeysMax));
    }
    if (options.snapshot_every == 0) {
        return invalid("snapshot-every must be 1 or more; snapshot-keep = 0 makes none unasked");
    }
    if (auto good = check_ranges(options); !good) return good;
    if (auto good = check_history(options); !good) return good;
    if (auto good = check_peers(options); !good) return good;
    if (auto good = check_broker(options.broker); !good) return good;
    return check_http(options.http);
}

}  // namespace

base::Result<Command> read_options(const std::vector<std::string>& arguments) {
    po::variables_map values;
    Command command;
    Options& options = command.options;
    if (auto parsed = parse_command(arguments, options, values); !parsed) {
        return base::fail(parsed.error());
    }
    if (values.count("help") != 0) {
        command.text = help_text();
        return command;
    }
    if (values.count("version") != 0) {
        command.text = std::string(kVersion) + "\n";
        return command;
    }
    const fs::path file =
        fs::path(values["config-dir"].as<std::string>()) / values["config"].as<std::string>();
    if (fs::exists(file)) {
        if (auto parsed = parse_file(file, options, values); !parsed) {
            return base::fail(parsed.error());
        }
    } else if (!values["config"].defaulted()) {
        return base::fail(base::Errc::invalid, "there is no " + file.string());
    }
    po::notify(values);
    const Texts plugins = values.count("plugin") == 0 ? Texts{} : values["plugin"].as<Texts>();
    if (auto filled = fill_plugins(plugins, options); !filled) return base::fail(filled.error());
    if (auto checked = check(options); !checked) return base::fail(checked.error());
    return command;
}

}  // namespace node
