#include "chain/execution/elections.hpp"

#include "chain/execution/membership.hpp"
#include "chain/types/rule.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace chain {

namespace {

using base::Result;
using Entries = std::vector<ScheduleEntry>;

const ScheduleEntry* find_entry(const Entries& entries, Name producer) {
    const auto found = std::ranges::find(entries, producer, &ScheduleEntry::producer);
    return found == entries.end() ? nullptr : &*found;
}

bool is_wanted(const Candidate& candidate) {
    return candidate.registered && candidate.votes > 0 && !candidate.convicted;
}

bool may_serve(const Candidate& candidate, bool present, const ElectionRules& rules) {
    if (!is_wanted(candidate)) return false;
    if (present) return candidate.missed < rules.max_missed;
    if (is_left_out(Rule::votes_to_enter)) return candidate.ready;
    return candidate.ready && candidate.votes >= votes_to_enter(rules.cast);
}

bool is_heavier(const Candidate* a, const Candidate* b) {
    return std::tuple(b->votes, a->entry.producer) < std::tuple(a->votes, b->entry.producer);
}

// Nothing speaks against it but that it is away, which the network may cause.
bool is_absent(const Candidate& member, const ElectionRules& rules) {
    return is_wanted(member) && member.missed >= rules.max_missed;
}

// Who goes first: the convicted, then who is not wanted any more or outvoted, then who only missed
// slots; among these who missed most, then the lightest; ties as is_heavier().
bool goes_before(const Candidate* a, const Candidate* b, const ElectionRules& rules) {
    const auto rank = [&](const Candidate* each) {
        const std::uint32_t missed = each->missed < rules.max_missed ? 0 : each->missed;
        const std::uint64_t votes = each->registered ? each->votes : 0;
        return std::tuple(!each->convicted,
                          is_absent(*each, rules),
                          std::numeric_limits<std::uint32_t>::max() - missed,
                          votes,
                          ~each->entry.producer.value);
    };
    return rank(a) < rank(b);
}

// An election being counted.
struct Count {
    std::vector<const Candidate*> staying;   // Of the present ones, elected or not taken out yet.
    std::vector<const Candidate*> leaving;   // In the order in which they go.
    std::vector<const Candidate*> entering;  // The heaviest first.
};

Count count(const Entries& present,
            const std::vector<Candidate>& candidates,
            const ElectionRules& rules) {
    std::vector<const Candidate*> elected;
    std::vector<const Candidate*> members;
    for (const Candidate& candidate : candidates) {
        const bool is_member = find_entry(present, candidate.entry.producer) != nullptr;
        if (is_member) members.push_back(&candidate);
        if (may_serve(candidate, is_member, rules)) elected.push_back(&candidate);
    }
    std::ranges::sort(elected, is_heavier);
    if (elected.size() > rules.max_producers) elected.resize(rules.max_producers);
    Count result;
    for (const Candidate* member : members) {
        const bool stays = std::ranges::find(elected, member) != elected.end();
        (stays ? result.staying : result.leaving).push_back(member);
    }
    std::ranges::sort(result.leaving, [&](const Candidate* a, const Candidate* b) {
        return goes_before(a, b, rules);
    });
    for (const Candidate* candidate : elected) {
        if (std::ranges::find(members, candidate) == members.end()) {
            result.entering.push_back(candidate);
        }
    }
    return result;
}

// Gives out places, so that no key is in two of them.
class Places {
  public:
    Places(const Entries& present, const std::vector<const Candidate*>& staying) {
        for (const Candidate* member : staying) {
            const ScheduleEntry& entry = *find_entry(present, member->entry.producer);
            owners_.emplace(entry.signing_key, entry.producer);
            owners_.emplace(entry.vote_key, entry.producer);
        }
    }
    // A member keeps its keys where the new ones belong to another, or are convicted.
    void keep(const ScheduleEntry& present, const Candidate& candidate) {
        const bool changes =
            candidate.registered && !candidate.convicted && is_free(candidate.entry);
        take(changes ? candidate.entry : present);
    }
    bool enter(const Candidate& candidate) {
        if (!is_free(candidate.entry)) return false;
        take(candidate.entry);
        return true;
    }
    [[nodiscard]] std::size_t count() const { return entries_.size(); }
    [[nodiscard]] Entries entries() && { return std::move(entries_); }

  private:
    [[nodiscard]] bool is_free(const ScheduleEntry& entry) const {
        return std::ranges::all_of(
            std::array{entry.signing_key, entry.vote_key}, [&](const PublicKey& key) {
                const auto owner = owners_.find(key);
                return owner == owners_.end() || owner->second == entry.producer;
            });
    }
    void take(const ScheduleEntry& entry) {
        owners_.emplace(entry.signing_key, entry.producer);
        owners_.emplace(entry.vote_key, entry.producer);
        entries_.push_back(entry);
    }

    std::map<PublicKey, Name> owners_;
    Entries entries_;
};

// Who is away gives its place to another, not to nobody: else those that are faulty, and stay,
// could come to be more than f of those that are left.
std::size_t least_left(const Count& votes, const ElectionRules& rules) {
    if (is_left_out(Rule::absent_gives_place)) return 0;
    const auto absent = std::ranges::count_if(
        votes.leaving, [&](const Candidate* each) { return is_absent(*each, rules); });
    return votes.staying.size() + static_cast<std::size_t>(absent);
}

// The most that may enter beside so many: f of the schedule that they make together, so that it has
// its quorum without them. One always may, or a chain of one validator would stay so.
std::size_t newcomers_max(std::size_t staying) {
    return staying < 5 ? 1 : (staying - 1) / 2;
}

// Turns do not change where only the order would.
Entries in_order(const Entries& present, Entries entries) {
    std::ranges::sort(entries, {}, &ScheduleEntry::producer);
    Entries sorted = present;
    std::ranges::sort(sorted, {}, &ScheduleEntry::producer);
    const bool same_producers =
        std::ranges::equal(sorted, entries, {}, &ScheduleEntry::producer, &ScheduleEntry::producer);
    if (!same_producers) return entries;
    Entries ordered;
    ordered.reserve(entries.size());
    for (const ScheduleEntry& entry : present) {
        ordered.push_back(*find_entry(entries, entry.producer));
    }
    return ordered;
}

ElectionRules rules_of(const BorParameters& parameters, std::uint64_t cast) {
    return {.min_producers = parameters.min_producers,
            .max_producers = parameters.max_producers,
            .max_missed = static_cast<std::uint32_t>(parameters.max_missed),
            .cast = cast};
}

// What setprods fixed: as it is, once everybody who enters is ready. Convicted keys have no
// weight, but fewer than min_producers are not left.
std::optional<Entries> fixed_entries(const StateView& state,
                                     const Entries& fixed,
                                     const Entries& present,
                                     Slot slot,
                                     const BorParameters& parameters) {
    Entries entries;
    for (const ScheduleEntry& entry : fixed) {
        const bool convicted =
            is_convicted(state, entry.signing_key) || is_convicted(state, entry.vote_key);
        if (!convicted) entries.push_back(entry);
    }
    if (entries.size() < std::min<std::size_t>(fixed.size(), parameters.min_producers)) {
        entries = fixed;
    }
    const bool all_ready = std::ranges::all_of(entries, [&](const ScheduleEntry& entry) {
        return std::ranges::find(present, entry) != present.end() ||
               is_ready(state, entry, slot, parameters);
    });
    if (!all_ready) return std::nullopt;
    return entries;
}

// Who never voted votes for nobody.
Result<VoterRow> load_voter(const StateView& state, Name voter) {
    const Value row = state.find(Table::producer, voter_key(voter));
    if (!row) return VoterRow{};
    return decode_row<VoterRow>(*row);
}

// The producers that a member's weight counts for.
Result<std::vector<Name>> votes_of(const StateView& state, Name member) {
    auto voter = load_voter(state, member);
    if (!voter) return base::fail(std::move(voter).error());
    if (voter->proxy.empty()) return std::move(voter->producers);
    auto proxy = load_voter(state, voter->proxy);
    if (!proxy) return base::fail(std::move(proxy).error());
    if (!proxy->is_proxy) return std::vector<Name>();
    return std::move(proxy->producers);
}

ScheduleEntry entry_of(Name producer, const ProducerRow& row) {
    return {producer, row.key, row.vote_key.value_or(row.key)};
}

bool is_any_convicted(const StateView& state, const ScheduleEntry& entry) {
    return is_convicted(state, entry.signing_key) || is_convicted(state, entry.vote_key);
}

Result<std::optional<ScheduleEntry>> find_present(const StateView& state, Name producer) {
    auto active = load_schedule(state);
    if (!active) return base::fail(std::move(active).error());
    const ScheduleEntry* entry = find_entry(active->entries, producer);
    return entry == nullptr ? std::optional<ScheduleEntry>() : std::optional(*entry);
}

}  // namespace

Entries elect(const Entries& present,
              const std::vector<Candidate>& candidates,
              const ElectionRules& rules) {
    Count votes = count(present, candidates, rules);
    const std::size_t faults_max = present.empty() ? 0 : (present.size() - 1) / 3;
    std::size_t leaving = std::min(votes.leaving.size(), faults_max);
    const std::size_t least = std::max(rules.min_producers, least_left(votes, rules));
    while (true) {
        std::vector<const Candidate*> staying = votes.staying;
        staying.insert(staying.end(),
                       votes.leaving.begin() + static_cast<std::ptrdiff_t>(leaving),
                       votes.leaving.end());
        std::ranges::sort(staying, is_heavier);
        Places places(present, staying);
        for (const Candidate* member : staying) {
            places.keep(*find_entry(present, member->entry.producer), *member);
        }
        std::size_t entered = 0;
        for (const Candidate* candidate : votes.entering) {
            if (places.count() >= rules.max_producers) break;
            if (entered == newcomers_max(staying.size())) break;
            if (places.enter(*candidate)) ++entered;
        }
        if (places.count() >= least || leaving == 0) {
            return in_order(present, std::move(places).entries());
        }
        --leaving;
    }
}

Result<VoteCount> count_votes(const StateView& state) {
    VoteCount count;
    for (const MemberEntry& member : members(state)) {
        auto producers = votes_of(state, member.name);
        if (!producers) return base::fail(std::move(producers).error());
        for (const Name producer : *producers) {
            count.votes[producer] += member.weight;
        }
        if (!producers->empty()) count.cast += member.weight;
    }
    return count;
}

Result<std::optional<ScheduleEntry>> find_next_entry(const StateView& state, Name producer) {
    using Found = std::optional<ScheduleEntry>;
    auto fixed = load_fixed(state);
    if (!fixed) return base::fail(std::move(fixed).error());
    if (*fixed) {
        if (const ScheduleEntry* entry = find_entry(**fixed, producer)) return Found(*entry);
    }
    if (const Value value = state.find(Table::producer, producer_key(producer))) {
        auto row = decode_row<ProducerRow>(*value);
        if (!row) return base::fail(std::move(row).error());
        return Found(entry_of(producer, *row));
    }
    return find_present(state, producer);
}

Result<std::optional<ScheduleEntry>> find_entry(const StateView& state, Name producer) {
    auto present = find_present(state, producer);
    if (!present || *present) return present;
    return find_next_entry(state, producer);
}

bool is_ready(const StateView& state,
              const ScheduleEntry& entry,
              Slot slot,
              const BorParameters& parameters) {
    const std::optional<Ready> ready = find_ready(state, entry.producer);
    return ready && ready->signing_key == entry.signing_key && ready->vote_key == entry.vote_key &&
           slot <= ready->slot + parameters.schedule_period;
}

Result<Poll> take_poll(const StateView& state, const Entries& present, Slot slot) {
    auto parameters = load_parameters(state);
    if (!parameters) return base::fail(std::move(parameters).error());
    auto count = count_votes(state);
    if (!count) return base::fail(std::move(count).error());
    auto misses = load_misses(state);
    if (!misses) return base::fail(std::move(misses).error());
    std::set<Name> names;
    for (const ScheduleEntry& entry : present) {
        names.insert(entry.producer);
    }
    for (const auto& [producer, weight] : count->votes) {
        names.insert(producer);
    }
    Poll poll;
    poll.cast = count->cast;
    for (const Name name : names) {
        Candidate& candidate = poll.candidates.emplace_back();
        const ScheduleEntry* member = find_entry(present, name);
        if (member != nullptr) candidate.entry = *member;
        candidate.entry.producer = name;
        if (const Value value = state.find(Table::producer, producer_key(name))) {
            auto row = decode_row<ProducerRow>(*value);
            if (!row) return base::fail(std::move(row).error());
            candidate.entry = entry_of(name, *row);
            candidate.registered = row->active;
        }
        if (const auto found = count->votes.find(name); found != count->votes.end()) {
            candidate.votes = found->second;
        }
        const auto missed = std::ranges::find(*misses, name, &Misses::producer);
        if (missed != misses->end()) candidate.missed = missed->slots;
        candidate.ready = is_ready(state, candidate.entry, slot, *parameters);
        if (member != nullptr && !candidate.ready) candidate.entry = *member;
        candidate.convicted = is_any_convicted(state, candidate.entry);
    }
    return poll;
}

Result<std::optional<Schedule>> next_schedule(const StateView& state,
                                              const Schedule& present,
                                              Slot slot) {
    auto parameters = load_parameters(state);
    if (!parameters) return base::fail(std::move(parameters).error());
    auto loaded = load_fixed(state);
    if (!loaded) return base::fail(std::move(loaded).error());
    const std::optional<Entries> fixed = *std::move(loaded);
    std::optional<Entries> entries;
    if (fixed) {
        entries = fixed_entries(state, *fixed, present.entries, slot, *parameters);
    } else {
        auto poll = take_poll(state, present.entries, slot);
        if (!poll) return base::fail(std::move(poll).error());
        // Without a single vote there is no will to count: all stays as it is.
        const bool voted = std::ranges::any_of(
            poll->candidates, [](const Candidate& each) { return each.votes > 0; });
        if (!voted) return std::optional<Schedule>();
        entries = elect(present.entries, poll->candidates, rules_of(*parameters, poll->cast));
    }
    if (!entries || entries->empty() || *entries == present.entries) {
        return std::optional<Schedule>();
    }
    return std::optional(Schedule{.version = present.version + 1, .entries = *std::move(entries)});
}

}  // namespace chain
