#pragma once

#include "consensus/consensus.hpp"
#include "tests/sim/consensus/universe.hpp"

#include <map>
#include <memory>
#include <utility>

namespace sim {

// The production Consensus with one clause of its rules left out.
class MutantConsensus final : public consensus::Consensus {
  public:
    MutantConsensus(Mutant mutant,
                    Options options,
                    consensus::TreeBase base,
                    consensus::SafetyJournal journal)
        : Consensus(std::move(options), std::move(base), std::move(journal)), mutant_(mutant) {}

  protected:
    [[nodiscard]] bool lock_allows(const consensus::BlockNode& block,
                                   const consensus::KeySafety& safety) const override {
        return mutant_ == Mutant::no_lock_check || Consensus::lock_allows(block, safety);
    }
    [[nodiscard]] bool past_votes_allow(const consensus::BlockNode& block,
                                        const consensus::KeySafety& safety) const override {
        return mutant_ == Mutant::no_past_votes || Consensus::past_votes_allow(block, safety);
    }
    // With the final block of this node instead of the one that the header names.
    [[nodiscard]] chain::ScheduleState schedules_below(
        const consensus::BlockNode& parent) const override {
        if (mutant_ != Mutant::local_finality) return Consensus::schedules_below(parent);
        chain::BlockHeader header = parent.header();
        header.finalized = tree().finalized().ref();
        return chain::schedules_below(parent.schedules, header);
    }

    [[nodiscard]] bool may_commit(const consensus::BlockNode& block,
                                  const consensus::KeySafety& safety) const override {
        if (mutant_ == Mutant::commit_below_lock) {
            return block.slot() > finalized().slot && past_votes_allow(block, safety);
        }
        if (mutant_ == Mutant::commit_below_final) {
            return block.slot() > safety.lock_slot && past_votes_allow(block, safety);
        }
        return Consensus::may_commit(block, safety);
    }
    [[nodiscard]] const chain::ScheduleState& voters(
        const consensus::BlockNode& block) const override {
        if (mutant_ == Mutant::head_schedule) return tree().head().schedules;
        const bool is_changed =
            mutant_ == Mutant::no_joint_quorum || mutant_ == Mutant::newest_schedule;
        if (!is_changed || block.schedules.proposed == nullptr) return block.schedules;
        chain::ScheduleState& voters = voters_[block.id()];
        voters = block.schedules;
        if (mutant_ == Mutant::newest_schedule) voters.active = voters.proposed;
        voters.proposed = nullptr;
        voters.proposed_at = voters.pending_since = 0;
        return voters;
    }
    [[nodiscard]] bool is_above_loss(chain::Slot lost_until, chain::Slot slot) const override {
        return mutant_ == Mutant::lost_produces || Consensus::is_above_loss(lost_until, slot);
    }

  private:
    Mutant mutant_;
    mutable std::map<chain::BlockId, chain::ScheduleState> voters_;  // That are not the block's.
};

[[nodiscard]] inline std::unique_ptr<consensus::Consensus> make_consensus(
    Mutant mutant,
    consensus::Consensus::Options options,
    consensus::TreeBase base,
    consensus::SafetyJournal journal) {
    if (mutant == Mutant::none) {
        return std::make_unique<consensus::Consensus>(
            std::move(options), std::move(base), std::move(journal));
    }
    return std::make_unique<MutantConsensus>(
        mutant, std::move(options), std::move(base), std::move(journal));
}

}  // namespace sim
