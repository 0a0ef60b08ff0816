#pragma once

#include "tests/sim/chance.hpp"
#include "tests/sim/consensus/observer.hpp"
#include "tests/sim/events.hpp"
#include "tests/sim/full/machine.hpp"
#include "tests/sim/full/world.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
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
    std::uint64_t changes = 0;       // Schedules that came into force.
    std::uint64_t eos_finals = 0;
    std::uint64_t new_disks = 0;
    std::uint64_t loads = 0;                      // Of snapshots, in place of a state or of none.
    std::uint64_t upgrades = 0;                   // 1: the chain went on under other rules.
    std::map<std::string, std::uint64_t> counts;  // What else went wrong, by its name.
    std::uint64_t trace = 0;
};

class Byzantine;

// Whole nodes with ledger, agreement and network, in virtual time: channels are reset, cut and
// slow, machines are killed, lose power, pause, have wrong clocks and full or broken disks, members
// vote, rotate keys and change the rules, one of them may be Byzantine; then everything heals, and
// a blank node comes. What must hold all the same is in checks.cpp, and in the Observer, which sees
// every block and vote that is signed.
class Fleet : public Watch {
  public:
    explicit Fleet(std::uint64_t seed, Worlds worlds = Worlds::any);
    ~Fleet() override;
    Outcome run();

    // --- For the Byzantine member ---
    // One end of a channel.
    struct End {
        std::size_t node = 0;
        std::uint64_t life = 0;
        transport::ChannelId id;
        transport::ChannelId other;
        std::size_t peer = 0;
        base::Timestamp opened{};
        base::Timestamp last_arrival{};  // At the other end: messages keep their order.
        bool is_dead = false;            // Something was lost.
    };
    // A channel is spoken on only when its handshake is over.
    [[nodiscard]] bool has_greeted(const End& end) const {
        constexpr base::Duration kHandshake = std::chrono::milliseconds(400);
        return now_ >= end.opened + kHandshake;
    }
    void at(base::Duration after, std::function<void()> action);
    // Puts a message onto this channel, whatever the node at its end thinks.
    void put_on_wire(End& end, const p2p::SharedBytes& bytes, base::Duration extra);
    void give(transport::ChannelId channel, std::uint64_t life, const p2p::SharedBytes& bytes);
    [[nodiscard]] std::map<transport::ChannelId, End>& ends() { return ends_; }
    [[nodiscard]] base::Timestamp now() const { return now_; }
    [[nodiscard]] const World& world() const { return world_; }
    [[nodiscard]] Observer& observer() { return observer_; }
    [[nodiscard]] Chance& chance() { return chance_; }
    [[nodiscard]] chain::Slot slot() const;
    // What this machine shows; null: it does not run.
    [[nodiscard]] std::shared_ptr<const node::Published> view_of(std::size_t machine) const {
        return machines_[machine]->view;
    }
    // A block is sent that says a wrong state.
    void note_forged(const chain::BlockId& id) {
        forged_.push_back(id);
        ++outcome_.counts["forged"];
    }
    // All these are of one producer and slot.
    void note_variants(const std::vector<chain::BlockPtr>& blocks);
    void note_division() { ++outcome_.counts["divisions"]; }
    [[nodiscard]] bool has_healed() const { return has_healed_; }
    void note_split() { ++outcome_.counts["splits"]; }
    // Asks for a conviction that this does not justify.
    void report_falsely(const chain::Evidence& evidence);
    // Gives this machine a transaction of one action, signed by the key of `member`.
    void push(std::size_t i, std::size_t member, chain::Action action);
    // Of the system, by its active permission.
    [[nodiscard]] static chain::Action action_of(chain::Name actor,
                                                 const char* name,
                                                 base::Bytes data);

  private:
    // --- Machines and what they ask for (fleet.cpp) ---
    void start(std::size_t i);
    void perform(std::size_t i, node::Effects& effects);
    void perform(std::size_t i, const node::Effect& effect);
    void perform(std::size_t i, const p2p::Effect& asked);
    void write(std::size_t i, node::effect::Write write);
    template <class Input>
    void step(std::size_t i, Input input);
    // In this life of the machine, when it is not paused.
    template <class Input>
    void later(std::size_t i, base::Duration after, Input input);
    void wake(std::size_t i, base::Timestamp local);

    // --- Channels (links.cpp) ---
    void send(std::size_t i, const p2p::effect::Send& send);
    void connect(std::size_t i, const std::string& address);
    void open(std::size_t from, std::size_t to, const std::string& address);
    void close(transport::ChannelId id, const std::string& text);
    void drop_channels(std::size_t i);

    // --- What goes wrong (faults.cpp) ---
    void plan_fault();
    void break_machine(std::size_t i);
    void fail_disk(std::size_t i);
    void break_links(std::size_t i);
    void stop(std::size_t i, bool power);
    void cut_power(std::size_t i);
    void stop_all();
    void heal();

    // --- What operators must mend (disasters.cpp) ---
    void plan_disaster();
    void calm_down();
    void lose_two();
    void start_amnesic(std::size_t i);
    void forget_finals(const std::set<std::size_t>& renewed);
    [[nodiscard]] bool is_lost(std::size_t i) const;
    void restart_amnesic(std::size_t i);
    void check_amnesia();
    void go_ahead();
    void come_back();
    void lose_one_meanwhile(base::Duration was_ahead);
    void retime_later();
    void retime();

    // --- When more than f are lost for ever (recoveries.cpp) ---
    void lose_half();
    void ask_who_is_left();
    void gather_answers();
    void recover(genesis::Recovery recovery);
    [[nodiscard]] std::vector<chain::ScheduleEntry> choose_new_schedule();
    void check_recovered();

    // --- What is lost with a disk (disks.cpp) ---
    void lose_data(std::size_t i);
    void plan_repair(std::size_t i);
    void renew_disk(std::size_t i);
    void start_over(std::size_t i);
    void forget_commits(std::size_t i);
    // The process has ended itself, or does not start: its disk must be why.
    void on_death(std::size_t i, const std::string& why);

    // --- Snapshots (restores.cpp) ---
    void note_snapshot_due(std::size_t i, const node::effect::Finalized& finalized);
    void make_snapshot(std::size_t i, int patience);
    void note_snapshot(std::size_t i, const node::SnapshotStore::Listed& made);
    void note_snapshots(std::size_t i);
    void carry_out(std::size_t i, const p2p::Effect& asked);
    void take_new_state(std::size_t i);
    void plan_restores();
    void restore(std::size_t i);
    void give_forgery(std::size_t i, const SnapshotCopy& copy, Forgery how);
    void replace(std::size_t i);
    void replace_state(std::size_t i);

    // --- Other rules (upgrade.cpp) ---
    void plan_upgrades();
    void submit_upgrade();
    void upgrade(std::size_t i);
    void note_rules(std::size_t i, const chain::ExecutedBlock& block);
    void note_reports(const chain::ExecutedBlock& block);

    // --- What it is given to do (load.cpp) ---
    void submit();
    void submit_politics();
    [[nodiscard]] chain::Action action_of(std::size_t member, const char* name, base::Bytes data);
    [[nodiscard]] chain::Action choose_politics(std::size_t member);
    void report(std::size_t i, const chain::Evidence& evidence);

    // --- What must hold (checks.cpp) ---
    void signed_header(std::size_t machine, const chain::SignedHeader& header) override;
    void signed_vote(std::size_t machine, const chain::Vote& vote) override;
    void note_sent(std::size_t i, const p2p::effect::Send& send);
    void note_passed_on(std::size_t i,
                        const p2p::Envelope& envelope,
                        const p2p::effect::Send& send);
    void note_pushed(std::size_t i, const p2p::Envelope& envelope, const p2p::effect::Send& send);
    void note_certificate(std::size_t i,
                          const p2p::Envelope& envelope,
                          const p2p::SharedBytes& bytes);
    void note_final(std::size_t i, const node::effect::Finalized& finalized);
    void note_view(std::size_t i);
    void note_trouble(std::size_t i, const std::string& trouble);
    void note_accused(std::size_t i, const chain::Evidence& evidence);
    void note_expelled(std::size_t i, const p2p::effect::Close& goodbye);
    void check_opened(std::size_t i);
    void note_work(std::size_t i, const chain::Block& block);
    void check_places(std::size_t i, const chain::ScheduleState& schedules);
    void check_variants(std::size_t i);
    void note_culprit(const chain::Evidence& evidence);
    void check_equivocators();
    [[nodiscard]] bool may_be_named(const chain::BlockId& id);
    void check_healed();
    void conclude();
    void fail(const std::string& text);

    Chance chance_;
    Chance dice_;  // Of what was added later: what others draw stays as it is.
    Trace trace_;
    World world_;
    Observer observer_;
    std::vector<std::unique_ptr<Machine>> machines_;
    std::unique_ptr<Byzantine> byzantine_;  // Null: all are honest.
    EventQueue<std::function<void()>> events_;
    base::Timestamp now_{};
    std::map<transport::ChannelId, End> ends_;
    std::uint64_t last_channel_ = 0;
    std::set<std::pair<std::size_t, std::size_t>> cut_;  // Directions.
    base::Duration delay_max_ = std::chrono::milliseconds(10);
    bool has_healed_ = false;
    bool is_calm_ = false;           // Operators are at work: nothing else goes wrong.
    std::set<std::size_t> amnesic_;  // Who started with accept-amnesia.
    base::Duration ahead_{};         // Of all clocks.
    std::set<std::size_t> lost_;     // For ever.
    std::optional<genesis::Recovery> recovery_;
    chain::Height stood_at_ = 0;  // What was final when the clocks were right again.
    bool uses_disk_faults_ = false;
    bool is_repairing_ = false;          // Somebody is on the way with a disk.
    bool is_upgrade_decided_ = false;    // By a final block.
    std::set<std::size_t> starts_over_;  // Whose disk is older than what it showed.

    Chance restore_dice_;
    std::map<chain::Height, base::Hash256> manifests_;  // Of all snapshots.
    std::vector<SnapshotCopy> copies_;                  // One of each height, ascending.

    std::map<chain::Height, chain::BlockId> final_;
    chain::Slot last_useful_ = 0;  // Of the last final block with transactions.
    std::map<chain::TransactionId, chain::Height> included_;
    std::map<chain::TransactionId, chain::TimePointSec> expirations_;
    std::vector<chain::Height> shown_final_;  // The highest of each machine, over all its lives.
    std::map<base::crypto::PublicKey, chain::Slot> committed_;  // The newest COMMIT that left.
    p2p::SharedBytes last_certificate_;                         // That an honest node sent.
    // Of Byzantine members, by slot and producer, in their order.
    std::map<std::pair<chain::Slot, chain::Name>, std::vector<chain::BlockId>> variants_;
    std::vector<chain::BlockId> forged_;
    // Of those, what one life of a machine has worked on: what builds on forged blocks, and the
    // rest.
    std::map<std::tuple<std::size_t, std::uint64_t, chain::Slot, chain::Name, bool>,
             std::set<chain::BlockId>>
        worked_on_;
    // On each channel: headers of one producer and slot, and votes of one key since some time.
    std::map<std::tuple<transport::ChannelId, chain::Slot, chain::Name>, std::set<chain::BlockId>>
        headers_passed_on_;
    std::map<transport::ChannelId, chain::Slot> newest_pushed_;  // On each channel.
    struct VotesPassedOn {
        base::Timestamp since{};
        std::size_t count = 0;
    };
    std::map<std::pair<transport::ChannelId, base::crypto::PublicKey>, VotesPassedOn>
        votes_passed_on_;
    std::set<chain::Name> equivocators_;  // Of whom an honest node holds two blocks of a slot.
    std::set<chain::Name> accused_;       // By honest nodes.
    std::uint64_t submitted_ = 0;
    Outcome outcome_;
};

template <class Input>
void Fleet::step(std::size_t i, Input input) {
    Machine& machine = *machines_[i];
    node::Effects out;
    std::string death;
    if constexpr (std::is_constructible_v<node::Input, Input>) {
        death = machine.step(machine.clock.read(now_), node::Input(std::move(input)), out);
    } else {
        death = machine.step(machine.clock.read(now_), p2p::Input(std::move(input)), out);
    }
    if (!death.empty()) return on_death(i, death);
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
