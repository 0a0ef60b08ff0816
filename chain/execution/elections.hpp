#pragma once

#include "chain/execution/schedule_rows.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace chain {

// Who may produce, from the members' votes (spec 04, "Schedule"). Pure functions over a state.

// The standbys that are listed, after the elected.
inline constexpr std::size_t kStandbys = 100;
// The heaviest member. With 10,000 members and more their weights still add up within 64 bits.
inline constexpr std::uint64_t kWeightMax = 1'000'000'000'000;

// What is known of somebody who is registered, or in the schedule.
struct Candidate {
    ScheduleEntry entry;       // With the keys that it would have in the next schedule.
    std::uint64_t votes = 0;   // Weight of the members that vote for it, proxies counted.
    std::uint32_t missed = 0;  // Slots in a row, while it is in the schedule.
    bool registered = false;   // By regproducer, and not taken back.
    bool ready = false;        // Sent `ready` with these keys within the last period.
    bool convicted = false;    // One of its keys is.

    friend bool operator==(const Candidate&, const Candidate&) = default;
};

// How many, and who is out.
struct ElectionRules {
    std::size_t min_producers = 1;
    std::size_t max_producers = 21;
    std::uint32_t max_missed = 600;
    std::uint64_t cast = 0;  // Weight of the members that vote for anybody.
};

// The least votes with which one enters: more than a third of the weight that is cast. The members
// that may be faulty have less, so another wants it, too. With fewer, one of them could fill the
// free places with accounts of its own.
[[nodiscard]] constexpr std::uint64_t votes_to_enter(std::uint64_t cast) {
    return cast / 3 + 1;
}

// The validators after `present`. The greatest weights win, ties go to the lower name; needed are
// a registration and no convicted key; for who is in, a vote and fewer than max_missed missed
// slots; for who is not, `ready` and votes_to_enter(). Of `present` at most f are left out at once
// - first the convicted, then who is not wanted any more or outvoted, last who only missed slots;
// among these who missed most, then the lightest - and never so many that fewer than min_producers
// stay. Who only missed slots leaves where another takes its place: the network may be the cause,
// and of fewer validators fewer may be faulty. One enters at once, or at most f of the schedule
// that comes of it. A key that another already has is not taken over. In the order of `present`
// where the validators stay the same, else by name.
[[nodiscard]] std::vector<ScheduleEntry> elect(const std::vector<ScheduleEntry>& present,
                                               const std::vector<Candidate>& candidates,
                                               const ElectionRules& rules);

// A member's votes count with its weight, and those of its proxy where it named one that still is
// one.
struct VoteCount {
    std::map<Name, std::uint64_t> votes;  // Of each producer that is voted for.
    std::uint64_t cast = 0;               // Weight of the members that vote for anybody.
};
[[nodiscard]] base::Result<VoteCount> count_votes(const StateView& state);

// What an election decides on.
struct Poll {
    std::vector<Candidate> candidates;  // By name.
    std::uint64_t cast = 0;             // As in VoteCount.
};
// Everybody who is voted for or in `present`. Who is in `present` keeps its keys until it is ready
// with those that it registered since: nobody else knows whether a node holds them.
[[nodiscard]] base::Result<Poll> take_poll(const StateView& state,
                                           const std::vector<ScheduleEntry>& present,
                                           Slot slot);

// The keys with which a producer would be in the next schedule: those that setprods named, else
// those that it registered, else those in the schedule in force. Absent: it is none of these.
[[nodiscard]] base::Result<std::optional<ScheduleEntry>> find_next_entry(const StateView& state,
                                                                         Name producer);
// The keys with which its node speaks in its name now: those in the schedule in force, else the
// next ones.
[[nodiscard]] base::Result<std::optional<ScheduleEntry>> find_entry(const StateView& state,
                                                                    Name producer);

// Whether keys that are not in the schedule may enter one at `slot`.
[[nodiscard]] bool is_ready(const StateView& state,
                            const ScheduleEntry& entry,
                            Slot slot,
                            const BorParameters& parameters);

// The schedule that the first block of a period, in `slot`, proposes on this state, in which
// `present` is in force; absent: it does not differ. What setprods fixed comes first.
[[nodiscard]] base::Result<std::optional<Schedule>> next_schedule(const StateView& state,
                                                                  const Schedule& present,
                                                                  Slot slot);

}  // namespace chain
