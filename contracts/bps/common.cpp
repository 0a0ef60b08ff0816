// Who may act for whom, what a name looks like, and how much a tenant may have.
#include "bps.hpp"

#include <algorithm>

namespace bps {

void Bps::check_may(Name by, Name owner, Name action, std::string_view name) const {
    require_auth(by);
    if (by == owner) return;
    const Delegations delegations(self(), owner.value);
    const auto row = delegations.find(by.value);
    require(delegations.found(row),
            "{} has not delegated {} to {}: sign as {}, or let it push delegate",
            owner,
            action,
            by,
            owner);
    const Brokers brokers(self(), self().value);
    const auto broker = brokers.find(static_cast<uint64_t>(row->broker));
    require(brokers.found(broker) && broker->account == by,
            "{} is the account of broker {} no more: {} must delegate to another one",
            by,
            row->broker,
            owner);
    require(std::find(row->actions.begin(), row->actions.end(), action) != row->actions.end(),
            "the delegation of {} to {} does not name {}: let {} delegate with it",
            owner,
            by,
            action,
            owner);
    require(name.starts_with(row->prefix),
            "the delegation of {} to {} is for names that begin with '{}', not for '{}'",
            owner,
            by,
            row->prefix,
            shown(name));
    require(now_seconds() <= row->until.seconds,
            "the delegation of {} to {} ended at {} s: let {} delegate again",
            owner,
            by,
            row->until.seconds,
            owner);
}

Brokers::Iterator Bps::get_broker(const Brokers& brokers, int32_t id) const {
    auto row = brokers.find(static_cast<uint64_t>(id));
    require(id >= 0 && brokers.found(row),
            "there is no broker {}: {} must push addbroker first",
            id,
            self());
    return row;
}

Brokers::Iterator Bps::own_broker(const Brokers& brokers, int32_t id) const {
    auto row = get_broker(brokers, id);
    require_auth(row->account);
    require(row->boot > 0, "broker {} has not started: push regbroker first", id);
    return row;
}

void Bps::sign_as(int32_t broker) const {
    (void)own_broker(Brokers(self(), self().value), broker);
}

Topics::Iterator Bps::get_topic(const Topics& topics, uint32_t id) const {
    auto row = topics.find(id);
    require(topics.found(row), "there is no topic with id {}: it may be deleted", id);
    return row;
}

Partitions::Iterator Bps::get_partition(const Partitions& partitions, const PartitionId& id) const {
    auto row = partitions.find(partition_key(id.topic, id.partition));
    require(partitions.found(row),
            "there is no partition {} of topic {}: it may be deleted",
            id.partition,
            id.topic);
    return row;
}

uint32_t Bps::min_insync(uint32_t topic) const {
    return min_insync_of(get_topic(Topics(self(), self().value), topic)->settings);
}

void Bps::count(Name tenant, const Counts& change, Name payer) {
    const Quotas quotas(self(), self().value);
    auto quota = quotas.find(tenant.value);
    if (!quotas.found(quota)) quota = quotas.find(0);
    uint64_t partitions_max = kTenantPartitionsMax;
    if (quotas.found(quota)) {
        partitions_max = quota->partitions < 0 ? UINT32_MAX : uint64_t(quota->partitions);
    }
    const auto add = [&](uint32_t& value, int32_t more, uint64_t most, std::string_view what) {
        const int64_t sum = int64_t{value} + more;
        check(0 <= sum && sum <= UINT32_MAX, "the count of what a tenant has is wrong");
        value = static_cast<uint32_t>(sum);
        require(more <= 0 || value <= most,
                "{} would have {} {}, more than its limit of {}: delete some, or ask {} for a "
                "larger quota",
                tenant,
                value,
                what,
                most,
                self());
    };
    const auto update = [&](Tenant& row) {
        row.account = tenant;
        add(row.topics, change.topics, kTenantTopicsMax, "topics");
        add(row.partitions, change.partitions, partitions_max, "partitions");
        add(row.rows, change.rows, kTenantRowsMax, "grants, prefixes, delegations and keys");
    };
    Tenants tenants(self(), self().value);
    const auto at = tenants.find(tenant.value);
    if (!tenants.found(at)) return tenants.emplace(payer, update);
    Tenant after = *at;
    update(after);
    if (after.topics == 0 && after.partitions == 0 && after.rows == 0) return tenants.erase(at);
    tenants.modify(at, kSamePayer, update);
}

namespace {

bool is_name_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
}

}  // namespace

void check_beginning(std::string_view name) {
    require(name.size() <= kNameBytesMax,
            "the name '{}' has {} bytes, more than {}: choose a shorter one",
            shown(name),
            name.size(),
            kNameBytesMax);
    for (std::size_t i = 0; i < name.size(); ++i) {
        require(is_name_letter(name[i]),
                "the name '{}' has at {} what is none of a-z A-Z 0-9 . _ -: choose another one",
                shown(name),
                i);
    }
}

void check_name(std::string_view what, std::string_view name) {
    require(!name.empty() && name != "." && name != "..",
            "'{}' is no name of a {}: choose another one",
            name,
            what);
    check_beginning(name);
}

void check_replicas(const std::vector<int32_t>& replicas, BrokerSet& brokers) {
    require(!replicas.empty() && replicas.size() <= kReplicasMax,
            "a partition has 1 to {} replicas, not {}",
            kReplicasMax,
            replicas.size());
    for (std::size_t i = 0; i < replicas.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            require(replicas[k] != replicas[i],
                    "broker {} is named twice among the replicas of a partition: name it once",
                    replicas[i]);
        }
        const Broker* broker = brokers.find(replicas[i]);
        require(broker != nullptr && broker->boot > 0,
                "there is no broker {} that has started: choose another one",
                replicas[i]);
    }
}

}  // namespace bps
