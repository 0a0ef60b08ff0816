// Leaders and in-sync replicas as the replication rules have them, and anchors.
#include "bps.hpp"

#include <algorithm>

namespace bps {

namespace {

// Fails unless `broker` leads in this epoch.
void check_leads(const Partition& row, int32_t broker, int32_t epoch) {
    require(row.leader == broker && row.leader_epoch == epoch,
            "partition {} of topic {} is led by broker {} in epoch {}, not by {} in {}: read the "
            "final state again",
            row.partition,
            row.topic,
            row.leader,
            row.leader_epoch,
            broker,
            epoch);
}

const Replica* find_in(const std::vector<Replica>& isr, int32_t broker) {
    for (const Replica& each : isr) {
        if (each.broker == broker) return &each;
    }
    return nullptr;
}

// Fails unless each proposed member is a replica that counts as it is, or one that may join: not
// fenced, with its present generation.
void check_members(const std::vector<Replica>& isr, PartitionRules& rules, BrokerSet& brokers) {
    require(isr.size() <= kReplicasMax + kReplicasMax,
            "at most {} members are proposed, not {}",
            kReplicasMax + kReplicasMax,
            isr.size());
    for (const Replica& each : isr) {
        require(find_in(isr, each.broker) == &each,
                "broker {} is proposed twice: name it once",
                each.broker);
        const Replica* replica = rules.find(each.broker);
        require(replica != nullptr,
                "broker {} is no replica of this partition: leave it out",
                each.broker);
        if (rules.counts(*replica) && replica->generation == each.generation) continue;
        require(!rules.is_fenced(each.broker),
                "broker {} is fenced and cannot join: wait for its alive",
                each.broker);
        require(brokers.find(each.broker)->generation == each.generation,
                "broker {} has generation {}, not {}: propose that one",
                each.broker,
                brokers.find(each.broker)->generation,
                each.generation);
    }
}

}  // namespace

// Gives each of these partitions a leader that needs one. A live leader stays.
void Bps::elect(const std::vector<PartitionId>& ids) {
    require(!ids.empty() && ids.size() <= kListMax,
            "1 to {} partitions are elected for at once, not {}",
            kListMax,
            ids.size());
    Partitions partitions(self(), self().value);
    BrokerSet brokers(self());
    bool changed = false;
    for (const PartitionId& id : ids) {
        const auto at = partitions.find(partition_key(id.topic, id.partition));
        if (!partitions.found(at)) continue;
        Partition row = *at;
        PartitionRules rules(row, brokers, min_insync(row.topic));
        if (rules.has_live_leader()) continue;
        const int32_t next = rules.successor(kNobody);
        if (next == kNobody && row.leader == kNobody) continue;
        rules.lead(next);
        if (next != kNobody) rules.drop_fenced();
        partitions.modify(at, kSamePayer, [&](Partition& each) { each = row; });
        changed = true;
    }
    require(changed,
            "each of these partitions has a live leader, or no replica that could be one: nothing "
            "is to do");
}

// A change of ISR by the leader, if nothing has changed since it looked (partition epoch). None
// takes a member away and leaves fewer than the minimum.
void Bps::alterisr(const IsrChange& change) {
    sign_as(change.broker);
    Partitions partitions(self(), self().value);
    const auto at = get_partition(partitions, {change.topic, change.partition});
    Partition row = *at;
    check_leads(row, change.broker, change.leader_epoch);
    require(change.boot == row.leader_boot,
            "broker {} was elected with boot {}: boot {} leads nothing",
            change.broker,
            row.leader_boot,
            change.boot);
    require(change.partition_epoch == row.partition_epoch,
            "partition {} of topic {} has partition epoch {}, not {}: read the final state again",
            row.partition,
            row.topic,
            row.partition_epoch,
            change.partition_epoch);
    BrokerSet brokers(self());
    PartitionRules rules(row, brokers, min_insync(row.topic));
    require(find_in(change.isr, row.leader) != nullptr,
            "the leader, broker {}, is not among the proposed members: it resigns instead",
            row.leader);
    check_members(change.isr, rules, brokers);
    bool takes_away = false;
    for (Replica& replica : row.replicas) {
        const Replica* proposed = find_in(change.isr, replica.broker);
        takes_away = takes_away || (proposed == nullptr && rules.counts(replica));
    }
    require(
        !takes_away || change.isr.size() >= rules.least(),
        "this takes a member away and leaves {}, fewer than {} (min.insync.replicas): keep more",
        change.isr.size(),
        rules.least());
    require(row.partition_epoch < INT32_MAX, "partition epochs are used up: make another topic");
    for (Replica& replica : row.replicas) {
        const Replica* proposed = find_in(change.isr, replica.broker);
        replica.generation = proposed == nullptr ? kOutside : proposed->generation;
    }
    ++row.partition_epoch;
    rules.finish_reassignment();
    partitions.modify(at, kSamePayer, [&](Partition& each) { each = row; });
    brokers.store();
}

// The leader hands over to the first replica.
void Bps::prefer(int32_t broker, const PartitionId& id, int32_t epoch) {
    sign_as(broker);
    Partitions partitions(self(), self().value);
    const auto at = get_partition(partitions, id);
    Partition row = *at;
    check_leads(row, broker, epoch);
    BrokerSet brokers(self());
    PartitionRules rules(row, brokers, min_insync(row.topic));
    const Replica& first = row.replicas.front();
    require(first.broker != row.leader, "broker {} is the preferred leader already", broker);
    require(rules.has_live_leader(),
            "broker {} is fenced, or has started again since it was elected: push elect",
            broker);
    require(rules.counts(first) && !rules.is_fenced(first.broker),
            "broker {} is not in sync, or fenced: wait until it is",
            first.broker);
    rules.lead(first.broker);
    partitions.modify(at, kSamePayer, [&](Partition& each) { each = row; });
}

// The leader hands over to whom the contract chooses among the other members.
void Bps::resign(int32_t broker, const PartitionId& id, int32_t epoch) {
    sign_as(broker);
    Partitions partitions(self(), self().value);
    const auto at = get_partition(partitions, id);
    Partition row = *at;
    check_leads(row, broker, epoch);
    BrokerSet brokers(self());
    PartitionRules rules(row, brokers, min_insync(row.topic));
    const int32_t next = rules.successor(broker);
    require(next != kNobody, "no other member of ISR could lead: broker {} must stay", broker);
    rules.lead(next);
    partitions.modify(at, kSamePayer, [&](Partition& each) { each = row; });
}

// Moves the partition to these replicas, once all of them are in sync; the old ones serve until
// then. No target takes back one that is on its way. The contract's own account may, too, so that
// brokers can be drained.
void Bps::reassign(Name by, const PartitionId& id, const std::vector<int32_t>& target) {
    Partitions partitions(self(), self().value);
    const auto at = get_partition(partitions, id);
    Partition row = *at;
    const auto topic = get_topic(Topics(self(), self().value), row.topic);
    if (by == self()) {
        require_auth(self());
    } else {
        check_may(by, topic->owner, "reassign"_n, topic->name);
    }
    BrokerSet brokers(self());
    PartitionRules rules(row, brokers, min_insync_of(topic->settings));
    if (target.empty()) {
        require(!row.target.empty(), "no reassignment is on its way: give a target");
        cancel_reassignment(row, rules);
    } else {
        require(row.target.empty(),
                "a reassignment is on its way: take it back with an empty target first");
        check_replicas(target, brokers);
        row.replicas_before = static_cast<uint8_t>(row.replicas.size());
        for (const int32_t broker : target) {
            if (rules.find(broker) != nullptr) continue;
            require(!brokers.find(broker)->draining,
                    "broker {} is draining: choose another one",
                    broker);
            row.replicas.push_back(Replica{broker, kOutside});
            brokers.count_replica(broker, true);
        }
        row.target = target;
        rules.finish_reassignment();
    }
    partitions.modify(at, by, [&](Partition& each) { each = row; });
    brokers.store();
}

void Bps::cancel_reassignment(Partition& row, PartitionRules& rules) {
    uint32_t staying = 0;
    bool takes_away = false;
    std::vector<int32_t> before;
    for (std::size_t i = 0; i < row.replicas.size(); ++i) {
        const bool stays = i < row.replicas_before;
        const bool counted = rules.counts(row.replicas[i]);
        if (stays) before.push_back(row.replicas[i].broker);
        if (stays && counted) ++staying;
        takes_away = takes_away || (!stays && counted);
    }
    require(!takes_away || staying >= rules.least(),
            "taking it back leaves {} members of ISR, fewer than {} (min.insync.replicas): wait "
            "until more are in sync",
            staying,
            rules.least());
    row.target.clear();
    rules.keep_replicas(before);
}

// Makes a replica that may lack records the leader, when no other can lead. Records that were
// acknowledged may be lost: hence only by the owner's own signature.
void Bps::unclean(const PartitionId& id) {
    Partitions partitions(self(), self().value);
    const auto at = get_partition(partitions, id);
    Partition row = *at;
    require_auth(get_topic(Topics(self(), self().value), row.topic)->owner);
    BrokerSet brokers(self());
    PartitionRules rules(row, brokers, min_insync(row.topic));
    require(!rules.has_live_leader() && rules.successor(kNobody) == kNobody,
            "partition {} of topic {} has a leader, or a member of ISR that can be one: push "
            "elect, which loses nothing",
            row.partition,
            row.topic);
    int32_t next = kNobody;
    for (const Replica& replica : row.replicas) {
        if (rules.is_fenced(replica.broker)) continue;
        if (next == kNobody || next == row.leader) next = replica.broker;
    }
    require(next != kNobody, "every replica is on a fenced broker: start one of them first");
    rules.lead(next);
    for (Replica& replica : row.replicas) {
        replica.generation = replica.broker == next ? brokers.find(next)->generation : kOutside;
    }
    row.break_epoch = row.leader_epoch;
    partitions.modify(at, kSamePayer, [&](Partition& each) { each = row; });
    Anchors anchors(self(), self().value);
    const auto anchor = anchors.get(row.primary_key(), "a partition without its anchor");
    anchors.modify(anchor, kSamePayer, [](Anchor& each) { each.to = 0; });
}

// Anchors of partitions that this broker leads; says how many were taken. One whose partition has
// another leader or epoch, or has gone on, is passed over, so that it does not hold up the others.
uint32_t Bps::anchor(int32_t broker, const std::vector<Anchor>& news) {
    sign_as(broker);
    require(!news.empty() && news.size() <= kListMax,
            "1 to {} anchors come at once, not {}",
            kListMax,
            news.size());
    const Partitions partitions(self(), self().value);
    Anchors anchors(self(), self().value);
    uint32_t taken = 0;
    for (const Anchor& each : news) {
        require(0 <= each.from && each.from < each.to,
                "an anchor goes from 0 or more to more than that, not from {} to {}",
                each.from,
                each.to);
        require(0 <= each.log_start && each.log_start <= each.to,
                "a log starts between 0 and the anchor's end {}, not at {}",
                each.to,
                each.log_start);
        const auto partition = partitions.find(each.primary_key());
        if (!partitions.found(partition)) continue;
        if (partition->leader != broker || partition->leader_epoch != each.epoch) continue;
        const auto last = anchors.get(each.primary_key(), "a partition without its anchor");
        // After an unclean election the new leader says from where on it can prove.
        const bool is_voided = last->to == 0 && partition->break_epoch != 0;
        const bool goes_on = each.from == last->to && each.log_start >= last->log_start;
        if (!is_voided && !goes_on) continue;
        anchors.modify(last, kSamePayer, [&](Anchor& row) { row = each; });
        ++taken;
    }
    require(taken > 0,
            "none of these anchors goes on from the last one in an epoch that broker {} leads: "
            "read the final state again",
            broker);
    return taken;
}

}  // namespace bps
