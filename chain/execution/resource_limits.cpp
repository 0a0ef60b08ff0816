#include "chain/execution/resource_limits.hpp"

#include <algorithm>
#include <limits>

namespace chain {

namespace {

constexpr std::uint64_t kPrecision = 1'000'000;
constexpr std::uint64_t kMultiplierMax = 1'000;  // Of a block's limit, for the virtual limit.
constexpr std::uint64_t kMillisecondsOfDay = 86'400'000;
constexpr std::uint64_t kMillisecondsOfMinute = 60'000;

std::int64_t clamp_to_i64(Uint128 value) {
    constexpr auto kMax = static_cast<Uint128>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(value, kMax));
}

Uint128 used_in_window(const UsageAverage& usage, std::uint32_t window) {
    return (static_cast<Uint128>(usage.value_ex) * window + kPrecision - 1) / kPrecision;
}

std::uint64_t fraction(std::uint64_t value, std::uint32_t hundredths_of_percent) {
    return static_cast<std::uint64_t>(static_cast<Uint128>(value) * hundredths_of_percent / 10'000);
}

// Shrinks by 1 % when the average is above the target, else grows by 1/999.
std::uint64_t next_virtual_limit(std::uint64_t current,
                                 std::uint64_t average,
                                 std::uint64_t target,
                                 std::uint64_t max) {
    const Uint128 now = current;
    const Uint128 next = average > target ? now * 99 / 100 : now * 1000 / 999;
    const Uint128 ceiling = static_cast<Uint128>(max) * kMultiplierMax;
    return static_cast<std::uint64_t>(std::min(std::max<Uint128>(next, max), ceiling));
}

std::uint64_t weight_of(std::int64_t weight) {
    return weight > 0 ? static_cast<std::uint64_t>(weight) : 0;
}

void replace_weight(std::uint64_t& total, std::int64_t& weight, std::int64_t next) {
    total = total - std::min(total, weight_of(weight)) + weight_of(next);
    weight = next;
}

}  // namespace

ResourceWindows ResourceWindows::of_interval(std::uint32_t interval_milliseconds) {
    const std::uint64_t interval = std::max<std::uint32_t>(interval_milliseconds, 1);
    ResourceWindows windows;
    windows.account_slots =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(kMillisecondsOfDay / interval, 1));
    windows.block_slots =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(kMillisecondsOfMinute / interval, 1));
    return windows;
}

ResourceLimit account_limit(const AccountRow& account,
                            const CountersRow& counters,
                            Resource resource,
                            const ResourceWindows& windows,
                            std::optional<std::uint32_t> now) {
    const bool is_net = resource == Resource::net;
    const std::int64_t weight = is_net ? account.net_weight : account.cpu_weight;
    const std::uint64_t total = is_net ? counters.total_net_weight : counters.total_cpu_weight;
    const UsageAverage& usage = is_net ? account.net : account.cpu;
    ResourceLimit limit;
    limit.last_ordinal = usage.last_ordinal;
    if (weight < 0 || total == 0) return limit;
    const std::uint32_t window = windows.account_slots;
    const Uint128 capacity =
        static_cast<Uint128>(is_net ? counters.virtual_net_limit : counters.virtual_cpu_limit) *
        window;
    // 128 bits hold any capacity times any weight that a share can have: limits are below
    // 2^62, windows below 2^32, and a quotient first keeps the rest in range.
    const auto share = static_cast<std::uint64_t>(weight);
    const Uint128 max_use = capacity / total * share + capacity % total * share / total;
    const Uint128 used = used_in_window(usage, window);
    limit.available = max_use > used ? clamp_to_i64(max_use - used) : 0;
    limit.used = clamp_to_i64(used);
    limit.max = clamp_to_i64(max_use);
    limit.current_used = limit.used;
    if (now && *now > usage.last_ordinal) {
        UsageAverage decayed = usage;
        decayed.add(0, *now, window);
        limit.current_used = clamp_to_i64(used_in_window(decayed, window));
    }
    return limit;
}

void add_usage(AccountRow& payer,
               CountersRow& counters,
               Usage usage,
               std::uint32_t ordinal,
               const ResourceWindows& windows) {
    payer.net.add(
        usage.net_bytes, std::max(ordinal, payer.net.last_ordinal), windows.account_slots);
    payer.cpu.add(usage.cpu_us, std::max(ordinal, payer.cpu.last_ordinal), windows.account_slots);
    counters.pending_net_usage += usage.net_bytes;
    counters.pending_cpu_usage += usage.cpu_us;
}

void end_block_usage(CountersRow& counters,
                     const ChainConfig& config,
                     Height height,
                     const ResourceWindows& windows) {
    counters.average_net.add(counters.pending_net_usage, height, windows.block_slots);
    counters.average_cpu.add(counters.pending_cpu_usage, height, windows.block_slots);
    counters.virtual_net_limit =
        next_virtual_limit(counters.virtual_net_limit,
                           counters.average_net.average(),
                           fraction(config.max_block_net_usage, config.target_block_net_usage_pct),
                           config.max_block_net_usage);
    counters.virtual_cpu_limit =
        next_virtual_limit(counters.virtual_cpu_limit,
                           counters.average_cpu.average(),
                           fraction(config.max_block_cpu_usage, config.target_block_cpu_usage_pct),
                           config.max_block_cpu_usage);
    counters.pending_net_usage = 0;
    counters.pending_cpu_usage = 0;
}

void change_limits(AccountRow& account,
                   CountersRow& counters,
                   std::int64_t ram,
                   std::int64_t net,
                   std::int64_t cpu) {
    replace_weight(counters.total_ram_bytes, account.ram_quota, ram);
    replace_weight(counters.total_net_weight, account.net_weight, net);
    replace_weight(counters.total_cpu_weight, account.cpu_weight, cpu);
}

}  // namespace chain
