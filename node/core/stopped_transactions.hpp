#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/storage.hpp"
#include "chain/types/transaction.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace node {

// The transactions that took all the time that one may take here, with the reason: until they
// expire they are not executed again, by whichever way they come, also after a restart (spec 03,
// "Wall clock is never consensus"). Blocks of others that hold them are executed all the same.
//
// Bounded: of more than `entries_max`, the one is forgotten that expires first. Pure but for the
// rows it makes. Thread: core.
class StoppedTransactions : base::Pinned {
  public:
    // Rows of Family::meta: this and the id.
    static constexpr std::string_view kRow = "stopped/";

    explicit StoppedTransactions(std::size_t entries_max = 16'384) : entries_max_(entries_max) {}

    struct Entry {
        chain::TransactionId id;
        chain::TimePointSec expiration{};
        base::Error reason{base::Errc::invalid, {}, 0};
    };
    // What must be written, and what is forgotten for it, go to `batch`.
    void add(const Entry& entry, base::Batch& batch);
    // Takes out what has expired at `now`, or what is in a block all the same.
    void expire(chain::TimePoint now, base::Batch& batch);
    void remove(const chain::TransactionId& id, base::Batch& batch);
    // Null: it was not stopped here. Valid until the next change.
    [[nodiscard]] const base::Error* find(const chain::TransactionId& id) const;
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

    // All that is stored; they are known afterwards. corrupt: a row cannot be read.
    [[nodiscard]] base::Result<std::vector<Entry>> load(const base::StorageView& storage);

  private:
    struct Known {
        chain::TimePointSec expiration;
        base::Error reason;
    };
    void insert(const Entry& entry);
    void erase_first(base::Batch& batch);

    std::size_t entries_max_;
    std::map<chain::TransactionId, Known> entries_;
    std::set<std::pair<chain::TimePointSec, chain::TransactionId>> by_expiration_;
};

}  // namespace node
