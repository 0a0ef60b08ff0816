#include "node/bps/core/fetches.hpp"

#include "base/check.hpp"
#include "node/bps/core/request_items.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bps {

namespace {

constexpr std::int32_t kConsumer = -1;
// An answer without records costs a client nothing, and what waits takes memory.
constexpr std::int32_t kWaitMaxMs = 60'000;

std::size_t to_size(std::int32_t value) {
    return static_cast<std::size_t>(std::max(value, 0));
}

// Each partition once, and no topic without any: what it names is kept while it waits, and looked
// at whenever a part of that changes.
bool names_well(const FetchRequest& request) {
    PartitionsNamed named;
    for (const FetchRequest::Topic& topic : request.topics) {
        if (topic.partitions.empty()) return false;
        for (const FetchRequest::Partition& part : topic.partitions) {
            if (!named.take(topic.topic, part.partition)) return false;
        }
    }
    return true;
}

// Why no part of the request is served. What a replica fetches comes by another way.
ErrorCode refusal_of(const FetchRequest& request) {
    if (request.replica_id != kConsumer) return ErrorCode::cluster_authorization_failed;
    // No session is ever given out.
    if (request.session_id != 0) return ErrorCode::fetch_session_id_not_found;
    return names_well(request) ? ErrorCode::none : ErrorCode::invalid_request;
}

// As versions without an error of the whole have it: in each of its parts.
FetchResponse refused(const FetchRequest& request, ErrorCode code) {
    FetchResponse response;
    response.error_code = code;
    for (const FetchRequest::Topic& topic : request.topics) {
        auto& answers = response.responses.emplace_back();
        answers.topic = topic.topic;
        for (const FetchRequest::Partition& part : topic.partitions) {
            answers.partitions.push_back({.partition_index = part.partition,
                                          .error_code = code,
                                          .high_watermark = -1,
                                          .aborted_transactions = std::nullopt,
                                          .records = {}});
        }
    }
    return response;
}

}  // namespace

void Fetches::start(std::int64_t now,
                    const Caller& caller,
                    const FetchRequest& request,
                    Effects& out) {
    if (const ErrorCode code = refusal_of(request); code != ErrorCode::none) {
        out.replies.push_back(reply_to(caller, refused(request, code)));
        return;
    }
    Waiting waiting{.caller = caller,
                    .deadline = now + std::clamp(request.max_wait_ms, 0, kWaitMaxMs),
                    .bytes_min = 0,
                    .bytes_max = std::min(to_size(request.max_bytes), kFetchBytesMax),
                    .bytes = 0,
                    .topics = {}};
    waiting.bytes_min = std::min(to_size(request.min_bytes), waiting.bytes_max);
    for (const FetchRequest::Topic& topic : request.topics) {
        Topic& kept = waiting.topics.emplace_back();
        kept.name = topic.topic;
        for (const FetchRequest::Partition& part : topic.partitions) {
            kept.items.push_back({.want = part, .id = std::nullopt, .bytes = 0});
        }
    }
    Result found = read(now, waiting);
    const bool is_ready = found.has_error || found.is_full || found.bytes >= waiting.bytes_min;
    const auto others = items_waiting_.find(caller.principal.account);
    const std::size_t has = others == items_waiting_.end() ? 0 : others->second;
    const bool may_wait = waiting.deadline > now && has + items_of(waiting) <= kItemsWaitingMax;
    if (is_ready || !may_wait || request.topics.empty()) {
        reply(now, caller, found, out);
    } else {
        wait(std::move(waiting));
    }
}

void Fetches::wait(Waiting waiting) {
    const RequestId id = waiting.caller.id;
    for (std::size_t t = 0; t < waiting.topics.size(); ++t) {
        const std::vector<Item>& items = waiting.topics[t].items;
        for (std::size_t i = 0; i < items.size(); ++i)
            by_partition_[*items[i].id][id] = {.topic = t, .item = i};
    }
    items_waiting_[waiting.caller.principal.account] += items_of(waiting);
    deadlines_.add(waiting.deadline, id);
    waiting_.emplace(id, std::move(waiting));
}

std::size_t Fetches::items_of(const Waiting& waiting) {
    std::size_t all = 0;
    for (const Topic& topic : waiting.topics)
        all += topic.items.size();
    return all;
}

Fetches::Result Fetches::read(std::int64_t now, Waiting& waiting) const {
    Result result;
    for (Topic& topic : waiting.topics) {
        auto& answers = result.response.responses.emplace_back();
        answers.topic = topic.name;
        const auto allowed =
            access_.topic(waiting.caller.principal, topic.name, Right::consume, now);
        for (Item& item : topic.items) {
            answers.partitions.push_back(read_item(allowed, item, result, waiting));
        }
    }
    waiting.bytes = result.bytes;
    return result;
}

FetchResponse::Partition Fetches::read_item(const Verdict<TopicAccess>& topic,
                                            Item& item,
                                            Result& so_far,
                                            const Waiting& of) const {
    FetchResponse::Partition answer{.partition_index = item.want.partition,
                                    .high_watermark = -1,
                                    .aborted_transactions = std::nullopt,
                                    .records = {}};
    auto partition = partitions_.get(topic, item.want.partition);
    if (partition && item.id && (*partition)->id() != *item.id) {
        partition = refuse(ErrorCode::unknown_topic_or_partition, "the topic was made again");
    }
    const std::size_t left = of.bytes_max - std::min(of.bytes_max, so_far.bytes);
    const std::size_t most = std::min(left, to_size(item.want.partition_max_bytes));
    const auto found = partition ? (*partition)->read(item.want, of.caller.version, most)
                                 : Verdict<StoredRecords>(refuse(partition.error()));
    if (!found) {
        answer.error_code = found.error().code;
        so_far.has_error = true;
        return answer;
    }
    item.id = (*partition)->id();
    answer.high_watermark = (*partition)->high_watermark();
    answer.last_stable_offset = answer.high_watermark;
    answer.log_start_offset = (*partition)->log().start();
    // One batch is always found; only the first of the response may be above the bounds.
    if (found->bytes <= most || so_far.bytes == 0) {
        answer.records = *found;
    } else {
        so_far.is_full = true;
    }
    item.bytes = answer.records.bytes;
    so_far.bytes += item.bytes;
    return answer;
}

bool Fetches::is_done(Waiting& waiting, const Place& changed) const {
    Item& item = waiting.topics[changed.topic].items[changed.item];
    const Partition* const partition = partitions_.find(*item.id);
    if (partition == nullptr) return true;
    const auto found =
        partition->read(item.want, waiting.caller.version, to_size(item.want.partition_max_bytes));
    if (!found) return true;
    waiting.bytes += found->bytes - std::exchange(item.bytes, found->bytes);
    return waiting.bytes >= waiting.bytes_min;
}

void Fetches::on_changed(std::int64_t now, PartitionId id, Effects& out) {
    const auto at = by_partition_.find(id);
    if (at == by_partition_.end()) return;
    std::vector<RequestId> done;
    for (const auto& [request, place] : at->second) {
        if (is_done(waiting_.at(request), place)) done.push_back(request);
    }
    for (const RequestId& request : done)
        answer(now, request, out);
}

void Fetches::answer(std::int64_t now, const RequestId& id, Effects& out) {
    Waiting waiting = take(id);
    Result found = read(now, waiting);
    reply(now, waiting.caller, found, out);
}

void Fetches::reply(std::int64_t now, const Caller& to, Result& found, Effects& out) {
    found.response.throttle_time_ms = quotas_.take_out(now, to.principal.account, found.bytes);
    out.replies.push_back(reply_to(to, found.response));
}

void Fetches::forget(PartitionId partition, const RequestId& id) {
    const auto entry = by_partition_.find(partition);
    CHECK(entry != by_partition_.end());
    entry->second.erase(id);
    if (entry->second.empty()) by_partition_.erase(entry);
}

Fetches::Waiting Fetches::take(const RequestId& id) {
    const auto at = waiting_.find(id);
    CHECK(at != waiting_.end());
    Waiting waiting = std::move(at->second);
    waiting_.erase(at);
    deadlines_.remove(waiting.deadline, id);
    const auto items = items_waiting_.find(waiting.caller.principal.account);
    items->second -= items_of(waiting);
    if (items->second == 0) items_waiting_.erase(items);
    for (const Topic& topic : waiting.topics) {
        for (const Item& item : topic.items)
            forget(*item.id, id);
    }
    return waiting;
}

void Fetches::on_time(std::int64_t now, Effects& out) {
    for (const RequestId& id : deadlines_.take(now)) {
        answer(now, id, out);
    }
}

void Fetches::on_closed(std::uint64_t connection) {
    for (auto at = waiting_.lower_bound({connection, 0});
         at != waiting_.end() && at->first.connection == connection;
         at = waiting_.lower_bound({connection, 0})) {
        (void)take(RequestId(at->first));
    }
}

}  // namespace bps
