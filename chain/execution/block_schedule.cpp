#include "chain/execution/block_schedule.hpp"

#include "base/check.hpp"
#include "chain/execution/elections.hpp"
#include "chain/execution/genesis_state.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace chain {

namespace {

using base::Result;

// Table::global: of the last recovery, what is recorded of it.
constexpr std::string_view kGlobalReset = "schedule_reset";
struct ResetRow {
    std::uint32_t version = 0;  // Of the new first schedule.
    bool gives_up_final = false;

    static void each_field(auto& self, auto&& visit) { visit(self.version, self.gives_up_final); }
};

// Those whose turn is in a slot after `parent` and before `slot`; a turn is `repetitions` slots.
std::set<Name> absent_between(const Schedule& schedule,
                              Slot parent,
                              Slot slot,
                              std::uint32_t repetitions) {
    std::set<Name> absent;
    if (slot <= parent + 1) return absent;
    const std::uint64_t first = (parent + 1) / repetitions;
    const std::uint64_t last = (slot - 1) / repetitions;
    const std::uint64_t count = schedule.entries.size();
    for (std::uint64_t turn = first; turn <= last && turn < first + count; ++turn) {
        absent.insert(schedule.entries[turn % count].producer);
    }
    return absent;
}

// Who left the schedule starts anew when it comes back.
std::vector<Misses> only_of(std::vector<Misses> misses, const Schedule& schedule) {
    std::erase_if(misses, [&](const Misses& entry) {
        return !schedule.find_producer(entry.producer).has_value();
    });
    return misses;
}

Result<void> note_misses(StateDelta& state,
                         const Schedule& active,
                         const BlockContext& block,
                         const BorParameters& parameters) {
    auto misses = load_misses(state);
    if (!misses) return base::fail(std::move(misses).error());
    put_misses(state,
               count_misses(only_of(*std::move(misses), active),
                            active,
                            block,
                            static_cast<std::uint32_t>(parameters.repetitions)));
    return {};
}

// As schedules_below() of the parent, which the headers' rules use.
ScheduleState below_parent(const ScheduleState& schedules, const BlockContext& block) {
    BlockHeader parent;
    parent.height = block.height - 1;
    parent.finalized.id = block.parent_final;
    return schedules_below(schedules, parent);
}

}  // namespace

std::vector<Misses> count_misses(std::vector<Misses> misses,
                                 const Schedule& active,
                                 const BlockContext& block,
                                 std::uint32_t repetitions) {
    CHECK(!active.entries.empty() && repetitions > 0);
    for (const Name producer : absent_between(active, block.parent_slot, block.slot, repetitions)) {
        const auto place = std::ranges::lower_bound(misses, producer, {}, &Misses::producer);
        if (place != misses.end() && place->producer == producer) {
            ++place->slots;
        } else {
            misses.insert(place, {producer, 1});
        }
    }
    std::erase_if(misses, [&](const Misses& entry) { return entry.producer == block.producer; });
    return misses;
}

Result<void> reset_schedule(StateDelta& state, const ScheduleReset& reset, TimePoint now) {
    const Schedule& schedule = reset.schedule;
    for (const ScheduleEntry& entry : schedule.entries) {
        const RowKey key = producer_key(entry.producer);
        ProducerRow row;
        if (const Value old = state.find(Table::producer, key)) {
            auto before = decode_row<ProducerRow>(*old);
            if (!before) return base::fail(std::move(before).error());
            row = *std::move(before);
        }
        row.active = true;
        row.key = entry.signing_key;
        row.vote_key.reset();
        if (entry.vote_key != entry.signing_key) row.vote_key = entry.vote_key;
        state.put(Table::producer, key, pack(row));
    }
    auto fixed = load_fixed(state);
    if (!fixed) return base::fail(std::move(fixed).error());
    if (*fixed) put_fixed(state, schedule.entries);
    put_schedules(state, first_schedules(schedule));
    put_misses(state, {});
    set_producers_authority(state, schedule, now);
    put_served(state, schedule);
    state.put(Table::global,
              global_key(kGlobalReset),
              pack(ResetRow{schedule.version, reset.gives_up_final}));
    return {};
}

Result<BlockSchedule> begin_schedule(StateDelta& state,
                                     const BlockContext& block,
                                     const BorParameters& parameters) {
    auto before = load_schedules(state);
    if (!before) return base::fail(std::move(before).error());
    ScheduleState schedules = below_parent(*before, block);
    const std::shared_ptr<const Schedule> held = schedules.active;
    const Schedule& active = *held;
    BlockSchedule result{.version = active.version, .change = std::nullopt};
    if (may_propose(schedules, block.parent_slot, block.slot, parameters.schedule_period)) {
        auto next = next_schedule(state, active, block.slot);
        if (!next) return base::fail(std::move(next).error());
        result.change = *std::move(next);
    }
    if (result.change) {
        schedules.proposed = std::make_shared<const Schedule>(*result.change);
        schedules.proposed_at = block.height;
        schedules.pending_since = 0;
    }
    if (schedules != *before) put_schedules(state, schedules);
    if (active.version != before->active->version) {
        set_producers_authority(state, active, block.time);
        put_served(state, active);
    }
    if (auto noted = note_misses(state, active, block, parameters); !noted) {
        return base::fail(std::move(noted).error());
    }
    return result;
}

}  // namespace chain
