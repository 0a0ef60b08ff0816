#include "p2p/peers.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace p2p {

namespace {
using std::chrono::seconds;

// A peer that leaves so much unread is closed; channels hold as much.
constexpr std::uint64_t kUnwrittenBytesMax = 32U << 20U;
constexpr base::Duration kBan = seconds(30);
constexpr std::size_t kBannedMax = 1'024;
constexpr std::size_t kGreetingMax = 2;  // Channels of one key.

// Proofs of misbehaviour: such a node is not talked to for a while.
bool is_offence(Reason reason) {
    switch (reason) {
        case Reason::wrong_version:
        case Reason::unlinkable:
        case Reason::bad_block:
        case Reason::bad_transaction:
        case Reason::bad_vote:
        case Reason::flooding:
            return true;
        default:
            return false;
    }
}

// Dialling again soon would give the same answer.
bool stays(Reason reason) {
    switch (reason) {
        case Reason::duplicate:
        case Reason::behind:
        case Reason::shutting_down:
        case Reason::internal:
            return false;
        default:
            return true;
    }
}

}  // namespace

std::string_view to_string(PeerState state) {
    switch (state) {
        case PeerState::greeting:
            return "greeting";
        case PeerState::accepted:
            return "accepted";
        case PeerState::ready:
            return "ready";
    }
    return "unknown";
}

std::string describe_parting(const RecoveryPoint& theirs, const RecoveryPoint& ours) {
    const auto name = [](const RecoveryPoint& point) {
        if (point == RecoveryPoint{}) return std::string("no recovery");
        return fmt::format(
            "recovery {} (block {})", base::to_hex(point.id.view()), chain::height_of(point.from));
    };
    return fmt::format(
        "follows {}, we follow {}: who lacks one needs its recovery.txt and recover-from",
        name(theirs),
        name(ours));
}

// Questions under way would measure the change. Who has to answer one is asked again at once.
void Peers::set_clock(base::Duration ahead) {
    const base::Duration change = ahead - std::exchange(ahead_, ahead);
    for_each([this, change](Peer& peer) {
        peer.asked_time = {};
        if (peer.clock_offset) *peer.clock_offset -= change;
        if (peer.doubted_at == base::Timestamp{}) return;
        peer.doubted_at += change;
        peer.next_heartbeat = now_;
    });
}

void Peers::begin(base::Timestamp now, Effects& out) {
    CHECK(now >= now_);
    now_ = now;
    out_ = &out;
}

void Peers::make_room(const PublicKey& key, bool keeps_slot) {
    Peer* oldest = nullptr;  // Of this key.
    Peer* newest = nullptr;  // Of those that may have to go.
    std::size_t greeting = 0;
    bool is_here = false;
    for_each([&](Peer& peer) {
        if (!peer.keeps_slot() && (newest == nullptr || peer.since >= newest->since)) {
            newest = &peer;
        }
        if (peer.key != key) return;
        is_here = is_here || peer.is_accepted;
        if (peer.is_accepted) return;
        ++greeting;
        if (oldest == nullptr || peer.since < oldest->since) oldest = &peer;
    });
    if (greeting >= kGreetingMax) {
        close(*oldest, Reason::duplicate, "has two newer connections");
    } else if (peers_.size() >= most() && keeps_slot && !is_here && newest != nullptr) {
        close(*newest,
              Reason::internal,
              fmt::format("{} nodes are connected, and one that votes or that we dial takes its "
                          "place",
                          peers_.size()));
    }
}

Peer* Peers::add(const input::ChannelUp& up) {
    CHECK(!peers_.contains(up.channel));
    const auto* const end = slots_.begin() + most();
    const auto* free = std::find(slots_.cbegin(), end, nullptr);
    if (free == end) return nullptr;
    const auto slot = static_cast<PeerSlot>(free - slots_.begin());
    std::unique_ptr<Peer> peer(new Peer{.channel = up.channel,
                                        .slot = slot,
                                        .key = up.key,
                                        .address = up.address,
                                        .outbound = up.outbound,
                                        .exporter = up.exporter,
                                        .statements = up.statements,
                                        .since = now_,
                                        .budget = Budget(options_.times.interval_milliseconds),
                                        .asking = Asking(options_.times.interval_milliseconds),
                                        .scored_at = now_,
                                        .last_message = now_,
                                        .next_heartbeat = now_});
    slots_[slot] = peer.get();
    return peers_.insert_or_assign(up.channel, std::move(peer)).first->second.get();
}

Peer* Peers::find(ChannelId channel) {
    const auto at = peers_.find(channel);
    return at == peers_.end() || at->second->is_closed ? nullptr : at->second.get();
}

Peer* Peers::at(PeerSlot slot) {
    Peer* peer = slots_[slot];
    return peer == nullptr || peer->is_closed ? nullptr : peer;
}

bool Peers::is_connected(const PublicKey& key) const {
    return std::any_of(peers_.begin(), peers_.end(), [&key](const auto& item) {
        return !item.second->is_closed && item.second->key == key;
    });
}

void Peers::send(Peer& peer, const Body& body, Mark mark) {
    send(peer, type_of(body), pack_message(body, mark));
}

void Peers::send(Peer& peer,
                 MessageType type,
                 SharedBytes bytes,
                 std::optional<transport::Priority> priority) {
    if (peer.is_closed) return;
    const Carriage carriage = carriage_of(type);
    peer.unwritten += bytes->size();
    peer.bytes_sent += bytes->size();
    emit(effect::Send{
        peer.channel, carriage.lane, priority.value_or(carriage.priority), std::move(bytes)});
    if (peer.unwritten > kUnwrittenBytesMax) {
        close(peer, Reason::behind, fmt::format("leaves {} bytes unread", kUnwrittenBytesMax));
    }
}

void Peers::charge(Peer& peer, int points, Reason reason, const std::string& text) {
    if (peer.is_closed) return;
    peer.score -= points;
    if (peer.score <= 0) close(peer, reason, text);
}

void Peers::close(Peer& peer, const GoAway& away) {
    if (peer.is_closed) return;
    turn_away(peer.channel, away);
    ban(peer, away.reason);
    log_.info("{} {}: go_away {}: {}",
              peer.address,
              peer.key.to_string(),
              to_string(away.reason),
              away.text);
    peer.is_closed = true;
    gone_.push_back({peer.slot, peer.address, peer.outbound, stays(away.reason), away.text});
}

void Peers::close_for(Peer& peer, const input::Judged& bad) {
    const RecoveryPoint& theirs = peer.hello.recovery;
    const RecoveryPoint& ours = options_.recovery;
    const chain::Height common =
        std::max(chain::height_of(theirs.from), chain::height_of(ours.from));
    const chain::Height height = chain::height_of(bad.id);
    if (theirs == ours || height <= common) return close(peer, Reason::bad_block, bad.text);
    log_.info("{}: block {} is not taken: {}", peer.address, height, bad.text);
    note(parted_, peer.key);
    close(peer, Reason::other_recovery, describe_parting(theirs, ours));
}

void Peers::lose(Peer& peer, const std::string& text, std::optional<Reason> close_channel) {
    if (peer.is_closed) return;
    if (close_channel) emit(effect::Close{peer.channel, *close_channel, text});
    log_.info("{} {}: gone: {}", peer.address, peer.key.to_string(), text);
    peer.is_closed = true;
    const bool is_final = close_channel && stays(*close_channel);
    gone_.push_back({peer.slot, peer.address, peer.outbound, is_final, text});
}

void Peers::turn_away(ChannelId channel, const GoAway& away) {
    const SharedBytes bytes = pack_message(away);
    const Carriage carriage = carriage_of(MessageType::go_away);
    emit(effect::Send{channel, carriage.lane, carriage.priority, bytes});
    emit(effect::Close{channel, away.reason, away.text});
    ++go_aways_sent;
}

void Peers::ban(const Peer& peer, Reason reason) {
    if (is_offence(reason)) note(banned_, peer.key);
}

void Peers::note(Until& nodes, const PublicKey& key) const {
    std::erase_if(nodes, [this](const auto& item) { return item.second <= now_; });
    if (nodes.size() < kBannedMax) nodes[key] = now_ + kBan;
}

bool Peers::has_parted_from(const PublicKey& key) const {
    const auto at = parted_.find(key);
    return at != parted_.end() && at->second > now_;
}

base::Timestamp Peers::banned_until(const PublicKey& key) const {
    const auto at = banned_.find(key);
    return at == banned_.end() || at->second <= now_ ? base::Timestamp{} : at->second;
}

std::vector<Peers::Gone> Peers::sweep() {
    for (const Gone& gone : gone_) {
        const ChannelId channel = slots_[gone.slot]->channel;
        slots_[gone.slot] = nullptr;
        peers_.erase(channel);
    }
    return std::exchange(gone_, {});
}

PeerStatus Peers::status_of(const Peer& peer) const {
    PeerStatus status{.channel = peer.channel,
                      .address = peer.address,
                      .listen_address = peer.hello.listen_address,
                      .agent = peer.hello.agent,
                      .key = peer.key,
                      .organisation = peer.organisation,
                      .roles = peer.roles,
                      .outbound = peer.outbound,
                      .state = peer.state(),
                      .mode = peer.mode,
                      .score = peer.score,
                      .round_trip = peer.round_trip,
                      .clock_offset = peer.clock_offset,
                      .bytes_received = peer.bytes_received,
                      .bytes_sent = peer.bytes_sent,
                      .messages_received = peer.messages_received,
                      .messages_dropped = peer.messages_dropped,
                      .connected_since = peer.since,
                      .last_message = peer.last_message,
                      .finalized = peer.finalized,
                      .head = peer.head,
                      .stored = peer.stored,
                      .rules_version = peer.hello.rules_version,
                      .recovery = peer.hello.recovery,
                      .vote_keys = {}};
    for (const VoteKeyStatement& statement : peer.hello.vote_keys) {
        status.vote_keys.push_back(statement.key);
    }
    return status;
}

std::vector<PeerStatus> Peers::statuses() const {
    std::vector<PeerStatus> all;
    all.reserve(peers_.size());
    for (const auto& [channel, peer] : peers_)
        all.push_back(status_of(*peer));
    return all;
}

}  // namespace p2p
