#include "base/check.hpp"
#include "chain/types/rule.hpp"
#include "consensus/consensus.hpp"

#include <algorithm>
#include <utility>

// Our keys: what their journals allow, and what happens when a journal is lost or another
// machine uses a key (spec 04, "Safety journal").

namespace consensus {

using chain::is_left_out;
using chain::Rule;

namespace {

constexpr std::size_t kHeardMax = 1'000;  // More than a schedule can have.
// For so long the block of a lock is asked of peers before the operator's word gives it up. While
// the node catches up, and blocks become final here, it may still come.
constexpr base::Duration kLockAskedFor = std::chrono::seconds(10);

bool has_vote_key(const chain::Schedule& schedule, KeyTag key) {
    return std::ranges::any_of(schedule.entries,
                               [&](const auto& entry) { return key_tag(entry.vote_key) == key; });
}

bool says_more(const KeySafety& safety, const chain::VoteData& vote) {
    if (!safety.known || vote.slot <= safety.floor) return false;
    const bool commits = vote.kind == chain::VoteKind::commit;
    const chain::Slot slot = commits ? safety.lock_slot : safety.last_notarize.slot;
    const base::Hash256& block = commits ? safety.lock : safety.last_notarize.block;
    const bool same_slot = vote.slot == slot && vote.block_id != block;
    return vote.slot > slot || same_slot;
}

}  // namespace

const KeySafety* Consensus::voting_safety(const OwnKey& own) const {
    if (!is_left_out(Rule::hear_others_first) && !is_acquainted_) return nullptr;
    if (!is_left_out(Rule::lost_key_votes_later) && own.lost_until) return nullptr;
    if (!is_left_out(Rule::twin_key_is_silent) && own.twin) return nullptr;
    if (!floor_) return nullptr;
    const KeySafety& safety = journals_.at(own.tag).safety();
    return !is_left_out(Rule::answered_key_is_silent) && safety.stopped ? nullptr : &safety;
}

const Consensus::OwnKey* Consensus::find_own(const base::crypto::PublicKey& key) const {
    const auto own = std::ranges::find(own_, key, &OwnKey::key);
    return own == own_.end() ? nullptr : &*own;
}

Consensus::OwnKey* Consensus::find_own(const base::crypto::PublicKey& key) {
    const auto own = std::ranges::find(own_, key, &OwnKey::key);
    return own == own_.end() ? nullptr : &*own;
}

// A COMMIT is of a block that an earlier write has made durable: where the last write of the
// storage is lost, the lock's block is not (R2).
void Consensus::persist_promises(Promises& promises, effect::Persist persist, Effects& out) {
    persist.wait = !is_left_out(Rule::promise_durable) && !promises.records.empty();
    CertificatePtr lock;
    if (promises.lock != nullptr) {
        lock = std::make_shared<const chain::Certificate>(*promises.lock->notarized);
        const bool is_durable = std::exchange(promises.lock->is_durable, true);
        if (!is_left_out(Rule::lock_block_durable) && !is_durable) {
            out.push_back(
                effect::Persist{.pages = {}, .block = promises.lock->id(), .certificate = {}});
        }
    }
    for (const OwnKey& own : own_) {
        std::vector<SafetyRecord> records;
        for (const Promise& promise : promises.records) {
            if (promise.key == own.tag) records.push_back(promise.record);
        }
        if (!records.empty()) write_journal(own.tag, records, lock, persist);
    }
    out.push_back(std::move(persist));
}

// A page that follows nothing, or nothing that can be followed, takes the place of the journal.
void Consensus::write_journal(KeyTag key,
                              std::span<const SafetyRecord> records,
                              const CertificatePtr& lock,
                              effect::Persist& persist) {
    SafetyJournal& journal = journals_.at(key);
    const bool is_torn = journal.torn() && !is_left_out(Rule::journal_torn_replaced);
    const bool is_replaced = is_torn || journal.blocks() >= options_.journal_blocks_max;
    persist.pages.push_back(is_replaced ? journal.compacted(durable_final_slot_, records, lock)
                                        : journal.append(records, lock));
}

// Tells of keys whose journal was lost at the start.
void Consensus::tell_lost_keys(Effects& out) {
    for (const OwnKey& own : own_) {
        if (!own.lost_until || !is_validator(own.key)) continue;
        out.push_back(effect::Alarm{effect::Alarm::Kind::journal_lost, own.key});
    }
}

// A block of a slot that begun after the loss is final: what was promised before can do no harm
// any more. It becomes the lock and the last vote. Comes after effect::Finalize, so it is durable.
void Consensus::regain(base::Timestamp now, Effects& out) {
    note_certified_ahead(now);
    const auto is_over = [&](const OwnKey& own) {
        return is_left_out(Rule::lost_key_regains_later) || finalized().slot > *own.lost_until;
    };
    remember(is_over, out);
}

// What a key goes on without, others may have: with it, each vote that it signs from now on can
// convict it.
void Consensus::accept_amnesia(Effects& out) {
    for (const OwnKey& own : own_) {
        if (own.lost_until) out.push_back(effect::Alarm{effect::Alarm::Kind::goes_on, own.key});
    }
    remember([](const OwnKey& /*own*/) { return true; }, out);
}

bool Consensus::is_lock_missing(const OwnKey& own) const {
    const KeySafety& safety = journals_.at(own.tag).safety();
    if (!safety.known || safety.lock_slot <= finalized().slot) return false;
    return tree_.find(safety.lock) == nullptr;
}

std::vector<chain::BlockId> Consensus::missing_locks() const {
    std::vector<chain::BlockId> missing;
    for (const OwnKey& own : own_) {
        if (is_lock_missing(own)) missing.push_back(journals_.at(own.tag).safety().lock);
    }
    return missing;
}

// Where all storages have lost it, no key could ever vote again.
void Consensus::give_up_missing_locks(base::Timestamp now, Effects& out) {
    const base::Timestamp asked_since = std::max(floor_at_, final_at_);
    if (!options_.accept_amnesia || !floor_ || now < asked_since + kLockAskedFor) return;
    bool is_any = false;
    for (OwnKey& own : own_) {
        if (own.lost_until || !is_lock_missing(own)) continue;
        const KeySafety& safety = journals_.at(own.tag).safety();
        distrust(safety.lock);
        own.lost_until = std::max({*floor_, safety.lock_slot, safety.last_notarize.slot});
        is_any = true;
        out.push_back(effect::Alarm{effect::Alarm::Kind::lock_given_up, own.key});
    }
    if (is_any) accept_amnesia(out);
}

template <class Ready>
void Consensus::remember(Ready ready, Effects& out) {
    effect::Persist persist;
    Effects alarms;
    const BlockNode& final = tree_.finalized();
    // Where a recovery begins, there may be no COMMIT certificate of the final block.
    const bool is_its = final_certificate_ && final_certificate_->data.block_id == final.ref().id;
    // Without a NOTARIZE certificate of the final block no block above can name it as justified.
    const bool is_justified = !options_.accept_amnesia || final.height() == 1 || final.notarized;
    const chain::BlockRef lock_at = is_justified ? final.ref() : final.header().justify;
    const auto& certificate = is_its ? final_certificate_ : final.notarized;
    const CertificatePtr lock = certificate && is_justified
                                    ? std::make_shared<const chain::Certificate>(*certificate)
                                    : nullptr;
    for (OwnKey& own : own_) {
        if (!own.lost_until || !ready(own)) continue;
        const SafetyRecord record{.kind = RecordKind::base,
                                  .slot = std::max(*own.lost_until, finalized().slot),
                                  .justify_slot = finalized().slot,
                                  .lock_slot = lock_at.slot,
                                  .block = finalized().id,
                                  .lock = lock_at.id};
        write_journal(own.tag, {&record, 1}, lock, persist);
        own.lost_until.reset();
        alarms.push_back(effect::Alarm{effect::Alarm::Kind::votes_again, own.key});
    }
    if (persist.pages.empty()) return;
    persist.certificate = final_certificate_;
    out.push_back(std::move(persist));
    out.insert(out.end(), alarms.begin(), alarms.end());
}

// Of a lost key nothing is known but what it was told.
bool Consensus::is_bound_by(const chain::Vote& vote) const {
    const OwnKey* own = find_own(vote.key);
    if (own == nullptr) return false;
    if (own->lost_until) return vote.data.slot > own->signed_until;
    return says_more(journals_.at(own->tag).safety(), vote.data);
}

bool Consensus::is_lost(const base::crypto::PublicKey& key) const {
    const OwnKey* own = find_own(key);
    return own != nullptr && own->lost_until && !is_left_out(Rule::lost_key_votes_later);
}

void Consensus::on_own_vote_seen(base::Timestamp now, const chain::Vote& vote, Effects& out) {
    OwnKey* own = find_own(vote.key);
    if (own == nullptr || is_left_out(Rule::own_vote_seen)) return;
    if (own->lost_until) return note_signed_with_lost(vote.data.slot);
    const KeySafety& safety = journals_.at(own->tag).safety();
    if (!says_more(safety, vote.data)) return;
    // What one journal lacks, those beside it on the disk may lack, too.
    effect::Persist persist;
    Effects alarms;
    for (OwnKey& each : own_) {
        if (!each.lost_until) lose(now, each, persist, alarms);
    }
    note_signed_with_lost(vote.data.slot);
    out.push_back(std::move(persist));
    out.insert(out.end(), alarms.begin(), alarms.end());
}

// It may have promised something up to now that we do not know: it signs for later slots only.
void Consensus::lose(base::Timestamp now, OwnKey& own, effect::Persist& persist, Effects& alarms) {
    const KeySafety& safety = journals_.at(own.tag).safety();
    own.lost_until = floor_ ? lost_at(now, latest_signed(now).value_or(*floor_)) : kLostSlot;
    note_signed(own, std::max({safety.last_notarize.slot, safety.lock_slot, safety.produced_slot}));
    const SafetyRecord record{.kind = RecordKind::base, .slot = kLostSlot};
    write_journal(own.tag, {&record, 1}, nullptr, persist);
    alarms.push_back(effect::Alarm{effect::Alarm::Kind::journal_lost, own.key});
}

void Consensus::on_heard(base::Timestamp now, const input::ValidatorHeard& heard) {
    if (is_acquainted_) return;
    for (const auto& key : heard.vote_keys) {
        heard_.insert(key_tag(key));
    }
    // Keys that nobody has scheduled, of which anyone can make more, give way.
    if (heard_.size() > kHeardMax) {
        const auto schedule = next_schedules().active;
        std::erase_if(heard_, [&](KeyTag key) { return !has_vote_key(*schedule, key); });
    }
    look_around(now);
}

// Our disk may be an old copy, and those who were heard have said what they have seen of our
// votes. To wait for a quorum of them costs nothing: without one nothing is decided.
void Consensus::look_around(base::Timestamp now) {
    if (is_acquainted_) return;
    const auto knows = [&](const chain::ScheduleEntry& entry) {
        return heard_.contains(key_tag(entry.vote_key)) || find_own(entry.vote_key) != nullptr;
    };
    const auto schedule = next_schedules().active;
    const auto known = static_cast<std::size_t>(std::ranges::count_if(schedule->entries, knows));
    const bool is_late = now >= options_.started + options_.asks_around_for;
    is_acquainted_ = is_late || known >= schedule->quorum();
}

// What the answer tells of is all that these keys have promised.
void Consensus::stop_signing(Effects& out) {
    effect::Persist persist;
    for (const OwnKey& own : own_) {
        const KeySafety& safety = journals_.at(own.tag).safety();
        if (!serves(own.key) || !safety.known || safety.stopped) continue;
        const SafetyRecord record{.kind = RecordKind::stopped};
        write_journal(own.tag, {&record, 1}, nullptr, persist);
    }
    if (!persist.pages.empty()) out.push_back(std::move(persist));
    out.push_back(effect::StoppedSigning{});
}

void Consensus::on_twin(const base::crypto::PublicKey& key, Effects& out) {
    OwnKey* own = find_own(key);
    if (own == nullptr || std::exchange(own->twin, true)) return;
    out.push_back(effect::Alarm{effect::Alarm::Kind::twin_key, key});
}

// The twin may never be met here: both machines dial the same validators, at the same address.
void Consensus::on_twin_told(const input::TwinTold& told, Effects& out) {
    const auto schedule = next_schedules().active;
    for (const base::crypto::PublicKey& key : told.keys) {
        OwnKey* own = find_own(key);
        if (own == nullptr) continue;
        for (const base::crypto::PublicKey& by : told.said_by) {
            const bool counts = has_vote_key(*schedule, key_tag(by)) && find_own(by) == nullptr;
            if (counts) own->twin_told_by.insert(key_tag(by));
        }
        const auto tells = [&](const chain::ScheduleEntry& entry) {
            return own->twin_told_by.contains(key_tag(entry.vote_key));
        };
        const auto telling =
            static_cast<std::size_t>(std::ranges::count_if(schedule->entries, tells));
        if (telling > schedule->faults_max()) on_twin(key, out);
    }
}

std::vector<KeyStatus> Consensus::keys() const {
    std::vector<KeyStatus> all;
    for (const OwnKey& own : own_) {
        const KeySafety& safety = journals_.at(own.tag).safety();
        all.push_back({.key = own.key,
                       .last_notarize = safety.last_notarize.slot,
                       .lock = safety.lock_slot,
                       .lost = own.lost_until.has_value(),
                       .twin = own.twin,
                       .waits = !is_acquainted_ || !floor_,
                       .stopped = safety.stopped,
                       .lacks_lock = is_lock_missing(own),
                       .silent_until = own.lost_until});
    }
    return all;
}

}  // namespace consensus
