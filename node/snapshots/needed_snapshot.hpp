#pragma once

#include "node/snapshots/snapshot_store.hpp"

namespace node {

// Whether this snapshot may be removed: a node that pruned its blocks keeps one, so that others can
// join through it (spec 05, "Always joinable"). invalid: it is the last.
[[nodiscard]] base::Result<void> check_removal(const SnapshotStore& store,
                                               const std::string& name,
                                               const base::StorageView& storage);

}  // namespace node
