#pragma once

#include "base/bytes.hpp"
#include "base/crypto/keys.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "chain/types/name.hpp"
#include "chain/types/transaction.hpp"
#include "node/bps/ledger/final_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bps {

// The actions of this broker on its contract. One counts once it is in a final block whose rows
// the broker has; what was only executed may still be lost with its branch.
//
// Thread: that of the broker. Times are milliseconds since 1970.
class ChainCalls : base::Pinned {
  public:
    struct Settings {
        chain::ChainId chain;
        chain::Name contract;
        chain::PermissionLevel authorization;  // The broker's account and its permission.
    };
    // What became of a call. invalid: the contract refused it, with its text; unavailable: no final
    // block has had it.
    struct Outcome {
        std::uint64_t ticket = 0;
        base::Result<void> result;
    };
    static constexpr std::size_t kInFlightMax = 1'000;
    // A transaction that is in no block by then never will be.
    static constexpr std::int64_t kLifetimeMs = 60'000;

    // `key` satisfies the permission, and outlives this.
    ChainCalls(const Settings& settings, const base::crypto::PrivateKey& key)
        : settings_(settings), key_(key) {}

    // Signs a transaction of one action, to be submitted. `ticket` is new. unavailable: too many
    // calls are on their way, or no final block is known yet.
    [[nodiscard]] base::Result<chain::PackedTransaction> begin(std::int64_t now,
                                                               std::uint64_t ticket,
                                                               chain::Name action,
                                                               base::Bytes data);
    // The node refused the transaction of this ticket.
    [[nodiscard]] Outcome on_refused(std::uint64_t ticket, base::Error reason);
    // Those that ended with this block. Its rows are applied before its outcomes are told.
    [[nodiscard]] std::vector<Outcome> on_final(const FinalRows& rows);
    // Whether it is on its way: one that ended with a block may be refused by the node afterwards.
    [[nodiscard]] bool has(std::uint64_t ticket) const { return calls_.contains(ticket); }
    [[nodiscard]] std::size_t in_flight() const { return calls_.size(); }

  private:
    struct Call {
        chain::Name action;
        chain::TransactionId id;
        std::int64_t expires = 0;
    };

    const Settings settings_;
    const base::crypto::PrivateKey& key_;
    chain::BlockId final_;
    std::int64_t final_time_ = 0;
    std::uint32_t made_ = 0;
    std::map<std::uint64_t, Call> calls_;  // By ticket.
    std::map<chain::TransactionId, std::uint64_t> tickets_;
};

}  // namespace bps
