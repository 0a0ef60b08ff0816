#include "tests/sim/model/search.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

namespace sim::model {

namespace {

using chain::VoteKind;
constexpr std::size_t kMembers = 4;
constexpr std::size_t kPlacesFirst = 1'024;  // A power of two, as all that follow.
constexpr unsigned kBitsEach = 21;           // Of a member's state in a key.

std::uint64_t mix(std::uint64_t value) {
    value ^= value >> 31U;
    value *= 0x9E3779B97F4A7C15ULL;
    return value ^ value >> 29U;
}

}  // namespace

Search::Search(const Bounds& bounds, std::size_t states_max)
    : blocks_(bounds), states_max_(states_max) {
    for (std::size_t i = 0; i < kMembers; ++i) {
        if (i == bounds.byzantine) continue;
        const bool may_restart = bounds.restarts && members_.empty();
        members_.push_back(std::make_unique<Automaton>(blocks_, i, may_restart));
    }
    seen_.resize(kPlacesFirst);
}

Result Search::run() {
    visit({});
    while (!open_.empty() && result_.failure.empty()) {
        const Place place = open_.back();
        open_.pop_back();
        expand(place);
    }
    for (const auto& member : members_) {
        result_.member_states += member->size();
        result_.member_transitions += member->transitions();
        result_.merges_checked += member->merges_checked();
    }
    result_.said = said_.size();
    result_.blocks = blocks_.size();
    return result_;
}

void Search::visit(const Place& place) {
    std::uint64_t key = 1;
    for (const StateId id : place) {
        CHECK(id < (1U << kBitsEach) - 1);
        key = key << kBitsEach | id;
    }
    std::uint64_t& entry = place_of(key);
    if (entry == key) return;
    if (result_.states == states_max_) {
        result_.is_whole = false;
        return;
    }
    entry = key;
    if (++result_.states * 2 > seen_.size()) grow();
    check(place);
    open_.push_back(place);
}

// Where the key is, or is to be.
std::uint64_t& Search::place_of(std::uint64_t key) {
    std::size_t at = mix(key) & (seen_.size() - 1);
    while (seen_[at] != 0 && seen_[at] != key) {
        at = (at + 1) & (seen_.size() - 1);
    }
    return seen_[at];
}

void Search::grow() {
    std::vector<std::uint64_t> before(2 * seen_.size());
    before.swap(seen_);
    for (const std::uint64_t key : before) {
        if (key != 0) place_of(key) = key;
    }
}

void Search::expand(const Place& place) {
    const Offer offered = offer(place);
    const auto number =
        offers_.try_emplace(offered, static_cast<std::uint32_t>(offers_.size())).first->second;
    for (std::size_t i = 0; i < kHonest; ++i) {
        for (const StateId to : members_[i]->next(place[i], number, offered)) {
            Place there = place;
            there[i] = to;
            ++result_.transitions;
            visit(there);
        }
        if (!members_[i]->failure().empty()) result_.failure = members_[i]->failure();
    }
}

// Two honest votes and that of the Byzantine member are a quorum of four.
BlockSet Search::certifiable(const Place& place, VoteKind kind) const {
    std::array<BlockSet, kHonest> votes;
    for (std::size_t i = 0; i < kHonest; ++i) {
        votes[i] = (*members_[i])[place[i]].said.votes[index_of(kind)];
    }
    return (votes[0] & votes[1]) | (votes[0] & votes[2]) | (votes[1] & votes[2]);
}

Offer Search::offer(const Place& place) const {
    Offer offer;
    offer.certificates = {certifiable(place, VoteKind::notarize),
                          certifiable(place, VoteKind::commit)};
    offer.blocks.add(0);
    for (std::size_t i = 0; i < kHonest; ++i) {
        offer.blocks = offer.blocks | (*members_[i])[place[i]].said.made;
    }
    // A parent has a lower number than its children.
    for (Number number = 1; number < blocks_.size(); ++number) {
        const Blocks::Entry& entry = blocks_[number];
        const bool is_proven = entry.justify == blocks_[entry.parent].justify ||
                               offer.certificates[0].has(entry.justify);
        if (entry.byzantine && is_proven && offer.blocks.has(entry.parent))
            offer.blocks.add(number);
    }
    return offer;
}

void Search::check(const Place& place) {
    // As production wants it, a COMMIT certificate stands for a NOTARIZE certificate too.
    said_.insert({(*members_[0])[place[0]].said,
                  (*members_[1])[place[1]].said,
                  (*members_[2])[place[2]].said});
    const BlockSet finals = certifiable(place, VoteKind::commit);
    if (finals.size() > 0) ++result_.finals;
    if (!blocks_.conflict(finals) || !result_.failure.empty()) return;
    std::string which;
    finals.each([&](Number number) {
        which += fmt::format(" {} (slot {})", number, blocks_.slot(number));
    });
    const bool is_explained = this->is_explained(place, finals);
    result_.failure = fmt::format(
        "COMMIT certificates of conflicting blocks{}; {}{}",
        which,
        is_explained ? "more than f keys are convicted" : "BUT NOT MORE THAN f KEYS ARE CONVICTED",
        describe(place));
}

bool Search::is_explained(const Place& place, const BlockSet& finals) const {
    Testimony testimony(blocks_.oracle());
    for (const VoteKind kind : {VoteKind::notarize, VoteKind::commit}) {
        const auto hear = [&](const BlockSet& votes, std::size_t member) {
            votes.each([&](Number number) {
                const chain::Vote vote = blocks_.vote(number, kind, member);
                testimony.hear(vote.key, vote.data);
            });
        };
        for (std::size_t i = 0; i < kHonest; ++i) {
            hear((*members_[i])[place[i]].said.votes[index_of(kind)], members_[i]->member());
        }
        hear(certifiable(place, kind), blocks_.bounds().byzantine);
    }
    bool is_explained = true;
    const auto known = [&](Number number) {
        return blocks_.oracle().find(blocks_[number].block->id);
    };
    finals.each([&](Number a) {
        finals.each([&](Number b) {
            is_explained = is_explained && testimony.explains(*known(a), *known(b));
        });
    });
    return is_explained;
}

std::string Search::describe(const Place& place) const {
    std::string text;
    for (std::size_t i = 0; i < kHonest; ++i) {
        text +=
            fmt::format("\n  member {}:{}", members_[i]->member(), members_[i]->describe(place[i]));
    }
    return text;
}

}  // namespace sim::model
