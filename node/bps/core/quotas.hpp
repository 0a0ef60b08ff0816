#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/refusal.hpp"
#include "node/bps/core/rows.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace bps {

// What each tenant may use of this broker (spec 08, "Who is who"), by the final rows of the
// contract: the tenant's own, else that of the empty name, else without bounds. How many partitions
// there are, the contract bounds.
//
// Bytes are counted by a leaky bucket (the generic cell rate algorithm of ITU-T I.371): a tenant
// may be ahead of its rate by kBurstMs. One that is further ahead is not read until it is not, but
// for kThrottleMaxMs at most; while it owes more than that, what was read already waits, too
// (overdrawn_until()). It owes kDebtMaxMs at most.
//
// Thread: that of the broker. Times are milliseconds since 1970, and never fall.
class Quotas : base::Pinned {
  public:
    static constexpr std::int64_t kBurstMs = 1'000;
    // Less than the shortest session of a group: heartbeats wait, too.
    static constexpr std::int64_t kThrottleMaxMs = 5'000;
    static constexpr std::int64_t kDebtMaxMs = 30'000;

    // A row as the last final block left it; nothing: it is erased. Rows of other tables are passed
    // over. malformed: it is not what the contract writes.
    base::Result<void> apply(const RowId& id, std::optional<base::ByteView> value);

    // So many bytes came from the tenant, or go to it. For how many milliseconds nothing more is to
    // be read from it.
    [[nodiscard]] std::int32_t take_in(std::int64_t now, chain::Name tenant, std::size_t bytes);
    [[nodiscard]] std::int32_t take_out(std::int64_t now, chain::Name tenant, std::size_t bytes);
    // For how long nothing is to be read from a connection of the tenant that is new.
    [[nodiscard]] std::int32_t wait_of(std::int64_t now, chain::Name tenant) const;
    // When the tenant owes no more than it can be told to wait for; nothing: it does not now.
    [[nodiscard]] std::optional<std::int64_t> overdrawn_until(std::int64_t now,
                                                              chain::Name tenant) const;
    // policy_violation: the tenant has as many, and may have no more.
    [[nodiscard]] Verdict<void> may_connect(chain::Name tenant, std::size_t connections) const;
    [[nodiscard]] Verdict<void> may_add_group(chain::Name tenant, std::size_t groups) const;
    [[nodiscard]] Verdict<void> may_store(chain::Name tenant, std::uint64_t bytes) const;

  private:
    // Until when the bytes are paid for at the tenant's rate, in microseconds since 1970.
    using Paid = std::map<chain::Name, std::int64_t>;

    [[nodiscard]] const rows::Quota& of(chain::Name tenant) const;
    // In microseconds since 1970.
    [[nodiscard]] std::int64_t paid_until(chain::Name tenant) const;
    [[nodiscard]] static std::int32_t take(
        std::int64_t now, Paid& paid, chain::Name tenant, std::int64_t rate, std::size_t bytes);

    std::map<chain::Name, rows::Quota> quotas_;
    Paid paid_in_;
    Paid paid_out_;
};

}  // namespace bps
