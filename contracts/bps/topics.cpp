// Topics and their partitions.
#include "bps.hpp"

#include <algorithm>

namespace bps {

namespace {

bool is_separator(char letter) {
    return letter == '.' || letter == '-' || letter == '_';
}

}  // namespace

std::optional<Prefix> Bps::longest_prefix_of(std::string_view name) const {
    Prefixes prefixes(self(), self().value);
    const auto by_prefix = prefixes.index<"byprefix"_n>();
    for (std::size_t size = std::min(name.size(), kPrefixBytesMax); size > 0; --size) {
        if (!is_separator(name[size - 1])) continue;
        const std::string_view beginning = name.substr(0, size);
        const auto at = by_prefix.find(sha256(beginning));
        if (at != by_prefix.end() && at->prefix == beginning) return *at;
    }
    return std::nullopt;
}

void Bps::check_may_own(Name owner, const std::string& name) const {
    require(!name.starts_with("__") || owner == self(),
            "names that begin with '__' belong to {}, not to {}: choose another one than '{}'",
            self(),
            owner,
            name);
    const auto reserved = longest_prefix_of(name);
    if (!reserved || reserved->owner == owner) return;
    refuse(
        "names that begin with '{}' belong to {}: choose another one than '{}', or ask its owner",
        reserved->prefix,
        reserved->owner,
        name);
}

// Partitions of a new topic, or more of one. Whose brokers are not fenced is in sync: all logs are
// empty.
void Bps::add_partitions(const Topic& topic,
                         uint32_t first,
                         const Assignment& assignment,
                         Name payer) {
    require(!assignment.empty() && assignment.size() <= kPartitionsMax - first,
            "a topic has 1 to {} partitions, and '{}' would have {}: ask for fewer, or for some",
            kPartitionsMax,
            topic.name,
            first + assignment.size());
    Partitions partitions(self(), self().value);
    Anchors anchors(self(), self().value);
    BrokerSet brokers(self());
    uint32_t number = first;
    for (const std::vector<int32_t>& replicas : assignment) {
        check_replicas(replicas, brokers);
        Partition row;
        row.topic = topic.id;
        row.partition = number++;
        for (const int32_t id : replicas) {
            const Broker& broker = *brokers.find(id);
            require(!broker.draining, "broker {} is draining: choose another one", id);
            row.replicas.push_back(Replica{id, broker.fenced ? kOutside : broker.generation});
            brokers.count_replica(id, true);
        }
        PartitionRules rules(row, brokers, 1);
        const int32_t leader = rules.successor(kNobody);
        require(leader != kNobody,
                "every broker of partition {} is fenced: choose another one, or wait for its alive",
                row.partition);
        rules.lead(leader);
        partitions.emplace(payer, [&](Partition& each) { each = row; });
        anchors.emplace(payer, [&](Anchor& each) {
            each.topic = row.topic;
            each.partition = row.partition;
        });
    }
    brokers.store();
}

// A topic with a partition for each list of replicas. Returns its id.
uint32_t Bps::createtopic(Name by,
                          Name owner,
                          const std::string& name,
                          const std::vector<Setting>& settings,
                          const Assignment& assignment) {
    check_name("topic", name);
    check_may(by, owner, "createtopic"_n, name);
    check_may_own(owner, name);
    check_settings(settings);
    Topics topics(self(), self().value);
    const auto by_name = topics.index<"byname"_n>();
    const auto same = by_name.find(sha256(name));
    require(same == by_name.end(),
            "the topic '{}' exists: choose another name, or ask its owner",
            name);
    Topic topic;
    topic.id = give_out([](Ids& ids) {
                   require(ids.topic < UINT32_MAX, "all ids of topics are used");
                   ++ids.topic;
               }).topic;
    topic.name = name;
    topic.owner = owner;
    topic.partitions = static_cast<uint32_t>(assignment.size());
    topic.settings = settings;
    add_partitions(topic, 0, assignment, by);
    topics.emplace(by, [&](Topic& row) { row = topic; });
    count(owner, {.topics = 1, .partitions = static_cast<int32_t>(topic.partitions)}, by);
    return topic.id;
}

// Replaces all settings.
void Bps::altertopic(Name by, uint32_t id, const std::vector<Setting>& settings) {
    Topics topics(self(), self().value);
    const auto topic = get_topic(topics, id);
    check_may(by, topic->owner, "altertopic"_n, topic->name);
    check_settings(settings);
    topics.modify(topic, by, [&](Topic& row) { row.settings = settings; });
}

// Removes the topic and all its rows. Its id never comes again, its name may.
void Bps::deletetopic(Name by, uint32_t id) {
    Topics topics(self(), self().value);
    const auto topic = get_topic(topics, id);
    check_may(by, topic->owner, "deletetopic"_n, topic->name);
    Partitions partitions(self(), self().value);
    Anchors anchors(self(), self().value);
    BrokerSet brokers(self());
    for (uint32_t number = 0; number < topic->partitions; ++number) {
        const auto partition = get_partition(partitions, {id, number});
        for (const Replica& replica : partition->replicas) {
            brokers.count_replica(replica.broker, false);
        }
        anchors.erase(anchors.get(partition->primary_key(), "a partition without its anchor"));
        partitions.erase(partition);
    }
    brokers.store();
    count(topic->owner, {.topics = -1, .partitions = -static_cast<int32_t>(topic->partitions)}, by);
    topics.erase(topic);
}

void Bps::addparts(Name by, uint32_t id, const Assignment& assignment) {
    Topics topics(self(), self().value);
    const auto topic = get_topic(topics, id);
    check_may(by, topic->owner, "addparts"_n, topic->name);
    add_partitions(*topic, topic->partitions, assignment, by);
    const auto more = static_cast<uint32_t>(assignment.size());
    topics.modify(topic, kSamePayer, [&](Topic& row) { row.partitions += more; });
    count(topic->owner, {.partitions = static_cast<int32_t>(more)}, by);
}

// Deletes the records below an offset. Where the high watermark is, the leader alone knows: it asks
// for nothing above it, and an offset above it would delete records that are acknowledged later.
void Bps::deleterecs(Name by, uint32_t id, const std::vector<OffsetOf>& starts) {
    const auto topic = get_topic(Topics(self(), self().value), id);
    check_may(by, topic->owner, "deleterecs"_n, topic->name);
    require(!starts.empty() && starts.size() <= kPartitionsMax,
            "records are deleted in 1 to {} partitions at once, not {}",
            kPartitionsMax,
            starts.size());
    Partitions partitions(self(), self().value);
    const Brokers brokers(self(), self().value);
    for (const OffsetOf& start : starts) {
        const auto partition = get_partition(partitions, {id, start.partition});
        const auto leader = brokers.find(static_cast<uint64_t>(partition->leader));
        require(
            brokers.found(leader) && leader->account == by,
            "{} is not the account of the broker that leads partition {}, which alone knows how "
            "far its records go: use DeleteRecords of Kafka's clients",
            by,
            start.partition);
        require(start.offset > partition->log_start,
                "the records of partition {} begin at {} already: ask for more than to begin at {}",
                start.partition,
                partition->log_start,
                start.offset);
        partitions.modify(
            partition, kSamePayer, [&](Partition& row) { row.log_start = start.offset; });
    }
}

}  // namespace bps
