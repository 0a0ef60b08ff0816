#pragma once

#include "base/result.hpp"
#include "chain/types/block.hpp"
#include "chain/types/schedule_reset.hpp"
#include "chain/types/schedule_state.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>

namespace node {

// consensus::verify(), or what remembers its answers.
using CertificateCheck =
    std::function<base::Result<void>(const chain::Certificate&, const chain::ScheduleState&)>;

// Follows a branch block by block and says under which schedules each is, who must have signed it
// and which certificates its witness must have: a function of the headers, and of the recovery that
// the operator knows of, so that signatures can be checked apart from execution (spec 05, trust =
// certified).
//
// Keeps the last blocks, from the `final` of the newest on: a witness names none below. Thread:
// any, one at a time.
class BranchWalk {
  public:
    struct Rules {
        chain::ChainId chain_id;
        std::uint32_t repetitions = 1;
        std::optional<chain::ScheduleReset> reset{};  // As the ledger's.
    };

    // From this block on, whose schedules are known; it is not checked.
    BranchWalk(const Rules& rules, chain::BlockPtr base, chain::ScheduleState schedules);

    // The child of the one that was followed last.
    void follow(chain::BlockPtr block);
    [[nodiscard]] const chain::Block& block() const { return *steps_.back().block; }
    [[nodiscard]] const chain::ScheduleState& schedules() const { return steps_.back().schedules; }

    // Of the one that was followed last, which is not the base. invalid: what does not fit.
    // Whether its witness has the certificates that its header wants, and no other.
    [[nodiscard]] base::Result<void> check_form() const { return check_form(block().witness); }
    // The same, and whether they are good, and whether its producer signed it.
    [[nodiscard]] base::Result<void> check(const CertificateCheck& check) const {
        return this->check(block(), check);
    }
    // The same for another copy of it.
    [[nodiscard]] base::Result<void> check(const chain::Block& copy,
                                           const CertificateCheck& check) const;

  private:
    struct Step {
        chain::BlockPtr block;
        chain::ScheduleState schedules;
    };
    // A certificate that a witness has, with the block that it must be of; null: it must have none.
    struct Part {
        std::string_view name;
        chain::VoteKind kind = chain::VoteKind::notarize;
        const std::optional<chain::Certificate>& certificate;
        bool is_wanted = false;
        chain::BlockRef named;
    };
    [[nodiscard]] chain::ScheduleState schedules_below(const Step& parent) const;
    [[nodiscard]] const Step* find(const chain::BlockId& id) const;
    [[nodiscard]] base::Result<void> check_form(const chain::Witness& witness) const;
    [[nodiscard]] base::Result<void> check_form(const Part& part) const;

    Rules rules_;
    std::deque<Step> steps_;  // Ascending heights, each the child of the one before.
};

}  // namespace node
