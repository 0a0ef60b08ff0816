#pragma once

#include <compare>
#include <cstdint>

namespace bps {

// Of the contract: never used again, so that a topic made again under its name is another one.
using TopicId = std::uint32_t;

// A log among those of a broker.
using LogId = std::uint64_t;

struct PartitionId {
    TopicId topic = 0;
    std::int32_t index = 0;

    [[nodiscard]] constexpr LogId log() const {
        return LogId{topic} << 32U | static_cast<std::uint32_t>(index);
    }
    [[nodiscard]] static constexpr PartitionId of(LogId log) {
        return {static_cast<TopicId>(log >> 32U), static_cast<std::int32_t>(log & 0xFFFF'FFFFU)};
    }
    friend constexpr auto operator<=>(const PartitionId&, const PartitionId&) = default;
};

}  // namespace bps
