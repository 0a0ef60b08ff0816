#include "cli/network_join.hpp"

#include "cli/doctor.hpp"
#include "cli/files.hpp"
#include "cli/members.hpp"
#include "cli/network_run.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"
#include "cli/progress.hpp"
#include "genesis/genesis.hpp"
#include "genesis/join_line.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <thread>
#include <utility>

// One node more for a chain that is elsewhere, by the line that a node of it gives.

namespace cli {

namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;
using base::crypto::PrivateKey;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kAnswerPatience = seconds(10);
constexpr auto kAskEvery = milliseconds(500);  // Of the other node,
constexpr auto kLookEvery = milliseconds(50);  // of our own.
constexpr auto kTellEvery = seconds(1);
constexpr auto kRemindEvery = seconds(10);
constexpr auto kExamineAfter = seconds(10);  // Nothing has moved: what does the node find?

// --- The line, and the genesis file --------------------------------------------------------

// The genesis file that the line's node has; it must give the chain of the line.
base::Result<genesis::Genesis> fetch_genesis(const genesis::JoinLine& line) {
    const std::string url = line.http_url();
    const auto answer = http_get(url, "/v1/bor/join", kAnswerPatience);
    if (!answer) {
        return fail(Errc::unavailable,
                    fmt::format("the genesis file is asked of the node of the join line: {}; does "
                                "it run, and does this machine reach its HTTP port?",
                                answer.error().detail));
    }
    const auto invalid = [&](const std::string& reason) {
        return fail(Errc::invalid, fmt::format("{}/v1/bor/join: {}", url, reason));
    };
    if (answer->status != 200) {
        constexpr std::size_t kShown = 200;  // Whoever answers there may be anybody.
        return invalid(
            fmt::format("HTTP status {}: {}", answer->status, answer->body.substr(0, kShown)));
    }
    const auto json = chain::abi::parse_json(answer->body);
    if (!json) return invalid(json.error().detail);
    auto genesis = genesis::from_json(text_of(*json, "genesis"));
    if (!genesis) return invalid("genesis: " + genesis.error().detail);
    if (const chain::ChainId chain = genesis->chain_id(); chain != line.chain_id) {
        return invalid(fmt::format("its genesis file is of chain {}, the join line names chain {}",
                                   base::to_hex(chain.view()),
                                   base::to_hex(line.chain_id.view())));
    }
    return genesis;
}

// Asked of the node of the line: who took the name of another node would have it cut off.
base::Result<void> check_name(const std::string& url, const std::string& name) {
    const auto answer = call(url, "/v1/bor/validators", Json(), kAnswerPatience);
    if (!answer) {
        return fail(
            Errc::unavailable,
            fmt::format(
                "whether the name {} is free cannot be seen: {}", name, answer.error().detail));
    }
    const Json* const node = find_node(*answer, name);
    if (node == nullptr) return {};
    return fail(Errc::invalid,
                fmt::format("--name {}: {}; nothing was made. Give the new node another name; if "
                            "that one is gone for good, remove it first, after that the name is "
                            "free ('bor-cli node remove {}')",
                            name,
                            registered_text(*node),
                            name));
}

// --- The folder ----------------------------------------------------------------------------

base::Result<void> check_unused(const fs::path& dir) {
    std::error_code error;
    if (!fs::exists(dir, error) || fs::is_empty(dir, error)) return {};
    return fail(Errc::invalid,
                fmt::format("{} is in use: it is not empty; choose another --dir", dir.string()));
}

// Another node hardly has it; --name is for those who want one to remember.
base::Result<chain::Name> name_of(const Arguments& arguments, const std::string& key) {
    constexpr std::size_t kLetters = 8;
    if (arguments.has("name")) {
        const auto name = chain::Name::from_string(arguments.get("name"));
        if (name && *name != chain::Name{}) return *name;
        return fail(Errc::invalid,
                    fmt::format("--name {}: a name has up to 12 of the letters a-z, 1-5 and .",
                                arguments.get("name")));
    }
    std::string letters;
    for (const char c : key.substr(key.rfind('_') + 1)) {
        const bool is_lower = c >= 'a' && c <= 'z';
        if (is_lower && letters.size() < kLetters) letters += c;
    }
    return chain::Name::from_string("node" + letters);
}

struct NewNode {
    std::string name;
    fs::path dir;
    std::uint16_t http_port = 0;
    std::uint16_t p2p_port = 0;
    PrivateKey key = PrivateKey::generate(base::crypto::KeyType::r1);
};

base::Result<NewNode> plan_node(const fs::path& dir, const Arguments& arguments) {
    NewNode node;
    const auto name = name_of(arguments, node.key.public_key().to_string());
    if (!name) return fail(name.error());
    node.name = name->to_string();
    node.dir = dir / node.name;
    const auto http = arguments.number("http-port", 0, 0, 65'535);
    if (!http) return fail(http.error());
    std::set<std::uint16_t> taken{static_cast<std::uint16_t>(*http)};
    node.http_port = static_cast<std::uint16_t>(*http);
    if (node.http_port == 0) {
        const auto port = another_port(taken);
        if (!port) return fail(port.error());
        node.http_port = *port;
    }
    const auto port = another_port(taken);
    if (!port) return fail(port.error());
    node.p2p_port = *port;
    return node;
}

std::string config_of(const genesis::JoinLine& line, const NewNode& node) {
    std::string text = "# Written by bor-cli network up --join.\n";
    text += fmt::format("http-server-address = 127.0.0.1:{}\n", node.http_port);
    text += fmt::format("p2p-listen-endpoint = 127.0.0.1:{}\n", node.p2p_port);
    text += fmt::format("p2p-node-key = {}\n", (node.dir / "node.key").string());
    text +=
        fmt::format("p2p-peer-address = {}#{}\n", line.p2p_address(), line.node_key.to_string());
    text += fmt::format(
        "checkpoint = {}:{}\n", line.checkpoint.height, base::to_hex(line.checkpoint.block.view()));
    return text + plugin_lines();
}

base::Result<void> write_node(const fs::path& dir,
                              const NewNode& node,
                              const std::string& config,
                              const genesis::Genesis& genesis) {
    std::error_code error;
    fs::create_directories(node.dir / "data", error);
    if (!error) fs::create_directories(node.dir / "config", error);
    if (error) {
        return fail(Errc::unavailable, fmt::format("{}: {}", node.dir.string(), error.message()));
    }
    auto done = write_file(dir / "genesis.json", genesis::to_json(genesis));
    if (!done) return done;
    done = write_file(node.dir / "node.key", node.key.to_string() + "\n", Secrecy::secret);
    if (!done) return done;
    return write_file(node.dir / "config" / "config.ini", config);
}

// --- Registered, then at the head ------------------------------------------------------------

bool is_registered(const Json& validators, const std::string& key) {
    for (const Json& node : list_of(validators, "nodes")) {
        if (text_of(node, "key") == key) return true;
    }
    return false;
}

void tell(const std::string& text) {
    fmt::print(stderr, "{}\n", text);
    std::fflush(stderr);
}

// Whoever is registered by the name of this node with another key; empty: nobody.
std::string name_taken(const Json& validators, const std::string& name, const std::string& key) {
    const Json* const node = find_node(validators, name);
    if (node == nullptr || text_of(*node, "key") == key) return "";
    return registered_text(*node);
}

// Until the node is registered in a final block; whoever cuts this short calls again. invalid: its
// name is another's by now, so to register it would cut that one off.
base::Result<void> wait_for_registration(const NetworkFile& file, const std::string& organisation) {
    const std::string& key = file.join->node_key;
    const std::string& name = file.validators.front().name;
    const auto ask = [&] {
        return call(file.join->http, "/v1/bor/validators?state=final", Json(), kAnswerPatience);
    };
    auto answer = ask();
    const auto check_taken = [&]() -> base::Result<void> {
        const std::string taken = answer ? name_taken(*answer, name, key) : "";
        if (taken.empty()) return {};
        return fail(Errc::invalid,
                    fmt::format("{}, and this node has the key {}. Remove its folder and join by "
                                "another --name, or change the key with 'bor-cli node rotate {} "
                                "{}' if that is this node, and call again",
                                taken,
                                key,
                                name,
                                key));
    };
    if (answer && is_registered(*answer, key)) return {};
    if (auto good = check_taken(); !good) return good;
    const std::string how = fmt::format(
        "a member's operator does that with\n"
        "  bor-cli node add {} {} {} --role observer\n"
        "  (without --role where it shall stand as a validator)",
        organisation.empty() ? "ORGANISATION" : organisation,
        name,
        key);
    tell("waiting until this node is registered; " + how);
    auto told_at = std::chrono::steady_clock::now();
    while (!answer || !is_registered(*answer, key)) {
        std::this_thread::sleep_for(kAskEvery);
        answer = ask();
        if (auto good = check_taken(); !good) return good;
        if (std::chrono::steady_clock::now() < told_at + kRemindEvery) continue;
        told_at = std::chrono::steady_clock::now();
        tell(answer ? "still waiting until this node is registered; " + how
                    : fmt::format("the registration cannot be seen: no answer from {}",
                                  file.join->http));
    }
    tell("registered");
    return {};
}

// A chain goes on by a recovery only where the operator confirms it.
void tell_recovery(const NetworkFile& file) {
    const auto answer = call(file.join->http, "/v1/bor/finality", Json(), kAnswerPatience);
    const Json recovery = answer ? member_of(*answer, "recovery") : Json();
    if (!recovery.is_object()) return;
    tell(
        fmt::format("the chain went on by a recovery from block {}: without it this node may stop "
                    "there. Ask a member for its file, put it as recovery.txt into {}, and write\n"
                    "  recover-from = {}\n"
                    "into its config.ini, if members tell you the same id (README, \"When "
                    "something is wrong\")",
                    number_of(recovery, "block_num"),
                    file.validators.front().data_dir,
                    text_of(recovery, "id")));
}

// What the node itself finds wrong, each once: why nothing moves.
void tell_findings(const NetworkFile::Validator& node, std::set<std::string>& told) {
    Session session;
    session.url = node.http;
    session.operator_url = "unix://" + node.socket();
    for (const Finding& each : examine_node(session)) {
        if (each.good || !told.insert(each.name).second) continue;
        tell(fmt::format("BAD   {:<9} {}", each.name, each.text));
    }
}

// How far it is, without the speed and the peers: as long as it is the same, nothing moves.
std::string progress_of(const Json& sync) {
    const Json& snapshot = member_of(sync, "snapshot");
    return fmt::format("{} {} {} {}",
                       number_of(sync, "block_num"),
                       text_of(snapshot, "stage"),
                       number_of(snapshot, "block_num"),
                       number_of(snapshot, "chunks"));
}

base::Result<void> watch(const NetworkFile& file) {
    const NetworkFile::Validator& node = file.validators.front();
    std::string progress;
    auto moved_at = std::chrono::steady_clock::now();
    std::set<std::string> told_findings;
    std::string told;
    std::string told_stage;
    auto told_at = std::chrono::steady_clock::time_point();
    while (is_running(static_cast<pid_t>(node.pid), "bor-node")) {
        // It does not answer while it begins with a snapshot.
        if (const auto sync = call(node.http, "/v1/bor/sync", Json(), kTellEvery)) {
            const bool is_there =
                is_at_head(*sync) && number_of(*sync, "block_num") >= file.join->height;
            const std::string text = sync_text(*sync);
            const std::string stage =
                text_of(*sync, "mode") + text_of(member_of(*sync, "snapshot"), "stage");
            const bool is_time = std::chrono::steady_clock::now() >= told_at + kTellEvery;
            if (text != told && (is_there || is_time || stage != told_stage)) {
                tell(text);
                told = text;
                told_stage = stage;
                told_at = std::chrono::steady_clock::now();
            }
            if (is_there) return {};
            const auto now = std::chrono::steady_clock::now();
            if (std::string present = progress_of(*sync); present != progress) {
                progress = std::move(present);
                moved_at = now;
            } else if (now >= moved_at + kExamineAfter) {
                tell_findings(node, told_findings);
                moved_at = std::chrono::steady_clock::now();
            }
        }
        std::this_thread::sleep_for(kLookEvery);
    }
    return fail(with_log(node, "bor-node ended"));
}

base::Result<void> carry_on(const Session& session,
                            const fs::path& dir,
                            NetworkFile& file,
                            const std::vector<std::string>& more,
                            const std::string& organisation) {
    NetworkFile::Validator& node = file.validators.front();
    if (!is_running(static_cast<pid_t>(node.pid), "bor-node")) {
        if (const auto there = check_folder(node); !there) {
            return fail(Errc::not_found,
                        fmt::format("{} cannot be started: its folder {} is gone. Put it back, or "
                                    "remove {} and join again with a new line ('bor-cli network "
                                    "invite')",
                                    node.name,
                                    fs::path(node.data_dir).parent_path().string(),
                                    dir.string()));
        }
        // A node that was started before was registered.
        if (!fs::exists(fs::path(node.data_dir) / "genesis.json")) {
            tell_recovery(file);
            auto registered = wait_for_registration(file, organisation);
            if (!registered) return registered;
        }
        if (auto started = start_node(dir, node, more); !started) return started;
        if (auto written = file.write(dir); !written) return written;
    }
    if (auto there = watch(file); !there) return there;
    return print_network(file, session);
}

// --- network invite --------------------------------------------------------------------------

base::Result<void> invite(const Session& session, const Arguments& /*arguments*/) {
    const auto answer = call(session.url, "/v1/bor/join", Json());
    if (!answer) return fail(answer.error());
    const std::string line = text_of(*answer, "line");
    if (line.empty()) return fail(Errc::unavailable, text_of(*answer, "why_not"));
    if (session.json) return print_json({{"line", line}});
    fmt::print("{}\n", line);
    return {};
}

}  // namespace

base::Result<void> join_network(const Session& session,
                                const fs::path& dir,
                                const Arguments& arguments) {
    for (const std::string_view each :
         {"n", "block-interval", "open", "system-key", "chain-parameter", "broker"}) {
        if (!arguments.has(each)) continue;
        return fail(Errc::invalid,
                    fmt::format("--{} is for a new network, --join for one that is there", each));
    }
    const auto line = genesis::JoinLine::from_string(arguments.get("join"));
    if (!line) return fail(line.error());
    if (auto unused = check_unused(dir); !unused) return unused;
    const auto genesis = fetch_genesis(*line);
    if (!genesis) return fail(genesis.error());
    const auto node = plan_node(dir, arguments);
    if (!node) return fail(node.error());
    if (auto is_free = check_name(line->http_url(), node->name); !is_free) return is_free;
    auto written = write_node(dir, *node, config_of(*line, *node), *genesis);
    if (!written) return written;
    NetworkFile file;
    file.chain_id = base::to_hex(line->chain_id.view());
    file.block_interval_ms = genesis->times.interval_milliseconds;
    file.validators.push_back({node->name,
                               fmt::format("http://127.0.0.1:{}", node->http_port),
                               fmt::format("127.0.0.1:{}", node->p2p_port),
                               0,
                               (node->dir / "data").string(),
                               (node->dir / "log").string()});
    file.join = NetworkFile::Join{
        line->http_url(), node->key.public_key().to_string(), line->checkpoint.height};
    if (written = file.write(dir); !written) return written;
    const auto more = arguments.all("node-option");
    return carry_on(session, dir, file, more, arguments.get("organisation"));
}

base::Result<void> go_on_joining(const Session& session,
                                 const fs::path& dir,
                                 NetworkFile& file,
                                 const std::vector<std::string>& more) {
    return carry_on(session, dir, file, more, "");
}

void add_invite_command(std::vector<Command>& commands) {
    commands.push_back({"network invite",
                        "Print the line by which a new node joins the node's chain",
                        {},
                        {},
                        invite});
}

}  // namespace cli
