#pragma once

#include "base/bytes.hpp"
#include "chain/state/changes.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace chain {

// Stretches of one table's keys in which a view has no row, as found by ordered reads that
// passed erased rows. A contract that takes rows from the front of a table and asks for the
// first one each time would otherwise pass all that it erased again and again.
//
// Forgets everything when there are too many. Thread: one.
class Gaps {
  public:
    // From a key on, up to another or to the end of the table.
    struct Gap {
        base::ByteView from;
        std::optional<base::ByteView> to;
    };

    // The gap that `key` is in. Valid until the next change.
    [[nodiscard]] std::optional<Gap> around(base::ByteView key) const;
    // The gap that what comes right before `key` is in.
    [[nodiscard]] std::optional<Gap> ahead_of(base::ByteView key) const;

    // There is no row at or after `from` that is before `to`. Joins with the gaps it touches.
    void add(base::ByteView from, const std::optional<base::ByteView>& to);
    // There is a row at `key` now.
    void cut(base::ByteView key);
    // Everything that `other` knows.
    void add_all(const Gaps& other);
    void clear() { gaps_.clear(); }
    [[nodiscard]] bool empty() const { return gaps_.empty(); }
    [[nodiscard]] std::size_t size() const { return gaps_.size(); }

  private:
    static constexpr std::size_t kGapsMax = 1024;

    // From -> to (absent: the end). No two touch.
    std::map<base::Bytes, std::optional<base::Bytes>, base::BytesLess> gaps_;
};

// The gaps of all tables.
class TableGaps {
  public:
    [[nodiscard]] Gaps& of(Table table);
    // Every row that these changes put in place exists now.
    void cut(const ChangeSet& changes);
    void cut(Table table, base::ByteView key);
    void add_all(const TableGaps& other);
    void clear() { tables_.clear(); }

  private:
    std::vector<std::pair<Table, Gaps>> tables_;  // Few.
};

// The least key that is greater than `key`.
[[nodiscard]] base::Bytes key_after(base::ByteView key);

}  // namespace chain
