#pragma once

#include <bor/datastream.hpp>

#include <compare>

namespace bor {

// Microseconds since 1970.
struct TimePoint {
    int64_t microseconds = 0;
    constexpr auto operator<=>(const TimePoint&) const = default;
    BOR_FIELDS(microseconds)
};

// Seconds since 1970.
struct TimePointSec {
    uint32_t seconds = 0;
    constexpr TimePointSec() = default;
    constexpr explicit TimePointSec(uint32_t value) : seconds(value) {}
    constexpr explicit TimePointSec(TimePoint time)
        : seconds(static_cast<uint32_t>(time.microseconds / 1'000'000)) {}
    constexpr auto operator<=>(const TimePointSec&) const = default;
    BOR_FIELDS(seconds)
};

// Half seconds since the year 2000.
struct BlockTimestamp {
    uint32_t slot = 0;
    constexpr BlockTimestamp() = default;
    constexpr explicit BlockTimestamp(TimePoint time)
        : slot(static_cast<uint32_t>((time.microseconds / 1000 - 946'684'800'000) / 500)) {}
    constexpr auto operator<=>(const BlockTimestamp&) const = default;
    BOR_FIELDS(slot)
};

// The time of the block that this transaction is in.
inline TimePoint current_time_point() {
    return TimePoint{static_cast<int64_t>(host::current_time())};
}

}  // namespace bor
