// Leaders, in-sync replicas and reassignments of one partition.
#include "rules.hpp"

#include <algorithm>

namespace bps {

namespace {

bool contains(const std::vector<int32_t>& ids, int32_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

std::size_t BrokerSet::place_of(int32_t id) {
    for (std::size_t i = 0; i < known_.size(); ++i) {
        if (known_[i].at->id == id) return i;
    }
    if (id < 0) return kUnknown;
    auto at = table_.find(static_cast<uint64_t>(id));
    if (!table_.found(at)) return kUnknown;
    known_.push_back(Known{std::move(at), 0});
    return known_.size() - 1;
}

const Broker* BrokerSet::find(int32_t id) {
    const std::size_t place = place_of(id);
    return place == kUnknown ? nullptr : &*known_[place].at;
}

void BrokerSet::count_replica(int32_t id, bool added) {
    const std::size_t place = place_of(id);
    check(place != kUnknown, "a broker with replicas is not there");
    known_[place].change += added ? 1 : -1;
}

void BrokerSet::store() {
    for (Known& each : known_) {
        if (each.change == 0) continue;
        const int64_t count = int64_t{each.at->replicas} + each.change;
        check(0 <= count && count <= UINT32_MAX, "the count of a broker's replicas is wrong");
        table_.modify(
            each.at, kSamePayer, [&](Broker& row) { row.replicas = static_cast<uint32_t>(count); });
        each.change = 0;
    }
}

bool PartitionRules::counts(const Replica& replica) {
    if (replica.generation == kOutside) return false;
    const Broker* broker = brokers_.find(replica.broker);
    return broker != nullptr && broker->generation == replica.generation;
}

uint32_t PartitionRules::counting() {
    uint32_t count = 0;
    for (const Replica& replica : row_.replicas)
        count += counts(replica) ? 1 : 0;
    return count;
}

uint32_t PartitionRules::least() const {
    auto replicas = static_cast<uint32_t>(row_.replicas.size());
    if (!row_.target.empty()) {
        replicas =
            std::min(uint32_t{row_.replicas_before}, static_cast<uint32_t>(row_.target.size()));
    }
    return std::min(min_insync_, replicas);
}

bool PartitionRules::is_fenced(int32_t broker) {
    const Broker* row = brokers_.find(broker);
    return row == nullptr || row->fenced;
}

bool PartitionRules::has_live_leader() {
    if (row_.leader == kNobody || is_fenced(row_.leader)) return false;
    return brokers_.find(row_.leader)->boot == row_.leader_boot;
}

int32_t PartitionRules::successor(int32_t except) {
    for (const Replica& replica : row_.replicas) {
        if (replica.broker == except || is_fenced(replica.broker)) continue;
        if (counts(replica)) return replica.broker;
    }
    return kNobody;
}

void PartitionRules::lead(int32_t broker) {
    require(row_.leader_epoch < INT32_MAX && row_.partition_epoch < INT32_MAX,
            "partition {} of topic {} has had its last epoch, {}: make another topic",
            row_.partition,
            row_.topic,
            INT32_MAX);
    row_.leader = broker;
    row_.leader_boot = broker == kNobody ? 0 : brokers_.find(broker)->boot;
    ++row_.leader_epoch;
    ++row_.partition_epoch;
}

void PartitionRules::drop_fenced() {
    for (std::size_t i = row_.replicas.size(); i > 0; --i) {
        Replica& replica = row_.replicas[i - 1];
        if (replica.generation == kOutside || replica.broker == row_.leader) continue;
        const bool drops = !counts(replica) || (is_fenced(replica.broker) && counting() > least());
        if (drops) replica.generation = kOutside;
    }
}

void PartitionRules::finish_reassignment() {
    if (row_.target.empty()) return;
    for (const int32_t wanted : row_.target) {
        const Replica* replica = find(wanted);
        if (replica == nullptr || !counts(*replica)) return;
    }
    const std::vector<int32_t> kept = std::move(row_.target);
    row_.target.clear();
    keep_replicas(kept);
}

void PartitionRules::keep_replicas(const std::vector<int32_t>& kept) {
    std::vector<Replica> replicas;
    for (const int32_t broker : kept) {
        const Replica* replica = find(broker);
        check(replica != nullptr, "a replica that is to stay is not there");
        replicas.push_back(*replica);
    }
    for (const Replica& replica : row_.replicas) {
        if (!contains(kept, replica.broker)) brokers_.count_replica(replica.broker, false);
    }
    row_.replicas = std::move(replicas);
    row_.replicas_before = 0;
    if (row_.leader != kNobody && !contains(kept, row_.leader)) lead(successor(kNobody));
}

Replica* PartitionRules::find(int32_t broker) {
    for (Replica& replica : row_.replicas) {
        if (replica.broker == broker) return &replica;
    }
    return nullptr;
}

}  // namespace bps
