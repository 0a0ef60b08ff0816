#include "base/crypto/hash.hpp"
#include "tests/sim/full/byzantine.hpp"
#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// The channels between the machines of a fleet: what is sent on one arrives in its order, or the
// channel breaks.

namespace sim::full {

using std::chrono::microseconds;
using std::chrono::milliseconds;

void Fleet::send(std::size_t i, const p2p::effect::Send& send) {
    const auto found = ends_.find(send.channel);
    if (found == ends_.end()) return;
    End& end = found->second;
    later(i, microseconds(50), p2p::input::Written{send.channel, send.bytes->size()});
    base::Duration extra{};
    if (!world_.is_honest(i)) {
        const auto delay = byzantine_->delay(i, end.peer, send.bytes);
        if (!delay) return;
        extra = *delay;
        return put_on_wire(end, byzantine_->falsify(send.bytes), extra);
    }
    note_sent(i, send);
    put_on_wire(end, send.bytes, extra);
}

void Fleet::put_on_wire(End& end, const p2p::SharedBytes& bytes, base::Duration extra) {
    // Nothing comes behind what was lost; the channel will be found dead.
    end.is_dead = end.is_dead || cut_.contains({end.node, end.peer});
    if (end.is_dead) return;
    const base::Duration delay =
        extra + chance_.between(base::Duration(microseconds(100)), delay_max_);
    end.last_arrival = std::max(end.last_arrival + microseconds(1), now_ + delay);
    at(end.last_arrival - now_, [this, other = end.other, peer = end.peer, bytes] {
        const auto here = ends_.find(other);
        if (here == ends_.end()) return;
        const auto sender = ends_.find(here->second.other);
        if (sender == ends_.end()) return;
        sender->second.is_dead |= cut_.contains({sender->second.node, peer});
        if (sender->second.is_dead) return;
        give(other, here->second.life, bytes);
    });
}

// A machine that is paused hears it when it goes on, after what it should have heard before.
void Fleet::give(transport::ChannelId channel, std::uint64_t life, const p2p::SharedBytes& bytes) {
    const auto end = ends_.find(channel);
    if (end == ends_.end()) return;
    const Machine& machine = *machines_[end->second.node];
    if (!machine.runs() || machine.life() != life) return;
    if (machine.paused_until && *machine.paused_until > now_) {
        return at(*machine.paused_until - now_,
                  [this, channel, life, bytes] { give(channel, life, bytes); });
    }
    step(end->second.node, p2p::input::Message{channel, *bytes});
}

void Fleet::connect(std::size_t i, const std::string& address) {
    const std::size_t to = std::stoul(address.substr(address.find(':') + 1));
    const std::uint64_t life = machines_[i]->life();
    at(milliseconds(2), [this, i, to, life, address] {
        if (machines_[i]->life() != life) return;
        const bool is_cut = cut_.contains({i, to}) || cut_.contains({to, i});
        if (is_cut || !machines_[to]->runs()) {
            return later(i, milliseconds(200), p2p::input::ConnectFailed{address, "no answer"});
        }
        open(i, to, address);
    });
}

void Fleet::open(std::size_t from, std::size_t to, const std::string& address) {
    const transport::ChannelId a{++last_channel_};
    const transport::ChannelId b{++last_channel_};
    ends_[a] = {from, machines_[from]->life(), a, b, to, now_, now_};
    ends_[b] = {to, machines_[to]->life(), b, a, from, now_, now_};
    base::Writer seed;
    seed.u64(last_channel_);
    const base::Hash256 exporter = base::crypto::sha256(seed.view());
    later(
        from, microseconds(1), p2p::input::ChannelUp{a, node_key(to), address, true, exporter, {}});
    later(to,
          microseconds(1),
          p2p::input::ChannelUp{b,
                                node_key(from),
                                fmt::format("10.0.0.{}:{}", from, last_channel_),
                                false,
                                exporter,
                                {}});
}

void Fleet::close(transport::ChannelId id, const std::string& text) {
    const auto found = ends_.find(id);
    if (found == ends_.end()) return;
    for (const transport::ChannelId each : {id, found->second.other}) {
        const auto end = ends_.find(each);
        if (end == ends_.end()) continue;
        const End gone = end->second;
        ends_.erase(end);
        if (!machines_[gone.node]->runs() || machines_[gone.node]->life() != gone.life) continue;
        later(gone.node, microseconds(1), p2p::input::ChannelDown{each, text});
    }
}

void Fleet::drop_channels(std::size_t i) {
    std::vector<transport::ChannelId> gone;
    for (const auto& [id, end] : ends_) {
        if (end.node == i) gone.push_back(id);
    }
    for (const transport::ChannelId id : gone)
        close(id, "reset");
}

}  // namespace sim::full
