#include "chain/types/time.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/http_client.hpp"
#include "cli/journal.hpp"
#include "cli/network_file.hpp"
#include "cli/process.hpp"
#include "genesis/genesis.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace cli {

namespace {

using base::Errc;
using base::fail;
using base::crypto::PrivateKey;

constexpr std::string_view kValidator = "bora";
constexpr auto kStartPatience = std::chrono::seconds(30);
constexpr auto kStopPatience = std::chrono::seconds(20);

std::filesystem::path dir_of(const Session& session) {
    std::error_code error;
    return std::filesystem::absolute(session.dir, error);
}

// What `up` is making; the plan of one validator's folder.
struct Plan {
    std::filesystem::path dir;
    std::uint32_t interval_ms = 500;
    bool open = false;
    std::uint16_t http_port = 0;
    std::vector<std::string> node_options;
    PrivateKey system = PrivateKey::generate(base::crypto::KeyType::k1);
    PrivateKey validator = PrivateKey::generate(base::crypto::KeyType::k1);
    genesis::Genesis genesis;

    [[nodiscard]] std::filesystem::path node_dir() const { return dir / std::string(kValidator); }
    [[nodiscard]] std::filesystem::path log() const { return node_dir() / "log"; }
};

base::Result<Plan> make_plan(const Session& session, const Arguments& arguments) {
    const auto count = arguments.number("n", 1, 1, 125);
    if (!count) return fail(count.error());
    if (*count > 1) {
        return fail(Errc::invalid,
                    "a network of several validators needs the peer-to-peer layer, which is not "
                    "there yet; use -n 1");
    }
    Plan plan;
    plan.dir = dir_of(session);
    plan.open = arguments.has("open");
    plan.node_options = arguments.all("node-option");
    const auto interval = arguments.number("block-interval", 500, 10, 5000);
    if (!interval) return fail(interval.error());
    plan.interval_ms = static_cast<std::uint32_t>(*interval);
    const auto port = arguments.number("http-port", 0, 0, 65535);
    if (!port) return fail(port.error());
    plan.http_port = static_cast<std::uint16_t>(*port);
    if (plan.http_port == 0) {
        const auto free = free_port();
        if (!free) return fail(free.error());
        plan.http_port = *free;
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
    genesis.system_authority = Authority::of_key(plan.system.public_key());
    const chain::Name name = *chain::Name::from_string(kValidator);
    const base::crypto::PublicKey key = plan.validator.public_key();
    genesis.members = {{name, Authority::of_key(plan.system.public_key()), 1}};
    genesis.schedule.entries = {{name, key, key}};
    genesis.parameters.open_accounts = plan.open ? 1 : 0;
    genesis.parameters.open_contracts = plan.open ? 1 : 0;
    return genesis;
}

std::string config_of(const Plan& plan) {
    const std::string key = plan.validator.public_key().to_string();
    std::string text = "# Written by bor-cli network up.\n";
    text += fmt::format("http-server-address = 127.0.0.1:{}\n", plan.http_port);
    text += "unix-socket-path = bor-node.sock\n";
    text += fmt::format("producer-name = {}\n", kValidator);
    text += fmt::format(
        "signature-provider = {}=KEY:file:{}\n", key, (plan.node_dir() / "validator.key").string());
    for (const std::string_view plugin :
         {"producer_api_plugin", "db_size_api_plugin", "trace_api_plugin", "prometheus_plugin"}) {
        text += fmt::format("plugin = {}\n", plugin);
    }
    return text;
}

// Everything on disk that a node needs before its first start.
base::Result<void> write_files(const Plan& plan) {
    std::error_code error;
    std::filesystem::create_directories(plan.node_dir() / "data", error);
    std::filesystem::create_directories(plan.node_dir() / "config", error);
    std::filesystem::create_directories(plan.dir / "wallet", error);
    std::filesystem::permissions(plan.dir / "wallet", std::filesystem::perms::owner_all, error);
    if (error)
        return fail(Errc::unavailable, fmt::format("{}: {}", plan.dir.string(), error.message()));
    if (auto done = write_file(plan.dir / "genesis.json", genesis::to_json(plan.genesis)); !done) {
        return done;
    }
    if (auto done = write_file(
            plan.node_dir() / "validator.key", plan.validator.to_string() + "\n", Secrecy::secret);
        !done) {
        return done;
    }
    if (auto done = make_journal(plan.node_dir() / "data", {plan.validator.public_key()}); !done) {
        return done;
    }
    return write_file(plan.node_dir() / "config" / "config.ini", config_of(plan));
}

std::vector<std::string> node_words(const std::filesystem::path& dir,
                                    const std::filesystem::path& node_dir,
                                    const std::vector<std::string>& more) {
    std::vector<std::string> words{program_path("bor-node").string(),
                                   "--config-dir",
                                   (node_dir / "config").string(),
                                   "--data-dir",
                                   (node_dir / "data").string(),
                                   "--genesis-json",
                                   (dir / "genesis.json").string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
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

std::string last_lines(const std::filesystem::path& file) {
    const auto text = read_file(file);
    if (!text) return "(no log)";
    constexpr std::size_t kBytes = 2000;
    return text->size() <= kBytes ? *text : "..." + text->substr(text->size() - kBytes);
}

// Until the first block after genesis is final, or the node ends, or patience does. Who answers
// may be another node, whose port ours could not have: the chain tells.
base::Result<void> wait_for_final(const std::string& url, const std::string& chain_id, pid_t pid) {
    const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
    while (std::chrono::steady_clock::now() < deadline) {
        if (!is_running(pid, "bor-node")) return fail(Errc::unavailable, "bor-node ended");
        if (const auto info = call(url, "/v1/chain/get_info", Json())) {
            const Json* final = chain::abi::find_member(*info, "last_irreversible_block_num");
            const Json* id = chain::abi::find_member(*info, "chain_id");
            if (final != nullptr && final->is_number_unsigned() &&
                final->get<std::uint64_t>() > 1 && id != nullptr && *id == chain_id) {
                return {};
            }
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
    const auto written =
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

base::Result<void> start_node(const std::filesystem::path& dir,
                              NetworkFile& file,
                              const std::vector<std::string>& more) {
    NetworkFile::Validator& validator = file.validators.front();
    const std::filesystem::path node_dir = std::filesystem::path(validator.data_dir).parent_path();
    const auto pid = start_detached(node_words(dir, node_dir, more), validator.log);
    if (!pid) return fail(pid.error());
    validator.pid = *pid;
    if (auto is_final = wait_for_final(validator.http, file.chain_id, *pid); !is_final) {
        return fail(Errc::unavailable,
                    fmt::format("{}; its log ({}) ends with:\n{}",
                                is_final.error().detail,
                                validator.log,
                                last_lines(validator.log)));
    }
    return {};
}

void print_network(const NetworkFile& file, const Session& session) {
    if (session.json) {
        Json json = Json::array();
        for (const auto& validator : file.validators) {
            json.push_back(
                {{"name", validator.name},
                 {"http", validator.http},
                 {"pid", validator.pid},
                 {"running", is_running(static_cast<pid_t>(validator.pid), "bor-node")}});
        }
        fmt::print("{}\n", chain::abi::dump_json(json, 2));
        return;
    }
    fmt::print("chain {}, a block every {} ms\n", file.chain_id, file.block_interval_ms);
    for (const auto& validator : file.validators) {
        const bool up = is_running(static_cast<pid_t>(validator.pid), "bor-node");
        fmt::print("{:<12} {}  {}\n", validator.name, up ? "up  " : "down", validator.http);
    }
}

// The network that is already in this folder, started again on its data.
base::Result<void> start_again(const Session& session,
                               const std::filesystem::path& dir,
                               const Arguments& arguments) {
    auto file = NetworkFile::read(dir);
    if (!file) return fail(file.error());
    if (!is_running(static_cast<pid_t>(file->wallet.pid), "bor-wallet")) {
        const auto pid = start_detached(wallet_words(dir), dir / "wallet" / "log");
        if (!pid) return fail(pid.error());
        file->wallet.pid = *pid;
        const std::string url = "unix://" + file->wallet.socket;
        if (auto up = wait_for_socket(url, *pid); !up) return up;
        const auto password = read_file(file->wallet.password_file);
        if (!password) return fail(password.error());
        (void)call(url,
                   "/v1/wallet/unlock",
                   Json::array({file->wallet.name, password->substr(0, password->find('\n'))}));
    }
    const auto node_pid = static_cast<pid_t>(file->validators.front().pid);
    if (!is_running(node_pid, "bor-node")) {
        if (auto up = start_node(dir, *file, arguments.all("node-option")); !up) return up;
    }
    if (auto written = file->write(dir); !written) return written;
    print_network(*file, session);
    return {};
}

base::Result<void> network_up(const Session& session, const Arguments& arguments) {
    const std::filesystem::path dir = dir_of(session);
    if (std::filesystem::exists(dir / "network.json")) {
        for (const std::string_view each : {"n", "block-interval", "http-port", "system-key"}) {
            if (!arguments.has(each)) continue;
            return fail(Errc::invalid,
                        fmt::format("--{} is for a new network, and {} has one; leave the option "
                                    "out to start it again, or choose another --dir",
                                    each,
                                    dir.string()));
        }
        return start_again(session, dir, arguments);
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
    file.validators.push_back({std::string(kValidator),
                               fmt::format("http://127.0.0.1:{}", plan->http_port),
                               "",
                               0,
                               (plan->node_dir() / "data").string(),
                               plan->log().string()});
    auto started = start_wallet(*plan, file);
    if (started) started = start_node(plan->dir, file, plan->node_options);
    if (!started) {
        stop_all(file);
        return started;
    }
    if (auto written = file.write(plan->dir); !written) return written;
    print_network(file, session);
    return {};
}

base::Result<void> network_down(const Session& session, const Arguments& /*arguments*/) {
    const auto file = NetworkFile::read(dir_of(session));
    if (!file) return fail(file.error());
    stop_all(*file);
    print_network(*file, session);
    return {};
}

base::Result<void> network_status(const Session& session, const Arguments& /*arguments*/) {
    const auto file = NetworkFile::read(dir_of(session));
    if (!file) return fail(file.error());
    print_network(*file, session);
    return {};
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
          {"node-option", 0, "WORD", "passed on to bor-node; may come several times"}},
         network_up});
    commands.push_back(
        {"network down", "Stop the network in a folder; its data stays", {}, {}, network_down});
    commands.push_back(
        {"network status", "Show whether the network in a folder runs", {}, {}, network_status});
}

}  // namespace cli
