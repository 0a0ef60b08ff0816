#include "base/check.hpp"
#include "consensus/consensus.hpp"

#include <algorithm>
#include <utility>

// Our keys: what their journals allow, and what happens when a journal is lost or another
// machine uses a key (spec 04, "Safety journal").

namespace consensus {

namespace {

constexpr std::size_t kHeardMax = 1'000;  // More than a schedule can have.

}  // namespace

const KeySafety* Consensus::voting_safety(const OwnKey& own) const {
    if (!is_acquainted_ || own.twin || own.lost_until) return nullptr;
    return journal_.find(own.tag);
}

const Consensus::OwnKey* Consensus::find_own(const base::crypto::PublicKey& key) const {
    const auto own = std::ranges::find(own_, key, &OwnKey::key);
    return own == own_.end() ? nullptr : &*own;
}

Consensus::OwnKey* Consensus::find_own(const base::crypto::PublicKey& key) {
    const auto own = std::ranges::find(own_, key, &OwnKey::key);
    return own == own_.end() ? nullptr : &*own;
}

// A page that follows nothing, or nothing that can be followed, takes the place of the journal.
void Consensus::write_journal(std::span<const SafetyRecord> records, effect::Persist& persist) {
    const bool mend = journal_.torn();
    persist.journal_page = journal_.append(records);
    persist.journal_sequence = journal_.last_sequence();
    persist.replace_journal = journal_.pages() == 1;
    if (!mend && journal_.pages() <= options_.journal_pages_max) return;
    if (auto page = journal_.compacted(durable_final_slot_)) {
        persist.journal_page = *std::move(page);
        persist.journal_sequence = journal_.last_sequence();
        persist.replace_journal = true;
    }
}

bool Consensus::settle_journal(std::uint64_t stored) {
    const chain::Certificate* highest = highest_notarize();
    return journal_.settle(stored,
                           std::max(highest == nullptr ? 0 : highest->data.slot, finalized().slot));
}

// It may have promised something up to now that we do not know: it signs for later slots only.
void Consensus::lose(base::Timestamp now, OwnKey& own) const {
    own.lost_until =
        options_.times.slot_at(chain::TimePoint::from_timestamp(now + options_.clock_bound));
}

// Tells of keys whose journal was lost at the start, and takes the operator's word for them.
void Consensus::tell_lost_keys(Effects& out) {
    for (const OwnKey& own : own_) {
        if (!own.lost_until || !is_validator(own.key)) continue;
        out.push_back(effect::Alarm{effect::Alarm::Kind::journal_lost, own.key});
    }
    if (options_.accept_amnesia) {
        remember([](const OwnKey& /*own*/) { return true; }, out);
    }
}

// A block of a slot that begun after the loss is final: what was promised before can do no harm
// any more. It becomes the lock and the last vote. Comes after effect::Finalize, so it is durable.
void Consensus::regain(Effects& out) {
    remember([&](const OwnKey& own) { return finalized().slot > *own.lost_until; }, out);
}

template <class Ready>
void Consensus::remember(Ready ready, Effects& out) {
    effect::Persist persist;
    std::vector<SafetyRecord> records;
    Effects alarms;
    for (OwnKey& own : own_) {
        if (!own.lost_until || !ready(own)) continue;
        records.push_back({.kind = RecordKind::base,
                           .key = own.tag,
                           .slot = std::max(*own.lost_until, finalized().slot),
                           .justify_slot = finalized().slot,
                           .lock_slot = finalized().slot,
                           .block = finalized().id,
                           .lock = finalized().id});
        own.lost_until.reset();
        alarms.push_back(effect::Alarm{effect::Alarm::Kind::votes_again, own.key});
    }
    if (records.empty()) return;
    write_journal(records, persist);
    persist.certificate = final_certificate_;
    out.push_back(std::move(persist));
    out.insert(out.end(), alarms.begin(), alarms.end());
}

void Consensus::on_own_vote_seen(base::Timestamp now, const chain::Vote& vote, Effects& out) {
    OwnKey* own = find_own(vote.key);
    if (own == nullptr || own->lost_until) return;
    const KeySafety* safety = journal_.find(own->tag);
    CHECK(safety != nullptr);
    if (vote.data.slot <= safety->floor) return;
    const bool commits = vote.data.kind == chain::VoteKind::commit;
    const chain::Slot slot = commits ? safety->lock_slot : safety->last_notarize.slot;
    const base::Hash256& block = commits ? safety->lock : safety->last_notarize.block;
    const bool same_slot = vote.data.slot == slot && vote.data.block_id != block;
    if (vote.data.slot <= slot && !same_slot) return;
    lose(now, *own);
    const SafetyRecord record{.kind = RecordKind::base, .key = own->tag, .slot = kLostSlot};
    effect::Persist persist;
    write_journal({&record, 1}, persist);
    out.push_back(std::move(persist));
    out.push_back(effect::Alarm{effect::Alarm::Kind::journal_lost, own->key});
}

void Consensus::on_heard(base::Timestamp now, const input::ValidatorHeard& heard) {
    for (const auto& key : heard.vote_keys) {
        if (heard_.size() < kHeardMax) heard_.insert(key_tag(key));
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

void Consensus::on_twin(const base::crypto::PublicKey& key, Effects& out) {
    OwnKey* own = find_own(key);
    if (own == nullptr || std::exchange(own->twin, true)) return;
    out.push_back(effect::Alarm{effect::Alarm::Kind::twin_key, key});
}

std::vector<KeyStatus> Consensus::keys() const {
    std::vector<KeyStatus> all;
    for (const OwnKey& own : own_) {
        const KeySafety* safety = journal_.find(own.tag);
        all.push_back({.key = own.key,
                       .last_notarize = safety == nullptr ? 0 : safety->last_notarize.slot,
                       .lock = safety == nullptr ? 0 : safety->lock_slot,
                       .lost = own.lost_until.has_value(),
                       .twin = own.twin,
                       .waits = !is_acquainted_});
    }
    return all;
}

}  // namespace consensus
