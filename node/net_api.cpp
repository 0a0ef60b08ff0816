#include "base/crypto/hash.hpp"
#include "node/operator_api.hpp"

#include <algorithm>
#include <charconv>

namespace node {

namespace {

using p2p::DialStatus;
using p2p::PeerStatus;

constexpr const char* kUnknown = "<unknown>";
constexpr const char* kNoKey = "EOS1111111111111111111111111111111114T1Anm";
constexpr const char* kNoSignature =
    "SIG_K1_111111111111111111111111111111111111111111111111111111111111111116uk5ne";
constexpr std::size_t kAddressBytesMax = 255;

// "host:port", with "#PUB_R1_..." behind it when only that node may answer there.
struct Address {
    std::string host_port;
    std::optional<base::crypto::PublicKey> key;
};

std::optional<Address> parse_address(const std::string& text) {
    if (text.size() > kAddressBytesMax) return std::nullopt;
    Address address{.host_port = text.substr(0, text.find('#')), .key = {}};
    if (address.host_port.size() < text.size()) {
        auto key = base::crypto::PublicKey::from_string(text.substr(address.host_port.size() + 1));
        if (!key || key->type != base::crypto::KeyType::r1) return std::nullopt;
        address.key = std::move(*key);
    }
    const std::size_t colon = address.host_port.rfind(':');
    if (colon == std::string::npos || colon == 0) return std::nullopt;
    const char* begin = address.host_port.data() + colon + 1;
    const char* end = address.host_port.data() + address.host_port.size();
    std::uint16_t port = 0;
    const auto [stop, error] = std::from_chars(begin, end, port);
    if (error != std::errc{} || stop != end || port == 0) return std::nullopt;
    return address;
}

std::string zeros() {
    return std::string(64, '0');
}

// nodeos names a node by a random hash; ours is that of its key.
std::string node_id(const base::crypto::PublicKey& key) {
    return base::to_hex(base::crypto::sha256(chain::pack(key)).view());
}

Json no_handshake() {
    return {{"network_version", 0},
            {"chain_id", zeros()},
            {"node_id", zeros()},
            {"key", kNoKey},
            {"time", 0},
            {"token", zeros()},
            {"sig", kNoSignature},
            {"p2p_address", ""},
            {"last_irreversible_block_num", 0},
            {"last_irreversible_block_id", zeros()},
            {"head_num", 0},
            {"head_id", zeros()},
            {"os", ""},
            {"agent", ""},
            {"generation", 0}};
}

// What its hello and its last notice said, in nodeos' words.
Json handshake_of(const ApiContext& context, const PeerStatus& peer) {
    if (peer.state == p2p::PeerState::greeting) return no_handshake();
    Json json = no_handshake();
    json["network_version"] = p2p::kProtocolVersion;
    json["chain_id"] = base::to_hex(context.chain_id.view());
    json["node_id"] = node_id(peer.key);
    json["key"] = peer.key.to_string();
    json["time"] = std::to_string(peer.last_message.time_since_epoch().count());
    json["p2p_address"] = peer.listen_address;
    json["last_irreversible_block_num"] = peer.finalized.height;
    json["last_irreversible_block_id"] = base::to_hex(peer.finalized.id.view());
    json["head_num"] = peer.head.height;
    json["head_id"] = base::to_hex(peer.head.id.view());
    json["agent"] = peer.agent;
    json["generation"] = 1;
    return json;
}

Json connection_json(const ApiContext& context, const PeerStatus& peer) {
    const std::size_t colon = peer.address.rfind(':');
    const bool is_split = colon != std::string::npos;
    return {{"peer", peer.outbound ? peer.address : ""},
            {"remote_ip", peer.address.substr(0, colon)},
            {"remote_port", is_split ? peer.address.substr(colon + 1) : kUnknown},
            {"connecting", peer.state != p2p::PeerState::ready},
            {"syncing", peer.mode == p2p::SyncMode::last_irr_catch_up},
            {"is_bp_peer", (peer.roles & p2p::kValidator) != 0},
            {"is_socket_open", true},
            {"is_blocks_only", false},
            {"is_transactions_only", false},
            {"last_handshake", handshake_of(context, peer)}};
}

Json connection_json(const DialStatus& dial) {
    return {{"peer", dial.address},
            {"remote_ip", kUnknown},
            {"remote_port", kUnknown},
            {"connecting", false},
            {"syncing", false},
            {"is_bp_peer", false},
            {"is_socket_open", false},
            {"is_blocks_only", false},
            {"is_transactions_only", false},
            {"last_handshake", no_handshake()}};
}

Answer connections(const ApiContext& context, const p2p::Status& status) {
    Json list = Json::array();
    for (const PeerStatus& peer : status.peers)
        list.push_back(connection_json(context, peer));
    for (const DialStatus& dial : status.dials) {
        if (!dial.connected) list.push_back(connection_json(dial));
    }
    return list;
}

// Null for who is neither a peer nor to be one, as nodeos answers.
Answer status_of(const ApiContext& context, const p2p::Status& status, const std::string& host) {
    const auto peer = std::ranges::find(status.peers, host, &PeerStatus::address);
    if (peer != status.peers.end()) return connection_json(context, *peer);
    const auto dial = std::ranges::find(status.dials, host, &DialStatus::address);
    if (dial != status.dials.end()) return connection_json(*dial);
    return Json(nullptr);
}

base::Error no_peers() {
    return {base::Errc::unavailable,
            "this node has no peers: it needs p2p-node-key, and p2p-listen-endpoint or "
            "p2p-peer-address"};
}

Answer connect(const ApiContext& context, const std::string& text) {
    const auto address = parse_address(text);
    if (!address) return Json("invalid peer address");
    if (context.runtime.peers() == nullptr) return refuse(no_peers());
    context.runtime.tell_peers(p2p::input::Dial{address->host_port, address->key});
    return Json("added connection");
}

Answer disconnect(const ApiContext& context, const std::string& host) {
    const auto status = context.peers();
    const bool is_known =
        std::ranges::find(status->peers, host, &PeerStatus::address) != status->peers.end() ||
        std::ranges::find(status->dials, host, &DialStatus::address) != status->dials.end();
    // Also when it was added a moment ago.
    if (context.runtime.peers() != nullptr) {
        context.runtime.tell_peers(p2p::input::Hangup{host});
    }
    return Json(is_known ? "connection removed" : "no known connection for host");
}

}  // namespace

void add_net_calls(Calls& calls) {
    const ApiContext& context = calls.context();
    const auto options = [](const char* path, Need need, bool writes) {
        return Calls::Options{
            .path = path, .need = need, .category = writes ? "net_rw" : "net_ro", .status = 201};
    };
    const auto text_of = [](const Params& params) { return params.body().get<std::string>(); };
    calls.plain(options("/v1/net/connections", Need::none, false),
                [&context](Params&) { return connections(context, *context.peers()); });
    calls.plain(options("/v1/net/status", Need::text, false), [&context, text_of](Params& params) {
        return status_of(context, *context.peers(), text_of(params));
    });
    calls.plain(options("/v1/net/connect", Need::text, true),
                [&context, text_of](Params& params) { return connect(context, text_of(params)); });
    calls.plain(
        options("/v1/net/disconnect", Need::text, true),
        [&context, text_of](Params& params) { return disconnect(context, text_of(params)); });
}

}  // namespace node
