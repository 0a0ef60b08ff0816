#pragma once

#include "chain/execution/elections.hpp"
#include "chain/execution/membership.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chain {

// What tests of governance look at: validators, members and their votes, as the rules of
// chain/execution leave them in a state. corrupt: a row does not decode.

// Schedules as this state has them.
struct ScheduleSummary {
    ScheduleState schedules;        // In force, and proposed by a block.
    std::optional<Schedule> fixed;  // By setprods, and not proposed yet: who enters is not ready.
    bool elections = true;          // False: setprods decides.
};
[[nodiscard]] base::Result<ScheduleSummary> schedule_summary(const StateView& state);

// A validator, or who would like to be one.
struct ValidatorSummary {
    ScheduleEntry entry;                    // As in the schedule; of others as registered.
    std::optional<std::size_t> position;    // In the schedule in force, from 0 on.
    std::optional<std::size_t> standby;     // Rank among the standbys, from 1 on.
    std::optional<ScheduleEntry> new_keys;  // Registered since, and not in the schedule yet.
    std::uint64_t votes = 0;                // Weight of the members that vote for it.
    std::uint32_t missed = 0;               // Slots in a row.
    std::optional<Slot> ready;              // When it last said so.
    bool registered = false;
    bool convicted = false;  // By evidence against one of its keys.
    std::string url;
    std::uint16_t location = 0;
};
// The schedule in its order, then the next 100 with votes, by weight, ties by name.
[[nodiscard]] base::Result<std::vector<ValidatorSummary>> validators(const StateView& state);

// A registered producer with its votes, as get_producers lists them.
struct ProducerSummary {
    Name name;
    ProducerRow row;
    std::uint64_t votes = 0;
};
// All that are active, by weight, ties by name; at most `limit`, from the one named `from` on (from
// the first if that is empty or none of them).
[[nodiscard]] base::Result<std::vector<ProducerSummary>> producers_by_votes(const StateView& state,
                                                                            Name from,
                                                                            std::size_t limit);

struct MemberSummary {
    Name name;
    std::uint64_t weight = 0;
    std::optional<VoterRow> vote;  // Absent: it never voted.
    std::vector<NodeEntry> nodes;  // That it registered.
};
// From `from` on, by name; at most `limit`.
[[nodiscard]] base::Result<std::vector<MemberSummary>> members(const StateView& state,
                                                               Name from,
                                                               std::size_t limit);

}  // namespace chain
