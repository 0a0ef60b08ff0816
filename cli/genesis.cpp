#include "genesis/genesis.hpp"

#include "base/crypto/typed_keys.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace cli {

namespace {

using base::Errc;
using base::fail;

// "NAME=PUBLICKEY" to a name and a key.
base::Result<std::pair<chain::Name, base::crypto::PublicKey>> named_key(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
        return fail(Errc::invalid, fmt::format("'{}': NAME=PUBLICKEY is needed", text));
    }
    const auto name = chain::Name::from_string(text.substr(0, equals));
    if (!name) return fail(name.error());
    const auto key = base::crypto::read_public_key(text.substr(equals + 1));
    if (!key) return fail(key.error());
    return std::pair(*name, *key);
}

base::Result<void> genesis_init(const Session& /*session*/, const Arguments& arguments) {
    genesis::Genesis genesis;
    const auto interval = arguments.number("block-interval", 500, 10, 5000);
    if (!interval) return fail(interval.error());
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    const auto milliseconds = static_cast<std::int64_t>(*interval);
    genesis.times = {{(now - now % milliseconds) * 1000}, static_cast<std::uint32_t>(*interval)};
    for (const std::string& text : arguments.all("member")) {
        const auto member = named_key(text);
        if (!member) return fail(member.error());
        genesis.members.push_back({member->first, chain::Authority::of_key(member->second), 1});
    }
    std::ranges::sort(genesis.members, {}, &genesis::Member::name);
    for (const std::string& text : arguments.all("validator")) {
        const auto validator = named_key(text);
        if (!validator) return fail(validator.error());
        genesis.schedule.entries.push_back(
            {validator->first, validator->second, validator->second});
    }
    genesis.system_authority = genesis::members_authority(genesis.members);
    for (const std::string& text : arguments.all("parameter")) {
        const std::size_t equals = text.find('=');
        const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
        if (value.empty() || value.size() > 18 ||
            value.find_first_not_of("0123456789") != std::string::npos) {
            return fail(Errc::invalid, fmt::format("'{}': NAME=NUMBER is needed", text));
        }
        if (auto set = genesis.parameters.set(text.substr(0, equals), std::stoull(value)); !set) {
            return fail(set.error());
        }
    }
    genesis.config = genesis::default_config(genesis.times.interval_milliseconds,
                                             genesis.parameters.cpu_units_per_us);
    if (auto good = genesis::check(genesis); !good) return good;
    if (auto done = write_file(arguments.at("file"), genesis::to_json(genesis)); !done) return done;
    fmt::print("{}: chain {}\n", arguments.at("file"), base::to_hex(genesis.chain_id().bytes));
    return {};
}

base::Result<void> genesis_check(const Session& /*session*/, const Arguments& arguments) {
    const auto text = read_file(arguments.at("file"));
    if (!text) return fail(text.error());
    const auto genesis = genesis::from_json(*text);
    if (!genesis) return fail(genesis.error());
    fmt::print("good: {} members, {} validators, a block every {} ms, chain {}\n",
               genesis->members.size(),
               genesis->schedule.entries.size(),
               genesis->times.interval_milliseconds,
               base::to_hex(genesis->chain_id().bytes));
    return {};
}

}  // namespace

void add_genesis_commands(std::vector<Command>& commands) {
    commands.push_back(
        {"genesis init",
         "Write a genesis file",
         {{"file", "where to write it"}},
         {{"member", 0, "NAME=PUBLICKEY", "an organisation and its key; once for each"},
          {"validator", 0, "NAME=PUBLICKEY", "a member that makes blocks, with its key"},
          {"block-interval", 0, "MS", "time between blocks, 10 to 5000 ms (default: 500)"},
          {"parameter", 0, "NAME=NUMBER", "a parameter that differs from its default"}},
         genesis_init});
    commands.push_back({"genesis check",
                        "Check a genesis file and show its chain id",
                        {{"file", "the genesis file"}},
                        {},
                        genesis_check});
}

}  // namespace cli
