#include "node/api/validator_json.hpp"
#include "node/operator_api.hpp"

#include <map>

namespace node {

namespace {

using chain::abi::json_integer;
using p2p::PeerStatus;

Json point_json(const p2p::BlockPoint& point) {
    return {{"block_num", point.height}, {"id", base::to_hex(point.id.view())}};
}

Json milliseconds(const std::optional<base::Duration>& duration) {
    if (!duration) return nullptr;
    return api::milliseconds_to_json(
        std::chrono::duration_cast<std::chrono::nanoseconds>(*duration).count());
}

Json roles_json(std::uint8_t roles) {
    Json list = Json::array();
    if ((roles & p2p::kValidator) != 0) list.push_back("validator");
    if ((roles & p2p::kObserver) != 0) list.push_back("observer");
    if ((roles & p2p::kBroker) != 0) list.push_back("broker");
    if ((roles & p2p::kGateway) != 0) list.push_back("gateway");
    return list;
}

// The organisation and, for a validator, who it is: by the vote keys that the peer has proved.
std::string name_of(const PeerStatus& peer, const chain::Schedule& schedule) {
    for (const chain::ScheduleEntry& entry : schedule.entries) {
        if (std::ranges::find(peer.vote_keys, entry.vote_key) != peer.vote_keys.end()) {
            return entry.producer.to_string();
        }
    }
    return peer.organisation.to_string();
}

// Why there are neither peers nor ways to them; empty: there may be.
std::string why_none(const Transports* transports) {
    if (transports != nullptr) return {};
    return "this node has no p2p-listen-endpoint and no p2p-peer-address: it speaks to no other "
           "node, and needs no transport";
}

transport::ChannelStatuses channels_of(const Transports* transports) {
    if (transports != nullptr) return transports->channels();
    return std::make_shared<const std::vector<transport::ChannelStatus>>();
}

// How messages reach a peer. What is not up, or came just now, is TCP's.
transport::ChannelStatus channel_of(const PeerStatus& peer,
                                    const std::vector<transport::ChannelStatus>& channels) {
    const auto found =
        std::ranges::find(channels, peer.channel, &transport::ChannelStatus::channel);
    return found == channels.end() ? transport::ChannelStatus{} : *found;
}

Json snapshots_json(const std::vector<p2p::SnapshotPoint>& snapshots) {
    Json list = Json::array();
    for (const p2p::SnapshotPoint& each : snapshots) {
        list.push_back(
            {{"block_num", each.height}, {"manifest", base::to_hex(each.manifest.view())}});
    }
    return list;
}

Json peer_json(const PeerStatus& peer,
               const chain::Schedule& schedule,
               const transport::ChannelStatus& channel) {
    Json keys = Json::array();
    for (const base::crypto::PublicKey& key : peer.vote_keys)
        keys.push_back(key.to_string());
    return {{"name", name_of(peer, schedule)},
            {"node_key", peer.key.to_string()},
            {"organisation", peer.organisation.to_string()},
            {"roles", roles_json(peer.roles)},
            {"address", peer.address},
            {"listen_address", peer.listen_address},
            {"agent", peer.agent},
            {"outbound", peer.outbound},
            {"transport", std::string(transport::to_string(channel.kind))},
            {"why_not_faster", channel.why_not},
            {"stalls", json_integer(channel.stalls)},
            {"state", std::string(p2p::to_string(peer.state))},
            {"mode", std::string(p2p::to_string(peer.mode))},
            {"score", peer.score},
            {"round_trip_ms", milliseconds(peer.round_trip)},
            {"clock_offset_ms", milliseconds(peer.clock_offset)},
            {"bytes_in", json_integer(peer.bytes_received)},
            {"bytes_out", json_integer(peer.bytes_sent)},
            {"messages_in", json_integer(peer.messages_received)},
            {"messages_dropped", json_integer(peer.messages_dropped)},
            {"head", point_json(peer.head)},
            {"final", point_json(peer.finalized)},
            {"earliest_block_num", peer.stored.earliest_height},
            {"snapshots", snapshots_json(peer.stored.snapshots)},
            {"rules_version", peer.rules_version},
            {"vote_keys", std::move(keys)}};
}

Json dial_json(const p2p::DialStatus& dial) {
    return {{"address", dial.address},
            {"pinned", dial.pinned ? Json(dial.pinned->to_string()) : Json(nullptr)},
            {"connected", dial.connected},
            {"failures", dial.failures},
            {"last_error", dial.last_error}};
}

Answer get_peers(const Moment& moment, const ApiContext& context, const Transports* transports) {
    auto schedule = chain::load_schedule(*moment.view->final_state);
    if (!schedule) return refuse(schedule.error());
    const auto status = context.peers();
    const auto channels = channels_of(transports);
    Json list = Json::array();
    Json dials = Json::array();
    for (const PeerStatus& peer : status->peers)
        list.push_back(peer_json(peer, *schedule, channel_of(peer, *channels)));
    for (const p2p::DialStatus& dial : status->dials)
        dials.push_back(dial_json(dial));
    return Json{{"peers", std::move(list)},
                {"dials", std::move(dials)},
                {"why_none", why_none(transports)},
                {"go_aways_sent", json_integer(status->go_aways_sent)},
                {"go_aways_received", json_integer(status->go_aways_received)},
                {"duplicates_dropped", json_integer(status->duplicates_dropped)}};
}

Json snapshot_json(const p2p::SnapshotStatus& snapshot) {
    return {{"stage", snapshot.stage},
            {"block_num", snapshot.snapshot.height},
            {"manifest", base::to_hex(snapshot.snapshot.manifest.view())},
            {"chunks", snapshot.chunks},
            {"chunks_all", snapshot.chunks_all},
            {"bytes", json_integer(snapshot.bytes_received)},
            {"bytes_per_second", json_integer(snapshot.bytes_per_second)},
            {"peers", snapshot.sources},
            {"eta_ms", milliseconds(snapshot.eta)},
            {"waiting_for", snapshot.waiting_for}};
}

Answer get_sync(const ApiContext& context) {
    const auto status = context.peers();
    const p2p::SyncStatus& sync = status->sync;
    const auto view = context.runtime.published();
    return Json{{"mode", std::string(p2p::to_string(sync.mode))},
                {"peers", sync.peers},
                {"block_num", sync.height},
                {"target", sync.target},
                {"blocks_per_second", sync.blocks_per_second},
                {"bytes_per_second", json_integer(sync.bytes_per_second)},
                {"ranges_in_flight", sync.ranges_in_flight},
                {"bytes_waiting", json_integer(sync.bytes_waiting)},
                {"eta_ms", milliseconds(sync.eta)},
                {"unchecked_blocks", view->unchecked_blocks},
                {"wrong_blocks", view->wrong_blocks},
                {"waiting_for", sync.waiting_for},
                {"snapshot", sync.snapshot ? snapshot_json(*sync.snapshot) : Json(nullptr)}};
}

Json path_json(const PeerStatus& peer,
               const chain::Schedule& schedule,
               const transport::ChannelStatus& channel) {
    return {{"name", name_of(peer, schedule)},
            {"node_key", peer.key.to_string()},
            {"channel", json_integer(peer.channel.value)},
            {"address", peer.address},
            {"state", std::string(p2p::to_string(peer.state))},
            {"kind", std::string(transport::to_string(channel.kind))},
            {"why_not_faster", channel.why_not},
            {"fallbacks", json_integer(channel.fallbacks)},
            {"stalls", json_integer(channel.stalls)},
            {"landings_in", json_integer(channel.landed_in.landings)},
            {"landings_out", json_integer(channel.landed_out.landings)},
            {"landed_bytes_in", json_integer(channel.landed_in.bytes)},
            {"landed_bytes_out", json_integer(channel.landed_out.bytes)},
            {"round_trip_ms", milliseconds(peer.round_trip)},
            {"bytes_in", json_integer(peer.bytes_received)},
            {"bytes_out", json_integer(peer.bytes_sent)}};
}

// The kinds that this program knows, how many peers each carries, and each peer's.
Answer get_transports(const Moment& moment,
                      const ApiContext& context,
                      const Transports* transports) {
    auto schedule = chain::load_schedule(*moment.view->final_state);
    if (!schedule) return refuse(schedule.error());
    const auto status = context.peers();
    const auto channels = channels_of(transports);
    Json peers = Json::array();
    std::map<transport::Kind, std::size_t> counts;
    for (const PeerStatus& peer : status->peers) {
        const transport::ChannelStatus channel = channel_of(peer, *channels);
        ++counts[channel.kind];
        peers.push_back(path_json(peer, *schedule, channel));
    }
    Json kinds = Json::array();
    if (transports != nullptr) {
        for (const Transports::Kind& each : transports->kinds()) {
            kinds.push_back({{"kind", std::string(transport::to_string(each.kind))},
                             {"security", std::string(each.security)},
                             {"available", each.why_not.empty()},
                             {"why_not", each.why_not},
                             {"peers", counts[each.kind]}});
        }
    }
    return Json{{"transport", transports != nullptr ? Json(transports->choice()) : Json(nullptr)},
                {"transports", std::move(kinds)},
                {"why_none", why_none(transports)},
                {"peers", std::move(peers)}};
}

}  // namespace

void add_peer_calls(Calls& calls, const Transports* transports) {
    const ApiContext& context = calls.context();
    calls.read({.path = "/v1/bor/peers"},
               [transports](const ApiContext& api, const Moment& moment, Params&) {
                   return get_peers(moment, api, transports);
               });
    calls.plain({.path = "/v1/bor/sync"}, [&context](Params&) { return get_sync(context); });
    calls.read({.path = "/v1/bor/transports"},
               [transports](const ApiContext& api, const Moment& moment, Params&) {
                   return get_transports(moment, api, transports);
               });
}

}  // namespace node
