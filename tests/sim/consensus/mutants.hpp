#pragma once

#include "consensus/consensus.hpp"
#include "tests/sim/consensus/universe.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace sim {

// In the order of Mutant.
inline constexpr std::array<std::string_view, 12> kMutantNames{"none",
                                                               "no-lock-check",
                                                               "no-past-votes",
                                                               "journal-lost-ignored",
                                                               "no-lock-certificate",
                                                               "local-finality",
                                                               "commit-below-lock",
                                                               "commit-below-final",
                                                               "no-joint-quorum",
                                                               "newest-schedule",
                                                               "head-schedule",
                                                               "lost-produces"};

[[nodiscard]] inline std::optional<Mutant> find_mutant(std::string_view name) {
    const auto* const found = std::ranges::find(kMutantNames, name);
    if (found == kMutantNames.end()) return std::nullopt;
    return static_cast<Mutant>(found - kMutantNames.begin());
}

// The production Consensus with one clause of its rules left out.
class MutantConsensus final : public consensus::Consensus {
  public:
    MutantConsensus(Mutant mutant,
                    Options options,
                    consensus::TreeBase base,
                    consensus::Journals journals)
        : Consensus(std::move(options), std::move(base), std::move(journals)), mutant_(mutant) {}

    // For the model checker: what it knows.
    [[nodiscard]] const consensus::BlockTree& blocks() const { return tree(); }

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
    consensus::Journals journals) {
    if (mutant == Mutant::none) {
        return std::make_unique<consensus::Consensus>(
            std::move(options), std::move(base), std::move(journals));
    }
    return std::make_unique<MutantConsensus>(
        mutant, std::move(options), std::move(base), std::move(journals));
}

}  // namespace sim
