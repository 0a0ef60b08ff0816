// What the actions share: brokers that are looked at together, and the rules of one partition.
#pragma once

#include "tables.hpp"

namespace bps {

// The brokers that one action looks at, each read once and written once.
class BrokerSet {
  public:
    explicit BrokerSet(Name self) : table_(self, self.value) {}

    // Null: there is no such broker. Good until the next call.
    const Broker* find(int32_t id);
    // One replica more or less. Its broker exists, since a broker with replicas is not removed.
    void count_replica(int32_t id, bool added);
    // Writes the counts.
    void store();

  private:
    struct Known {
        Brokers::Iterator at;
        int64_t change;
    };
    // kUnknown: there is none.
    static constexpr std::size_t kUnknown = SIZE_MAX;
    std::size_t place_of(int32_t id);

    Brokers table_;
    std::vector<Known> known_;
};

// The rules of leaders and in-sync replicas (ISR) of one partition; changes the row given, which
// the caller writes. A replica counts if it is in ISR with its broker's present generation.
class PartitionRules {
  public:
    // All outlive this. `min_insync` is the topic's min.insync.replicas.
    PartitionRules(Partition& row, BrokerSet& brokers, uint32_t min_insync)
        : row_(row), brokers_(brokers), min_insync_(min_insync) {}

    [[nodiscard]] bool counts(const Replica& replica);
    [[nodiscard]] uint32_t counting();
    // How many must count after a change that takes one away: the minimum, or the number of
    // replicas before or after a reassignment on its way, if fewer.
    [[nodiscard]] uint32_t least() const;
    [[nodiscard]] bool is_fenced(int32_t broker);
    // Whether there is a leader, in the start of its broker that was elected, and not fenced.
    [[nodiscard]] bool has_live_leader();
    // The first replica but `except` that counts and is not fenced; kNobody: none.
    [[nodiscard]] int32_t successor(int32_t except);
    // Begins a new epoch of this leader, or of none.
    void lead(int32_t broker);
    // Takes members out of ISR: those of an old generation, and, down to the minimum, fenced ones.
    void drop_fenced();
    // Ends a reassignment once all its new replicas count.
    void finish_reassignment();
    // Leaves only these replicas, in this order, and elects another leader if it is none of them.
    void keep_replicas(const std::vector<int32_t>& kept);
    [[nodiscard]] Replica* find(int32_t broker);

  private:
    Partition& row_;
    BrokerSet& brokers_;
    uint32_t min_insync_;
};

}  // namespace bps
