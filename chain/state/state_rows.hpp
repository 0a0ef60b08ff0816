#pragma once

#include "base/storage.hpp"
#include "chain/state/changes.hpp"

namespace chain {

// Shows each row of a state to `visit`, until that says false: that which `stored` holds, with
// `changes` on top. Keys as by stored_key(), strictly ascending: the order of a snapshot's rows.
//
// Pure but for reading; any thread. What is read goes by in one pass. corrupt, unavailable: the
// storage fails.
[[nodiscard]] base::Result<void> scan_state(const base::StorageView& stored,
                                            const ChangeSet& changes,
                                            const base::StorageView::Visit& visit);

}  // namespace chain
