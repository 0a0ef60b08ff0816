#include "consensus/certificate.hpp"
#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// Two of four validators are lost for ever, perhaps with the only certificate of a final block. Of
// the others' answers members make a new first schedule, with new keys, and start anew; who was
// lost comes back with a new disk, or with the old one. What anybody has shown as final stays.

namespace sim::full {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kRenewed = MemberKeys::kAtOnce;  // The first of the new keys.

}  // namespace

void Fleet::lose_half() {
    calm_down();
    at(seconds(2), [this] {
        const std::size_t first = dice_.below(world_.validators);
        const std::size_t second =
            (first + 1 + dice_.below(world_.validators - 1)) % world_.validators;
        lost_ = {first, second};
        // What they know last reaches some of the others only.
        for (const std::size_t i : lost_) {
            for (std::size_t peer = 0; peer < machines_.size(); ++peer)
                if (dice_.percent(40)) cut_.insert({i, peer});
        }
        at(milliseconds(dice_.between(0, 800)), [this] {
            for (const std::size_t i : lost_) {
                drop_channels(i);
                machines_[i]->kill();
            }
            cut_.clear();
            at(milliseconds(dice_.between(0, 2'000)), [this] { ask_who_is_left(); });
        });
    });
}

// Some die while they answer, and are asked again.
void Fleet::ask_who_is_left() {
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (lost_.contains(i) || i == world_.joiner) continue;
        start(i);
        step(i, node::input::AnswerRecovery{});
        if (!dice_.percent(20)) continue;
        at(milliseconds(dice_.between(0, 8)), [this, i] { stop(i, dice_.percent(50)); });
    }
    at(milliseconds(400), [this] { gather_answers(); });
}

void Fleet::gather_answers() {
    std::vector<genesis::Recovery> answers;
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (lost_.contains(i) || i == world_.joiner) continue;
        const auto& view = machines_[i]->view;
        if (view == nullptr || view->answer == nullptr) {
            return at(milliseconds(100), [this] { ask_who_is_left(); });
        }
        if (!*view->answer) {
            return fail(
                fmt::format("node {} does not answer: {}", i, view->answer->error().detail));
        }
        answers.push_back(**view->answer);
    }
    auto merged = genesis::merge_answers(answers);
    if (!merged) return fail("the answers: " + merged.error().detail);
    recover(*std::move(merged));
}

// All who are left, and who comes back.
std::vector<chain::ScheduleEntry> Fleet::choose_new_schedule() {
    std::vector<chain::ScheduleEntry> entries;
    for (std::size_t i = 0; i < world_.validators; ++i) {
        // Elections would take it in with its old key.
        const bool may_stay_away = !world_.votes && lost_.contains(i);
        if (may_stay_away && dice_.percent(50)) continue;
        const auto vote_key = signing_key(i, kRenewed + dice_.below(2)).public_key();
        entries.push_back(
            {world_.universe.members[i].name, signing_key(i, kRenewed).public_key(), vote_key});
    }
    return entries;
}

void Fleet::recover(genesis::Recovery recovery) {
    const chain::ChainId chain_id = world_.genesis.chain_id();
    chain::Schedule& schedule = recovery.reset.schedule;
    schedule.entries = choose_new_schedule();
    schedule.version = genesis::version_after(recovery.replaced, schedule.entries);
    for (std::size_t i = 0; i < world_.members; ++i)
        recovery.signatures.push_back(signing_key(i).sign(recovery.id()));
    auto read = genesis::recovery_from_text(genesis::to_text(recovery));
    if (!read) return fail("the recovery: " + read.error().detail);
    const auto verify = [&](const auto& certificate, const auto& schedules) {
        return consensus::verify(certificate, schedules, chain_id);
    };
    if (auto good = genesis::check(*read, chain_id, verify); !good) {
        return fail("the recovery: " + good.error().detail);
    }
    recovery_ = *std::move(read);
    observer_.recovered(recovery_->reset);
    ++outcome_.counts["recoveries"];
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        Machine& machine = *machines_[i];
        machine.recovery = recovery_;
        if (i == world_.joiner) continue;
        drop_channels(i);
        machine.kill();
        if (lost_.contains(i) && dice_.percent(60)) {
            machine.replace_disk();
            start_over(i);
        }
        machine.renew_keys();
        // What was promised with the old ones may be given up.
        forget_commits(i);
        auto& keys = world_.universe.members[i].vote_keys;
        for (std::size_t which = 0; which < MemberKeys::kAtOnce; ++which)
            keys.push_back(signing_key(i, kRenewed + which).public_key());
        at(milliseconds(dice_.between(100, 2'000)), [this, i] { start(i); });
    }
    at(seconds(4), [this] { is_calm_ = false; });
}

void Fleet::check_recovered() {
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        const chain::BlockHeader& final = machines_[i]->view->finalized->header;
        if (final.schedule_version >= recovery_->reset.schedule.version) continue;
        fail(fmt::format("node {} does not follow the recovery", i));
    }
}

}  // namespace sim::full
