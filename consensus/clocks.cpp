#include "consensus/clocks.hpp"

#include "chain/types/rule.hpp"
#include "consensus/consensus.hpp"

#include <algorithm>
#include <functional>

// What clocks allow (spec 04, "Finality"): nothing is signed for a slot before a quorum of clocks
// has come to it, and nothing for the slots in which an earlier life of this node may have signed.

namespace consensus {

using chain::is_left_out;
using chain::Rule;

namespace {

// What was said of a clock is on its way for no longer, by the way of others too.
constexpr base::Duration kDelayMax = std::chrono::seconds(10);

}  // namespace

chain::Slot Consensus::slot_shown(base::Timestamp clock) const {
    return options_.times.slot_at(chain::TimePoint::from_timestamp(clock));
}

base::Timestamp Consensus::begin_of(chain::Slot slot) const {
    return options_.times.begin_of(slot).to_timestamp() - ahead_;
}

std::vector<base::Timestamp> Consensus::clocks_of(const chain::Schedule& schedule,
                                                  base::Timestamp now) const {
    std::vector<base::Timestamp> shown;
    bool is_ours = false;
    for (const chain::ScheduleEntry& entry : schedule.entries) {
        if (find_own(entry.vote_key) != nullptr || find_own(entry.signing_key) != nullptr) {
            is_ours = true;
            shown.push_back(now + ahead_);
        } else if (const auto clock = clocks_.shown_by(entry.vote_key, now)) {
            shown.push_back(*clock);
        }
    }
    if (!is_ours) shown.push_back(now + ahead_);
    std::ranges::sort(shown, std::greater<>());
    return shown;
}

bool Consensus::is_time(base::Timestamp now,
                        chain::Slot slot,
                        const chain::Schedule& schedule) const {
    if (is_left_out(Rule::quorum_of_clocks)) return true;
    const base::Timestamp begin = begin_of(slot) - options_.clock_bound;
    if (now < begin) return false;
    const auto has_come = [&](const chain::ScheduleEntry& entry) {
        if (find_own(entry.vote_key) != nullptr || find_own(entry.signing_key) != nullptr) {
            return true;
        }
        const auto clock = clocks_.shown_by(entry.vote_key, now);
        return clock && *clock >= begin + ahead_;
    };
    const auto come = std::ranges::count_if(schedule.entries, has_come);
    return static_cast<std::size_t>(come) >= schedule.quorum();
}

bool Consensus::is_above_floor(chain::Slot slot) const {
    return floor_ && (is_left_out(Rule::above_start_floor) || slot > *floor_);
}

// What clocks show comes late by way of others, and an earlier life may have gone by ours a moment
// ago (consensus seed 1200911). So the later of both counts, where ours is not ahead by more than
// messages take.
std::optional<chain::Slot> Consensus::latest_signed(base::Timestamp now) const {
    const chain::ScheduleState schedules = schedules_below(tree_.finalized());
    const chain::Schedule& schedule = *schedules.active;
    const std::vector<base::Timestamp> shown = clocks_of(schedule, now);
    if (shown.size() < schedule.quorum()) return std::nullopt;
    const base::Timestamp theirs = shown[std::min(shown.size() - 1, schedule.faults_max())];
    const base::Timestamp ours = now + ahead_;
    const base::Timestamp latest = ours <= theirs + kDelayMax ? std::max(ours, theirs) : theirs;
    return slot_shown(latest + 2 * options_.clock_bound);
}

// Others may repeat to a node that has just started what clocks showed long ago; our own clock
// nobody can set back. A lost key goes by the later of both: another is safe without.
chain::Slot Consensus::lost_at(base::Timestamp now, chain::Slot theirs) const {
    return std::max(theirs, slot_shown(now + ahead_ + 2 * options_.clock_bound));
}

void Consensus::note_signed(OwnKey& own, chain::Slot slot) {
    own.signed_until = std::max(own.signed_until, slot);
    if (own.lost_until && own.lost_until != kLostSlot) {
        own.lost_until = std::max(*own.lost_until, own.signed_until);
    }
}

// Keys that are lost together were used together: of what another key than that of its votes has
// signed, a validator's votes tell (headers, by its signing key).
void Consensus::note_signed_with_lost(chain::Slot slot) {
    for (OwnKey& own : own_) {
        if (own.lost_until) note_signed(own, slot);
    }
}

// Blocks of slots that have not come are certified where all clocks were ahead, and were set back.
// Up to these a lost key may have signed, whatever clocks show now.
void Consensus::note_certified_ahead(base::Timestamp now) {
    const bool is_any_lost =
        std::ranges::any_of(own_, [](const OwnKey& own) { return own.lost_until.has_value(); });
    if (!is_any_lost || is_left_out(Rule::lost_key_waits_for_certified)) return;
    const chain::Certificate* highest = highest_certificate();
    const chain::Slot certified =
        std::max(finalized().slot, highest == nullptr ? 0 : highest->data.slot);
    // What the clocks of others have come to is not ahead, though ours may be behind.
    if (certified <= lost_at(now, latest_signed(now).value_or(0))) return;
    note_signed_with_lost(certified);
}

// As long as the floor is not passed, what is heard of clocks corrects it: a clock may be heard by
// way of others, of whom one repeats what it showed long ago. A lost key goes by what is heard
// later, too: where our own clock is behind, the floor is passed by blocks of long ago.
void Consensus::look_at_clocks(base::Timestamp now, Effects& out) {
    const bool is_open = !floor_ || slot_shown(now + ahead_) <= *floor_;
    const bool is_any_lost =
        std::ranges::any_of(own_, [](const OwnKey& own) { return own.lost_until.has_value(); });
    if (!floor_) floor_at_ = now;
    const auto heard = is_open || is_any_lost ? latest_signed(floor_at_) : std::nullopt;
    const auto floor = is_open ? heard : floor_;
    if (!floor) return;
    if (!floor_ && options_.accept_amnesia) {
        // A lost key goes on above this slot, for ever: one that a wrong clock alone has come to,
        // ours or those of others, would keep it silent until then.
        const base::Timestamp ours = floor_at_ + ahead_ + 2 * options_.clock_bound;
        const bool is_near =
            *floor <= slot_shown(ours + kDelayMax) && slot_shown(ours - kDelayMax) <= *floor;
        if (is_any_lost && !is_near) return;
    }
    floor_ = floor;
    const chain::Slot lost = lost_at(floor_at_, std::max(*floor_, heard.value_or(0)));
    for (OwnKey& own : own_) {
        const chain::Slot before = std::max(lost_floor_.value_or(0), own.signed_until);
        const bool is_of_start = own.lost_until == kLostSlot || own.lost_until == before;
        if (own.lost_until && is_of_start) own.lost_until = std::max(lost, own.signed_until);
    }
    lost_floor_ = lost;
    if (is_open && options_.accept_amnesia) accept_amnesia(out);
}

void Consensus::on_clock(base::Timestamp now, const input::ClockHeard& heard, Effects& out) {
    if (!is_validator(heard.key) || find_own(heard.key) != nullptr) return;
    clocks_.hear(heard.key, heard.shown, now);
    look_at_clocks(now, out);
    vote_late(now, out);
}

void Consensus::on_clock_set(base::Timestamp now, const input::ClockSet& set, Effects& out) {
    ahead_ = set.ahead;
    // A block that one member dated ahead, taken while our clock was ahead too, keeps nobody
    // waiting.
    if (newest_slot_ > latest_slot(now)) newest_slot_ = slot_shown(now + ahead_);
    // Slots begin at other times of step() now.
    on_tick(now, out);
}

// The head, adopted before enough clocks had come to its slot.
void Consensus::vote_late(base::Timestamp now, Effects& out) {
    if (!is_late_) return;
    BlockNode& head = *tree_.find(tree_.head().id());
    if (!is_time(now, head.slot(), *head.schedules.active)) return;
    is_late_ = false;
    if (head.slot() <= finalized().slot) return;
    Promises promises;
    promise_votes(now, head, promises);
    if (promises.records.empty()) return;
    head.is_durable = true;
    persist_promises(promises, {.pages = {}, .block = head.id(), .certificate = {}}, out);
    for (effect::CastVote& vote : promises.votes) {
        out.push_back(std::move(vote));
    }
}

// When enough of the clocks that were heard come to this slot; empty: too few were heard.
std::optional<base::Timestamp> Consensus::time_of_clocks(base::Timestamp now,
                                                         chain::Slot slot,
                                                         const chain::Schedule& schedule) const {
    const std::vector<base::Timestamp> shown = clocks_of(schedule, now);
    const std::size_t quorum = schedule.quorum();
    if (shown.size() < quorum) return std::nullopt;
    const base::Timestamp begin = begin_of(slot) - options_.clock_bound;
    return std::max(begin, now + (begin + ahead_ - shown[quorum - 1]));
}

ClockStatus Consensus::clocks(base::Timestamp now) const {
    const chain::ScheduleState schedules = next_schedules();
    const chain::Schedule& schedule = *schedules.active;
    ClockStatus status{.ours = now + ahead_, .floor = floor_, .quorum = schedule.quorum()};
    for (const chain::ScheduleEntry& entry : schedule.entries) {
        const bool is_ours =
            find_own(entry.vote_key) != nullptr || find_own(entry.signing_key) != nullptr;
        const auto shown =
            is_ours ? std::optional(status.ours) : clocks_.shown_by(entry.vote_key, now);
        if (shown) status.shown.emplace_back(entry.producer, *shown);
    }
    return status;
}

}  // namespace consensus
