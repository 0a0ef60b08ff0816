#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <utility>

// One machine loses its safety journal, all that it has, or what it wrote after a copy was made; or
// its disk begins to lie. It must stop and say why, and may never sign what contradicts what it
// has signed before.

namespace sim::full {

using std::chrono::milliseconds;

// While it is down.
void Fleet::lose_data(std::size_t i) {
    Machine& machine = *machines_[i];
    const std::size_t choice = chance_.below(6);
    if (choice == 3) return machine.flip_bit(chance_);
    if (choice < 3) return machine.lose_journal();
    start_over(i);
    if (choice == 4 && machine.put_back_copy()) return;
    machine.replace_disk();
}

// Somebody is told, and comes with another disk.
void Fleet::plan_repair(std::size_t i) {
    if (std::exchange(is_repairing_, true)) return;
    at(milliseconds(chance_.between(500, 3'000)), [this, i] {
        is_repairing_ = false;
        if (!machines_[i]->has_bad_disk()) return;
        renew_disk(i);
        start(i);
    });
}

void Fleet::renew_disk(std::size_t i) {
    Machine& machine = *machines_[i];
    if (machine.runs()) {
        const bool is_silent = machine.view == nullptr || machine.view->trouble.empty();
        if (machine.has_refused_write() && is_silent && !machine.paused_until) {
            fail(fmt::format("node {} says nothing of a disk that takes no writes", i));
        }
        drop_channels(i);
        machine.kill();
    }
    machine.replace_disk();
    start_over(i);
}

// What it showed as final, and the certificates of its locks, are with others only.
void Fleet::start_over(std::size_t i) {
    starts_over_.insert(i);
    ++outcome_.new_disks;
    forget_commits(i);
}

void Fleet::forget_commits(std::size_t i) {
    for (const auto& key : world_.universe.members[world_.member_of(i)].vote_keys)
        committed_.erase(key);
}

void Fleet::on_death(std::size_t i, const std::string& why) {
    drop_channels(i);
    // The refusal names the file, or says that the last batch of a load is lost.
    const bool is_of_disk = why.find(kSimulated) != std::string::npos ||
                            why.find("a load was cut") != std::string::npos;
    if (!machines_[i]->has_bad_disk() || !is_of_disk) {
        return fail(fmt::format("node {} ends: {}", i, why));
    }
    plan_repair(i);
}

}  // namespace sim::full
