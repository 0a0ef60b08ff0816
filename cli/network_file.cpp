#include "cli/network_file.hpp"

#include "chain/abi/json.hpp"
#include "cli/files.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

using chain::abi::Json;

std::string text_at(const Json& json, std::string_view key) {
    const Json* value = chain::abi::find_member(json, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::int64_t number_at(const Json& json, std::string_view key) {
    const Json* value = chain::abi::find_member(json, key);
    return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

const Json& object_at(const Json& json, std::string_view key) {
    static const Json kEmpty = Json::object();
    const Json* value = chain::abi::find_member(json, key);
    return value == nullptr ? kEmpty : *value;
}

}  // namespace

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
    file.chain_id = text_at(*json, "chain_id");
    file.block_interval_ms = static_cast<std::uint32_t>(number_at(*json, "block_interval_ms"));
    for (const Json& item : object_at(*json, "validators")) {
        file.validators.push_back({text_at(item, "name"),
                                   text_at(item, "http"),
                                   text_at(item, "p2p"),
                                   number_at(item, "pid"),
                                   text_at(item, "data_dir"),
                                   text_at(item, "log")});
    }
    const Json& wallet = object_at(*json, "wallet");
    file.wallet = {text_at(wallet, "socket"),
                   text_at(wallet, "name"),
                   text_at(wallet, "password_file"),
                   number_at(wallet, "pid")};
    file.system_public = text_at(object_at(*json, "system_key"), "public");
    file.system_private = text_at(object_at(*json, "system_key"), "private");
    if (file.validators.empty()) {
        return base::fail(base::Errc::malformed,
                          fmt::format("{}/network.json names no validator", dir.string()));
    }
    return file;
}

base::Result<void> NetworkFile::write(const std::filesystem::path& dir) const {
    Json json = {{"chain_id", chain_id},
                 {"block_interval_ms", block_interval_ms},
                 {"validators", Json::array()}};
    for (const Validator& validator : validators) {
        json["validators"].push_back({{"name", validator.name},
                                      {"http", validator.http},
                                      {"p2p", validator.p2p},
                                      {"pid", validator.pid},
                                      {"data_dir", validator.data_dir},
                                      {"log", validator.log}});
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
