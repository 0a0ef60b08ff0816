#include "tests/sim/full/byzantine.hpp"
#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>

// A Byzantine producer makes many blocks of one slot. Two are evidence; nobody works on a third
// before a certificate names it, or what builds on it, or another producer builds on it.

namespace sim::full {

namespace {

constexpr std::size_t kEvidence = 2;
constexpr std::size_t kRecentMax = 4;  // Slots with many blocks, that are looked at.

}  // namespace

void Fleet::note_variants(const std::vector<chain::BlockPtr>& blocks) {
    std::vector<chain::BlockId>& ids =
        variants_[{blocks.front()->header.slot, blocks.front()->header.producer}];
    for (const chain::BlockPtr& block : blocks) {
        observer_.add(block);
        ids.push_back(block->id);
    }
    outcome_.counts["variants"] += blocks.size();
}

// With the votes that left honest nodes, and those of Byzantine ones.
bool Fleet::may_be_named(const chain::BlockId& id) {
    const Seen* block = observer_.find(id);
    if (block == nullptr) return false;
    return std::ranges::any_of(observer_.blocks(), [&](const Seen* seen) {
        const bool names =
            seen->notarizable() || seen->header().producer != block->header().producer;
        return names && seen->known->extends(*block->known);
    });
}

// Its transactions are decoded, and their signatures looked at. What builds on a block that nobody
// adopts, which may change the schedule, is counted apart: it must not take the places of others.
void Fleet::note_work(std::size_t i, const chain::Block& block) {
    const auto& [slot, producer] = std::pair(block.header.slot, block.header.producer);
    if (!world_.is_honest(i) || !variants_.contains({slot, producer})) return;
    const bool is_on_forged = observer_.find(block.header.previous) == nullptr;
    auto& ids = worked_on_[{i, machines_[i]->life(), slot, producer, is_on_forged}];
    ids.insert(block.id);
    if (ids.size() <= kEvidence) return;
    ++outcome_.counts["thirds"];
    const auto others =
        std::ranges::count_if(ids, [&](const chain::BlockId& id) { return !may_be_named(id); });
    if (others <= static_cast<std::ptrdiff_t>(kEvidence)) return;
    fail(fmt::format("node {} works on {} blocks of slot {}", i, ids.size(), slot));
}

void Fleet::check_variants(std::size_t i) {
    const consensus::Consensus& agreement = machines_[i]->agreement();
    auto at = variants_.rbegin();
    for (std::size_t looked = 0; at != variants_.rend() && looked < kRecentMax; ++at, ++looked) {
        const auto& [key, ids] = *at;
        std::vector<chain::BlockId> held;
        std::ranges::copy_if(
            ids, std::back_inserter(held), [&](const auto& id) { return agreement.holds(id); });
        if (held.size() < kEvidence) continue;
        equivocators_.insert(key.second);
        const auto others = std::ranges::count_if(
            held, [&](const chain::BlockId& id) { return !may_be_named(id); });
        if (others <= static_cast<std::ptrdiff_t>(kEvidence)) continue;
        fail(fmt::format("node {} has executed {} blocks of slot {}", i, held.size(), key.first));
    }
}

void Fleet::note_culprit(const chain::Evidence& evidence) {
    if (const auto* headers = std::get_if<chain::TwoHeaders>(&evidence)) {
        accused_.insert(headers->first.header.producer);
        return;
    }
    const auto* votes = std::get_if<chain::TwoVotes>(&evidence);
    const auto& key =
        votes != nullptr ? votes->first.key : std::get<chain::ForbiddenCommit>(evidence).commit.key;
    accused_.insert(world_.universe.owner(key)->name);
}

void Fleet::check_equivocators() {
    for (const chain::Name name : equivocators_) {
        if (accused_.contains(name)) continue;
        fail(fmt::format("nobody accuses {}, who made two blocks of a slot", name.to_string()));
    }
}

}  // namespace sim::full
