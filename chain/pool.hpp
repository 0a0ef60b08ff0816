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

// The transactions that wait for a block, in the order in which they are to run: what lost blocks
// held, then what came later, which may build on it. Bounded in bytes, and for each account (the
// first authorizer) to a share of them, so that one sender cannot fill it (spec 03, "Transactions,
// from arrival to final").
//
// Thread: core only.
// Invariants: bytes() <= bytes_max; each id once; both indexes name the same entries; those of
// the places are in [first_, next_).
class Pool : base::Pinned {
  public:
    // Where a transaction stands: those at lower places run first. It keeps its place for as long
    // as it waits, also over a restart.
    using Place = std::uint64_t;
    // Arrivals count up from here, what comes back counts down. Neither comes near these ends.
    static constexpr Place kOrigin = Place{1} << 63U;
    static constexpr Place kPlaceMin = kOrigin - (Place{1} << 62U);
    static constexpr Place kPlaceMax = kOrigin + (Place{1} << 62U);

    // An account may hold at most this part of the pool.
    static constexpr std::size_t kAccountShare = 4;

    explicit Pool(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    struct Evicted {
        TransactionPtr transaction;
        base::Error reason;
    };

    // Adds a transaction at the end and returns its place. When the pool is full, those that
    // expire first leave it and are appended to `evicted`, unless this one would be the first to
    // leave.
    // invalid (tx_duplicate): it is there already. would_block (tx_resource_exhaustion): its
    // account or the pool is full; the message says which, and how full.
    [[nodiscard]] base::Result<Place> add(PooledTransaction entry, std::vector<Evicted>& evicted);
    // As add(), at a place that nothing stands at: one of before_all(), or as stored.
    [[nodiscard]] base::Result<void> add_at(Place place,
                                            PooledTransaction entry,
                                            std::vector<Evicted>& evicted);
    // The first of `count` places in a row that are before all that were ever taken.
    [[nodiscard]] Place before_all(std::size_t count) const { return first_ - count; }

    // This place counts as taken: what has it is in a block that may still lose.
    void reserve(Place place);

    // Does nothing when it is not there. True: it was.
    bool remove(const TransactionId& id);
    // Takes out what has expired at `now`.
    void expire(TimePoint now, std::vector<Evicted>& evicted);

    [[nodiscard]] bool contains(const TransactionId& id) const { return by_id_.contains(id); }
    // Null: it is not there. Valid until the next change.
    [[nodiscard]] const PooledTransaction* find(const TransactionId& id) const;
    // In order of their places; valid until the next change.
    [[nodiscard]] std::vector<const PooledTransaction*> in_order() const;
    [[nodiscard]] std::size_t size() const { return by_id_.size(); }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    void check_invariants() const;

  private:
    using ByExpiration = std::set<std::pair<TimePointSec, Place>>;

    void erase(Place place);

    std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    Place first_ = kOrigin;  // The lowest that was ever taken.
    Place next_ = kOrigin;   // Above all that were.
    std::map<Place, PooledTransaction> entries_;
    std::map<TransactionId, Place> by_id_;
    ByExpiration by_expiration_;
    std::map<Name, std::size_t> account_bytes_;
};

// A row of Family::pool, whose key is the transaction's id: its place (u64) and the packed
// transaction.
struct PoolRow {
    Pool::Place place = Pool::kOrigin;
    PackedTransaction packed;
};
[[nodiscard]] base::Bytes encode_pool_row(Pool::Place place, const PackedTransaction& packed);
// malformed: names the field and the offset.
[[nodiscard]] base::Result<PoolRow> decode_pool_row(base::ByteView row);

}  // namespace chain
