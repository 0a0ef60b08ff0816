#include "chain/state/proof.hpp"
#include "tests/sim/consensus/observer.hpp"

#include <fmt/format.h>

#include <algorithm>

// What proofs make strangers believe, who know nothing but headers and schedules (chain::Proof). A
// proof has votes of one schedule; the liar who makes it has every honest vote that left, and those
// of all Byzantine members.

namespace sim {

chain::Certificate Observer::active_votes(const Seen& block) const {
    chain::Certificate made;
    made.data = block.data(chain::VoteKind::commit);
    const auto& entries = *block.known->active.entries;
    base::Bytes& bitmap = made.bitmaps.emplace_back((entries.size() + 7) / 8);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const base::crypto::PublicKey& key = entries[i].vote_key;
        if (!can_have_signed(key, block, chain::VoteKind::commit)) continue;
        bitmap[i / 8] |= std::byte{1} << (i % 8);
        made.signatures.push_back(sign(key, made.data));
    }
    return made;
}

// More COMMIT votes for the block are there: what does production's check take for final now?
// Headers of this simulator have no finality_root, so the one that is certified stands for all
// paths that lead down from it.
void Observer::check_proved(Seen& block) {
    if (beyond_bound_ || std::ranges::find(proved_, &block) != proved_.end()) return;
    const auto by_form = [](const chain::Certificate& certificate,
                            const chain::ScheduleState& schedules) {
        return consensus::check_form(certificate, schedules);
    };
    const chain::Schedule& trusted = *block.schedules.active;
    const chain::FinalityProof proof{block.header(), active_votes(block), std::nullopt};
    if (!chain::check_certified(proof, trusted, by_form)) return;
    if (!block.known->fault.empty()) {
        return fail(fmt::format("a header of slot {} is certified that is wrong: {}",
                                block.header().slot,
                                block.known->fault));
    }
    const Seen* final = find(block.header().finalized.id);
    if (final != nullptr) prove(*final, block);
    if (chain::check_finality(block.header(), proof, trusted, by_form)) prove(block, block);
}

void Observer::prove(const Seen& block, const Seen& by) {
    if (std::ranges::find(proved_, &block) != proved_.end()) return;
    proved_.push_back(&block);
    // Genesis has no certificate, and what a recovery begins from may have none.
    const bool is_certified = std::ranges::any_of(
        final_, [&](const Seen* certified) { return extends(*certified, block); });
    if (!is_certified && block.parent != nullptr && !recovery_) {
        fail(
            fmt::format("the block of slot {} is proved final by votes for that of slot {}, and no "
                        "COMMIT certificate of it can exist yet",
                        block.header().slot,
                        by.header().slot));
    }
    for (const Seen* other : final_) {
        if (related(block, *other)) continue;
        fail(
            fmt::format("the block of slot {} is proved final by votes for that of slot {}, a "
                        "COMMIT certificate is of slot {}, on another branch",
                        block.header().slot,
                        by.header().slot,
                        other->header().slot));
    }
    for (const auto& [node, shown] : shown_) {
        if (shown == nullptr || related(block, *shown)) continue;
        fail(
            fmt::format("the block of slot {} is proved final, node {} shows slot {}, on another "
                        "branch",
                        block.header().slot,
                        node,
                        shown->header().slot));
    }
}

}  // namespace sim
