#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// What goes wrong in a fleet, what it is given to do, and what must hold all the same.

namespace sim::full {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr chain::Slot kSlotsToCatchUp = 12;

std::uint64_t number_of(const base::Hash256& id) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i)
        number = number << 8U | std::to_integer<std::uint64_t>(id.bytes[i + 8]);
    return number;
}

}  // namespace

void Fleet::plan_fault() {
    if (has_healed_) return;
    const std::size_t one = chance_.below(kNodes);
    switch (chance_.below(8)) {
        case 0:
            kill_one(/*power=*/false);
            break;
        case 1:
            kill_one(/*power=*/true);
            break;
        case 2: {
            std::vector<char> side(kNodes);
            for (char& each : side)
                each = static_cast<char>(chance_.below(2));
            cut_links(side);
            break;
        }
        case 3:  // One direction of one link.
            cut_.insert({one, (one + 1 + chance_.below(kNodes - 1)) % kNodes});
            break;
        case 4:
            if (machines_[one]->runs()) {
                machines_[one]->paused_until = now_ + milliseconds(chance_.between(50, 3'000));
            }
            break;
        case 5:
            machines_[one]->clock.step(milliseconds(chance_.between(-60, 60)));
            break;
        case 6:
            drop_channels(one);
            break;
        default:
            delay_max_ = milliseconds(chance_.between(1, 120));
            break;
    }
    if (chance_.percent(30)) {
        cut_.clear();
    }
    if (chance_.percent(5)) {  // The power of the whole place.
        for (std::size_t i = 0; i < kNodes; ++i) {
            if (!machines_[i]->runs()) continue;
            drop_channels(i);
            machines_[i]->cut_power();
            at(milliseconds(chance_.between(100, 2'000)), [this, i] { start(i); });
        }
    }
    at(milliseconds(chance_.between(200, 3'000)), [this] { plan_fault(); });
}

void Fleet::kill_one(bool power) {
    const std::size_t i = chance_.below(kNodes);
    if (!machines_[i]->runs()) return;
    drop_channels(i);
    if (power) {
        machines_[i]->cut_power();
    } else {
        machines_[i]->kill();
    }
    at(milliseconds(chance_.between(100, 5'000)), [this, i] { start(i); });
}

void Fleet::cut_links(const std::vector<char>& side) {
    for (std::size_t a = 0; a < kNodes; ++a) {
        for (std::size_t b = 0; b < kNodes; ++b) {
            if (side[a] != side[b]) cut_.insert({a, b});
        }
    }
}

void Fleet::heal() {
    has_healed_ = true;
    cut_.clear();
    delay_max_ = milliseconds(10);
    for (std::size_t i = 0; i < kNodes; ++i) {
        // What was lost on a cut link is not sent again: the kernel would have given up.
        drop_channels(i);
        machines_[i]->paused_until.reset();
        machines_[i]->clock.set(milliseconds(chance_.between(-10, 10)), 0);
        start(i);
    }
}

void Fleet::submit() {
    at(milliseconds(chance_.between(20, 400)), [this] { submit(); });
    const std::size_t i = chance_.below(kNodes);
    const Machine& machine = *machines_[i];
    if (!machine.runs() || machine.view == nullptr) return;
    ++accounts_;
    std::string name = "acc";
    for (std::uint64_t rest = accounts_; rest != 0; rest /= 26)
        name += static_cast<char>('a' + rest % 26);
    const chain::Name creator = genesis_.members[i].name;
    const chain::Authority authority = chain::Authority::of_key(machine.key().public_key());
    chain::Action action;
    action.account = *chain::Name::from_string("eosio");
    action.name = *chain::Name::from_string("newaccount");
    action.authorization = {{creator, *chain::Name::from_string("active")}};
    base::Writer data;
    chain::encode(data, creator);
    chain::encode(data, *chain::Name::from_string(name));
    chain::encode(data, authority);
    chain::encode(data, authority);
    action.data = data.take();
    chain::SignedTransaction content;
    const auto now = chain::TimePoint::from_timestamp(now_).microseconds / 1'000'000;
    content.expiration = {static_cast<std::uint32_t>(now + chance_.between(3, 60))};
    content.ref_block_num = static_cast<std::uint16_t>(machine.view->finalized->header.height);
    content.ref_block_prefix = chain::ref_block_prefix_of(machine.view->finalized->id);
    content.actions = {action};
    content.signatures = {machine.key().sign(content.signing_digest(genesis_.chain_id(), {}))};
    const auto transaction = chain::make_transaction(content);
    later(i,
          std::chrono::microseconds(100),
          node::input::Submit{accounts_, transaction, {machine.key().public_key()}});
}

void Fleet::note_final(std::size_t i, const node::effect::Finalized& finalized) {
    const chain::Block& block = *finalized.block->block;
    const chain::Height height = block.header.height;
    trace_.note(i);
    trace_.note(number_of(block.id));
    const auto [known, first] = final_.emplace(height, block.id);
    if (!first && known->second != block.id) {
        return fail(fmt::format("two blocks are final at height {}", height));
    }
    if (!first) return;
    for (const chain::TransactionTrace& trace : finalized.block->traces) {
        const auto [there, added] = included_.emplace(trace.id, height);
        if (!added) {
            return fail(fmt::format("a transaction is in blocks {} and {}", there->second, height));
        }
    }
}

void Fleet::note_view(std::size_t i) {
    const node::Published& view = *machines_[i]->view;
    const chain::Height height = view.finalized->header.height;
    if (height < shown_final_[i]) {
        return fail(fmt::format("node {} showed {} as final, now {}", i, shown_final_[i], height));
    }
    shown_final_[i] = height;
    if (!view.trouble.empty()) fail(fmt::format("node {}: {}", i, view.trouble));
    constexpr std::size_t kReversibleMax = 200;
    if (view.reversible.size() > kReversibleMax) {
        fail(fmt::format("node {} holds {} reversible blocks", i, view.reversible.size()));
    }
}

void Fleet::check_healed() {
    const chain::Slot now = genesis_.times.slot_at(chain::TimePoint::from_timestamp(now_));
    for (std::size_t i = 0; i < kNodes; ++i) {
        const Machine& machine = *machines_[i];
        if (!machine.runs() || machine.view == nullptr) {
            return fail(fmt::format("node {} does not run at the end", i));
        }
        const chain::BlockHeader& final = machine.view->finalized->header;
        if (final.slot + kSlotsToCatchUp < now) {
            fail(fmt::format("node {}: slot {} is final, now it is slot {}; its head is of slot {}",
                             i,
                             final.slot,
                             now,
                             machine.view->head->header.slot));
        }
    }
}

void Fleet::fail(const std::string& text) {
    if (outcome_.failure.empty()) outcome_.failure = text;
}

}  // namespace sim::full
