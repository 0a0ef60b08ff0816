#pragma once

#include "base/bytes.hpp"
#include "chain/state/changes.hpp"
#include "chain/state/state.hpp"

#include <optional>

namespace chain {

// Reads the rows of one table whose keys start with a prefix, in the order of their keys. The state
// must outlive it and may change meanwhile: what is put behind the last row read is read too.
// Thread: that of the state.
class RowScan {
  public:
    // From the first key with `prefix` on.
    RowScan(const StateView& state, Table table, base::ByteView prefix)
        : RowScan(state, table, prefix, prefix) {}
    // From the first key that is not before `from` on; an empty prefix means the whole table.
    RowScan(const StateView& state, Table table, base::ByteView prefix, base::ByteView from);

    // Nothing: there are no more.
    [[nodiscard]] std::optional<Row> next();

  private:
    const StateView& state_;
    Table table_;
    base::Bytes prefix_;
    base::Bytes from_;
};

}  // namespace chain
