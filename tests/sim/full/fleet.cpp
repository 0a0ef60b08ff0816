#include "tests/sim/full/fleet.hpp"

#include "base/check.hpp"
#include "base/crypto/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sim::full {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kFaultsFor = seconds(15);
constexpr base::Duration kHealthyFor = seconds(10);

genesis::Genesis make_genesis(std::size_t nodes) {
    genesis::Genesis genesis;
    genesis.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 250};
    for (std::size_t i = 0; i < nodes; ++i) {
        const chain::Name name = *chain::Name::from_string(std::string("bor") + "abcdefg"[i]);
        const auto key = signing_key(i).public_key();
        genesis.members.push_back({name, chain::Authority::of_key(key), 1});
        genesis.nodes.push_back({name, name, node_key(i), 1});
        genesis.schedule.entries.push_back({name, key, key});
    }
    genesis.system_authority = genesis.members.front().authority;
    genesis.parameters.open_accounts = 1;
    return genesis;
}

}  // namespace

Fleet::Fleet(std::uint64_t seed)
    : chance_(seed), genesis_(make_genesis(kNodes)), shown_final_(kNodes) {
    now_ = genesis_.times.time_of(0).to_timestamp();
    for (std::size_t i = 0; i < kNodes; ++i) {
        machines_.push_back(std::make_unique<Machine>(genesis_, i));
        machines_[i]->clock = SimClock(chance_.between(milliseconds(-20), milliseconds(20)), 0);
    }
}

Fleet::~Fleet() = default;

Outcome Fleet::run() {
    const base::Timestamp heal_at = now_ + kFaultsFor;
    const base::Timestamp end = heal_at + kHealthyFor;
    for (std::size_t i = 0; i < kNodes; ++i) {
        at(milliseconds(chance_.between(0, 300)), [this, i] { start(i); });
    }
    at(milliseconds(500), [this] { submit(); });
    at(milliseconds(chance_.between(500, 3'000)), [this] { plan_fault(); });
    at(kFaultsFor, [this] { heal(); });
    while (!events_.empty() && events_.next_at() <= end && outcome_.failure.empty()) {
        now_ = events_.next_at();
        const Action action = events_.take();
        ++outcome_.events;
        action();
    }
    if (outcome_.failure.empty()) check_healed();
    outcome_.finals = final_.size();
    outcome_.transactions = included_.size();
    outcome_.trace = trace_.hash();
    return outcome_;
}

void Fleet::at(base::Duration after, Action action) {
    events_.add(now_ + after, std::move(action));
}

void Fleet::start(std::size_t i) {
    Machine& machine = *machines_[i];
    if (machine.runs()) return;
    node::Effects out;
    const std::string refusal =
        machine.start(machine.clock.read(now_), chance_.below(SIZE_MAX / 2), out);
    if (!refusal.empty()) return fail(fmt::format("node {} does not start: {}", i, refusal));
    perform(i, out);
    for (std::size_t peer = 0; peer < kNodes; ++peer) {
        if (peer == i) continue;
        step(i, p2p::input::Dial{fmt::format("node:{}", peer), node_key(peer)});
    }
}

void Fleet::wake(std::size_t i, base::Timestamp local) {
    Machine& machine = *machines_[i];
    if (!machine.wakes.insert(local).second) return;
    const std::uint64_t life = machine.life();
    const base::Timestamp when = std::max(machine.clock.when(local, now_), now_);
    at(when - now_ + microseconds(1), [this, i, life, local] {
        Machine& same = *machines_[i];
        if (same.life() != life) return;
        if (same.paused_until && *same.paused_until > now_) {
            same.wakes.erase(local);
            return later(i, *same.paused_until - now_, node::input::Tick{});
        }
        // A clock that was stepped may not be there yet.
        if (same.clock.read(now_) < local) {
            same.wakes.erase(local);
            return wake(i, local);
        }
        same.wakes.erase(same.wakes.begin(), same.wakes.upper_bound(local));
        step(i, node::input::Tick{});
    });
}

void Fleet::perform(std::size_t i, node::Effects& effects) {
    for (const node::Effect& effect : effects) {
        perform(i, effect);
    }
}

void Fleet::perform(std::size_t i, const node::Effect& effect) {
    namespace did = node::effect;
    Machine& machine = *machines_[i];
    if (const auto* write_effect = std::get_if<did::Write>(&effect)) {
        write(i, *write_effect);
    } else if (const auto* publish = std::get_if<did::Publish>(&effect)) {
        machine.view = publish->view;
        note_view(i);
    } else if (const auto* wake_at = std::get_if<did::WakeAt>(&effect)) {
        wake(i, wake_at->time);
    } else if (const auto* recover = std::get_if<did::Recover>(&effect)) {
        later(i, microseconds(200), machine.recover(*recover));
    } else if (const auto* read = std::get_if<did::ReadBlocks>(&effect)) {
        std::vector<p2p::SharedBytes> blocks = machine.read(read->wanted);
        blocks.insert(blocks.end(), read->held.begin(), read->held.end());
        later(i, microseconds(500), p2p::input::BlocksRead{read->wanted.ticket, std::move(blocks)});
    } else if (const auto* asked = std::get_if<did::ToTransport>(&effect)) {
        perform(i, asked->asked);
    } else if (const auto* finalized = std::get_if<did::Finalized>(&effect)) {
        note_final(i, *finalized);
    } else if (std::holds_alternative<did::Accused>(effect)) {
        fail(fmt::format("node {} accuses an honest validator", i));
    }
}

void Fleet::perform(std::size_t i, const p2p::Effect& asked) {
    if (const auto* message = std::get_if<p2p::effect::Send>(&asked)) {
        send(i, *message);
    } else if (const auto* connect_to = std::get_if<p2p::effect::Connect>(&asked)) {
        connect(i, connect_to->address);
    } else if (const auto* goodbye = std::get_if<p2p::effect::Close>(&asked)) {
        // After what was sent before.
        const auto end = ends_.find(goodbye->channel);
        if (end == ends_.end()) return;
        const base::Duration after =
            std::max(end->second.last_arrival - now_, base::Duration(microseconds(1)));
        at(after, [this, id = goodbye->channel, text = goodbye->text] { close(id, text); });
    }
}

// The disk takes them in order; a sync takes its time.
void Fleet::write(std::size_t i, node::effect::Write write) {
    Machine& machine = *machines_[i];
    const base::Duration cost =
        write.ticket == 0 ? base::Duration(microseconds(5))
                          : chance_.between(base::Duration(microseconds(200)), milliseconds(4));
    machine.disk_free_at = std::max(machine.disk_free_at, now_) + cost;
    const std::uint64_t life = machine.life();
    at(machine.disk_free_at - now_, [this, i, life, write = std::move(write)] {
        Machine& same = *machines_[i];
        if (same.life() != life) return;
        const auto done = same.write(write);
        if (write.ticket != 0) {
            later(i, microseconds(1), node::input::Written{write.ticket, done});
        }
    });
}

void Fleet::send(std::size_t i, const p2p::effect::Send& send) {
    const auto found = ends_.find(send.channel);
    if (found == ends_.end()) return;
    End& end = found->second;
    later(i, microseconds(50), p2p::input::Written{send.channel, send.bytes->size()});
    if (cut_.contains({i, end.peer})) return;  // The channel will be found dead.
    const base::Duration delay = chance_.between(base::Duration(microseconds(100)), delay_max_);
    end.last_arrival = std::max(end.last_arrival + microseconds(1), now_ + delay);
    at(end.last_arrival - now_, [this, other = end.other, peer = end.peer, bytes = send.bytes] {
        const auto here = ends_.find(other);
        if (here == ends_.end() || cut_.contains({here->second.peer, peer})) return;
        Machine& machine = *machines_[peer];
        if (!machine.runs() || machine.life() != here->second.life) return;
        const auto give = [this, peer, other, bytes] {
            if (ends_.contains(other)) step(peer, p2p::input::Message{other, *bytes});
        };
        if (!machine.paused_until || *machine.paused_until <= now_) return give();
        const std::uint64_t life = machine.life();
        at(*machine.paused_until - now_, [this, peer, life, give] {
            if (machines_[peer]->runs() && machines_[peer]->life() == life) give();
        });
    });
}

void Fleet::connect(std::size_t i, const std::string& address) {
    const std::size_t to = static_cast<std::size_t>(address.back() - '0');
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
    ends_[a] = {from, machines_[from]->life(), a, b, to, now_};
    ends_[b] = {to, machines_[to]->life(), b, a, from, now_};
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
