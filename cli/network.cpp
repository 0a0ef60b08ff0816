#include "cli/files.hpp"
#include "cli/journal.hpp"
#include "cli/network_broker.hpp"
#include "cli/network_file.hpp"
#include "cli/network_join.hpp"
#include "cli/network_run.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"
#include "genesis/genesis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>

namespace cli {

namespace {

using base::Errc;
using base::fail;
using base::crypto::PrivateKey;

constexpr std::uint32_t kValidatorRole = 1;
constexpr auto kStartPatience = std::chrono::seconds(30);
constexpr auto kStopPatience = std::chrono::seconds(20);

// bora, borb, ..., borz, borba, ...: in the order of their names as long as there are few.
std::string validator_name(std::size_t index) {
    constexpr std::size_t kLetters = 26;
    std::string letters(1, static_cast<char>('a' + index % kLetters));
    if (index >= kLetters) {
        letters.insert(0, 1, static_cast<char>('a' + index / kLetters));
    }
    return "bor" + letters;
}

// One validator of a Plan and its folder.
struct PlannedNode {
    std::string name;
    std::filesystem::path dir;
    std::uint16_t http_port = 0;
    std::uint16_t p2p_port = 0;  // 0: alone, it has no peers.
    PrivateKey validator = PrivateKey::generate(base::crypto::KeyType::k1);
    PrivateKey node = PrivateKey::generate(base::crypto::KeyType::r1);

    [[nodiscard]] std::string p2p() const {
        return p2p_port == 0 ? "" : fmt::format("127.0.0.1:{}", p2p_port);
    }
};

// What `up` is making.
struct Plan {
    std::filesystem::path dir;
    std::uint32_t interval_ms = 500;
    bool open = false;
    std::vector<std::string> node_options;
    chain::BorParameters parameters;
    PrivateKey system = PrivateKey::generate(base::crypto::KeyType::k1);
    std::vector<PlannedNode> nodes;
    std::set<std::uint16_t> ports;  // Of 127.0.0.1, that are given away.
    std::optional<LocalBroker> broker;
    genesis::Genesis genesis;
};

base::Result<void> plan_nodes(std::size_t count, std::uint16_t first_port, Plan& plan) {
    std::set<std::uint16_t>& taken = plan.ports;
    for (std::size_t i = 0; i < count; ++i) {
        PlannedNode& node = plan.nodes.emplace_back();
        node.name = validator_name(i);
        node.dir = plan.dir / node.name;
        if (first_port != 0) {
            node.http_port = static_cast<std::uint16_t>(first_port + i);
            taken.insert(node.http_port);
        }
    }
    for (PlannedNode& node : plan.nodes) {
        if (node.http_port == 0) {
            const auto port = another_port(taken);
            if (!port) return fail(port.error());
            node.http_port = *port;
        }
        if (count == 1) continue;
        const auto port = another_port(taken);
        if (!port) return fail(port.error());
        node.p2p_port = *port;
    }
    return {};
}

// NAME=VALUE of --chain-parameter.
base::Result<void> set_parameter(const std::string& text, chain::BorParameters& parameters) {
    const std::size_t equals = text.find('=');
    const std::string digits = equals == std::string::npos ? "" : text.substr(equals + 1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) {
        return fail(Errc::invalid,
                    fmt::format("--chain-parameter '{}': expected NAME=NUMBER", text));
    }
    auto set = parameters.set(text.substr(0, equals), value);
    if (set || set.error().code != Errc::not_found) return set;
    std::string names;
    for (const chain::ParameterInfo& info : chain::bor_parameter_infos())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
    return fail(Errc::invalid,
                fmt::format("--chain-parameter: {}; there are {}", set.error().detail, names));
}

base::Result<void> plan_first_broker(const Arguments& arguments, Plan& plan) {
    const std::string account = arguments.get("broker");
    if (std::ranges::find(plan.nodes, account, &PlannedNode::name) != plan.nodes.end()) {
        return fail(Errc::invalid,
                    fmt::format("--broker {}: a validator has this name; give another account, of "
                                "who comes from this machine without login",
                                account));
    }
    auto broker = plan_broker(account, arguments.get("broker-host"), plan.ports);
    if (!broker) return fail(broker.error());
    plan.broker = *std::move(broker);
    return {};
}

base::Result<Plan> make_plan(const Session& session, const Arguments& arguments) {
    const auto count = arguments.number("n", 1, 1, 125);
    if (!count) return fail(count.error());
    Plan plan;
    plan.dir = dir_of(session);
    plan.open = arguments.has("open");
    plan.node_options = arguments.all("node-option");
    for (const std::string& text : arguments.all("chain-parameter")) {
        if (auto set = set_parameter(text, plan.parameters); !set) return fail(set.error());
    }
    const auto interval = arguments.number("block-interval", 500, 10, 5000);
    if (!interval) return fail(interval.error());
    plan.interval_ms = static_cast<std::uint32_t>(*interval);
    const auto port = arguments.number("http-port", 0, 0, 65535 - *count + 1);
    if (!port) return fail(port.error());
    if (auto planned = plan_nodes(*count, static_cast<std::uint16_t>(*port), plan); !planned) {
        return fail(planned.error());
    }
    if (arguments.has("broker")) {
        if (auto planned = plan_first_broker(arguments, plan); !planned) {
            return fail(planned.error());
        }
    } else if (arguments.has("broker-host")) {
        return fail(Errc::invalid, "--broker-host is of a broker: give --broker ACCOUNT, too");
    }
    if (arguments.has("system-key")) {
        const auto text = read_file(arguments.get("system-key"));
        if (!text) return fail(text.error());
        const auto key = PrivateKey::from_string(text->substr(0, text->find_first_of("\r\n ")));
        if (!key) return fail(key.error());
        plan.system = *key;
    }
    return plan;
}

genesis::Genesis genesis_of(const Plan& plan) {
    using chain::Authority;
    genesis::Genesis genesis;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    genesis.times = {{(now - now % plan.interval_ms) * 1000}, plan.interval_ms};
    genesis.config = genesis::default_config(plan.interval_ms, genesis.parameters.cpu_units_per_us);
    genesis.system_authority = Authority::of_key(plan.system.public_key());
    for (const PlannedNode& node : plan.nodes) {
        const chain::Name name = *chain::Name::from_string(node.name);
        const base::crypto::PublicKey key = node.validator.public_key();
        genesis.members.push_back({name, Authority::of_key(plan.system.public_key()), 1});
        genesis.schedule.entries.push_back({name, key, key});
        if (node.p2p_port == 0) continue;
        genesis.nodes.push_back({name, name, node.node.public_key(), kValidatorRole});
    }
    std::ranges::sort(genesis.members, {}, &genesis::Member::name);
    std::ranges::sort(genesis.nodes, {}, &genesis::Node::name);
    genesis.parameters = plan.parameters;
    genesis.parameters.max_producers =
        std::max<std::uint64_t>(genesis.parameters.max_producers, plan.nodes.size());
    genesis.parameters.open_accounts = plan.open ? 1 : 0;
    genesis.parameters.open_contracts = plan.open ? 1 : 0;
    return genesis;
}

bool has_broker(const Plan& plan, const PlannedNode& node) {
    return plan.broker && node.name == plan.nodes.front().name;
}

std::string config_of(const Plan& plan, const PlannedNode& node) {
    const std::string key = node.validator.public_key().to_string();
    std::string text = "# Written by bor-cli network up.\n";
    text += fmt::format("http-server-address = 127.0.0.1:{}\n", node.http_port);
    text += fmt::format("producer-name = {}\n", node.name);
    text += fmt::format(
        "signature-provider = {}=KEY:file:{}\n", key, (node.dir / "validator.key").string());
    if (node.p2p_port != 0) {
        text += fmt::format("p2p-listen-endpoint = {}\n", node.p2p());
        text += fmt::format("p2p-node-key = {}\n", (node.dir / "node.key").string());
    }
    for (const PlannedNode& peer : plan.nodes) {
        if (peer.name == node.name) continue;
        text += fmt::format(
            "p2p-peer-address = {}#{}\n", peer.p2p(), peer.node.public_key().to_string());
    }
    text += plugin_lines();
    if (has_broker(plan, node)) text += broker_lines(*plan.broker, node.dir);
    return text;
}

// Everything on disk that a node needs before its first start.
base::Result<void> write_node(const Plan& plan, const PlannedNode& node) {
    std::error_code error;
    std::filesystem::create_directories(node.dir / "data", error);
    std::filesystem::create_directories(node.dir / "config", error);
    if (error) {
        return fail(Errc::unavailable, fmt::format("{}: {}", node.dir.string(), error.message()));
    }
    const auto key = node.dir / "validator.key";
    if (auto done = write_file(key, node.validator.to_string() + "\n", Secrecy::secret); !done) {
        return done;
    }
    if (node.p2p_port != 0) {
        const auto file = node.dir / "node.key";
        if (auto done = write_file(file, node.node.to_string() + "\n", Secrecy::secret); !done) {
            return done;
        }
    }
    if (has_broker(plan, node)) {
        if (auto done = write_broker(*plan.broker, plan.dir, node.dir); !done) return done;
    }
    if (auto done = make_journal(node.dir / "data", node.validator.public_key()); !done) {
        return done;
    }
    return write_file(node.dir / "config" / "config.ini", config_of(plan, node));
}

// Of a network that lacks its network.json nothing is overwritten: the keys of its validators may
// be nowhere else.
base::Result<void> check_free(const Plan& plan) {
    std::vector<std::filesystem::path> paths{plan.dir / "genesis.json"};
    // Its folder may be there, on a disk of its own.
    for (const PlannedNode& node : plan.nodes)
        paths.push_back(node.dir / "validator.key");
    for (const std::filesystem::path& path : paths) {
        std::error_code error;
        if (!std::filesystem::exists(path, error)) continue;
        return fail(
            Errc::invalid,
            fmt::format("{} is there, of another network, and {}, which says how that runs, "
                        "is not. Nothing was made: put that file back, or choose another "
                        "--dir",
                        path.string(),
                        (plan.dir / "network.json").string()));
    }
    return {};
}

base::Result<void> write_files(const Plan& plan) {
    if (auto is_free = check_free(plan); !is_free) return is_free;
    std::error_code error;
    std::filesystem::create_directories(plan.dir / "wallet", error);
    std::filesystem::permissions(plan.dir / "wallet", std::filesystem::perms::owner_all, error);
    if (error)
        return fail(Errc::unavailable, fmt::format("{}: {}", plan.dir.string(), error.message()));
    if (auto done = write_file(plan.dir / "genesis.json", genesis::to_json(plan.genesis)); !done) {
        return done;
    }
    for (const PlannedNode& node : plan.nodes) {
        if (auto done = write_node(plan, node); !done) return done;
    }
    return {};
}

std::vector<std::string> wallet_words(const std::filesystem::path& dir) {
    return {program_path("bor-wallet").string(),
            "--data-dir",
            (dir / "wallet").string(),
            "--unix-socket-path",
            (dir / "wallet" / "bor-wallet.sock").string(),
            "--unlock-timeout",
            "31536000"};
}

// Until the first block after genesis is final, or the node ends, or patience does. Who answers
// may be another node, whose port ours could not have: the chain tells.
base::Result<void> wait_for_final(const std::string& url,
                                  const std::string& chain_id,
                                  pid_t pid,
                                  std::chrono::steady_clock::time_point deadline) {
    while (std::chrono::steady_clock::now() < deadline) {
        if (!is_running(pid, "bor-node")) return fail(Errc::unavailable, "bor-node ended");
        const auto info = call(url, "/v1/chain/get_info", Json());
        if (info && number_of(*info, "last_irreversible_block_num") > 1 &&
            text_of(*info, "chain_id") == chain_id) {
            return {};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return fail(Errc::unavailable,
                fmt::format("no block was final within {} s", kStartPatience.count()));
}

base::Result<void> wait_for_socket(const std::string& url, pid_t pid) {
    const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
    while (std::chrono::steady_clock::now() < deadline && is_running(pid, "bor-wallet")) {
        if (call(url, "/v1/wallet/list_wallets", Json())) return {};
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return fail(Errc::unavailable, "bor-wallet does not answer");
}

// Starts the wallet daemon and makes a wallet that holds the system's key.
base::Result<void> start_wallet(const Plan& plan, NetworkFile& file) {
    const auto pid = start_detached(wallet_words(plan.dir), plan.dir / "wallet" / "log");
    if (!pid) return fail(pid.error());
    file.wallet.pid = *pid;
    file.wallet.name = "default";
    file.wallet.socket = (plan.dir / "wallet" / "bor-wallet.sock").string();
    file.wallet.password_file = (plan.dir / "wallet" / "password").string();
    const std::string url = "unix://" + file.wallet.socket;
    if (auto up = wait_for_socket(url, *pid); !up) return up;
    const auto password = call(url, "/v1/wallet/create", Json(file.wallet.name));
    if (!password) return fail(password.error());
    auto written =
        write_file(file.wallet.password_file, password->get<std::string>() + "\n", Secrecy::secret);
    if (!written) return written;
    const auto imported = call(
        url, "/v1/wallet/import_key", Json::array({file.wallet.name, plan.system.to_string()}));
    if (!imported) return fail(imported.error());
    return {};
}

void stop_all(const NetworkFile& file) {
    for (const NetworkFile::Validator& validator : file.validators) {
        stop_process(static_cast<pid_t>(validator.pid), "bor-node", kStopPatience);
    }
    stop_process(static_cast<pid_t>(file.wallet.pid), "bor-wallet", kStopPatience);
}

// The first error says what came after it, too.
void add_failure(base::Result<void>& outcome, const base::Error& error) {
    outcome = outcome ? fail(error)
                      : fail(outcome.error().code, outcome.error().detail + "\n" + error.detail);
}

// Starts those that do not run, and waits until each of these has something final. One that cannot
// be started, since its folder is gone, keeps no other down.
base::Result<void> start_nodes(const std::filesystem::path& dir,
                               NetworkFile& file,
                               const std::vector<std::string>& more) {
    std::vector<NetworkFile::Validator*> started;
    base::Result<void> outcome;
    for (NetworkFile::Validator& validator : file.validators) {
        if (is_running(static_cast<pid_t>(validator.pid), "bor-node")) continue;
        auto done = check_folder(validator);
        if (done) done = start_node(dir, validator, more);
        if (done) {
            started.push_back(&validator);
        } else {
            add_failure(outcome, done.error());
        }
    }
    const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
    for (const NetworkFile::Validator* validator : started) {
        const auto pid = static_cast<pid_t>(validator->pid);
        auto is_final = wait_for_final(validator->http, file.chain_id, pid, deadline);
        if (!is_final) add_failure(outcome, with_log(*validator, is_final.error().detail));
    }
    return outcome;
}

// The wallet of a network that is there, unlocked.
base::Result<void> start_wallet_again(const std::filesystem::path& dir, NetworkFile& file) {
    const auto pid = start_detached(wallet_words(dir), dir / "wallet" / "log");
    if (!pid) return fail(pid.error());
    file.wallet.pid = *pid;
    const std::string url = "unix://" + file.wallet.socket;
    if (auto up = wait_for_socket(url, *pid); !up) return up;
    const auto password = read_file(file.wallet.password_file);
    if (!password) return fail(password.error());
    (void)call(url,
               "/v1/wallet/unlock",
               Json::array({file.wallet.name, password->substr(0, password->find('\n'))}));
    return {};
}

// The network that is already in this folder, started again on its data.
base::Result<void> start_again(const Session& session,
                               const std::filesystem::path& dir,
                               const Arguments& arguments) {
    auto file = NetworkFile::read_running(dir);
    if (!file) return fail(file.error());
    const std::vector<std::string> more = arguments.all("node-option");
    const bool all_run = std::ranges::all_of(file->validators, [](const auto& each) {
        return is_running(static_cast<pid_t>(each.pid), "bor-node");
    });
    if (all_run && !more.empty()) {
        return fail(Errc::invalid,
                    fmt::format("--node-option {} changes nothing: all nodes run already; stop "
                                "them first ('bor-cli network down')",
                                more.front()));
    }
    if (file->join) return go_on_joining(session, dir, *file, more);
    base::Result<void> outcome;
    if (!is_running(static_cast<pid_t>(file->wallet.pid), "bor-wallet")) {
        outcome = start_wallet_again(dir, *file);
    }
    // Also without the wallet: the chain needs none.
    if (auto up = start_nodes(dir, *file, more); !up) add_failure(outcome, up.error());
    if (auto written = file->write(dir); !written) return written;
    wait_for_brokers(*file);
    // Also if one does not come up: the others run.
    (void)print_network(*file, session);
    return outcome;
}

base::Result<void> start_broker(const Plan& plan, const NetworkFile& file) {
    const NetworkFile::Validator& first = file.validators.front();
    Session session;
    session.url = first.http;
    session.wallet_url = "unix://" + file.wallet.socket;
    auto up = set_up_broker(session, *plan.broker, file.system_public);
    if (!up) return fail(with_log(first, up.error().detail));
    return up;
}

base::Result<void> network_up(const Session& session, const Arguments& arguments) {
    const std::filesystem::path dir = dir_of(session);
    if (std::filesystem::exists(dir / "network.json")) {
        for (const std::string_view each : {"n",
                                            "block-interval",
                                            "http-port",
                                            "system-key",
                                            "chain-parameter",
                                            "broker",
                                            "broker-host",
                                            "join",
                                            "name",
                                            "organisation"}) {
            if (!arguments.has(each)) continue;
            return fail(Errc::invalid,
                        fmt::format("--{} is for a new network, and {} has one; leave the option "
                                    "out to start it again, or choose another --dir",
                                    each,
                                    dir.string()));
        }
        return start_again(session, dir, arguments);
    }
    if (arguments.has("join")) return join_network(session, dir, arguments);
    for (const std::string_view each : {"name", "organisation"}) {
        if (!arguments.has(each)) continue;
        return fail(Errc::invalid, fmt::format("--{} is of a node that joins: --join LINE", each));
    }
    auto plan = make_plan(session, arguments);
    if (!plan) return fail(plan.error());
    plan->genesis = genesis_of(*plan);
    if (auto written = write_files(*plan); !written) return written;
    NetworkFile file;
    file.chain_id = base::to_hex(plan->genesis.chain_id().bytes);
    file.block_interval_ms = plan->interval_ms;
    file.system_public = plan->system.public_key().to_string();
    file.system_private = plan->system.to_string();
    for (const PlannedNode& node : plan->nodes) {
        file.validators.push_back({node.name,
                                   fmt::format("http://127.0.0.1:{}", node.http_port),
                                   node.p2p(),
                                   0,
                                   (node.dir / "data").string(),
                                   (node.dir / "log").string(),
                                   has_broker(*plan, node) ? plan->broker->address() : ""});
    }
    auto started = start_wallet(*plan, file);
    if (started) started = start_nodes(plan->dir, file, plan->node_options);
    if (started && plan->broker) started = start_broker(*plan, file);
    if (!started) {
        stop_all(file);
        return fail(started.error().code,
                    fmt::format("{}\nNothing runs. Remove {} before you try again.",
                                started.error().detail,
                                plan->dir.string()));
    }
    if (auto written = file.write(plan->dir); !written) return written;
    return print_network(file, session);
}

base::Result<void> network_down(const Session& session, const Arguments& /*arguments*/) {
    auto file = NetworkFile::read_running(dir_of(session));
    if (!file) return fail(file.error());
    stop_all(*file);
    // One that is started again by another program, as systemd does, is up again.
    file = NetworkFile::read_running(dir_of(session));
    if (!file) return fail(file.error());
    return print_network(*file, session);
}

base::Result<void> network_status(const Session& session, const Arguments& /*arguments*/) {
    const auto file = NetworkFile::read_running(dir_of(session));
    if (!file) return fail(file.error());
    return print_network(*file, session);
}

}  // namespace

void add_network_commands(std::vector<Command>& commands) {
    commands.push_back(
        {"network up",
         "Make a local network and start it, or start again the one in its folder",
         {},
         {{"n", 'n', "COUNT", "validators (default: 1)"},
          {"block-interval", 0, "MS", "time between blocks, 10 to 5000 ms (default: 500)"},
          {"http-port", 0, "PORT", "of the first node's API (default: a free one)"},
          {"open", 0, "", "everybody may create accounts and set code"},
          {"system-key", 0, "FILE", "private key of eosio (default: a new one)"},
          {"broker",
           0,
           "ACCOUNT",
           "the first node serves Kafka's clients; who comes without login"},
          {"broker-host",
           0,
           "HOST",
           "by which other machines reach the broker: with TLS, its certificate signed by ca.pem "
           "of the folder"},
          {"chain-parameter", 0, "NAME=NUMBER", "of the genesis file; may come several times"},
          {"node-option", 0, "WORD", "passed on to bor-node; may come several times"},
          {"join", 0, "LINE", "of 'network invite': one node more for the chain of that network"},
          {"name", 0, "NAME", "of the node that joins (default: from its key)"},
          {"organisation", 0, "NAME", "that the node that joins belongs to"}},
         network_up});
    commands.push_back(
        {"network down", "Stop the network in a folder; its data stays", {}, {}, network_down});
    commands.push_back(
        {"network status", "Show whether the network in a folder runs", {}, {}, network_status});
}

}  // namespace cli
