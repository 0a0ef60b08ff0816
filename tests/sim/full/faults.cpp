#include "tests/sim/full/fleet.hpp"

#include <algorithm>

// What goes wrong in a fleet, until everything heals.

namespace sim::full {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

void Fleet::plan_fault() {
    if (has_healed_) return;
    if (is_calm_) return at(milliseconds(500), [this] { plan_fault(); });
    const bool on_forgetful = world_.forgetful && chance_.percent(30);
    const std::size_t one = on_forgetful ? *world_.forgetful : chance_.below(machines_.size());
    if (on_forgetful || chance_.percent(50)) {
        break_machine(one);
    } else {
        break_links(one);
    }
    if (world_.forgetful && chance_.percent(20)) machines_[*world_.forgetful]->copy_disk();
    if (chance_.percent(30)) cut_.clear();
    if (chance_.percent(5)) stop_all();
    at(milliseconds(chance_.between(200, 3'000)), [this] { plan_fault(); });
}

void Fleet::break_machine(std::size_t i) {
    Machine& machine = *machines_[i];
    switch (chance_.below(6)) {
        case 0:
            stop(i, /*power=*/false);
            break;
        case 1:
        case 2:
            stop(i, /*power=*/true);
            break;
        case 3:
            if (machine.runs()) {
                // Never shorter than before: what waits for its end would be overtaken.
                const base::Timestamp until = now_ + milliseconds(chance_.between(50, 3'000));
                machine.paused_until = std::max(machine.paused_until.value_or(until), until);
            }
            break;
        case 4:
            if (i == world_.wrong_time) {
                const base::Duration far = chance_.percent(40) ? hours(3) : seconds(10);
                machine.clock.set(chance_.between(-far, far), 0);
            } else {
                machine.clock.step(milliseconds(chance_.between(-60, 60)));
            }
            break;
        default:
            fail_disk(i);
            break;
    }
}

void Fleet::fail_disk(std::size_t i) {
    Machine& machine = *machines_[i];
    const bool is_whole = i != world_.forgetful;
    if (is_whole || chance_.percent(50)) {
        if (uses_disk_faults_) machine.fill_disk(static_cast<int>(chance_.between(1, 3)));
    } else if (chance_.percent(50)) {
        machine.break_disk();
        plan_repair(i);
    } else {
        machine.flip_bit(chance_);
    }
}

void Fleet::break_links(std::size_t i) {
    const std::size_t all = machines_.size();
    switch (chance_.below(4)) {
        case 0: {
            std::vector<char> side(all);
            for (char& each : side)
                each = static_cast<char>(chance_.below(2));
            for (std::size_t a = 0; a < all; ++a) {
                for (std::size_t b = 0; b < all; ++b) {
                    if (side[a] != side[b]) cut_.insert({a, b});
                }
            }
            break;
        }
        case 1:  // One direction of one link.
            cut_.insert({i, (i + 1 + chance_.below(all - 1)) % all});
            break;
        case 2:
            drop_channels(i);
            break;
        default:
            delay_max_ = milliseconds(chance_.between(1, 120));
            break;
    }
}

void Fleet::stop(std::size_t i, bool power) {
    Machine& machine = *machines_[i];
    if (!machine.runs()) return;
    drop_channels(i);
    if (power) {
        cut_power(i);
    } else {
        machine.kill();
    }
    if (i == world_.forgetful && chance_.percent(50)) lose_data(i);
    at(milliseconds(chance_.between(100, 5'000)), [this, i] { start(i); });
}

// Where the journal may be lost besides, the machine would count as Byzantine (spec 04).
void Fleet::cut_power(std::size_t i) {
    const bool loses_synced = i != world_.forgetful && chance_.percent(10);
    if (loses_synced) starts_over_.insert(i);
    machines_[i]->cut_power(chance_, loses_synced);
}

// The power of the whole place.
void Fleet::stop_all() {
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (!machines_[i]->runs()) continue;
        drop_channels(i);
        cut_power(i);
        at(milliseconds(chance_.between(100, 2'000)), [this, i] { start(i); });
    }
}

void Fleet::heal() {
    has_healed_ = true;
    cut_.clear();
    delay_max_ = milliseconds(10);
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        Machine& machine = *machines_[i];
        // What was lost on a cut link is not sent again: the kernel would have given up.
        drop_channels(i);
        machine.paused_until.reset();
        machine.fill_disk(0);
        machine.clock.set(milliseconds(chance_.between(-10, 10)), 0);
        const bool is_old = world_.upgrade_at && machine.rules_known == chain::kRulesKnown;
        if (is_old && machine.runs()) machine.kill();
        if (is_old) ++machine.rules_known;
        if (machine.has_bad_disk()) renew_disk(i);
        start(i);
    }
}

}  // namespace sim::full
