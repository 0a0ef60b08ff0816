#pragma once

#include "tests/sim/chance.hpp"
#include "tests/sim/events.hpp"
#include "tests/sim/full/machine.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sim::full {

// What came of one seed.
struct Outcome {
    std::string failure;  // Empty: every invariant held.
    std::uint64_t events = 0;
    std::uint64_t finals = 0;        // Heights final somewhere.
    std::uint64_t transactions = 0;  // In final blocks.
    std::uint64_t trace = 0;
};

// Four validators, whole nodes with ledger, agreement and network, in virtual time: channels are
// reset, cut and slow, machines are killed, lose power, pause and have wrong clocks, while
// transactions come in; then everything heals. Checked: no two nodes show different final blocks
// at a height, final never goes back, no transaction is in the chain twice, nobody honest is
// accused, and after healing all have the same new final blocks.
class Fleet {
  public:
    explicit Fleet(std::uint64_t seed);
    ~Fleet();
    Outcome run();

  private:
    static constexpr std::size_t kNodes = 4;
    using Action = std::function<void()>;

    // One end of a channel.
    struct End {
        std::size_t node = 0;
        std::uint64_t life = 0;
        transport::ChannelId id;
        transport::ChannelId other;
        std::size_t peer = 0;
        base::Timestamp last_arrival{};  // At the other end: messages keep their order.
    };

    void at(base::Duration after, Action action);
    void start(std::size_t i);
    void perform(std::size_t i, node::Effects& effects);
    void perform(std::size_t i, const node::Effect& effect);
    void perform(std::size_t i, const p2p::Effect& asked);
    void write(std::size_t i, node::effect::Write write);
    void send(std::size_t i, const p2p::effect::Send& send);
    void connect(std::size_t i, const std::string& address);
    void open(std::size_t from, std::size_t to, const std::string& address);
    void close(transport::ChannelId id, const std::string& text);
    void drop_channels(std::size_t i);
    template <class Input>
    void step(std::size_t i, Input input);
    // In this life of the machine, when it is not paused.
    template <class Input>
    void later(std::size_t i, base::Duration after, Input input);
    void wake(std::size_t i, base::Timestamp local);

    void plan_fault();
    void kill_one(bool power);
    void cut_links(const std::vector<char>& side);
    void heal();
    void submit();
    void note_final(std::size_t i, const node::effect::Finalized& finalized);
    void note_view(std::size_t i);
    void check_healed();
    void fail(const std::string& text);

    Chance chance_;
    Trace trace_;
    genesis::Genesis genesis_;
    std::vector<std::unique_ptr<Machine>> machines_;
    EventQueue<Action> events_;
    base::Timestamp now_{};
    std::map<transport::ChannelId, End> ends_;
    std::uint64_t last_channel_ = 0;
    std::set<std::pair<std::size_t, std::size_t>> cut_;  // Directions.
    base::Duration delay_max_ = std::chrono::milliseconds(10);
    bool has_healed_ = false;

    std::map<chain::Height, chain::BlockId> final_;
    std::map<chain::TransactionId, chain::Height> included_;
    std::vector<chain::Height> shown_final_;  // The highest of each machine, over all its lives.
    std::uint64_t accounts_ = 0;
    Outcome outcome_;
};

template <class Input>
void Fleet::step(std::size_t i, Input input) {
    Machine& machine = *machines_[i];
    node::Effects out;
    if constexpr (std::is_constructible_v<node::Input, Input>) {
        machine.step(machine.clock.read(now_), node::Input(std::move(input)), out);
    } else {
        machine.step(machine.clock.read(now_), p2p::Input(std::move(input)), out);
    }
    perform(i, out);
}

template <class Input>
void Fleet::later(std::size_t i, base::Duration after, Input input) {
    const std::uint64_t life = machines_[i]->life();
    at(after, [this, i, life, input = std::move(input)] {
        Machine& machine = *machines_[i];
        if (!machine.runs() || machine.life() != life) return;
        if (machine.paused_until && *machine.paused_until > now_) {
            return later(i, *machine.paused_until - now_, input);
        }
        step(i, input);
    });
}

}  // namespace sim::full
