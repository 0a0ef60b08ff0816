#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// Machines make snapshots of final blocks, and are restored from those of others: one that has lost
// its state, not its journals, and is given one that is older than what it has shown as final; or
// one that was away for a while, whose state is replaced by a newer one. What a liar gives is
// refused by name.

namespace sim::full {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr base::Duration kMakingTakes = milliseconds(30);
constexpr int kProofPatience = 20;  // Times.
// In so many calls that change something a state is replaced.
constexpr std::size_t kCallsOfLoad = 150;

}  // namespace

// --- They are made ---

void Fleet::note_snapshot_due(std::size_t i, const node::effect::Finalized& finalized) {
    if (machines_[i]->snapshots().on_finalized(finalized)) make_snapshot(i, kProofPatience);
}

void Fleet::make_snapshot(std::size_t i, int patience) {
    const std::uint64_t life = machines_[i]->life();
    at(kMakingTakes, [this, i, life, patience] {
        Machine& machine = *machines_[i];
        if (!machine.runs() || machine.life() != life) return;
        const auto made = machine.snapshots().make();
        if (made) {
            note_snapshot(i, *made);
            return note_snapshots(i);
        }
        if (made.error().code != base::Errc::would_block) {
            if (machine.has_bad_disk()) return;
            return fail(fmt::format("node {} makes no snapshot: {}", i, made.error().detail));
        }
        if (patience > 0) return make_snapshot(i, patience - 1);
        machine.snapshots().give_up();
    });
}

// Those of one height are equal byte for byte.
void Fleet::note_snapshot(std::size_t i, const node::SnapshotStore::Listed& made) {
    Machine& machine = *machines_[i];
    if (!world_.is_honest(i)) {
        const auto how = static_cast<Forgery>(restore_dice_.below(kForgeries));
        (void)machine.snapshots().forge(made, how);
        ++outcome_.counts["snapshots forged"];
        return;
    }
    ++outcome_.counts["snapshots made"];
    if (auto pruned = machine.prune(); !pruned && !machine.has_bad_disk()) {
        fail(fmt::format("node {} does not prune: {}", i, pruned.error().detail));
    }
    if (const auto earliest = machine.take_pruned()) {
        ++outcome_.counts["prunings"];
        later(i, std::chrono::microseconds(2), node::input::HistoryPruned{*earliest});
    }
    const auto [known, is_first] = manifests_.emplace(made.head.height, made.id);
    if (!is_first && known->second != made.id) {
        fail(fmt::format("node {} makes another snapshot of block {}", i, made.head.height));
    }
    if (!is_first || (!world_.restored && !world_.replaced)) return;
    auto copy = machine.copy_snapshot(made);
    if (copy) return copies_.push_back(*std::move(copy));
    if (!machine.has_bad_disk()) {
        fail(fmt::format("a snapshot of node {} cannot be read: {}", i, copy.error().detail));
    }
}

// --- And given to others ---

// Peers are told which there are.
void Fleet::note_snapshots(std::size_t i) {
    later(i, std::chrono::microseconds(1), machines_[i]->snapshots().names());
}

void Fleet::carry_out(std::size_t i, const p2p::Effect& asked) {
    Machine& machine = *machines_[i];
    p2p::Input done = machine.carry_out(asked);
    const std::uint64_t life = machine.life();
    at(milliseconds(restore_dice_.between(1, 10)), [this, i, life, done = std::move(done)] {
        Machine& same = *machines_[i];
        if (!same.runs() || same.life() != life) return;
        if (same.has_new_state()) return take_new_state(i);
        step(i, done);
    });
}

void Fleet::take_new_state(std::size_t i) {
    Machine& machine = *machines_[i];
    drop_channels(i);
    const auto taken = machine.take_new_state();
    if (taken) {
        ++outcome_.loads;
        ++outcome_.counts["joins by snapshot"];
    } else if (!machine.has_bad_disk() && taken.error().code != base::Errc::invalid) {
        return fail(fmt::format("node {} takes no new state: {}", i, taken.error().detail));
    }
    at(milliseconds(restore_dice_.between(1, 50)), [this, i] { start(i); });
}

// --- And loaded ---

void Fleet::plan_restores() {
    if (world_.restored) {
        const std::size_t i = *world_.restored;
        const milliseconds early(restore_dice_.between(1'000, 5'000));
        at(early, [this, i] { machines_[i]->copy_disk(); });
        at(milliseconds(restore_dice_.between(3'000, 13'000)), [this, i] { restore(i); });
    }
    if (!world_.replaced) return;
    const int times = static_cast<int>(restore_dice_.between(1, 2));
    for (int each = 0; each < times; ++each) {
        at(milliseconds(restore_dice_.between(3'000, 12'000)),
           [this] { replace(*world_.replaced); });
    }
}

// Whose state is lost and not its journals; or these are as they were some time ago.
void Fleet::restore(std::size_t i) {
    Machine& machine = *machines_[i];
    std::vector<const SnapshotCopy*> older;
    for (const SnapshotCopy& copy : copies_) {
        const bool is_known = copy.rules_version <= chain::kRulesKnown;
        if (is_known && copy.height < shown_final_[i]) older.push_back(&copy);
    }
    if (has_healed_ || machine.has_bad_disk()) return;
    if (older.empty()) return at(seconds(1), [this, i] { restore(i); });
    const SnapshotCopy& copy = *older[restore_dice_.below(older.size())];
    drop_channels(i);
    if (machine.runs()) machine.cut_power(chance_);
    if (restore_dice_.percent(25)) (void)machine.put_back_copy();
    machine.lose_state();
    start_over(i);
    for (std::size_t how = 0; how < kForgeries; ++how)
        give_forgery(i, copy, static_cast<Forgery>(how));
    if (auto loaded = machine.load_snapshot(copy); !loaded) {
        return fail(fmt::format("node {} is not restored: {}", i, loaded.error().detail));
    }
    ++outcome_.loads;
    ++outcome_.counts["states restored"];
    at(milliseconds(restore_dice_.between(50, 1'000)), [this, i] { start(i); });
}

void Fleet::give_forgery(std::size_t i, const SnapshotCopy& copy, Forgery how) {
    const auto forged = forge(copy, how);
    if (!forged) return;
    ++outcome_.counts["snapshots refused"];
    if (!machines_[i]->load_snapshot(*forged)) return;
    fail(fmt::format("node {} loads a snapshot with a forged {}",
                     i,
                     std::array{"chunk", "row", "row and its lanes", "certificate"}.at(
                         static_cast<std::size_t>(how))));
}

// It is away for a while.
void Fleet::replace(std::size_t i) {
    Machine& machine = *machines_[i];
    if (has_healed_ || machine.has_bad_disk() || !machine.runs()) return;
    drop_channels(i);
    machine.kill();
    at(milliseconds(restore_dice_.between(2'000, 6'000)), [this, i] {
        if (!machines_[i]->runs()) replace_state(i);
        start(i);
    });
}

void Fleet::replace_state(std::size_t i) {
    Machine& machine = *machines_[i];
    if (copies_.empty() || machine.has_bad_disk()) return;
    if (copies_.back().rules_version > chain::kRulesKnown) return;
    if (restore_dice_.percent(30)) {
        (void)machine.replace_state(copies_.back(), restore_dice_.below(kCallsOfLoad));
        ++outcome_.counts["snapshots cut"];
    }
    const auto replaced = machine.replace_state(copies_.back(), std::nullopt);
    if (!replaced) {
        return fail(
            fmt::format("the state of node {} is not replaced: {}", i, replaced.error().detail));
    }
    if (!*replaced) return;
    ++outcome_.loads;
    ++outcome_.counts["states replaced"];
}

}  // namespace sim::full
