#pragma once

#include "chain/execution/rows.hpp"

#include <cstdint>
#include <optional>

namespace chain {

// Antelope's rate limits: accounts with a weight share what the network can do in a day;
// blocks that stay below their target let the limits grow (nodeos' resource_limits). Pure.

// Lengths of the averaging windows.
struct ResourceWindows {
    std::uint32_t account_slots = 172'800;  // A day.
    std::uint32_t block_slots = 120;        // A minute.

    [[nodiscard]] static ResourceWindows of_interval(std::uint32_t interval_milliseconds);
};

// The ordinal of a block in accounts' windows: slots since genesis.
[[nodiscard]] constexpr std::uint32_t usage_ordinal(Slot slot) {
    return static_cast<std::uint32_t>(slot < 0xFFFF'FFFFU ? slot : 0xFFFF'FFFFU);
}

enum class Resource : std::uint8_t { net, cpu };

// JSON net_limit and cpu_limit. All -1: not limited.
struct ResourceLimit {
    std::int64_t used = -1;
    std::int64_t available = -1;
    std::int64_t max = -1;
    std::uint32_t last_ordinal = 0;
    std::int64_t current_used = -1;

    friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
};

// What `account` may use, in bytes or microseconds. With `now`, an ordinal, `current_used` is
// decayed to it.
[[nodiscard]] ResourceLimit account_limit(const AccountRow& account,
                                          const CountersRow& counters,
                                          Resource resource,
                                          const ResourceWindows& windows,
                                          std::optional<std::uint32_t> now);

// Usage of a finished transaction: of its payer, and of the block.
struct Usage {
    std::uint64_t cpu_us = 0;
    std::uint64_t net_bytes = 0;
};
void add_usage(AccountRow& payer,
               CountersRow& counters,
               Usage usage,
               std::uint32_t ordinal,
               const ResourceWindows& windows);

// Ends a block: averages, virtual limits, pending usage back to zero.
void end_block_usage(CountersRow& counters,
                     const ChainConfig& config,
                     Height height,
                     const ResourceWindows& windows);

// Changes an account's quota and weights, and the totals with them.
void change_limits(AccountRow& account,
                   CountersRow& counters,
                   std::int64_t ram,
                   std::int64_t net,
                   std::int64_t cpu);

}  // namespace chain
