#include "tests/transport/sim/network.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/crypto/hash.hpp"

#include <algorithm>
#include <utility>

namespace transport::sim {

void Endpoint::post(std::vector<Command>& commands) {
    for (Command& command : commands) {
        std::visit([this](auto& each) { network_.carry_out(*this, each); }, command);
    }
    commands.clear();
}

Endpoint& Network::add(const PeerKey& key, const std::string& address, Host& host) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
    endpoints_.push_back(std::unique_ptr<Endpoint>(new Endpoint(*this, key, address, host)));
    return *endpoints_.back();
}

void Network::remove(Endpoint& endpoint) {
    std::erase_if(arrivals_, [&](const auto& each) { return each.second.to == &endpoint; });
    std::erase_if(attempts_, [&](const auto& each) { return each.second.from == &endpoint; });
    std::vector<ChannelId> own;
    for (const auto& [id, end] : ends_) {
        if (end.owner == &endpoint) own.push_back(id);
    }
    for (const ChannelId id : own) {
        const ChannelId peer = ends_.at(id).peer;
        ends_.erase(id);
        if (ends_.contains(peer)) break_channel(peer);
    }
    std::erase_if(endpoints_, [&](const auto& each) { return each.get() == &endpoint; });
}

void Network::cut(const PeerKey& one, const PeerKey& other) {
    std::vector<ChannelId> broken;
    for (const auto& [id, end] : ends_) {
        const auto peer = ends_.find(end.peer);
        if (peer == ends_.end()) continue;
        if (end.owner->key_ == one && peer->second.owner->key_ == other) broken.push_back(id);
    }
    for (const ChannelId id : broken)
        break_channel(id);
}

// Both ends hear of it, each in its time; what is on the way is lost.
void Network::break_channel(ChannelId id) {
    const CloseInfo info{.reason = CloseReason::lost, .text = "the channel was reset"};
    const auto found = ends_.find(id);
    if (found == ends_.end()) return;
    const ChannelId peer = found->second.peer;
    for (const ChannelId end : {id, peer}) {
        std::erase_if(arrivals_, [&](const auto& each) {
            const auto* received = std::get_if<event::Received>(&each.second.event);
            return received != nullptr && received->channel == end;
        });
        const auto broken = ends_.find(end);
        if (broken == ends_.end()) continue;
        end_later(end, weather_.time_to_notice(broken->second.owner->key_), info);
    }
}

void Network::end_later(ChannelId id, base::Duration delay, CloseInfo info) {
    End& end = ends_.at(id);
    if (!std::exchange(end.is_open, false)) return;
    plan(now_ + delay, {end.owner, event::Down{id, std::move(info)}, {}});
}

void Network::plan(base::Timestamp at, Arrival arrival) {
    arrivals_.emplace(moment(at), std::move(arrival));
}

void Network::carry_out(Endpoint& from, command::Send& send) {
    const auto found = ends_.find(send.channel);
    if (found == ends_.end() || !found->second.is_open) return;
    End& end = found->second;
    CHECK(end.owner == &from && !send.bytes->empty());
    CHECK(send.bytes->size() <= kMessageBytesMax);
    const auto lane = static_cast<std::size_t>(send.lane);
    const std::size_t size = send.bytes->size();
    if (end.queued[lane] > 0 && end.queued[lane] + size > kQueuedBytesMax) {
        end.was_full[lane] = true;
        event::Refused refused{send.channel, send.lane, send.priority, std::move(send.bytes)};
        return plan(now_, {&from, std::move(refused), {}});
    }
    const auto peer = ends_.find(end.peer);
    if (peer == ends_.end() || !peer->second.is_open) return;  // Lost; Down is on its way.
    Endpoint& to = *peer->second.owner;
    const Fate fate = weather_.fate_of({from.key_, to.key_, send.lane, send.priority, size});
    if (fate.breaks) return break_channel(send.channel);
    auto bytes = pool_.copy(*send.bytes);
    CHECK(bytes.has_value());
    base::Timestamp& last = end.last_arrival[{send.lane, send.priority}];
    last = std::max(last, now_ + fate.delay);
    end.queued[lane] += size;
    event::Received received{end.peer, {send.lane, send.priority, std::move(*bytes), {}}};
    plan(last, {&to, std::move(received), send.channel});
}

void Network::carry_out(Endpoint& from, const command::Close& close) {
    const auto found = ends_.find(close.channel);
    if (found == ends_.end() || !found->second.is_open) return;
    CHECK(found->second.owner == &from);
    // After what was sent before: the goodbye overtakes nothing.
    base::Timestamp last = now_;
    for (const auto& [level, arrival] : found->second.last_arrival)
        last = std::max(last, arrival);
    const ChannelId peer = found->second.peer;
    end_later(close.channel, {}, {.reason = CloseReason::local, .text = close.text});
    if (!ends_.contains(peer)) return;
    end_later(
        peer, last - now_, {.reason = CloseReason::peer, .text = close.text, .by_peer = true});
}

void Network::carry_out(Endpoint& from, const command::Connect& connect) {
    const auto at = std::ranges::find_if(
        endpoints_, [&](const auto& each) { return each->address_ == connect.address; });
    const auto time =
        at == endpoints_.end() ? std::nullopt : weather_.time_to_connect(from.key_, (*at)->key_);
    if (time) {
        attempts_.emplace(moment(now_ + *time), Attempt{&from, connect});
        return;
    }
    CloseInfo info{.reason = CloseReason::lost, .text = "no answer"};
    event::ConnectFailed failed{connect.address, std::move(info)};
    plan(now_ + weather_.time_to_notice(from.key_), {&from, std::move(failed), {}});
}

// As TLS: the dialler checks first, and either side's reason reaches the dialler.
void Network::connect(const Attempt& attempt) {
    Endpoint& from = *attempt.from;
    const auto fail = [&](CloseReason reason, std::string text, bool by_peer) {
        CloseInfo info{.reason = reason, .text = std::move(text), .by_peer = by_peer};
        tell(from, event::ConnectFailed{attempt.connect.address, std::move(info)});
    };
    const auto at = std::ranges::find_if(
        endpoints_, [&](const auto& each) { return each->address_ == attempt.connect.address; });
    if (at == endpoints_.end()) return fail(CloseReason::lost, "no answer", false);
    Endpoint& to = **at;
    if (attempt.connect.expected && *attempt.connect.expected != to.key_) {
        return fail(CloseReason::refused, "the peer has another key", false);
    }
    if (auto verdict = from.host_.admit(to.key_, true); !verdict.is_allowed) {
        return fail(CloseReason::refused, std::move(verdict.text), false);
    }
    if (auto verdict = to.host_.admit(from.key_, false); !verdict.is_allowed) {
        return fail(CloseReason::refused, std::move(verdict.text), true);
    }
    const ChannelId ours = last_id_ = last_id_.next();
    const ChannelId theirs = last_id_ = last_id_.next();
    ends_[ours] = {.owner = &from, .peer = theirs};
    ends_[theirs] = {.owner = &to, .peer = ours};
    base::Writer unique;
    unique.u64(ours.value);
    const base::Hash256 binding = base::crypto::sha256(unique.view());
    tell(to, event::Up{theirs, from.key_, from.address_, false, binding});
    tell(from, event::Up{ours, to.key_, to.address_, true, binding});
}

void Network::tell(Endpoint& endpoint, Event event) {
    std::vector<Event> events;
    events.push_back(std::move(event));
    endpoint.host_.on_events(events);
}

void Network::arrive(Arrival& arrival) {
    if (const auto* down = std::get_if<event::Down>(&arrival.event)) ends_.erase(down->channel);
    const auto* received = std::get_if<event::Received>(&arrival.event);
    const auto sender = ends_.find(arrival.sender);
    if (received != nullptr && sender != ends_.end()) {
        const Lane lane = received->message.lane;
        const auto index = static_cast<std::size_t>(lane);
        std::size_t& queued = sender->second.queued[index];
        queued -= received->message.bytes.size();
        if (sender->second.was_full[index] && queued <= kQueuedBytesMax / 2) {
            sender->second.was_full[index] = false;
            plan(now_, {sender->second.owner, event::Writable{arrival.sender, lane}, {}});
        }
    }
    // An end that has closed takes nothing more.
    if (received != nullptr && !ends_.contains(received->channel)) return;
    tell(*arrival.to, std::move(arrival.event));
}

std::optional<base::Timestamp> Network::next_at() const {
    std::optional<base::Timestamp> next;
    if (!arrivals_.empty()) next = arrivals_.begin()->first.first;
    if (!attempts_.empty()) {
        const base::Timestamp at = attempts_.begin()->first.first;
        next = std::min(next.value_or(at), at);
    }
    return next;
}

void Network::advance(base::Timestamp now) {
    CHECK(now >= now_);
    while (true) {
        const auto next = next_at();
        if (!next || *next > now) break;
        now_ = std::max(now_, *next);
        const bool is_attempt =
            !attempts_.empty() &&
            (arrivals_.empty() || attempts_.begin()->first < arrivals_.begin()->first);
        if (is_attempt) {
            connect(attempts_.extract(attempts_.begin()).mapped());
        } else {
            auto node = arrivals_.extract(arrivals_.begin());
            arrive(node.mapped());
        }
    }
    now_ = now;
}

}  // namespace transport::sim
