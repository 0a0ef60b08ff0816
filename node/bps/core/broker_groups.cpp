// The broker as the coordinator of groups: their records are batches of `__consumer_offsets`.
#include "base/check.hpp"
#include "node/bps/core/broker.hpp"
#include "node/bps/core/new_batch.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <variant>

namespace bps {

namespace {

constexpr std::int16_t kProduceVersion = 9;
constexpr std::int8_t kGroupKey = 0;
constexpr std::int8_t kTransactionKey = 1;
// Answers that groups wait for, beside those of Produces.
constexpr AnswerId kOfGroups = AnswerId{1} << 63U;

// Everything in a batch of `__consumer_offsets`.
base::Result<void> load_batch(const BatchHeader& header,
                              base::ByteView batch,
                              const Decompressor& opener,
                              Groups& groups) {
    base::Bytes opened;
    auto walk = open_records(batch, header, opener, opened);
    if (!walk) return base::fail(walk.error());
    while (true) {
        const auto record = walk->next();
        if (!record) return base::fail(record.error());
        if (!*record) return {};
        auto loaded = groups.load((*record)->key.value_or(base::ByteView()), (*record)->value);
        if (!loaded) {
            return base::fail(loaded.error().code,
                              fmt::format("{}, offset {}: {}",
                                          kOffsetsTopic,
                                          header.base_offset + (*record)->offset_delta,
                                          loaded.error().detail));
        }
    }
}

}  // namespace

void Broker::set_offsets_topic(TopicId topic, std::int32_t partitions) {
    offsets_topic_ = topic;
    offsets_partitions_ = partitions;
    groups_.set_partitions(partitions);
}

base::Result<void> Broker::load_groups(std::int64_t now, const Partition& partition) {
    auto loaded =
        partition.log().for_each_batch([&](const BatchHeader& header, base::ByteView batch) {
            return load_batch(header, batch, opener_, groups_);
        });
    if (loaded) {
        groups_.begin(now, partition.id().index);
    } else {
        GroupEffects none;
        groups_.end(partition.id().index, none);
    }
    return loaded;
}

bool Broker::on_group_request(std::int64_t now,
                              const Caller& caller,
                              const Request& request,
                              GroupEffects& out) {
    if (const auto* join = std::get_if<JoinGroupRequest>(&request)) {
        groups_.join(now, caller, *join, out);
    } else if (const auto* sync = std::get_if<SyncGroupRequest>(&request)) {
        groups_.sync(now, caller, *sync, out);
    } else if (const auto* heartbeat = std::get_if<HeartbeatRequest>(&request)) {
        groups_.heartbeat(now, caller, *heartbeat, out);
    } else if (const auto* leave = std::get_if<LeaveGroupRequest>(&request)) {
        groups_.leave(now, caller, *leave, out);
    } else if (const auto* commit = std::get_if<OffsetCommitRequest>(&request)) {
        groups_.commit(now, caller, *commit, out);
    } else if (const auto* fetch = std::get_if<OffsetFetchRequest>(&request)) {
        groups_.fetch(now, caller, *fetch, out);
    } else if (const auto* describe = std::get_if<DescribeGroupsRequest>(&request)) {
        groups_.describe(now, caller, *describe, out);
    } else if (const auto* list = std::get_if<ListGroupsRequest>(&request)) {
        groups_.list(now, caller, *list, out);
    } else if (const auto* removal = std::get_if<DeleteGroupsRequest>(&request)) {
        groups_.remove(now, caller, *removal, out);
    } else if (const auto* offsets = std::get_if<OffsetDeleteRequest>(&request)) {
        groups_.remove_offsets(now, caller, *offsets, out);
    } else {
        return false;
    }
    return true;
}

// The first group of all makes the topic that groups are kept in; clients ask until it is there.
void Broker::find_coordinator(std::int64_t now,
                              const Caller& caller,
                              const FindCoordinatorRequest& request,
                              Effects& out) {
    Texts texts;
    FindCoordinatorResponse response;
    response.node_id = -1;
    response.port = -1;
    if (request.key_type == kTransactionKey) {
        response.error_code = ErrorCode::transactional_id_authorization_failed;
        response.error_message = "transactions are not served";
    } else if (request.key_type != kGroupKey) {
        response.error_code = ErrorCode::invalid_request;
    } else if (request.key.empty()) {
        response.error_code = ErrorCode::invalid_group_id;
    } else if (offsets_partitions_ == 0) {
        const auto made = duties_.make_offsets_topic(now, out);
        response.error_code = ErrorCode::coordinator_not_available;
        response.error_message = made ? "the topic __consumer_offsets is being made: ask again"
                                      : texts.keep(made.error().reason);
    } else if (const auto node = directory_.leader_of(
                   {offsets_topic_, groups_.partition_of(request.key)}, caller)) {
        response.node_id = node->id;
        response.host = texts.keep(node->host);
        response.port = node->port;
    } else {
        response.error_code = ErrorCode::coordinator_not_available;
    }
    out.replies.push_back(reply_to(caller, response));
}

void Broker::charge(std::int64_t now, const Caller& caller, const GroupEffects& effects) {
    std::size_t bytes = 0;
    for (const GroupWrite& write : effects.writes) {
        for (const GroupRecord& record : write.records)
            bytes += record.key.size() + (record.value ? record.value->size() : 0);
    }
    // The caller's next request tells it to wait, or waits.
    if (bytes > 0) (void)quotas_.take_in(now, caller.principal.account, bytes);
}

void Broker::carry_out(std::int64_t now, GroupEffects effects, Effects& out) {
    for (std::size_t i = 0; i < effects.writes.size(); ++i) {
        const GroupWrite write = std::move(effects.writes[i]);
        const ErrorCode code = store(now, write);
        // That may add further writes.
        if (code != ErrorCode::none) groups_.on_stored(now, write.id, code, effects);
    }
    for (Reply& reply : effects.replies)
        out.replies.push_back(std::move(reply));
}

ErrorCode Broker::store(std::int64_t now, const GroupWrite& write) {
    const PartitionId id{offsets_topic_, write.partition};
    Partition* const partition = partitions_.find(id);
    if (partition == nullptr) return ErrorCode::not_leader_or_follower;
    if (partitions_.is_disk_low) return ErrorCode::kafka_storage_error;
    std::vector<NewRecord> records;
    records.reserve(write.records.size());
    for (const GroupRecord& record : write.records)
        records.push_back({.key = record.key, .value = record.value});
    base::Bytes batch = make_batch(records, now);
    const auto appended = partition->produce(
        {.batch = batch, .acks = Partition::kAcksAll, .version = kProduceVersion}, opener_, now);
    if (!appended) return appended.error().code;
    partitions_.commit.wait(id.log(), appended->next_offset, kOfGroups | write.id);
    return ErrorCode::none;
}

void Broker::on_answer(std::int64_t now, const GroupCommit::Answer& answer, Effects& out) {
    if ((answer.id & kOfGroups) == 0) return produces_.on_answer(answer, out);
    GroupEffects effects;
    groups_.on_stored(now, answer.id & ~kOfGroups, answer.code, effects);
    carry_out(now, std::move(effects), out);
}

}  // namespace bps
