#pragma once

#include "chain/state/state.hpp"

#include <optional>

namespace node {

// Walks the rows of a table whose keys lie in [first, last], in either direction.
class TableWalk {
  public:
    struct Range {
        base::Bytes first;
        base::Bytes last;
        bool reverse = false;
    };

    TableWalk(const chain::StateView& state, chain::Table table, Range range)
        : state_(state), table_(table), range_(std::move(range)) {
        if (base::compare(range_.first, range_.last) > 0) return;
        if (range_.reverse) {
            base::Bytes after = range_.last;
            after.push_back(std::byte{0});  // The first key behind `last`.
            settle(state_.before(table_, after));
        } else {
            settle(state_.at_or_after(table_, range_.first));
        }
    }

    // The present row; null at the end. Valid until next().
    [[nodiscard]] const chain::Row* row() const { return row_ ? &*row_ : nullptr; }

    void next() {
        base::Bytes key = row_->key;
        if (range_.reverse) {
            settle(state_.before(table_, key));
            return;
        }
        key.push_back(std::byte{0});
        settle(state_.at_or_after(table_, key));
    }

  private:
    void settle(std::optional<chain::Row> row) {
        row_ = std::move(row);
        if (row_ && (base::compare(row_->key, range_.first) < 0 ||
                     base::compare(row_->key, range_.last) > 0)) {
            row_.reset();
        }
    }

    const chain::StateView& state_;
    chain::Table table_;
    Range range_;
    std::optional<chain::Row> row_;
};

// The keys that begin with `prefix`, all of `key_bytes` bytes.
[[nodiscard]] inline TableWalk::Range range_of(base::ByteView prefix, std::size_t key_bytes) {
    TableWalk::Range range{base::to_bytes(prefix), base::to_bytes(prefix), false};
    range.first.resize(key_bytes, std::byte{0});
    range.last.resize(key_bytes, std::byte{0xFF});
    return range;
}

}  // namespace node
