#include "cli/network_file.hpp"

#include "cli/files.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

std::int64_t pid_of(const Json& json) {
    const Json& pid = member_of(json, "pid");
    return pid.is_number_integer() ? pid.get<std::int64_t>() : 0;
}

}  // namespace

std::string NetworkFile::Validator::socket() const {
    const std::filesystem::path path = std::filesystem::path(data_dir) / "bor.sock";
    // As the config.ini of older networks names it.
    const std::filesystem::path older = std::filesystem::path(data_dir) / "bor-node.sock";
    std::error_code error;
    const bool is_older =
        !std::filesystem::exists(path, error) && std::filesystem::exists(older, error);
    return (is_older ? older : path).string();
}

base::Result<NetworkFile> NetworkFile::read(const std::filesystem::path& dir) {
    const auto text = read_file(dir / "network.json");
    if (!text) {
        return base::fail(
            base::Errc::not_found,
            fmt::format("no network in {} ({}); 'bor-cli network up --dir {}' makes one",
                        dir.string(),
                        text.error().detail,
                        dir.string()));
    }
    const auto json = chain::abi::parse_json(*text);
    if (!json) {
        return base::fail(base::Errc::malformed,
                          fmt::format("{}/network.json: {}", dir.string(), json.error().detail));
    }
    NetworkFile file;
    file.chain_id = text_of(*json, "chain_id");
    file.block_interval_ms = static_cast<std::uint32_t>(number_of(*json, "block_interval_ms"));
    for (const Json& item : list_of(*json, "validators")) {
        file.validators.push_back({text_of(item, "name"),
                                   text_of(item, "http"),
                                   text_of(item, "p2p"),
                                   pid_of(item),
                                   text_of(item, "data_dir"),
                                   text_of(item, "log"),
                                   text_of(item, "broker")});
    }
    if (const Json& join = member_of(*json, "join"); join.is_object()) {
        file.join =
            Join{text_of(join, "http"), text_of(join, "node_key"), number_of(join, "height")};
    }
    const Json& wallet = member_of(*json, "wallet");
    file.wallet = {text_of(wallet, "socket"),
                   text_of(wallet, "name"),
                   text_of(wallet, "password_file"),
                   pid_of(wallet)};
    file.system_public = text_of(member_of(*json, "system_key"), "public");
    file.system_private = text_of(member_of(*json, "system_key"), "private");
    if (file.validators.empty()) {
        return base::fail(base::Errc::malformed,
                          fmt::format("{}/network.json names no validator", dir.string()));
    }
    return file;
}

base::Result<NetworkFile> NetworkFile::read_running(const std::filesystem::path& dir) {
    auto file = read(dir);
    if (!file) return file;
    for (Validator& each : file->validators)
        each.pid = process_on(each.data_dir, "bor-node", static_cast<pid_t>(each.pid));
    if (!file->wallet.socket.empty()) {
        file->wallet.pid = process_on(std::filesystem::path(file->wallet.socket).parent_path(),
                                      "bor-wallet",
                                      static_cast<pid_t>(file->wallet.pid));
    }
    return file;
}

base::Result<void> NetworkFile::write(const std::filesystem::path& dir) const {
    Json json = {{"chain_id", chain_id},
                 {"block_interval_ms", block_interval_ms},
                 {"validators", Json::array()}};
    for (const Validator& validator : validators) {
        Json item = {{"name", validator.name},
                     {"http", validator.http},
                     {"p2p", validator.p2p},
                     {"pid", validator.pid},
                     {"data_dir", validator.data_dir},
                     {"log", validator.log}};
        if (!validator.broker.empty()) item["broker"] = validator.broker;
        json["validators"].push_back(std::move(item));
    }
    if (join) {
        json["join"] = {
            {"http", join->http}, {"node_key", join->node_key}, {"height", join->height}};
        return write_file(dir / "network.json", chain::abi::dump_json(json, 2) + "\n");
    }
    json["wallet"] = {{"socket", wallet.socket},
                      {"name", wallet.name},
                      {"password_file", wallet.password_file},
                      {"pid", wallet.pid}};
    json["system_key"] = {{"public", system_public}, {"private", system_private}};
    // It has the system's private key.
    return write_file(dir / "network.json", chain::abi::dump_json(json, 2) + "\n", Secrecy::secret);
}

}  // namespace cli
