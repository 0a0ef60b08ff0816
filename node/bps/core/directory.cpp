#include "node/bps/core/directory.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace bps {

base::Result<void> Directory::apply(const RowId& id, std::optional<base::ByteView> value) {
    if (id.table == rows::Broker::kTable) return apply_broker(id, value);
    if (id.table == rows::Partition::kTable) return apply_partition(id, value);
    if (id.table != rows::Ids::kTable || !value) return {};
    auto row = rows::read<rows::Ids>(id, *value);
    if (!row) return base::fail(row.error());
    last_topic_ = row->topic;
    return {};
}

base::Result<void> Directory::apply_broker(const RowId& id, std::optional<base::ByteView> value) {
    if (id.key > std::numeric_limits<std::int32_t>::max()) return rows::misplaced(id);
    const auto key = static_cast<std::int32_t>(id.key);
    if (!value) {
        brokers_.erase(key);
        return {};
    }
    auto row = rows::read<rows::Broker>(id, *value);
    if (!row) return base::fail(row.error());
    if (row->id != key) return rows::misplaced(id);
    brokers_[key] = std::move(*row);
    return {};
}

base::Result<void> Directory::apply_partition(const RowId& id,
                                              std::optional<base::ByteView> value) {
    const PartitionId key = PartitionId::of(id.key);
    if (!value) {
        partitions_.erase(key);
        return {};
    }
    auto row = rows::read<rows::Partition>(id, *value);
    if (!row) return base::fail(row.error());
    const PartitionId said{row->topic, static_cast<std::int32_t>(row->partition)};
    if (said != key || said.index < 0) return rows::misplaced(id);
    partitions_[key] = std::move(*row);
    return {};
}

const rows::Broker* Directory::find_broker(std::int32_t id) const {
    const auto at = brokers_.find(id);
    return at == brokers_.end() ? nullptr : &at->second;
}

const rows::Partition* Directory::find_partition(PartitionId id) const {
    const auto at = partitions_.find(id);
    return at == partitions_.end() ? nullptr : &at->second;
}

bool Directory::is_live(std::int32_t broker) const {
    const rows::Broker* const row = find_broker(broker);
    return row != nullptr && row->boot > 0 && !row->fenced;
}

std::optional<std::int32_t> Directory::live_leader(const rows::Partition& partition) const {
    const rows::Broker* const row = find_broker(partition.leader);
    if (row == nullptr || row->boot != partition.leader_boot || !is_live(partition.leader)) {
        return std::nullopt;
    }
    return partition.leader;
}

bool Directory::is_in_sync(const rows::Replica& replica) const {
    const rows::Broker* const row = find_broker(replica.broker);
    return row != nullptr && replica.generation >= 0 && row->generation == replica.generation;
}

std::optional<Cluster::Node> Directory::node_of(std::int32_t broker, const Caller& caller) const {
    if (!is_live(broker)) return std::nullopt;
    const auto& listeners = find_broker(broker)->listeners;
    const auto at = std::ranges::find(listeners, caller.protocol, &rows::Listener::protocol);
    if (at == listeners.end()) return std::nullopt;
    return Node{.id = broker, .host = at->host, .port = at->port};
}

std::optional<Cluster::Node> Directory::leader_of(PartitionId id, const Caller& caller) const {
    const rows::Partition* const row = find_partition(id);
    const auto leader = row == nullptr ? std::nullopt : live_leader(*row);
    return leader ? node_of(*leader, caller) : std::nullopt;
}

std::vector<Cluster::Node> Directory::nodes(const Caller& caller) const {
    std::vector<Node> found;
    for (const auto& [id, row] : brokers_) {
        if (auto node = node_of(id, caller)) found.push_back(*std::move(node));
    }
    return found;
}

}  // namespace bps
