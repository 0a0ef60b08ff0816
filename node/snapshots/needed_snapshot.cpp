#include "node/snapshots/needed_snapshot.hpp"

#include "chain/state/history_floor.hpp"

#include <fmt/format.h>

namespace node {

base::Result<void> check_removal(const SnapshotStore& store,
                                 const std::string& name,
                                 const base::StorageView& storage) {
    const auto listed = store.list();
    if (listed.size() != 1 || listed.front().name != name) return {};
    const auto floor = chain::read_floor(storage);
    if (!floor) return base::fail(floor.error());
    if (floor->blocks == 0) return {};
    return base::fail(base::Errc::invalid,
                      fmt::format("snapshot {} is the last of a node that has pruned its blocks "
                                  "below {}: nobody could join through it; make another one first "
                                  "('bor-cli snapshot create')",
                                  name,
                                  floor->blocks));
}

}  // namespace node
