#pragma once

#include "base/pinned.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/chain_requests.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/core/refusal.hpp"
#include "node/bps/core/rights.hpp"

#include <cstdint>
#include <optional>
#include <set>

namespace bps {

// Gives producer ids to tenants (spec 08: they are bound to whom they were given). The low
// kLeasedIdBits of an id are of a lease of this broker, so that no id comes twice; the bits above
// are the tenant's number on the chain, so that every broker knows whose an id is.
//
// Thread: that of the broker. Times are milliseconds since 1970.
class ProducerIds : base::Pinned {
  public:
    // All three outlive it. `rights` and `directory` are fed with the rows of each final block
    // before on_called() of that block.
    ProducerIds(const Rights& rights, const Directory& directory, ChainRequests& chain)
        : rights_(rights), directory_(directory), chain_(chain) {}

    // Nothing: the chain was asked, and the tenant is to come again.
    [[nodiscard]] std::optional<std::int64_t> next(std::int64_t now,
                                                   chain::Name tenant,
                                                   Effects& out);
    // False: the call is not one of these.
    [[nodiscard]] bool on_called(std::uint64_t ticket, const Verdict<void>& outcome);

  private:
    // A call, and when the next one may come.
    struct Call {
        std::optional<std::uint64_t> ticket;
        std::int64_t not_before = 0;
        [[nodiscard]] bool may(std::int64_t now) const { return !ticket && now >= not_before; }
    };

    void lease(std::int64_t now, Effects& out);
    void add_spaces(std::int64_t now, Effects& out);
    void on_leased();

    const Rights& rights_;
    const Directory& directory_;
    ChainRequests& chain_;
    std::int64_t next_ = 0;
    std::int64_t left_ = 0;  // Of the last lease.
    Call lease_;
    Call spaces_;
    std::set<chain::Name> wanting_;  // Tenants without a number.
};

}  // namespace bps
