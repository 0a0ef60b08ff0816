#include "tests/chain/execution/governance_queries.hpp"

#include "chain/execution/queries.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace chain {

namespace {

using base::Result;

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// What the registration of a producer adds.
Result<void> add_registration(const StateView& state, ValidatorSummary& summary) {
    const Value value = state.find(Table::producer, producer_key(summary.entry.producer));
    if (!value) return {};
    auto row = decode_row<ProducerRow>(*value);
    if (!row) return base::fail(std::move(row).error());
    summary.url = row->url;
    summary.location = row->location;
    return {};
}

ValidatorSummary summary_of(const Candidate& candidate, const StateView& state) {
    ValidatorSummary summary;
    summary.entry = candidate.entry;
    summary.votes = candidate.votes;
    summary.missed = candidate.missed;
    summary.registered = candidate.registered;
    summary.convicted = candidate.convicted;
    if (const auto ready = find_ready(state, candidate.entry.producer)) summary.ready = ready->slot;
    return summary;
}

}  // namespace

Result<ScheduleSummary> schedule_summary(const StateView& state) {
    auto schedules = load_schedules(state);
    if (!schedules) return base::fail(std::move(schedules).error());
    auto waiting = load_proposed(state);
    if (!waiting) return base::fail(std::move(waiting).error());
    auto fixed = load_fixed(state);
    if (!fixed) return base::fail(std::move(fixed).error());
    return ScheduleSummary{*std::move(schedules), *std::move(waiting), !fixed->has_value()};
}

Result<std::vector<ValidatorSummary>> validators(const StateView& state) {
    auto active = load_schedule(state);
    if (!active) return base::fail(std::move(active).error());
    auto poll = take_poll(state, active->entries, 0);
    if (!poll) return base::fail(std::move(poll).error());
    const std::vector<Candidate>& candidates = poll->candidates;
    std::vector<ValidatorSummary> result;
    for (std::size_t i = 0; i < active->entries.size(); ++i) {
        const ScheduleEntry& entry = active->entries[i];
        const auto candidate = std::ranges::find(
            candidates, entry.producer, [](const Candidate& each) { return each.entry.producer; });
        if (candidate == candidates.end()) continue;
        ValidatorSummary& summary = result.emplace_back(summary_of(*candidate, state));
        summary.position = i;
        summary.entry = entry;
        if (candidate->entry != entry) summary.new_keys = candidate->entry;
    }
    std::vector<const Candidate*> others;
    for (const Candidate& each : candidates) {
        const bool eligible = each.registered && each.votes > 0 && !each.convicted;
        if (eligible && !active->find_producer(each.entry.producer)) others.push_back(&each);
    }
    std::ranges::sort(others, [](const Candidate* a, const Candidate* b) {
        return std::tuple(b->votes, a->entry.producer) < std::tuple(a->votes, b->entry.producer);
    });
    if (others.size() > kStandbys) others.resize(kStandbys);
    for (const Candidate* each : others) {
        const std::size_t rank = result.size() - active->entries.size() + 1;
        result.emplace_back(summary_of(*each, state)).standby = rank;
    }
    for (ValidatorSummary& summary : result) {
        if (auto added = add_registration(state, summary); !added) {
            return base::fail(std::move(added).error());
        }
    }
    return result;
}

Result<std::vector<ProducerSummary>> producers_by_votes(const StateView& state,
                                                        Name from,
                                                        std::size_t limit) {
    auto registered = registered_producers(state, Name{}, kAll);
    if (!registered) return base::fail(std::move(registered).error());
    auto count = count_votes(state);
    if (!count) return base::fail(std::move(count).error());
    std::vector<ProducerSummary> result;
    for (RegisteredProducer& each : *registered) {
        if (!each.row.active) continue;
        const auto found = count->votes.find(each.name);
        result.push_back(
            {each.name, std::move(each.row), found == count->votes.end() ? 0 : found->second});
    }
    std::ranges::sort(result, [](const ProducerSummary& a, const ProducerSummary& b) {
        return std::tuple(b.votes, a.name) < std::tuple(a.votes, b.name);
    });
    const auto first = std::ranges::find(result, from, &ProducerSummary::name);
    if (first != result.end()) result.erase(result.begin(), first);
    if (result.size() > limit) result.resize(limit);
    return result;
}

Result<std::vector<MemberSummary>> members(const StateView& state, Name from, std::size_t limit) {
    auto nodes = registered_nodes(state, Name{}, kAll);
    if (!nodes) return base::fail(std::move(nodes).error());
    std::vector<MemberSummary> result;
    for (const MemberEntry& entry : members(state)) {
        if (entry.name < from) continue;
        if (result.size() >= limit) break;
        MemberSummary& member = result.emplace_back();
        member.name = entry.name;
        member.weight = entry.weight;
        if (const Value value = state.find(Table::producer, voter_key(member.name))) {
            auto vote = decode_row<VoterRow>(*value);
            if (!vote) return base::fail(std::move(vote).error());
            member.vote = *std::move(vote);
        }
        for (const NodeEntry& node : *nodes) {
            if (node.row.organisation == member.name) member.nodes.push_back(node);
        }
    }
    return result;
}

}  // namespace chain
