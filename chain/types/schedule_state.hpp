#pragma once

#include "chain/types/block.hpp"
#include "chain/types/schedule.hpp"

#include <cstdint>
#include <memory>

namespace chain {

// The schedules that a block is under, and the change that is on its way (spec 04, "Changes").
//
// A function of the headers alone, never of local certificates: every node computes the same.
// Let C be the block that proposed a schedule. It is pending for a block whose parent has
// height(final) >= height(C); P is the first such block. It is active for a block whose parent
// has height(final) >= height(P). Votes and certificates for a block need a quorum of `active`
// and, while a schedule is pending, of that one too.
struct ScheduleState {
    std::shared_ptr<const Schedule> active;    // Never null.
    std::shared_ptr<const Schedule> proposed;  // Null: no change is on its way.
    Height proposed_at = 0;                    // height(C), while there is a proposal.
    Height pending_since = 0;                  // height(P); 0: not pending yet.

    // The pending schedule; null: none.
    [[nodiscard]] const Schedule* pending() const {
        return pending_since == 0 ? nullptr : proposed.get();
    }
    // By value, not by address.
    friend bool operator==(const ScheduleState& a, const ScheduleState& b);
};

// Of the genesis block.
[[nodiscard]] ScheduleState first_schedules(Schedule schedule);
// Of a child of `parent`, whose own state is given, before what the child itself proposes.
[[nodiscard]] ScheduleState schedules_below(const ScheduleState& state, const BlockHeader& parent);
// Of the child itself: `below` with what it proposes.
[[nodiscard]] ScheduleState with_proposal(ScheduleState below, const BlockHeader& child);
// Whether a child may propose a schedule: it is the first of its period, and no change is on
// its way in schedules_below(). `period` in slots, at least 1.
[[nodiscard]] bool may_propose(const ScheduleState& below,
                               Slot parent_slot,
                               Slot slot,
                               std::uint64_t period);

// As stored beside the final block.
void encode(base::Writer& out, const ScheduleState& state);
void decode(base::Reader& in, ScheduleState& state, std::string_view field);

}  // namespace chain
