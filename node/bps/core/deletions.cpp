#include "node/bps/core/deletions.hpp"

#include <algorithm>
#include <utility>

namespace bps {

DeleteRecordsResponse::Partition& Deletions::item(Waiting& waiting, const Part& part) {
    return waiting.response.topics[part.topic].partitions[part.partition];
}

void Deletions::start(std::int64_t now,
                      const Caller& caller,
                      const DeleteRecordsRequest& request,
                      Effects& out) {
    Waiting waiting{.caller = caller,
                    .deadline = now + std::max<std::int64_t>(request.timeout_ms, 0),
                    .response = {},
                    .left = {},
                    .texts = {}};
    auto& topics = waiting.response.topics;
    for (const DeleteRecordsRequest::Topic& topic : request.topics) {
        auto& answers = topics.emplace_back();
        answers.name = waiting.texts.keep(topic.name);
        const auto allowed = access_.topic(caller.principal, topic.name, Right::admin, now);
        for (const DeleteRecordsRequest::Partition& part : topic.partitions) {
            auto& answer = answers.partitions.emplace_back();
            answer.partition_index = part.partition_index;
            answer.low_watermark = -1;
            const auto partition = partitions_.get(allowed, part.partition_index);
            const auto to = partition ? (*partition)->deletable(part.offset)
                                      : Verdict<std::int64_t>(refuse(partition.error()));
            if (!to) {
                answer.error_code = to.error().code;
            } else if (*to <= (*partition)->log().start()) {
                answer.low_watermark = (*partition)->log().start();
            } else {
                answer.error_code = ErrorCode::request_timed_out;  // Until it is final.
                const Deletion deletion{
                    .id = caller.id, .partition = (*partition)->id(), .offset = *to};
                out.deletions.push_back(deletion);
                waiting.left.push_back({.deletion = deletion,
                                        .topic = topics.size() - 1,
                                        .partition = answers.partitions.size() - 1});
            }
        }
    }
    deadlines_.add(waiting.deadline, caller.id);
    finish(waiting_.emplace(caller.id, std::move(waiting)).first, out);
}

Deletions::Waitings::iterator Deletions::finish(Waitings::iterator at, Effects& out) {
    if (!at->second.left.empty()) return std::next(at);
    out.replies.push_back(reply_to(at->second.caller, at->second.response));
    deadlines_.remove(at->second.deadline, at->first);
    return waiting_.erase(at);
}

void Deletions::on_log_start(PartitionId id, Effects& out) {
    const Partition* const partition = partitions_.find(id);
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        Waiting& waiting = at->second;
        std::erase_if(waiting.left, [&](const Part& part) {
            if (part.deletion.partition != id) return false;
            auto& answer = item(waiting, part);
            if (partition == nullptr) {
                answer.error_code = ErrorCode::unknown_topic_or_partition;
                return true;
            }
            if (partition->log().start() < part.deletion.offset) return false;
            answer.error_code = ErrorCode::none;
            answer.low_watermark = partition->log().start();
            return true;
        });
        at = finish(at, out);
    }
}

void Deletions::on_refused(const Deletion& deletion, ErrorCode code, Effects& out) {
    const auto at = waiting_.find(deletion.id);
    if (at == waiting_.end()) return;
    Waiting& waiting = at->second;
    std::erase_if(waiting.left, [&](const Part& part) {
        if (part.deletion.partition != deletion.partition) return false;
        item(waiting, part).error_code = code;
        return true;
    });
    finish(at, out);
}

void Deletions::on_time(std::int64_t now, Effects& out) {
    for (const RequestId& id : deadlines_.take(now)) {
        const auto at = waiting_.find(id);
        at->second.left.clear();
        finish(at, out);
    }
}

void Deletions::on_closed(std::uint64_t connection) {
    auto at = waiting_.lower_bound({connection, 0});
    while (at != waiting_.end() && at->first.connection == connection) {
        deadlines_.remove(at->second.deadline, at->first);
        at = waiting_.erase(at);
    }
}

}  // namespace bps
