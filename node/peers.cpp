#include "node/peers.hpp"

#include "chain/execution/rows.hpp"
#include "node/disk/file.hpp"
#include "node/disk/secret_file.hpp"
#include "node/option_names.hpp"
#include "node/snapshots/snapshot_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <sstream>

namespace node {

namespace {

using base::Errc;
using base::crypto::KeyType;
using base::crypto::PrivateKey;
using base::crypto::PublicKey;

constexpr std::size_t kListsBytesMax = std::size_t{1} << 20U;

base::Result<PrivateKey> read_node_key(const std::string& path) {
    const auto invalid = [&](const std::string& reason) {
        return base::fail(Errc::invalid, "p2p-node-key = " + path + ": " + reason);
    };
    auto key = read_key_file(path);
    if (!key) return invalid(key.error().detail);
    if (key->type() != KeyType::r1) {
        return invalid("is not an R1 key: TLS has no scheme for others");
    }
    return key;
}

base::Result<p2p::input::Dial> read_address(const std::string& text) {
    p2p::input::Dial dial;
    const std::size_t hash = text.find('#');
    dial.address = text.substr(0, hash);
    const std::size_t colon = dial.address.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == dial.address.size()) {
        return base::fail(Errc::invalid,
                          "p2p-peer-address = " + text + ": expected host:port or host:port#KEY");
    }
    if (hash == std::string::npos) return dial;
    auto key = PublicKey::from_string(std::string_view(text).substr(hash + 1));
    if (!key || key->type != KeyType::r1) {
        return base::fail(Errc::invalid,
                          "p2p-peer-address = " + text + ": after # comes the node's key, PUB_R1_");
    }
    dial.pinned = *std::move(key);
    return dial;
}

std::uint64_t random_number() {
    std::random_device device;
    return std::uint64_t{device()} << 32U | device() | 1U;
}

}  // namespace

base::Result<p2p::input::ListsChanged> read_lists(const std::string& path) {
    auto bytes = read_file(path, kListsBytesMax);
    if (!bytes) {
        return base::fail(Errc::invalid, "p2p-access-file = " + path + ": " + bytes.error().detail);
    }
    p2p::input::ListsChanged lists;
    std::istringstream lines{std::string(base::as_text(*bytes))};
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::istringstream words(line.substr(0, line.find('#')));
        std::string verb;
        std::string text;
        std::string more;
        words >> verb >> text >> more;
        if (verb.empty()) continue;
        const auto key = PublicKey::from_string(text);
        const bool is_known = verb == "allow" || verb == "deny";
        if (!is_known || !more.empty() || !key || key->type != KeyType::r1) {
            return base::fail(Errc::invalid,
                              fmt::format("{}:{}: expected 'allow' or 'deny' and a node's key, "
                                          "PUB_R1_...",
                                          path,
                                          number));
        }
        (verb == "allow" ? lists.allow : lists.deny).push_back(*key);
    }
    return lists;
}

base::Result<PeerSettings> read_peers(const Options& options) {
    PeerSettings settings;
    if (!options.has_peers()) return settings;
    auto key = read_node_key(options.p2p_node_key.string());
    if (!key) return base::fail(key.error());
    settings.node_key = *std::move(key);
    for (const std::string& text : options.p2p_peer_addresses) {
        auto dial = read_address(text);
        if (!dial) return base::fail(dial.error());
        settings.dials.push_back(*std::move(dial));
    }
    if (!options.p2p_access_file.empty()) {
        auto lists = read_lists(options.p2p_access_file.string());
        if (!lists) return base::fail(lists.error());
        settings.lists = *std::move(lists);
    }
    if (!options.checkpoint.empty()) {
        const auto checkpoint = genesis::checkpoint_from(options.checkpoint);
        if (!checkpoint) return base::fail(checkpoint.error());
        settings.checkpoint = p2p::Checkpoint{checkpoint->height, checkpoint->block};
    }
    return settings;
}

std::string listen_address(const Options& options) {
    if (!options.p2p_server_address.empty()) return options.p2p_server_address;
    return options.p2p_listen_endpoints.empty() ? "" : options.p2p_listen_endpoints.front();
}

std::optional<p2p::Options> network_options(const Options& options,
                                            const PeerSettings& settings,
                                            const Ledger& ledger,
                                            const p2p::RecoveryPoint& recovery) {
    if (!settings.node_key) return std::nullopt;
    p2p::Options network;
    network.chain_id = ledger.genesis.chain_id();
    network.times = ledger.genesis.times;
    network.node_key = settings.node_key->public_key();
    network.boot_id = random_number();
    network.vote_keys = ledger.signer->keys();
    network.roles = network.vote_keys.empty() ? p2p::kObserver : p2p::kValidator;
    network.listen_address = listen_address(options);
    network.agent = "bor/" + std::string(kVersion);
    network.rules_version = chain::kRulesKnown;
    network.seed = random_number();
    network.peers_max = options.p2p_max_peers;
    network.checkpoint = settings.checkpoint;
    network.joins_with_one_organisation = options.join_with_one_organisation;
    // Over a recovery no proof leads: up to it all is checked.
    network.trusts_certified = options.trust == "certified";
    network.recovery = recovery;
    return network;
}

}  // namespace node
