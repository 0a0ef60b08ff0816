// The contract of the broker (README.md): which brokers there are, who leads what, who may do what.
#pragma once

#include "rules.hpp"

namespace bps {

struct OffsetOf {
    uint32_t partition = 0;
    int64_t offset = 0;
    BOR_FIELDS(partition, offset)
};

struct PartitionId {
    uint32_t topic = 0;
    uint32_t partition = 0;
    BOR_FIELDS(topic, partition)
};

// What a broker says when it starts.
struct Start {
    int32_t broker = 0;
    uint32_t boot = 0;               // Above that of its last start.
    uint128_t start_id = 0;          // Drawn for this start, not 0.
    std::vector<uint128_t> earlier;  // The start ids that its log directory keeps.
    uint128_t log_id = 0;            // Of its log directory.
    PublicKey node_key;
    std::vector<Listener> listeners;
    BOR_FIELDS(broker, boot, start_id, earlier, log_id, node_key, listeners)
};

// A change of ISR by the leader of a partition.
struct IsrChange {
    int32_t broker = 0;
    uint32_t boot = 0;
    uint32_t topic = 0;
    uint32_t partition = 0;
    int32_t leader_epoch = 0;
    int32_t partition_epoch = 0;
    std::vector<Replica> isr;
    BOR_FIELDS(broker, boot, topic, partition, leader_epoch, partition_epoch, isr)
};

// Replicas of each new partition, the preferred leader first.
using Assignment = std::vector<std::vector<int32_t>>;

// Every action that names an owner has `by`: the owner itself, or the account of a broker to which
// it delegated this action. Who signs pays for the rows.
class Bps : public Contract {
  public:
    using Contract::Contract;

    // --- brokers.cpp ------------------------------------------------------------------------
    void setslots(const Slots& slots);
    void addbroker(int32_t broker, Name account);
    void rmbroker(int32_t broker);
    void drain(int32_t broker, bool draining);
    void regbroker(const Start& start);
    void suspect(int32_t by, const std::vector<int32_t>& brokers);
    void alive(int32_t broker, uint32_t boot);
    void fence(int32_t by, int32_t broker);
    int64_t leaseids(int32_t broker, uint32_t boot);
    void addidspaces(int32_t broker, const std::vector<Name>& accounts);

    // --- replication.cpp --------------------------------------------------------------------
    void elect(const std::vector<PartitionId>& partitions);
    void alterisr(const IsrChange& change);
    void prefer(int32_t broker, const PartitionId& id, int32_t epoch);
    void resign(int32_t broker, const PartitionId& id, int32_t epoch);
    void reassign(Name by, const PartitionId& id, const std::vector<int32_t>& target);
    void unclean(const PartitionId& id);
    uint32_t anchor(int32_t broker, const std::vector<Anchor>& anchors);

    // --- topics.cpp -------------------------------------------------------------------------
    uint32_t createtopic(Name by,
                         Name owner,
                         const std::string& name,
                         const std::vector<Setting>& settings,
                         const Assignment& assignment);
    void altertopic(Name by, uint32_t topic, const std::vector<Setting>& settings);
    void deletetopic(Name by, uint32_t topic);
    void addparts(Name by, uint32_t topic, const Assignment& assignment);
    void deleterecs(Name by, uint32_t topic, const std::vector<OffsetOf>& starts);

    // --- rights.cpp -------------------------------------------------------------------------
    void grant(Name by, Name owner, const Terms& terms);
    void revoke(Name by, Name owner, const std::vector<uint64_t>& grants);
    void reserve(Name owner, const std::string& prefix);
    void unreserve(Name owner, const std::string& prefix);
    void delegate(Name owner,
                  int32_t broker,
                  const std::vector<Name>& actions,
                  const std::string& prefix,
                  TimePointSec until);
    void undelegate(Name owner, Name account);

    // --- identity.cpp -----------------------------------------------------------------------
    void setcert(const PermissionLevel& principal,
                 const PublicKey& key,
                 const Signature& signature);
    void delcert(Name account, const Checksum256& hash);
    void revoketoken(Name account, const std::string& jti, TimePointSec before);
    void cleartokens(Name account);
    void setsealkey(Name account, const Checksum256& key);
    void delsealkey(Name account);
    void setquota(const Quota& quota);
    void delquota(Name account);

  private:
    struct Counts {
        int32_t topics = 0;
        int32_t partitions = 0;
        int32_t rows = 0;
    };

    // --- common.cpp -------------------------------------------------------------------------
    // Fails unless `by` may do this for the owner with what has this name.
    void check_may(Name by, Name owner, Name action, std::string_view name) const;
    // The row of a broker that has started and whose account signed.
    [[nodiscard]] Brokers::Iterator own_broker(const Brokers& brokers, int32_t id) const;
    void sign_as(int32_t broker) const;
    [[nodiscard]] Brokers::Iterator get_broker(const Brokers& brokers, int32_t id) const;
    [[nodiscard]] Topics::Iterator get_topic(const Topics& topics, uint32_t id) const;
    [[nodiscard]] Partitions::Iterator get_partition(const Partitions& partitions,
                                                     const PartitionId& id) const;
    [[nodiscard]] uint32_t min_insync(uint32_t topic) const;
    // Adds to what the tenant has; fails above its limits.
    void count(Name tenant, const Counts& change, Name payer);
    template <class Update>
    Ids give_out(Update&& update) {
        IdsRow row(self(), self().value);
        Ids ids = row.get_or(Ids{});
        update(ids);
        row.set(ids, self());
        return ids;
    }
    // A number for a grant, prefix or certificate.
    uint64_t next_row() {
        return give_out([](Ids& ids) { ++ids.row; }).row;
    }

    // --- replication.cpp --------------------------------------------------------------------
    static void cancel_reassignment(Partition& row, PartitionRules& rules);

    // --- topics.cpp -------------------------------------------------------------------------
    // The longest reserved prefix that the name begins with.
    [[nodiscard]] std::optional<Prefix> longest_prefix_of(std::string_view name) const;
    void check_may_own(Name owner, const std::string& name) const;
    void add_partitions(const Topic& topic,
                        uint32_t first,
                        const Assignment& assignment,
                        Name payer);

    // --- identity.cpp -----------------------------------------------------------------------
    void revoke_before(Name account, TimePointSec before);
};

// Fails unless the name has Kafka's form; `what` is topic or group.
void check_name(std::string_view what, std::string_view name);
// Fails unless it is the beginning of a name that has.
void check_beginning(std::string_view name);
// Fails unless these are replicas that a partition may have.
void check_replicas(const std::vector<int32_t>& replicas, BrokerSet& brokers);
// Fails unless all are known, have a value that they may have, and come once.
void check_settings(const std::vector<Setting>& settings);
// The value of min.insync.replicas, which is 1 where it is not set.
uint32_t min_insync_of(const std::vector<Setting>& settings);

inline uint32_t now_seconds() {
    return TimePointSec(current_time_point()).seconds;
}

}  // namespace bps
