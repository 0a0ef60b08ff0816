#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>

// A rolling upgrade: it is decided on chain that other rules hold from a height on, and one machine
// after the other gets the program that has them, in time or not. Who has the old one stops
// before that height.

namespace sim::full {

using std::chrono::milliseconds;

void Fleet::plan_upgrades() {
    at(milliseconds(chance_.between(800, 3'000)), [this] { submit_upgrade(); });
    for (std::size_t i = 0; i < machines_.size(); ++i)
        at(milliseconds(chance_.between(1'000, 14'000)), [this, i] { upgrade(i); });
}

// Again and again: what is lost is said anew, and what was heard changes nothing.
void Fleet::submit_upgrade() {
    base::Writer data;
    data.u32(chain::kRulesKnown + 1);
    data.u32(*world_.upgrade_at);
    chain::Action action = action_of(0, "setrules", data.take());
    const chain::Name system = *chain::Name::from_string("eosio");
    action.authorization = {{system, *chain::Name::from_string("active")}};
    push(chance_.below(machines_.size()), 0, std::move(action));
    if (!has_healed_) at(milliseconds(chance_.between(300, 1'500)), [this] { submit_upgrade(); });
}

void Fleet::upgrade(std::size_t i) {
    Machine& machine = *machines_[i];
    if (has_healed_ || machine.rules_known > chain::kRulesKnown) return;
    ++machine.rules_known;
    if (!machine.runs()) return;
    drop_channels(i);
    machine.kill();
    at(milliseconds(chance_.between(100, 1'000)), [this, i] { start(i); });
}

// Nobody makes final what he has no rules for.
void Fleet::note_rules(std::size_t i, const chain::ExecutedBlock& block) {
    if (!world_.upgrade_at) return;
    const chain::Name setrules = *chain::Name::from_string("setrules");
    for (const chain::TransactionTrace& trace : block.traces) {
        const auto names = [&](const chain::ActionTrace& act) { return act.act.name == setrules; };
        if (std::ranges::any_of(trace.action_traces, names)) is_upgrade_decided_ = true;
    }
    const bool is_old = machines_[i]->rules_known == chain::kRulesKnown;
    if (is_upgrade_decided_ && is_old && block.block->header.height >= *world_.upgrade_at) {
        fail(fmt::format("node {} goes on where it lacks the rules", i));
    }
}

}  // namespace sim::full
