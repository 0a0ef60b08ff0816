#pragma once

#include "node/bps/core/partition.hpp"
#include "node/bps/core/rows.hpp"

#include <cstdint>
#include <vector>

namespace bps {

// How a partition with so many replicas is served, by the settings of its topic. The contract has
// checked them; one that is not known, or not read, is as if it were not there.
[[nodiscard]] PartitionSettings partition_settings(const std::vector<rows::Setting>& settings,
                                                   std::int32_t replicas);

}  // namespace bps
