#include "cli/network_run.hpp"

#include "cli/files.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"

#include <fmt/format.h>

#include <array>

namespace cli {

using base::Errc;
using base::fail;

std::filesystem::path dir_of(const Session& session) {
    std::error_code error;
    return std::filesystem::absolute(session.dir, error);
}

base::Result<std::uint16_t> another_port(std::set<std::uint16_t>& taken) {
    for (int i = 0; i < 100; ++i) {
        const auto port = free_port();
        if (!port) return fail(port.error());
        if (taken.insert(*port).second) return *port;
    }
    return fail(Errc::unavailable, "no free TCP port was found in 100 tries");
}

std::string plugin_lines() {
    constexpr std::array<std::string_view, 5> kPlugins = {"producer_api_plugin",
                                                          "net_api_plugin",
                                                          "db_size_api_plugin",
                                                          "trace_api_plugin",
                                                          "prometheus_plugin"};
    std::string text;
    for (const std::string_view plugin : kPlugins)
        text += fmt::format("plugin = {}\n", plugin);
    return text;
}

namespace {

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

std::string last_lines(const std::filesystem::path& file) {
    const auto text = read_file(file);
    if (!text) return "(no log)";
    constexpr std::size_t kBytes = 2000;
    return text->size() <= kBytes ? *text : "..." + text->substr(text->size() - kBytes);
}

}  // namespace

base::Result<void> start_node(const std::filesystem::path& dir,
                              NetworkFile::Validator& node,
                              const std::vector<std::string>& more) {
    const auto node_dir = std::filesystem::path(node.data_dir).parent_path();
    const auto pid = start_detached(node_words(dir, node_dir, more), node.log);
    if (!pid) return fail(pid.error());
    node.pid = *pid;
    return {};
}

base::Result<void> check_folder(const NetworkFile::Validator& node) {
    const auto folder = std::filesystem::path(node.data_dir).parent_path();
    std::error_code error;
    if (std::filesystem::exists(folder / "config" / "config.ini", error)) return {};
    return fail(Errc::not_found,
                fmt::format("{0} cannot be started: there is no {1}. If the folder {2} was moved, "
                            "put it back; never an older copy, whose key could sign twice. If it "
                            "is lost, its keys are: the others go on without {0} as long as they "
                            "are more than two thirds ('bor-cli validators'), and members take it "
                            "out of the schedule with 'bor-cli system voteproducer unapprove "
                            "MEMBER {0}'",
                            node.name,
                            (folder / "config" / "config.ini").string(),
                            folder.string()));
}

base::Error with_log(const NetworkFile::Validator& node, const std::string& what) {
    return {Errc::unavailable,
            fmt::format("{}: {}; its log ({}) ends with:\n{}",
                        node.name,
                        what,
                        node.log,
                        last_lines(node.log))};
}

base::Result<void> print_network(const NetworkFile& file, const Session& session) {
    if (session.json) {
        Json json = Json::array();
        for (const auto& validator : file.validators) {
            json.push_back(
                {{"name", validator.name},
                 {"http", validator.http},
                 {"pid", validator.pid},
                 {"running", is_running(static_cast<pid_t>(validator.pid), "bor-node")}});
            if (!validator.broker.empty()) json.back()["broker"] = validator.broker;
        }
        return print_json(json);
    }
    fmt::print("chain {}, a block every {} ms\n", file.chain_id, file.block_interval_ms);
    for (const auto& validator : file.validators) {
        const bool up = is_running(static_cast<pid_t>(validator.pid), "bor-node");
        fmt::print("{:<12} {}  {}{}\n",
                   validator.name,
                   up ? "up  " : "down",
                   validator.http,
                   validator.broker.empty() ? "" : "  Kafka " + validator.broker);
    }
    return {};
}

}  // namespace cli
