#pragma once

#include "chain/execution/rows.hpp"
#include "chain/state/merkle.hpp"
#include "chain/types/schedule_state.hpp"

#include <optional>
#include <vector>

namespace chain {

// The rows from which schedules are made (spec 04, "Schedule"), beside those of rows.hpp. All of
// them are part of the state digest. `load_` functions: corrupt where a row does not decode.

// --- Table::global --------------------------------------------------------------------------

// The schedule in force, and the change that is on its way, as the headers up to this state say.
[[nodiscard]] base::Result<ScheduleState> load_schedules(const StateView& state);
// Writes what differs from what is there.
void put_schedules(StateDelta& state, const ScheduleState& schedules);

// What setprods fixed and no block has proposed yet, with the version that it would get now.
[[nodiscard]] base::Result<std::optional<Schedule>> load_proposed(const StateView& state);

// The entries that setprods fixed, in their order; absent: elections decide.
[[nodiscard]] base::Result<std::optional<std::vector<ScheduleEntry>>> load_fixed(
    const StateView& state);
void put_fixed(StateDelta& state, const std::vector<ScheduleEntry>& entries);

// The mountain range over the ids of all blocks that headers up to this state call final.
[[nodiscard]] base::Result<MountainRange> load_final_range(const StateView& state);
void put_final_range(StateDelta& state, const MountainRange& range);

// Slots that a scheduled producer missed in a row. Who missed none has no entry.
struct Misses {
    Name producer;
    std::uint32_t slots = 0;

    friend bool operator==(const Misses&, const Misses&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.producer, self.slots); }
};
[[nodiscard]] base::Result<std::vector<Misses>> load_misses(const StateView& state);  // By name.
void put_misses(StateDelta& state, const std::vector<Misses>& misses);

// --- Table::producer ------------------------------------------------------------------------

// 'r' and the name: the last `ready`, and the keys that signed it. It says nothing of others.
struct Ready {
    Slot slot = 0;
    PublicKey signing_key;
    PublicKey vote_key;

    friend bool operator==(const Ready&, const Ready&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.slot, self.signing_key, self.vote_key);
    }
};
[[nodiscard]] std::optional<Ready> find_ready(const StateView& state, Name producer);
void put_ready(StateDelta& state, Name producer, const Ready& ready);

// 'a' and the name: the last `amnesia`. The vote key that the producer had then can be convicted by
// what it had signed before, as long as it votes.
struct Amnesia {
    Slot slot = 0;
    PublicKey vote_key;

    friend bool operator==(const Amnesia&, const Amnesia&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.slot, self.vote_key); }
};
[[nodiscard]] std::optional<Amnesia> find_amnesia(const StateView& state, Name producer);
void put_amnesia(StateDelta& state, Name producer, const Amnesia& amnesia);

// 'b' and SHA-256 of the packed key: a key that evidence convicted (reportbad). It has no weight
// from the next schedule on, for ever.
struct ConvictedKey {
    PublicKey key;
    std::uint8_t kind = 0;  // Of the evidence: 0 two headers, 1 two votes, 2 a forbidden COMMIT.
    Height height = 0;      // Of the block that holds the report.
    Name producer;          // Whose it was in the schedule, or by registration; empty: nobody's.

    friend bool operator==(const ConvictedKey&, const ConvictedKey&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.key, self.kind, self.height, self.producer);
    }
};
[[nodiscard]] bool is_convicted(const StateView& state, const PublicKey& key);
void put_convicted(StateDelta& state, const ConvictedKey& convicted);
// 'k' and SHA-256 of the packed key -> producer: every key that ever was in a schedule in force, so
// that a validator that left can still be convicted.
[[nodiscard]] std::optional<Name> find_served(const StateView& state, const PublicKey& key);
void put_served(StateDelta& state, const Schedule& schedule);
// In the order of their hashes, at most `limit`.
[[nodiscard]] base::Result<std::vector<ConvictedKey>> convicted_keys(const StateView& state,
                                                                     std::size_t limit);

}  // namespace chain
