#pragma once

#include "node/bps/core/actions.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/core/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

// How many partitions and which replicas a topic may have, by the rules that the contract has, too:
// so that a client is told with Kafka's code, and nothing is sent in vain.
namespace bps {

inline constexpr std::int32_t kPartitionsMax = 256;  // Of a topic.
inline constexpr std::int32_t kReplicasMax = 7;      // Of a partition.

// Whether these may be the replicas of a partition that has the `present` ones; of a new one they
// are empty. invalid_replica_assignment: none, more than 7, one twice, a broker that has not
// started, or a new one that is draining.
[[nodiscard]] Verdict<void> check_replicas(const Directory& directory,
                                           std::span<const std::int32_t> replicas,
                                           std::span<const rows::Replica> present = {});

// Replicas for so many new partitions, each on `factor` live brokers, those with the fewest first.
// invalid_replication_factor: there are not so many.
[[nodiscard]] Verdict<actions::Assignment> place(const Directory& directory,
                                                 std::size_t partitions,
                                                 std::int32_t factor);

// How many replicas a partition has where nobody says.
[[nodiscard]] std::int32_t default_replication(const Directory& directory);

}  // namespace bps
