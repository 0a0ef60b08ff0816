#include "node/core/duties.hpp"

#include "chain/execution/elections.hpp"
#include "chain/execution/schedule_rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace node {

namespace {

using chain::Slot;

// Looks in a period of schedules: what is not final at one look is said again at the next.
constexpr Slot kLooksAPeriod = 8;
// Validators report one after the other, so that one report is enough.
constexpr Slot kSlotsApart = 2;
// What is refused so often will always be.
constexpr int kReportsMax = 8;

Duties::Due say(std::string_view action, const chain::ScheduleEntry& who, base::Bytes data) {
    chain::Action said;
    said.account = *chain::Name::from_string("eosio");
    said.name = *chain::Name::from_string(action);
    said.authorization = {{who.producer, *chain::Name::from_string("active")}};
    said.data = std::move(data);
    return {std::move(said), {who.signing_key}};
}

// The key that evidence is about; a header's producer has the key of the schedule.
base::crypto::PublicKey accused_key(const chain::Evidence& evidence,
                                    const chain::Schedule& schedule) {
    if (const auto* votes = std::get_if<chain::TwoVotes>(&evidence)) return votes->first.key;
    if (const auto* pair = std::get_if<chain::ForbiddenCommit>(&evidence)) return pair->commit.key;
    const auto& header = std::get<chain::TwoHeaders>(evidence).first.header;
    const auto entry = schedule.find_producer(header.producer);
    return entry ? schedule.entries[*entry].signing_key : base::crypto::PublicKey{};
}

}  // namespace

bool Duties::are_here(const chain::ScheduleEntry& entry) const {
    return std::ranges::find(own_, entry.signing_key) != own_.end() &&
           std::ranges::find(own_, entry.vote_key) != own_.end();
}

bool Duties::holds(const Moment& moment, const chain::ScheduleEntry& entry) const {
    return are_here(entry) &&
           std::ranges::none_of(moment.silent, [&](const base::crypto::PublicKey& key) {
               return key == entry.signing_key || key == entry.vote_key;
           });
}

// Anybody may register keys that are here: a `ready` for him would give them to him, and no place
// to whose they are. Ours is who is named, and who has a place with keys of ours. Where nobody is
// named, who has none yet may be ours, if nobody else has one with them.
bool Duties::is_ours(const chain::Schedule& schedule, chain::Name producer) const {
    if (std::ranges::find(named_, producer) != named_.end()) return true;
    if (const auto place = schedule.find_producer(producer))
        return are_here(schedule.entries[*place]);
    const auto& entries = schedule.entries;
    return named_.empty() && std::ranges::none_of(entries, [&](const chain::ScheduleEntry& entry) {
               return are_here(entry);
           });
}

bool Duties::accuse(chain::Evidence evidence) {
    if (own_.empty() || accusations_.size() >= kAccusationsMax) return false;
    accusations_.push_back({std::move(evidence), {}});
    is_news_ = true;
    return true;
}

void Duties::note_amnesia(const base::crypto::PublicKey& key) {
    forgetful_.insert(key);
    is_news_ = true;
}

base::Result<std::vector<Duties::Due>> Duties::due(const Moment& moment) {
    std::vector<Due> out;
    const bool is_time = is_news_ || moment.slot >= next_look_;
    if (own_.empty() || !moment.is_synced || !is_time) return out;
    is_news_ = false;
    next_look_ = moment.slot + std::max<Slot>(1, moment.period / kLooksAPeriod);
    auto schedule = chain::load_schedule(moment.state);
    if (!schedule) return base::fail(std::move(schedule).error());
    auto all = producers(moment, *schedule);
    if (!all) return base::fail(std::move(all).error());
    bool reports = false;
    for (const Producer& each : *all) {
        if (!is_ours(*schedule, each.entry.producer)) continue;
        if (holds(moment, each.next)) say_ready(moment, *schedule, each.next, out);
        if (!holds(moment, each.entry)) continue;
        say_amnesia(moment, each.entry, out);
        if (!std::exchange(reports, true)) report(moment, *schedule, each.entry, out);
    }
    return out;
}

base::Result<std::vector<Duties::Producer>> Duties::producers(
    const Moment& moment, const chain::Schedule& schedule) const {
    auto poll = chain::take_poll(moment.state, schedule.entries, moment.slot);
    if (!poll) return base::fail(std::move(poll).error());
    auto fixed = chain::load_fixed(moment.state);
    if (!fixed) return base::fail(std::move(fixed).error());
    std::set<chain::Name> names;
    for (const chain::Candidate& candidate : poll->candidates)
        names.insert(candidate.entry.producer);
    for (const chain::ScheduleEntry& entry : fixed->value_or(std::vector<chain::ScheduleEntry>()))
        names.insert(entry.producer);
    std::vector<Producer> all;
    for (const chain::Name name : names) {
        auto next = chain::find_next_entry(moment.state, name);
        if (!next) return base::fail(std::move(next).error());
        if (!*next) continue;
        const auto place = schedule.find_producer(name);
        all.push_back({place ? schedule.entries[*place] : **next, **next});
    }
    return all;
}

// Half a period before it is too old it is said anew, so that it never is while the node runs.
void Duties::say_ready(const Moment& moment,
                       const chain::Schedule& schedule,
                       const chain::ScheduleEntry& next,
                       std::vector<Due>& out) {
    if (std::ranges::find(schedule.entries, next) != schedule.entries.end()) return;
    const auto said = chain::find_ready(moment.state, next.producer);
    const bool is_said = said && said->signing_key == next.signing_key &&
                         said->vote_key == next.vote_key &&
                         moment.slot < said->slot + moment.period / 2;
    if (is_said) return;
    Due due = say("ready", next, chain::pack(next.producer));
    if (next.vote_key != next.signing_key) due.keys.push_back(next.vote_key);
    out.push_back(std::move(due));
}

void Duties::say_amnesia(const Moment& moment,
                         const chain::ScheduleEntry& ours,
                         std::vector<Due>& out) {
    if (!forgetful_.contains(ours.vote_key) && !forgetful_.contains(ours.signing_key)) return;
    const Slot since = amnesia_since_.emplace(ours.producer, moment.slot).first->second;
    const auto said = chain::find_amnesia(moment.state, ours.producer);
    if (said && said->slot >= since) {
        for (const auto& key : {ours.vote_key, ours.signing_key}) {
            if (forgetful_.erase(key) != 0) recorded_.push_back(key);
        }
        amnesia_since_.erase(ours.producer);
        return;
    }
    out.push_back(say("amnesia", ours, chain::pack(ours.producer)));
}

void Duties::report(const Moment& moment,
                    const chain::Schedule& schedule,
                    const chain::ScheduleEntry& ours,
                    std::vector<Due>& out) {
    const std::size_t turn =
        schedule.find_producer(ours.producer).value_or(schedule.entries.size());
    for (Accusation& each : accusations_) {
        if (each.next != 0) continue;
        each.accused = accused_key(each.evidence, schedule);
        each.next = moment.slot + kSlotsApart * turn;
    }
    std::erase_if(accusations_, [&](const Accusation& each) {
        const bool is_settled =
            each.said >= kReportsMax || chain::is_convicted(moment.state, each.accused);
        if (is_settled) settled_.push_back(each.evidence);
        return is_settled;
    });
    for (Accusation& each : accusations_) {
        if (moment.slot >= each.next) {
            // Where nothing becomes final it was not refused.
            if (each.said == 0 || moment.final_slot > each.said_at) ++each.said;
            each.said_at = moment.slot;
            each.next = next_look_;
            base::Writer data;
            data.bytes(chain::pack(each.evidence));
            out.push_back(say("reportbad", ours, data.take()));
        }
        next_look_ = std::min(next_look_, std::max(each.next, moment.slot + 1));
    }
}

}  // namespace node
