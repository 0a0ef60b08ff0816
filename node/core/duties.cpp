#include "node/core/duties.hpp"

#include "chain/execution/elections.hpp"
#include "chain/execution/schedule_rows.hpp"

#include <algorithm>
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
    return {std::move(said), who.signing_key};
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

bool Duties::holds(const Moment& moment, const base::crypto::PublicKey& key) const {
    return std::ranges::find(own_, key) != own_.end() &&
           std::ranges::find(moment.stopped, key) == moment.stopped.end();
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
    auto ours = find_ours(moment, *schedule);
    if (!ours) return base::fail(std::move(ours).error());
    for (const chain::ScheduleEntry& entry : *ours) {
        say_ready(moment, *schedule, entry, out);
        say_amnesia(moment, entry, out);
    }
    if (!ours->empty()) report(moment, *schedule, ours->front(), out);
    return out;
}

// The producers both of whose keys are here.
base::Result<std::vector<chain::ScheduleEntry>> Duties::find_ours(
    const Moment& moment, const chain::Schedule& schedule) const {
    auto candidates = chain::candidates_of(moment.state, schedule.entries, moment.slot);
    if (!candidates) return base::fail(std::move(candidates).error());
    auto fixed = chain::load_fixed(moment.state);
    if (!fixed) return base::fail(std::move(fixed).error());
    std::set<chain::Name> names;
    for (const chain::Candidate& candidate : *candidates)
        names.insert(candidate.entry.producer);
    for (const chain::ScheduleEntry& entry : fixed->value_or(std::vector<chain::ScheduleEntry>()))
        names.insert(entry.producer);
    std::vector<chain::ScheduleEntry> ours;
    for (const chain::Name name : names) {
        auto entry = chain::find_entry(moment.state, name);
        if (!entry) return base::fail(std::move(entry).error());
        if (*entry && holds(moment, (*entry)->signing_key) && holds(moment, (*entry)->vote_key)) {
            ours.push_back(**entry);
        }
    }
    return ours;
}

// Half a period before it is too old it is said anew, so that it never is while the node runs.
void Duties::say_ready(const Moment& moment,
                       const chain::Schedule& schedule,
                       const chain::ScheduleEntry& ours,
                       std::vector<Due>& out) {
    if (schedule.find_producer(ours.producer)) return;
    const auto said = chain::find_ready(moment.state, ours.producer);
    if (said && moment.slot < *said + moment.period / 2) return;
    out.push_back(say("ready", ours, chain::pack(ours.producer)));
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
