#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "node/bps/core/cluster.hpp"
#include "node/bps/core/partition_id.hpp"
#include "node/bps/core/reply.hpp"
#include "node/bps/core/rows.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace bps {

// Where the brokers are and who leads what (spec 08, "Contract"), from the rows `brokers`,
// `partitions` and `ids` as the last final block left them. Which topics there are, Rights knows.
//
// Thread: that of the broker.
class Directory final : public Cluster {
  public:
    // A row as the last final block left it; nothing: it is erased. Rows of other tables are passed
    // over. malformed: it is not what the contract writes.
    base::Result<void> apply(const RowId& id, std::optional<base::ByteView> value);

    [[nodiscard]] std::optional<Node> leader_of(PartitionId id,
                                                const Caller& caller) const override;
    // The brokers that are live and have a listener like the caller's, by ascending id.
    [[nodiscard]] std::vector<Node> nodes(const Caller& caller) const;
    // Null: there is none.
    [[nodiscard]] const rows::Broker* find_broker(std::int32_t id) const;
    [[nodiscard]] const rows::Partition* find_partition(PartitionId id) const;
    [[nodiscard]] const std::map<std::int32_t, rows::Broker>& brokers() const { return brokers_; }
    [[nodiscard]] const std::map<PartitionId, rows::Partition>& partitions() const {
        return partitions_;
    }

    // The id of the topic that was made last; 0: none was.
    [[nodiscard]] TopicId last_topic() const { return last_topic_; }
    // Whether the broker has started and is not fenced.
    [[nodiscard]] bool is_live(std::int32_t broker) const;
    // Who leads, in the start of its broker that was elected, and is live; nothing: nobody.
    [[nodiscard]] std::optional<std::int32_t> live_leader(const rows::Partition& partition) const;
    // Whether the replica is in ISR with the present generation of its broker.
    [[nodiscard]] bool is_in_sync(const rows::Replica& replica) const;

  private:
    base::Result<void> apply_broker(const RowId& id, std::optional<base::ByteView> value);
    base::Result<void> apply_partition(const RowId& id, std::optional<base::ByteView> value);
    [[nodiscard]] std::optional<Node> node_of(std::int32_t broker, const Caller& caller) const;

    std::map<std::int32_t, rows::Broker> brokers_;
    std::map<PartitionId, rows::Partition> partitions_;
    TopicId last_topic_ = 0;
};

}  // namespace bps
