#include "chain/execution/rows.hpp"
#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// What is more than the agreement bears, and what operators do then: two of four machines lose
// their disks at once and start with accept-amnesia, or all clocks are a day ahead for a while and
// the chain is given its time back. Meanwhile nothing else goes wrong: who does this sees to it.

namespace sim::full {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kDay = hours(24);

}  // namespace

void Fleet::plan_disaster() {
    const base::Duration after = milliseconds(dice_.between(2'500, 6'000));
    if (world_.loses_two) at(after, [this] { lose_two(); });
    if (world_.goes_ahead) at(after, [this] { go_ahead(); });
    if (world_.loses_half) at(after, [this] { lose_half(); });
}

// All run, with good clocks and links.
void Fleet::calm_down() {
    is_calm_ = true;
    cut_.clear();
    delay_max_ = milliseconds(10);
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (i == world_.joiner) continue;
        drop_channels(i);
        machines_[i]->paused_until.reset();
        machines_[i]->fill_disk(0);
        machines_[i]->clock.set(milliseconds(dice_.between(-10, 10)), 0);
        start(i);
    }
}

// --- Two new disks ---

void Fleet::lose_two() {
    calm_down();
    const std::size_t first = dice_.below(world_.validators);
    const std::size_t second = (first + 1 + dice_.below(world_.validators - 1)) % world_.validators;
    const std::set<std::size_t> renewed{first, second};
    for (const std::size_t i : renewed) {
        drop_channels(i);
        machines_[i]->kill();
        machines_[i]->replace_disk();
        start_over(i);
        at(milliseconds(dice_.between(200, 2'000)), [this, i] { start_amnesic(i); });
    }
    forget_finals(renewed);
    ++outcome_.counts["amnesia"];
    at(seconds(5), [this] { is_calm_ = false; });
}

// What only these two had shown as final may never be so again: nobody else can know of it.
void Fleet::forget_finals(const std::set<std::size_t>& renewed) {
    chain::Height kept = 1;
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (renewed.contains(i)) continue;
        kept = std::max(kept, shown_final_[i]);
    }
    for (const std::size_t i : renewed) {
        shown_final_[i] = std::min(shown_final_[i], kept);
        observer_.starts_over(i);
        // Others may have what such a key has promised and forgotten (spec 04).
        for (const auto& key : world_.universe.members[world_.member_of(i)].vote_keys)
            observer_.excuse(key);
    }
    final_.erase(final_.upper_bound(kept), final_.end());
    std::erase_if(included_, [kept](const auto& each) { return each.second > kept; });
}

bool Fleet::is_lost(std::size_t i) const {
    const auto& keys = machines_[i]->view->keys;
    return std::ranges::any_of(keys, &consensus::KeyStatus::lost);
}

// It may run already: then it votes again by itself, or waits.
void Fleet::start_amnesic(std::size_t i) {
    if (machines_[i]->runs() && !is_lost(i)) return;
    if (machines_[i]->runs()) {
        drop_channels(i);
        machines_[i]->kill();
    }
    amnesic_.insert(i);
    machines_[i]->accepts_amnesia = true;
    start(i);
    machines_[i]->accepts_amnesia = false;
    if (dice_.percent(30)) {
        at(milliseconds(dice_.between(50, 600)), [this, i] { restart_amnesic(i); });
    }
}

// As any other time, once it votes: what it has accepted must be on the chain all the same.
void Fleet::restart_amnesic(std::size_t i) {
    if (is_lost(i)) return start_amnesic(i);
    drop_channels(i);
    machines_[i]->kill();
    start(i);
}

void Fleet::check_amnesia() {
    for (const std::size_t i : amnesic_) {
        const chain::Name name = world_.genesis.members[i].name;
        for (std::size_t by = 0; by < machines_.size(); ++by) {
            if (chain::find_amnesia(*machines_[by]->view->final_state, name)) continue;
            fail(fmt::format("node {} finds no record of the amnesia of node {}", by, i));
        }
    }
}

// --- A day ahead ---

void Fleet::go_ahead() {
    calm_down();
    const bool is_little = dice_.percent(40);
    ahead_ = is_little ? seconds(dice_.between(3, 8)) : kDay;
    for (const auto& machine : machines_)
        machine->clock.set(ahead_ + milliseconds(dice_.between(-10, 10)), 0);
    at(milliseconds(dice_.between(1'500, 4'000)), [this, is_little] {
        const base::Duration was_ahead = ahead_;
        come_back();
        if (is_little) {
            lose_one_meanwhile(was_ahead);
        } else {
            retime_later();
        }
    });
}

void Fleet::come_back() {
    ahead_ = {};
    for (const auto& machine : machines_)
        machine->clock.set(milliseconds(dice_.between(-10, 10)), 0);
}

// The chain waits until its time has come, and one machine gets a new disk: clocks tell its key
// nothing of what it has signed.
void Fleet::lose_one_meanwhile(base::Duration was_ahead) {
    const std::size_t one = dice_.below(world_.validators);
    at(milliseconds(dice_.between(10, 2'000)), [this, one] {
        renew_disk(one);
        at(milliseconds(dice_.between(50, 500)), [this, one] { start(one); });
    });
    ++outcome_.counts["little ahead"];
    at(was_ahead + seconds(4), [this] { is_calm_ = false; });
}

void Fleet::retime_later() {
    // What is signed already arrives.
    at(milliseconds(300), [this] {
        stood_at_ = final_.rbegin()->first;
        at(milliseconds(1'500), [this] { retime(); });
    });
}

// All operators confirm it, and start anew.
void Fleet::retime() {
    const auto& [height, id] = *final_.rbegin();
    if (height != stood_at_) fail("blocks of tomorrow become final");
    const Seen* last = observer_.find(id);
    chain::SlotTimes& times = world_.genesis.times;
    const chain::TimePoint now = chain::TimePoint::from_timestamp(now_);
    const chain::TimePoint tomorrow = chain::TimePoint::from_timestamp(now_ + kDay);
    // Else keys have at most signed for tomorrow, which binds them as much.
    if (times.time_of(last->header().slot) > now) ++outcome_.counts["finals ahead"];
    const chain::Slot begin = times.slot_at(now) + 4;
    const chain::Retime back{id, times.slot_at(tomorrow) + 20, times.time_of(begin)};
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (!machines_[i]->runs()) continue;
        drop_channels(i);
        machines_[i]->kill();
        at(milliseconds(dice_.between(100, 2'000)), [this, i] { start(i); });
    }
    times.retimes.push_back(back);
    world_.universe.times = times;
    ++outcome_.counts["retimes"];
    at(seconds(4), [this] { is_calm_ = false; });
}

}  // namespace sim::full
