#pragma once

#include "node/plugin.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace node {

// What became of transactions that are in no block: pending on the block being made, or dropped.
// Those in blocks are found by History.
//
// Thread: any may ask. Bounded by `entries_max`; the oldest is forgotten first.
class TransactionStatus : public Plugin {
  public:
    explicit TransactionStatus(std::size_t entries_max = 200'000) : entries_max_(entries_max) {}

    struct Entry {
        chain::TimePointSec expiration;
        std::optional<std::string> dropped;  // The reason; absent: pending.
    };
    [[nodiscard]] std::optional<Entry> find(const chain::TransactionId& id) const;

    void on_pending(const effect::Pending& pending) override;
    void on_accepted(const effect::Accepted& accepted) override;
    void on_dropped(const effect::Dropped& dropped) override;

  private:
    void set(const chain::TransactionId& id, Entry entry);

    const std::size_t entries_max_;
    mutable std::mutex mutex_;
    std::map<chain::TransactionId, Entry> entries_;
    std::deque<chain::TransactionId> order_;  // Of insertion; may name what is gone.
};

}  // namespace node
