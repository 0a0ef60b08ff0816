#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "chain/types/transaction.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace chain {

// What a packed transaction takes in a block, within a few bytes.
[[nodiscard]] std::size_t packed_bytes(const PackedTransaction& packed);

// A transaction that is good but not in a block yet.
struct PooledTransaction {
    TransactionPtr transaction;
    std::vector<base::crypto::PublicKey> keys;  // Recovered from its signatures.

    // What it counts against the pool's bound.
    [[nodiscard]] std::size_t bytes() const;
};

// The transactions that wait for a block, in the order of their arrival. Bounded in bytes, and
// for each account (the first authorizer) to a share of them, so that one sender cannot fill it
// (spec 03, "Transactions, from arrival to final").
//
// Thread: core only.
// Invariants: bytes() <= bytes_max; each id once; both indexes name the same entries.
class Pool : base::Pinned {
  public:
    // An account may hold at most this part of the pool.
    static constexpr std::size_t kAccountShare = 4;

    explicit Pool(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    struct Evicted {
        TransactionPtr transaction;
        base::Error reason;
    };

    // Adds a transaction at the end. When the pool is full, those that expire first leave it
    // and are appended to `evicted`, unless this one would be the first to leave.
    // invalid (tx_duplicate): it is there already. would_block (tx_resource_exhaustion): its
    // account or the pool is full; the message says which, and how full.
    [[nodiscard]] base::Result<void> add(PooledTransaction entry, std::vector<Evicted>& evicted);

    // Does nothing when it is not there. True: it was.
    bool remove(const TransactionId& id);
    // Takes out what has expired at `now`.
    void expire(TimePoint now, std::vector<Evicted>& evicted);

    [[nodiscard]] bool contains(const TransactionId& id) const { return by_id_.contains(id); }
    // In order of arrival; valid until the next change.
    [[nodiscard]] std::vector<const PooledTransaction*> in_order() const;
    [[nodiscard]] std::size_t size() const { return by_id_.size(); }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    void check_invariants() const;

  private:
    using Sequence = std::uint64_t;
    using ByExpiration = std::set<std::pair<TimePointSec, Sequence>>;

    void erase(Sequence sequence);

    std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    Sequence next_ = 1;
    std::map<Sequence, PooledTransaction> entries_;
    std::map<TransactionId, Sequence> by_id_;
    ByExpiration by_expiration_;
    std::map<Name, std::size_t> account_bytes_;
};

}  // namespace chain
