#include "chain/types/schedule_state.hpp"

#include "base/check.hpp"
#include "chain/types/rule.hpp"

#include <utility>

namespace chain {

namespace {

bool same(const std::shared_ptr<const Schedule>& a, const std::shared_ptr<const Schedule>& b) {
    return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace

bool operator==(const ScheduleState& a, const ScheduleState& b) {
    return same(a.active, b.active) && same(a.proposed, b.proposed) &&
           a.proposed_at == b.proposed_at && a.pending_since == b.pending_since;
}

ScheduleState first_schedules(Schedule schedule) {
    return {.active = std::make_shared<const Schedule>(std::move(schedule)), .proposed = nullptr};
}

ScheduleState schedules_below(const ScheduleState& state, const BlockHeader& parent) {
    CHECK(state.active != nullptr);
    ScheduleState below = state;
    if (below.proposed == nullptr) return below;
    const Height final_height = height_of(parent.finalized.id);
    const bool is_safe =
        is_left_out(Rule::change_active_when_final) || final_height >= below.pending_since;
    const bool is_decided =
        is_left_out(Rule::change_pending_when_final) || final_height >= below.proposed_at;
    if (below.pending_since != 0 && is_safe) {
        below.active = std::move(below.proposed);
        below.proposed = nullptr;
        below.proposed_at = 0;
        below.pending_since = 0;
    } else if (below.pending_since == 0 && is_decided) {
        below.pending_since = parent.height + 1;
    }
    return below;
}

ScheduleState with_proposal(ScheduleState below, const BlockHeader& child) {
    if (!child.schedule_change) return below;
    below.proposed = std::make_shared<const Schedule>(*child.schedule_change);
    below.proposed_at = child.height;
    below.pending_since = 0;
    return below;
}

bool may_propose(const ScheduleState& below, Slot parent_slot, Slot slot, std::uint64_t period) {
    CHECK(period > 0);
    return (is_left_out(Rule::change_alone) || below.proposed == nullptr) &&
           (is_left_out(Rule::change_in_new_period) || slot / period != parent_slot / period);
}

void encode(base::Writer& out, const ScheduleState& state) {
    CHECK(state.active != nullptr);
    encode(out, *state.active);
    out.boolean(state.proposed != nullptr);
    if (state.proposed == nullptr) return;
    encode(out, *state.proposed);
    out.u32(state.proposed_at);
    out.u32(state.pending_since);
}

void decode(base::Reader& in, ScheduleState& state, std::string_view field) {
    state = {};
    Schedule schedule;
    decode(in, schedule, field);
    state.active = std::make_shared<const Schedule>(schedule);
    if (!in.boolean(field)) return;
    decode(in, schedule, field);
    state.proposed = std::make_shared<const Schedule>(std::move(schedule));
    state.proposed_at = in.u32(field);
    state.pending_since = in.u32(field);
}

}  // namespace chain
