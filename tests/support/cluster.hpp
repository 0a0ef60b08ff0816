#pragma once

#include "base/crypto/hash.hpp"
#include "chain/state/block_store.hpp"
#include "tests/support/one_node.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace support {

// Whole nodes in one thread, each connected to each by wires: what one tells its peers arrives
// at the others at once and in order, unless the wire is cut. A node that lacks the parent of a
// block gets what its sender has above the last block that both know.
class Cluster {
  public:
    // `standbys` are members, after the validators, that are in no schedule at first.
    explicit Cluster(std::size_t validators,
                     std::size_t standbys = 0,
                     std::uint64_t period = 120,
                     std::uint32_t interval = 500,
                     std::uint64_t repetitions = 1) {
        genesis::Genesis genesis = genesis_of(validators + standbys);
        genesis.schedule.entries.resize(validators);
        genesis.parameters.schedule_period = period;
        genesis.times.interval_milliseconds = interval;
        genesis.parameters.repetitions = repetitions;
        start_all(genesis, validators + standbys);
    }
    // All are validators.
    explicit Cluster(const genesis::Genesis& genesis) {
        start_all(genesis, genesis.schedule.entries.size());
    }

    Machine& operator[](std::size_t i) { return *nodes_[i]; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }

    void kill(std::size_t i) { nodes_[i]->stop(); }
    void start(std::size_t i) {
        nodes_[i]->set_time(now_);
        nodes_[i]->start();
        greet(i);
    }
    void restart_after_power_cut(std::size_t i) {
        nodes_[i]->cut_power_and_start();
        greet(i);
    }
    void cut(std::size_t a, std::size_t b) { cut_.insert({std::min(a, b), std::max(a, b)}); }
    // The wires are whole again; nobody notices before something is sent.
    void mend() { cut_.clear(); }
    void heal() {
        mend();
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            greet(i);
        }
    }

    // Goes to this time of this slot and lets all work until nothing more happens.
    void tick_at(chain::Slot slot, int milliseconds = 0) {
        now_ = nodes_[0]->genesis().times.time_of(slot).to_timestamp() +
               std::chrono::milliseconds(milliseconds);
        for (const auto& node : nodes_) {
            node->set_time(now_);
            node->step(node::input::Tick{});
        }
        deliver();
    }
    void run(chain::Slot from, chain::Slot to) {
        for (chain::Slot slot = from; slot <= to; ++slot) {
            tick_at(slot);
        }
    }
    void deliver() {
        while (!messages_.empty()) {
            const Message next = std::move(messages_.front());
            messages_.pop_front();
            if (is_cut(next.from, next.to) || (drops && drops(next.from, next.to))) continue;
            nodes_[next.to]->step(node::input::FromPeers{next.content});
        }
    }
    // What `from` has, to `to`, oldest first.
    void send_chain(std::size_t from, std::size_t to) {
        const node::Published& has = nodes_[from]->view();
        const chain::Height known = nodes_[to]->view().finalized->header.height;
        const chain::BlockReader reader(nodes_[from]->storage());
        for (chain::Height at = known + 1; at <= has.finalized->header.height; ++at) {
            send(from, to, p2p::effect::BlockArrived{channel(from), reader.at(at).value(), true});
        }
        for (const chain::ExecutedBlockPtr& block : has.reversible) {
            if (block->block->header.height <= known) continue;
            send(from, to, p2p::effect::BlockArrived{channel(from), block->block, false});
        }
    }
    void send(std::size_t from, std::size_t to, p2p::Effect content) {
        messages_.push_back({from, to, std::move(content)});
    }
    [[nodiscard]] static transport::ChannelId channel(std::size_t node) {
        return transport::ChannelId{node + 1};
    }

    std::function<bool(std::size_t from, std::size_t to)> drops;  // What one sends another.
    int resends = 1'000'000;  // Chains that are sent to who lacks the parent of a block.
    std::vector<p2p::input::Judged> refused;  // What any node called refused or bad.
    std::vector<p2p::input::Judged> unsure;

  private:
    void start_all(const genesis::Genesis& genesis, std::size_t nodes) {
        for (std::size_t i = 0; i < nodes; ++i) {
            nodes_.push_back(
                std::make_unique<Machine>(genesis, key_of(static_cast<unsigned char>(7 + i))));
            nodes_[i]->to_peers = [this, i](const p2p::Input& said) { on_said(i, said); };
        }
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            start(i);
        }
        deliver();
    }

    struct Message {
        std::size_t from;
        std::size_t to;
        p2p::Effect content;
    };

    [[nodiscard]] bool is_cut(std::size_t a, std::size_t b) const {
        return cut_.contains({std::min(a, b), std::max(a, b)}) || !nodes_[a]->runs() ||
               !nodes_[b]->runs();
    }
    // What a handshake leads to: both have what the other has.
    void greet(std::size_t i) {
        for (std::size_t other = 0; other < nodes_.size(); ++other) {
            if (other == i) continue;
            if (is_cut(i, other)) continue;
            send_chain(i, other);
            send_chain(other, i);
            send(i, other, ready(i));
            send(other, i, ready(other));
            // As p2p tells who comes what a clock showed last.
            for (const auto& [from, to] : {std::pair(i, other), std::pair(other, i)}) {
                const auto said = said_clocks_.find(from);
                if (said == said_clocks_.end()) continue;
                send(from, to, p2p::effect::ClockArrived{channel(from), {}, said->second});
            }
        }
    }

    [[nodiscard]] p2p::effect::PeerReady ready(std::size_t i) const {
        return {channel(i), {}, {nodes_[i]->public_key()}};
    }

    void on_said(std::size_t from, const p2p::Input& said) {
        if (const auto* clock = std::get_if<p2p::input::PushClock>(&said))
            said_clocks_.insert_or_assign(from, clock->statement);
        for (std::size_t to = 0; to < nodes_.size(); ++to) {
            if (to != from) pass(from, to, said);
        }
    }
    void pass(std::size_t from, std::size_t to, const p2p::Input& said) {
        namespace arrived = p2p::effect;
        const transport::ChannelId id = channel(from);
        if (const auto* block = std::get_if<p2p::input::PushBlock>(&said)) {
            send(from, to, arrived::BlockArrived{id, block->block, false});
        } else if (const auto* vote = std::get_if<p2p::input::PushVote>(&said)) {
            send(from, to, arrived::VoteArrived{id, {}, vote->vote});
        } else if (const auto* clock = std::get_if<p2p::input::PushClock>(&said)) {
            send(from, to, arrived::ClockArrived{id, {}, clock->statement});
        } else if (const auto* pass = std::get_if<p2p::input::PassCertificate>(&said)) {
            if (pass->to && *pass->to != channel(to)) return;
            send(from, to, arrived::CertificateArrived{id, {}, pass->certificate});
        } else if (const auto* transaction = std::get_if<p2p::input::PushTransaction>(&said)) {
            send(from, to, arrived::TransactionArrived{id, {}, transaction->transaction->packed});
        } else if (const auto* judged = std::get_if<p2p::input::Judged>(&said)) {
            if (judged->channel != channel(to)) return;
            const bool is_block = judged->item == p2p::Item::block;
            if (is_block && judged->verdict == p2p::Verdict::unsure && resends > 0) {
                --resends;
                send_chain(to, from);
            }
            if (judged->verdict == p2p::Verdict::bad || judged->verdict == p2p::Verdict::refused) {
                refused.push_back(*judged);
            }
        }
    }

    std::vector<std::unique_ptr<Machine>> nodes_;
    std::deque<Message> messages_;
    std::set<std::pair<std::size_t, std::size_t>> cut_;
    std::map<std::size_t, p2p::ClockStatement> said_clocks_;  // The last of each.
    base::Timestamp now_{std::chrono::microseconds(1'700'000'000'000'000)};
};

}  // namespace support
