#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace bps {

// The `flexible` of an Api none of whose listed versions is.
inline constexpr std::int16_t kNeverFlexible = std::numeric_limits<std::int16_t>::max();
// A set of authorized operations that was not asked for, or is not told.
inline constexpr std::int32_t kNoOperations = std::numeric_limits<std::int32_t>::min();

// A message as this broker lists it: its key, and which of its versions are spoken (spec 08).
struct Api {
    std::int16_t key;
    std::string_view name;  // As Kafka has it.
    std::int16_t version_min;
    std::int16_t version_max;
    std::int16_t flexible;  // From this version on: compact lengths and tagged fields (KIP-482).

    [[nodiscard]] constexpr bool lists(std::int16_t version) const {
        return version >= version_min && version <= version_max;
    }
    [[nodiscard]] constexpr bool is_flexible(std::int16_t version) const {
        return version >= flexible;
    }
};

// In which versions of its message a field is there. A message is a struct; its static member
//
//     template <class Self, class Walk> static void fields(Self& self, Walk& walk)
//
// is its table: one line a field, in the order of the bytes, `walk(name, member[, presence])`. The
// type of the member decides the encoding; std::optional says that a field may be null. Decoder and
// Encoder walk the tables; nothing else knows what a version looks like.
struct Presence {
    std::int16_t since = 0;
    std::int16_t until = std::numeric_limits<std::int16_t>::max();
    std::int16_t null_since = 0;  // Of an optional field: before that, null is not allowed.
    std::int16_t tag = kUntagged;

    static constexpr std::int16_t kUntagged = -1;

    [[nodiscard]] constexpr bool holds(std::int16_t version) const {
        return version >= since && version <= until;
    }
};

}  // namespace bps
