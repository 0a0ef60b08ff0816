#include "node/bps/core/quotas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace bps {

namespace {

constexpr std::int64_t kMicro = 1'000;  // In a millisecond.

// In whole milliseconds.
std::int32_t time_until(std::int64_t until, std::int64_t at) {
    const std::int64_t wait = std::max<std::int64_t>(until - at + kMicro - 1, 0) / kMicro;
    return static_cast<std::int32_t>(std::min(wait, Quotas::kThrottleMaxMs));
}

// Above it, who has paid is forgotten.
constexpr std::size_t kPaidMax = 1'000;

Verdict<void> check_below(chain::Name tenant,
                          std::string_view what,
                          std::int64_t most,
                          std::uint64_t has) {
    if (most < 0 || has < static_cast<std::uint64_t>(most)) return {};
    return refuse(
        ErrorCode::policy_violation,
        fmt::format("{} has {} {} at this broker, and its quota is {}: it needs fewer, or "
                    "a larger quota (setquota of the contract)",
                    tenant.to_string(),
                    has,
                    what,
                    most));
}

}  // namespace

base::Result<void> Quotas::apply(const RowId& id, std::optional<base::ByteView> value) {
    if (id.table != rows::Quota::kTable) return {};
    if (!value) {
        quotas_.erase(chain::Name{id.key});
        return {};
    }
    auto row = rows::read<rows::Quota>(id, *value);
    if (!row) return base::fail(row.error());
    if (row->account.value != id.key) return rows::misplaced(id);
    quotas_[row->account] = *row;
    return {};
}

const rows::Quota& Quotas::of(chain::Name tenant) const {
    static constexpr rows::Quota kNone;
    auto found = quotas_.find(tenant);
    if (found == quotas_.end()) found = quotas_.find(chain::Name{});
    return found == quotas_.end() ? kNone : found->second;
}

std::int32_t Quotas::take_in(std::int64_t now, chain::Name tenant, std::size_t bytes) {
    return take(now, paid_in_, tenant, of(tenant).bytes_in, bytes);
}

std::int32_t Quotas::take_out(std::int64_t now, chain::Name tenant, std::size_t bytes) {
    return take(now, paid_out_, tenant, of(tenant).bytes_out, bytes);
}

std::int32_t Quotas::take(
    std::int64_t now, Paid& paid, chain::Name tenant, std::int64_t rate, std::size_t bytes) {
    if (rate < 0) return 0;
    const std::int64_t at = now * kMicro;
    if (paid.size() >= kPaidMax) {
        std::erase_if(paid,
                      [&](const auto& each) { return each.second <= at - kBurstMs * kMicro; });
    }
    constexpr std::int64_t kSecond = 1'000'000;  // In microseconds.
    constexpr std::int64_t kMost = kDebtMaxMs * kMicro;
    constexpr std::size_t kBytesMax = std::size_t{1} << 40U;  // Times a second, they fit.
    const std::int64_t cost = static_cast<std::int64_t>(std::min(bytes, kBytesMax)) * kSecond /
                              std::max<std::int64_t>(rate, 1);
    std::int64_t& until = paid.try_emplace(tenant, 0).first->second;
    until = std::max(until, at - kBurstMs * kMicro);
    until += std::min(cost, 2 * kMost);
    until = std::min(until, at + kMost);
    return time_until(until, at);
}

std::int64_t Quotas::paid_until(chain::Name tenant) const {
    std::int64_t until = 0;
    for (const Paid* paid : {&paid_in_, &paid_out_}) {
        const auto found = paid->find(tenant);
        if (found != paid->end()) until = std::max(until, found->second);
    }
    return until;
}

std::int32_t Quotas::wait_of(std::int64_t now, chain::Name tenant) const {
    return time_until(paid_until(tenant), now * kMicro);
}

std::optional<std::int64_t> Quotas::overdrawn_until(std::int64_t now, chain::Name tenant) const {
    const std::int64_t until = paid_until(tenant) / kMicro - kThrottleMaxMs;
    return until > now ? std::optional(until) : std::nullopt;
}

Verdict<void> Quotas::may_connect(chain::Name tenant, std::size_t connections) const {
    return check_below(tenant, "connections", of(tenant).connections, connections);
}

Verdict<void> Quotas::may_add_group(chain::Name tenant, std::size_t groups) const {
    return check_below(tenant, "groups", of(tenant).groups, groups);
}

Verdict<void> Quotas::may_store(chain::Name tenant, std::uint64_t bytes) const {
    return check_below(tenant, "bytes of records", of(tenant).stored_bytes, bytes);
}

}  // namespace bps
