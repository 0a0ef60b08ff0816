#include "tests/sim/model/automaton.hpp"

#include "tests/sim/left_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace sim::model {

namespace {

using Kind = Input::Kind;
// One in so many merged states is checked not to differ in what follows.
constexpr std::uint64_t kMergesUnchecked = 64;

}  // namespace

Automaton::Automaton(Blocks& blocks, std::size_t member, bool may_restart)
    : blocks_(blocks), member_(member), may_restart_(may_restart) {
    enter(Replica(blocks, member, may_restart), 0, {});
}

std::vector<Input> Automaton::inputs(const State& state, const Offer& offer) const {
    std::vector<Input> inputs;
    if (state.slot < blocks_.bounds().slots) inputs.push_back({Kind::next_slot, 0});
    if (may_restart_ && !state.restarted) inputs.push_back({Kind::restart, 0});
    const chain::Slot final_slot = blocks_.slot(state.finalized);
    offer.blocks.each([&](Number number) {
        // One that comes before its slot is held until then, which is as if it came then; one
        // that comes before its parent is as if it came after it.
        const bool is_ready = blocks_.slot(number) <= state.slot && !state.held.has(number) &&
                              state.held.has(blocks_[number].parent);
        if (!is_ready || blocks_.slot(number) <= final_slot) return;
        inputs.push_back({Kind::block, number});
        const bool can_be_late = number == state.early[0] && blocks_.slot(number) == state.slot;
        if (can_be_late && !state.late) inputs.push_back({Kind::late_block, number});
    });
    for (const Kind kind : {Kind::notarize, Kind::commit}) {
        const std::size_t index = kind == Kind::commit ? 1 : 0;
        offer.certificates[index].each([&](Number number) {
            const chain::Slot slot = blocks_.slot(number);
            if (slot <= final_slot) return;
            const bool is_here = state.held.has(number);
            const bool is_known =
                is_here ? kind == Kind::notarize && state.certified.has(number)
                        : state.early[index] != 0 && blocks_.slot(state.early[index]) >= slot;
            if (is_known) return;
            inputs.push_back({kind, number});
            const bool can_be_late = kind == Kind::notarize && slot == state.slot && is_here;
            if (can_be_late && !state.late) inputs.push_back({Kind::late_notarize, number});
        });
    }
    return inputs;
}

std::vector<Input> Automaton::history(StateId id) const {
    std::vector<Input> inputs;
    for (; id != 0; id = states_[id].before) {
        inputs.push_back(states_[id].by);
    }
    std::ranges::reverse(inputs);
    return inputs;
}

Replica Automaton::replay(const std::vector<Input>& inputs) const {
    Replica replica(blocks_, member_, may_restart_);
    for (const Input& input : inputs) {
        replica.give(input);
    }
    return replica;
}

StateId Automaton::step(StateId from, const Input& input) {
    const auto known = steps_[from].find(input);
    if (known != steps_[from].end()) return known->second;
    std::vector<Input> inputs = history(from);
    inputs.push_back(input);
    const StateId to = enter(replay(inputs), from, input);
    steps_[from].emplace(input, to);
    ++transitions_;
    return to;
}

StateId Automaton::enter(const Replica& replica, StateId before, const Input& by) {
    const auto [at, is_new] = ids_.try_emplace(replica.key(), states_.size());
    if (!replica.failure().empty() && failure_.empty()) {
        failure_ = fmt::format("member {}: {}; after{}, {}",
                               member_,
                               replica.failure(),
                               describe(before),
                               by.describe());
    }
    if (!is_new) {
        if (++merges_ % kMergesUnchecked == 0) check_merge(at->second, before, by);
        return at->second;
    }
    states_.push_back({.said = replica.said(),
                       .held = replica.held(),
                       .certified = replica.certified(),
                       .early = replica.early(),
                       .finalized = replica.finalized(),
                       .slot = replica.slot(),
                       .late = replica.late(),
                       .restarted = replica.restarted(),
                       .before = before,
                       .by = by});
    steps_.emplace_back();
    const bool says_more = states_.size() == 1 || states_[before].said != states_.back().said;
    if (says_more) check_said(states_.back());
    return at->second;
}

// No two messages of an honest member are evidence: by the oracle, and by production.
void Automaton::check_said(const State& state) {
    Testimony testimony(blocks_.oracle());
    std::vector<chain::Vote> votes;
    for (const chain::VoteKind kind : {chain::VoteKind::notarize, chain::VoteKind::commit}) {
        state.said.votes[index_of(kind)].each([&](Number number) {
            votes.push_back(blocks_.vote(number, kind, member_));
            testimony.hear(votes.back().key, votes.back().data);
        });
    }
    bool is_accused = false;
    for (const chain::Vote& a : votes) {
        for (const chain::Vote& b : votes) {
            auto evidence = chain::find_evidence(a, b);
            if (!evidence) continue;
            auto* pair = std::get_if<chain::ForbiddenCommit>(&*evidence);
            is_accused = is_accused || pair == nullptr ||
                         !blocks_.extends(blocks_.number_of(pair->notarize.data.block_id),
                                          blocks_.number_of(pair->commit.data.block_id));
        }
    }
    std::map<chain::Slot, Number> made;
    bool made_two = false;
    state.said.made.each([&](Number number) {
        made_two = made_two || !made.emplace(blocks_.slot(number), number).second;
    });
    if (is_accused == testimony.convicted().empty()) failure_ = "production sees other evidence";
    // A mutant breaks the rule to make a conflict, which is what is looked for.
    if (left_out() != chain::Rule::none) return;
    if ((is_accused || made_two) && failure_.empty()) {
        failure_ = fmt::format("member {} can be accused; after{}, {}",
                               member_,
                               describe(state.before),
                               state.by.describe());
    }
}

// Two ways led to one key. That the key holds all that matters is an argument; this tests it: from
// either way each input leads to one and the same state.
void Automaton::check_merge(StateId known, StateId before, const Input& by) {
    ++merges_checked_;
    std::vector<Input> other = history(before);
    other.push_back(by);
    for (const auto& [input, to] : steps_[known]) {
        other.push_back(input);
        const auto there = ids_.find(replay(other).key());
        other.pop_back();
        if (there != ids_.end() && there->second == to) continue;
        failure_ = fmt::format(
            "states of member {} were merged that differ: after{} and after{}, "
            "{}; then {}",
            member_,
            describe(known),
            describe(before),
            by.describe(),
            input.describe());
    }
}

template <class Wanted>
std::vector<StateId> Automaton::listen(StateId from, const Offer& offer, Wanted is_wanted) {
    std::vector<StateId> speaking;
    std::vector<StateId> open{from};
    std::unordered_set<StateId> seen{from};
    while (!open.empty() && failure_.empty()) {
        const StateId at = open.back();
        open.pop_back();
        for (const Input& input : inputs(states_[at], offer)) {
            const StateId to = step(at, input);
            if (!seen.insert(to).second) continue;
            if (states_[to].said != states_[from].said) {
                speaking.push_back(to);
            } else if (is_wanted(to)) {
                open.push_back(to);
            }
        }
    }
    return speaking;
}

// Whether one may come to the other by listening; that it says yes proves nothing.
bool Automaton::may_lead(const State& from, const State& to) const {
    const bool is_later = from.slot > to.slot || (from.slot == to.slot && from.late && !to.late);
    if (from.said != to.said || is_later || (from.restarted && !to.restarted)) return false;
    if (from.finalized != to.finalized) return blocks_.extends(to.finalized, from.finalized);
    return (from.held & to.held) == from.held && (from.certified & to.certified) == from.certified;
}

// What another one of these comes to by listening alone can wait until it does.
void Automaton::drop_those_that_wait(std::vector<StateId>& found, const Offer& offer) {
    std::unordered_set<StateId> waits;
    std::vector<StateId> others;
    for (const StateId one : found) {
        if (waits.contains(one)) continue;
        others.clear();
        for (const StateId other : found) {
            const bool is_open = other != one && !waits.contains(other);
            if (is_open && may_lead(states_[one], states_[other])) others.push_back(other);
        }
        if (others.empty()) continue;
        listen(one, offer, [&](StateId at) {
            const auto reached = std::ranges::find(others, at);
            if (reached != others.end()) {
                waits.insert(at);
                others.erase(reached);
            }
            return std::ranges::any_of(
                others, [&](StateId other) { return may_lead(states_[at], states_[other]); });
        });
    }
    std::erase_if(found, [&](StateId one) { return waits.contains(one); });
}

const std::vector<StateId>& Automaton::next(StateId from,
                                            std::uint32_t number,
                                            const Offer& offer) {
    const std::uint64_t both = std::uint64_t{from} << 32U | number;
    const auto known = next_.find(both);
    if (known != next_.end()) return known->second;
    std::vector<StateId> found;
    if (blocks_.bounds().reduction == Reduction::none) {
        for (const Input& input : inputs(states_[from], offer)) {
            found.push_back(step(from, input));
        }
    } else {
        found = listen(from, offer, [](StateId /*at*/) { return true; });
    }
    if (blocks_.bounds().reduction == Reduction::all) drop_those_that_wait(found, offer);
    return next_.emplace(both, std::move(found)).first->second;
}

std::string Automaton::describe(StateId id) const {
    std::string text;
    for (const Input& input : history(id)) {
        text += text.empty() ? " " : ", ";
        text += input.describe();
    }
    return text.empty() ? " nothing" : text;
}

}  // namespace sim::model
