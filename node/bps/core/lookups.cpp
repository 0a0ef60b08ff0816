#include "node/bps/core/lookups.hpp"

#include "node/bps/core/request_items.hpp"

#include <algorithm>

namespace bps {

ListOffsetsResponse Lookups::list_offsets(std::int64_t now,
                                          const Caller& caller,
                                          const ListOffsetsRequest& request) {
    ListOffsetsResponse response;
    Share& share = share_of(now, caller.principal.account);
    const LimitedOpener opener(opener_, share.left);
    PartitionsNamed named;
    for (const ListOffsetsRequest::Topic& topic : request.topics) {
        auto& answers = response.topics.emplace_back();
        answers.name = topic.name;
        const auto allowed = access_.topic(caller.principal, topic.name, Right::see, now);
        for (const ListOffsetsRequest::Partition& part : topic.partitions) {
            auto& answer = answers.partitions.emplace_back();
            answer.partition_index = part.partition_index;
            if (!named.take(topic.name, part.partition_index)) {
                answer.error_code = ErrorCode::invalid_request;
                continue;
            }
            const auto partition = partitions_.get(allowed, part.partition_index);
            const auto hit = partition ? (*partition)->list_offset(part, caller.version, opener)
                                       : Verdict<Log::TimeHit>(refuse(partition.error()));
            if (!hit) {
                answer.error_code = hit.error().code;
                continue;
            }
            answer.timestamp = hit->timestamp;
            answer.offset = hit->offset;
            answer.leader_epoch = hit->leader_epoch;
        }
    }
    share.left -= opener.opened();
    return response;
}

Lookups::Share& Lookups::share_of(std::int64_t now, chain::Name tenant) {
    const auto [at, is_new] = shares_.try_emplace(tenant);
    Share& share = at->second;
    const auto passed = static_cast<std::size_t>(std::max<std::int64_t>(now - share.at, 0));
    const std::size_t lacks = kShareBytes - share.left;
    share.left += passed < lacks / kShareBytesPerMs ? passed * kShareBytesPerMs : lacks;
    share.at = now;
    return share;
}

OffsetForLeaderEpochResponse Lookups::epoch_ends(std::int64_t now,
                                                 const Caller& caller,
                                                 const OffsetForLeaderEpochRequest& request) const {
    OffsetForLeaderEpochResponse response;
    for (const OffsetForLeaderEpochRequest::Topic& topic : request.topics) {
        auto& answers = response.topics.emplace_back();
        answers.topic = topic.topic;
        const auto allowed = access_.topic(caller.principal, topic.topic, Right::see, now);
        for (const OffsetForLeaderEpochRequest::Partition& part : topic.partitions) {
            auto& answer = answers.partitions.emplace_back();
            answer.partition = part.partition;
            const auto partition = partitions_.get(allowed, part.partition);
            const auto end = partition ? (*partition)->epoch_end(part)
                                       : Verdict<Epochs::Entry>(refuse(partition.error()));
            if (!end) {
                answer.error_code = end.error().code;
                continue;
            }
            answer.leader_epoch = end->epoch;
            answer.end_offset = end->start;
        }
    }
    return response;
}

}  // namespace bps
