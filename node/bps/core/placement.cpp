#include "node/bps/core/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace bps {

namespace {

// Three, once records are copied to them: until then a partition with more is not served.
constexpr std::size_t kDefaultReplicas = 1;

// The brokers that get new replicas, those with the fewest first.
std::vector<std::int32_t> hosts(const Directory& directory) {
    std::vector<std::pair<std::uint32_t, std::int32_t>> by_load;
    for (const auto& [id, row] : directory.brokers()) {
        if (directory.is_live(id) && !row.draining) by_load.emplace_back(row.replicas, id);
    }
    std::ranges::sort(by_load);
    std::vector<std::int32_t> ids;
    ids.reserve(by_load.size());
    for (const auto& [replicas, id] : by_load)
        ids.push_back(id);
    return ids;
}

}  // namespace

Verdict<void> check_replicas(const Directory& directory,
                             std::span<const std::int32_t> replicas,
                             std::span<const rows::Replica> present) {
    if (replicas.empty() || replicas.size() > static_cast<std::size_t>(kReplicasMax)) {
        return refuse(
            ErrorCode::invalid_replica_assignment,
            fmt::format("a partition has 1 to {} replicas, not {}", kReplicasMax, replicas.size()));
    }
    for (const std::int32_t id : replicas) {
        const rows::Broker* const broker = directory.find_broker(id);
        if (std::ranges::count(replicas, id) > 1) {
            return refuse(ErrorCode::invalid_replica_assignment,
                          fmt::format("broker {} is named twice: name it once", id));
        }
        const bool is_new = std::ranges::find(present, id, &rows::Replica::broker) == present.end();
        if (broker == nullptr || broker->boot == 0 || (is_new && broker->draining)) {
            return refuse(ErrorCode::invalid_replica_assignment,
                          fmt::format("there is no broker {} that takes new replicas: choose "
                                      "another one",
                                      id));
        }
    }
    return {};
}

Verdict<actions::Assignment> place(const Directory& directory,
                                   std::size_t partitions,
                                   std::int32_t factor) {
    const std::vector<std::int32_t> ids = hosts(directory);
    const auto most = std::min(ids.size(), static_cast<std::size_t>(kReplicasMax));
    if (factor < 1 || static_cast<std::size_t>(factor) > most) {
        return refuse(ErrorCode::invalid_replication_factor,
                      fmt::format("a replication factor of {}: it is 1 to {}, the number of live "
                                  "brokers that take replicas, but at most {}",
                                  factor,
                                  ids.size(),
                                  kReplicasMax));
    }
    actions::Assignment made(partitions);
    for (std::size_t i = 0; i < partitions; ++i) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(factor); ++k)
            made[i].brokers.push_back(ids[(i + k) % ids.size()]);
    }
    return made;
}

std::int32_t default_replication(const Directory& directory) {
    const std::size_t live = hosts(directory).size();
    return static_cast<std::int32_t>(std::clamp<std::size_t>(live, 1, kDefaultReplicas));
}

}  // namespace bps
