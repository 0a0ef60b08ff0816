#include "base/check.hpp"
#include "chain/types/rule.hpp"
#include "consensus/consensus.hpp"

#include <algorithm>
#include <utility>

// When we produce, and on which block (spec 04, "Schedule" and the bounded behaviour without
// finality).

namespace consensus {

using chain::is_left_out;
using chain::Rule;

namespace {

// How late after the start of its slot a block may still be made: a quarter of the interval.
constexpr int kLatestShare = 4;
// Without anything final for so long, blocks are empty and sit on the highest certificate.
constexpr base::Duration kRecoveryAfter = std::chrono::seconds(6);
// Such a block comes at least this long after the newest one that counts.
constexpr base::Duration kRecoveryWait = std::chrono::seconds(1);

// Whether a block has no transactions: nothing was final for long, or the block is far above the
// final one that its header names.
bool is_empty(const effect::Produce& produce,
              const BlockNode& parent,
              bool recovery,
              const chain::SlotTimes& times) {
    const chain::Slot named =
        produce.finalized ? produce.finalized->data.slot : parent.header().finalized.slot;
    return recovery || produce.slot > named + full_within(times);
}

}  // namespace

bool Consensus::in_recovery(base::Timestamp now) const {
    return now >= final_at_ + kRecoveryAfter;
}

const BlockNode& Consensus::recovery_parent() const {
    const BlockNode* highest = tree_.highest_notarized();
    const BlockNode& final = tree_.finalized();
    return highest != nullptr && highest->height() > final.height() ? *highest : final;
}

void Consensus::try_produce(base::Timestamp now, chain::Slot slot, Effects& out) {
    const base::Timestamp start = begin_of(slot);
    const base::Duration interval = std::chrono::milliseconds(options_.times.interval_milliseconds);
    const bool is_late = now > start + interval / kLatestShare;
    if (!is_left_out(Rule::produce_in_time) && is_late) return;
    if (paused_ || slot <= asked_slot_ || now < start) return;
    const bool recovery = in_recovery(now);
    const BlockNode& parent = recovery ? recovery_parent() : tree_.head();
    if (slot <= parent.slot()) return;
    const base::Timestamp newest = begin_of(newest_slot_);
    if (recovery && newest_slot_ != 0 && start < newest + kRecoveryWait) return;

    const chain::ScheduleState schedules = schedules_below(parent);
    const chain::ScheduleEntry& entry = schedules.active->producer_of(slot, options_.repetitions);
    const OwnKey* own = find_own(entry.signing_key);
    if (own == nullptr || !may_sign_header(*own, slot)) return;
    if (!is_time(now, slot, *schedules.active)) {
        const auto at = time_of_clocks(now, slot, *schedules.active);
        if (at && *at > now) out.push_back(effect::WakeAt{*at});
        return;
    }
    asked_slot_ = slot;

    effect::Produce produce;
    produce.producer = entry;
    produce.slot = slot;
    produce.parent = parent.id();
    produce.schedule_version = schedules.active->version;
    produce.may_propose =
        chain::may_propose(schedules, parent.slot(), slot, options_.schedule_period);
    chain::Slot justify_slot = parent.header().justify.slot;
    if (parent.justified != nullptr && parent.justified->slot() > justify_slot) {
        produce.justify = parent.justified->notarized;
        justify_slot = parent.justified->slot();
    }
    // A header never claims a final block above its justify: then it waits for the next block.
    const chain::Slot final_slot = final_certificate_ ? final_certificate_->data.slot : 0;
    if (final_slot > parent.header().finalized.slot &&
        (is_left_out(Rule::produced_final_below_justify) || final_slot <= justify_slot)) {
        produce.finalized = final_certificate_;
    }
    produce.empty = is_empty(produce, parent, recovery, options_.times);
    out.push_back(std::move(produce));
}

bool Consensus::may_sign_header(const OwnKey& own, chain::Slot slot) const {
    if (!is_left_out(Rule::hear_others_first) && !is_acquainted_) return false;
    // Until when it may have made some, only what is final later tells for sure.
    if (!is_left_out(Rule::lost_key_produces_later) && own.lost_until) return false;
    if (!is_left_out(Rule::twin_key_is_silent) && own.twin) return false;
    const bool has_answered = journals_.at(own.tag).safety().stopped;
    if (!is_left_out(Rule::answered_key_is_silent) && has_answered) return false;
    if (!is_above_floor(slot)) return false;
    // One header a slot with whichever key: on another branch a producer's key may be another.
    return std::ranges::all_of(own_, [&](const OwnKey& each) {
        return is_left_out(Rule::header_once) ||
               slot > journals_.at(each.tag).safety().produced_slot;
    });
}

void Consensus::promise_header(const chain::Block& block, Promises& promises) {
    const BlockNode* node = tree_.find(block.id);
    const auto& entries = node->schedules.active->entries;
    const auto entry =
        std::ranges::find(entries, block.header.producer, &chain::ScheduleEntry::producer);
    CHECK(entry != entries.end());
    promises.records.push_back(
        {.key = key_tag(entry->signing_key),
         .record = {.kind = RecordKind::produced, .slot = block.header.slot, .block = block.id}});
}

// The wait of recovery restarts with our own block, and once for each other producer between
// two of ours or since the last final block: so each producer's turn comes.
void Consensus::note_seen(const chain::BlockHeader& header, bool own) {
    if (own) {
        counted_.clear();
    } else if (std::ranges::find(counted_, header.producer) != counted_.end()) {
        return;
    } else {
        counted_.push_back(header.producer);
    }
    newest_slot_ = std::max(newest_slot_, header.slot);
}

// Messages get lost: while nothing becomes final, everybody is told what we have, once a slot.
void Consensus::resend(base::Timestamp now, chain::Slot slot, Effects& out) {
    const base::Duration interval = std::chrono::milliseconds(options_.times.interval_milliseconds);
    if (slot == resent_slot_ || now < final_at_ + 2 * interval) return;
    resent_slot_ = slot;
    for (const chain::Certificate* certificate : {highest_notarize(), final_certificate()}) {
        if (certificate != nullptr) out.push_back(effect::PassOn{*certificate, /*again=*/true});
    }
}

}  // namespace consensus
