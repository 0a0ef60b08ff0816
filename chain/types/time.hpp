#pragma once

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "chain/types/codec.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chain {

// Microseconds since 1970-01-01T00:00:00 UTC.
struct TimePoint {
    std::int64_t microseconds = 0;

    friend constexpr auto operator<=>(const TimePoint&, const TimePoint&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.microseconds); }
    // "2026-11-21T01:02:03.500": always three digits, no zone.
    [[nodiscard]] std::string to_string() const;
    // Reads that form, and less than three digits or none. malformed: anything else.
    [[nodiscard]] static base::Result<TimePoint> from_string(std::string_view text);
    // base::Timestamp counts nanoseconds from the same epoch.
    [[nodiscard]] constexpr base::Timestamp to_timestamp() const {
        return base::Timestamp(base::Duration(microseconds * 1000));
    }
    [[nodiscard]] static constexpr TimePoint from_timestamp(base::Timestamp time) {
        return {time.time_since_epoch().count() / 1000};
    }
};

// Seconds since 1970-01-01T00:00:00 UTC, until 2106.
struct TimePointSec {
    std::uint32_t seconds = 0;

    friend constexpr auto operator<=>(const TimePointSec&, const TimePointSec&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.seconds); }
    // "2026-11-21T01:02:03".
    [[nodiscard]] std::string to_string() const;
    // Reads that form; a fraction of a second is dropped. malformed: anything else.
    [[nodiscard]] static base::Result<TimePointSec> from_string(std::string_view text);
    [[nodiscard]] constexpr TimePoint to_time_point() const {
        return {static_cast<std::int64_t>(seconds) * 1'000'000};
    }
};

// Antelope's block_timestamp_type: half-seconds since 2000-01-01T00:00:00 UTC. Only a value in
// contract data; BoR's own blocks count slots (SlotTimes).
struct BlockTimestamp {
    std::uint32_t slot = 0;

    static constexpr std::int64_t kEpochMilliseconds = 946'684'800'000;
    static constexpr std::int64_t kIntervalMilliseconds = 500;

    friend constexpr auto operator<=>(const BlockTimestamp&, const BlockTimestamp&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.slot); }
    [[nodiscard]] constexpr TimePoint to_time_point() const {
        return {(kEpochMilliseconds + kIntervalMilliseconds * slot) * 1000};
    }
    // The slot that contains `time`; it wraps around before 2000 and after 2068, as nodeos' does.
    [[nodiscard]] static BlockTimestamp from_time_point(TimePoint time);
    [[nodiscard]] std::string to_string() const { return to_time_point().to_string(); }
    [[nodiscard]] static base::Result<BlockTimestamp> from_string(std::string_view text);
};

using Slot = std::uint64_t;    // Counted from genesis, which is slot 0; at most kSlotMax.
using Height = std::uint32_t;  // JSON "block_num": 1 for genesis.

// Clocks were wrong, and what is final is dated ahead of the right time: slots go on growing, but
// from one on they begin at earlier times than they would have (spec 04, `recover --retime`).
struct Retime {
    base::Hash256 from;  // Id of the block that was final then.
    Slot first = 0;      // Above the slots of all blocks that were made before.
    TimePoint time;      // When it begins.

    friend bool operator==(const Retime&, const Retime&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.from, self.first, self.time); }
};
inline constexpr std::size_t kRetimesMax = 64;
inline constexpr std::size_t kRetimeBytes = 32 + 8 + 8;

// When slots are: slot s begins at initial + s * interval (spec 03, "Block header"), unless the
// chain was given other times since.
struct SlotTimes {
    TimePoint initial;
    std::uint32_t interval_milliseconds = 500;
    std::vector<Retime> retimes{};  // That the operator knows of; ascending. Not encoded.

    friend bool operator==(const SlotTimes&, const SlotTimes&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.initial, self.interval_milliseconds);
    }
    // What a block of this slot is dated.
    [[nodiscard]] TimePoint time_of(Slot slot) const;
    // From when on a block of this slot may be there: what was dated ahead has long been there
    // when the chain goes on.
    [[nodiscard]] TimePoint begin_of(Slot slot) const;
    // The last slot that has begun at `time`; 0 before genesis.
    [[nodiscard]] Slot slot_at(TimePoint time) const;
    // That which is in force for a slot; null: none.
    [[nodiscard]] const Retime* retime_of(Slot slot) const;
};

}  // namespace chain
