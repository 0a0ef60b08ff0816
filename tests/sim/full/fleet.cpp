#include "tests/sim/full/fleet.hpp"

#include "tests/sim/full/byzantine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sim::full {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kFleetSalt = 0xD1342543DE82EF95;
constexpr std::uint64_t kRestoreSalt = 0x2545F4914F6CDD1D;
constexpr base::Duration kFaultsFor = seconds(15);
constexpr base::Duration kHealthyFor = seconds(10);
// With a Byzantine member recovery may take more turns, and promises that were made in a wrong
// time bind until that comes.
constexpr base::Duration kHealthyForLong = seconds(20);
// More machines cost more: they get less time.
constexpr base::Duration kFaultsForLarge = seconds(8);
constexpr base::Duration kHealthyForLarge = seconds(15);

}  // namespace

Fleet::Fleet(std::uint64_t seed, Worlds worlds)
    : chance_(seed),
      dice_(seed ^ kFleetSalt),
      world_(make_world(chance_, seed, worlds)),
      observer_(world_.universe, false),
      restore_dice_(seed ^ kRestoreSalt),
      shown_final_(world_.machines()) {
    now_ = world_.universe.at(0);
    for (std::size_t i = 0; i < world_.machines(); ++i) {
        const Machine::Setup setup{.number = i,
                                   .member = world_.member_of(i),
                                   .hides_its_keys = world_.has_twin(world_.member_of(i)),
                                   .is_observer = i == world_.joiner,
                                   .snapshot_every = world_.snapshot_every,
                                   .journal_blocks_max = world_.journal_blocks_max};
        machines_.push_back(std::make_unique<Machine>(world_.genesis, setup, *this));
        machines_[i]->clock = SimClock(chance_.between(milliseconds(-20), milliseconds(20)), 0);
    }
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (world_.all_prune || i == world_.pruner) machines_[i]->set_prunes();
    }
    uses_disk_faults_ = chance_.percent(30);
    if (!world_.byzantine.empty()) byzantine_ = std::make_unique<Byzantine>(*this, seed);
}

Fleet::~Fleet() = default;

Outcome Fleet::run() {
    const bool is_hard = !world_.byzantine.empty() || world_.wrong_time;
    base::Duration faults_for = kFaultsFor;
    base::Duration healthy_for = is_hard ? kHealthyForLong : kHealthyFor;
    if (world_.is_large()) faults_for = kFaultsForLarge;
    if (world_.is_large()) healthy_for = kHealthyForLarge;
    const base::Timestamp end = now_ + faults_for + healthy_for;
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (i != world_.joiner) at(milliseconds(chance_.between(0, 300)), [this, i] { start(i); });
    }
    if (world_.upgrade_at) plan_upgrades();
    plan_disaster();
    plan_restores();
    at(milliseconds(500), [this] { submit(); });
    if (world_.votes) at(milliseconds(700), [this] { submit_politics(); });
    at(milliseconds(chance_.between(500, 3'000)), [this] { plan_fault(); });
    if (byzantine_ != nullptr) at(milliseconds(600), [this] { byzantine_->act(); });
    at(faults_for, [this] { heal(); });
    while (!events_.empty() && events_.next_at() <= end && outcome_.failure.empty()) {
        now_ = events_.next_at();
        const std::function<void()> action = events_.take();
        ++outcome_.events;
        trace_.note(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
        action();
        for (const auto& machine : machines_)
            machine->wait_for_disk();
        if (!observer_.failure().empty()) fail(observer_.failure());
    }
    if (outcome_.failure.empty()) check_healed();
    conclude();
    return outcome_;
}

void Fleet::at(base::Duration after, std::function<void()> action) {
    events_.add(now_ + after, std::move(action));
}

chain::Slot Fleet::slot() const {
    return world_.genesis.times.slot_at(chain::TimePoint::from_timestamp(now_));
}

void Fleet::start(std::size_t i) {
    Machine& machine = *machines_[i];
    if (machine.runs()) return;
    machine.clock.restart();
    node::Effects out;
    const std::string refusal =
        machine.start(machine.clock.read(now_), chance_.below(SIZE_MAX / 2), out);
    if (!refusal.empty()) return on_death(i, refusal);
    machine.disk_free_at = now_;
    // What a flipped bit has cost is with others only.
    if (machine.has_bad_disk()) start_over(i);
    check_opened(i);
    perform(i, out);
    note_snapshots(i);
    for (std::size_t peer = 0; peer < machines_.size(); ++peer) {
        if (peer == i || !machine.runs()) continue;
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
        if (recover->block) note_work(i, *recover->block);
        later(i, microseconds(200), machine.recover(*recover));
    } else if (const auto* read = std::get_if<did::ReadBlocks>(&effect)) {
        p2p::input::BlocksRead said = machine.read(read->wanted);
        said.blocks.insert(said.blocks.end(), read->held.begin(), read->held.end());
        later(i, microseconds(500), std::move(said));
    } else if (const auto* check = std::get_if<did::CheckStored>(&effect)) {
        later(i, microseconds(500), machine.check(*check));
    } else if (const auto* asked = std::get_if<did::ToTransport>(&effect)) {
        perform(i, asked->asked);
    } else if (const auto* to = std::get_if<did::ToSnapshots>(&effect)) {
        carry_out(i, to->asked);
    } else if (const auto* finalized = std::get_if<did::Finalized>(&effect)) {
        note_final(i, *finalized);
        note_snapshot_due(i, *finalized);
    } else if (const auto* accused = std::get_if<did::Accused>(&effect)) {
        note_accused(i, accused->evidence);
    }
}

void Fleet::perform(std::size_t i, const p2p::Effect& asked) {
    if (const auto* message = std::get_if<p2p::effect::Send>(&asked)) {
        send(i, *message);
    } else if (const auto* connect_to = std::get_if<p2p::effect::Connect>(&asked)) {
        connect(i, connect_to->address);
    } else if (const auto* goodbye = std::get_if<p2p::effect::Close>(&asked)) {
        note_expelled(i, *goodbye);
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
    const node::Ticket ticket = write.ticket;
    machine.begin_write(std::move(write));
    at(machine.disk_free_at - now_, [this, i, life, ticket] {
        Machine& same = *machines_[i];
        if (same.life() != life) return;
        const auto done = same.finish_write();
        if (ticket != 0) later(i, microseconds(1), node::input::Written{ticket, done});
    });
}

}  // namespace sim::full
