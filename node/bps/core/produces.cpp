#include "node/bps/core/produces.hpp"

#include "base/check.hpp"
#include "node/bps/core/request_items.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace bps {

namespace {

// Listed since older librdkafka turns compression off without them, and refused (spec 08).
constexpr std::int16_t kServedSince = 3;

// Why no part of the request is taken.
std::optional<Refusal> refusal_of(const Caller& caller, const ProduceRequest& request) {
    if (caller.version < kServedSince) {
        return Refusal{ErrorCode::unsupported_for_message_format,
                       fmt::format("Produce {}; record batches of magic 2 need version {} or "
                                   "later: use api.version.request=true",
                                   caller.version,
                                   kServedSince)};
    }
    if (request.acks < -1 || request.acks > 1) {
        return Refusal{ErrorCode::invalid_required_acks,
                       fmt::format("acks={}; it is 0, 1 or -1", request.acks)};
    }
    if (request.transactional_id) {
        return Refusal{ErrorCode::transactional_id_authorization_failed,
                       "transactions are not served"};
    }
    return std::nullopt;
}

// Batches that a topic's compression.type has opened and made anew, while all others wait: as many
// bytes as a request can bring that are not compressed. The rest is stored as it came.
constexpr std::size_t kOpenedByRequestMax = std::size_t{2} << 20U;

// What of the frame is a view into it.
std::span<std::byte> within(std::span<std::byte> frame, base::ByteView part) {
    if (part.empty()) return {};
    const auto at = part.data() - frame.data();
    CHECK(at >= 0 && static_cast<std::size_t>(at) + part.size() <= frame.size());
    return frame.subspan(static_cast<std::size_t>(at), part.size());
}

}  // namespace

Verdict<Log::Appended> Produces::append(std::int64_t now,
                                        const Verdict<Partition*>& partition,
                                        const Decompressor& opener,
                                        Partition::Produce produce) {
    if (!partition) return refuse(partition.error());
    const chain::Name owner = (*partition)->owner();
    if (partitions_.is_disk_low) {
        produce.full = Refusal{ErrorCode::kafka_storage_error, "the disk is nearly full"};
    } else if (auto may = quotas_.may_store(owner, partitions_.stored_of(owner)); !may) {
        produce.full = std::move(may).error();
    }
    auto appended = (*partition)->produce(produce, opener, now);
    if (appended && !appended->is_duplicate) {
        partitions_.add_stored(owner, appended->bytes);
        DataCounts& taken = partitions_.taken;
        taken.batches += 1;
        taken.records += static_cast<std::uint64_t>(appended->next_offset - appended->base_offset);
        taken.bytes += produce.batch.size();
    }
    return appended;
}

void Produces::start(std::int64_t now,
                     const Caller& caller,
                     const ProduceRequest& request,
                     std::span<std::byte> frame,
                     Effects& out) {
    const std::optional<Refusal> refusal = refusal_of(caller, request);
    Waiting waiting{.caller = caller,
                    .deadline = now + std::max<std::int64_t>(request.timeout_ms, 0),
                    .acks = request.acks,
                    .left = 0,
                    .response = {},
                    .texts = {}};
    const auto id_space = access_.id_space(caller.principal.account);
    std::string first_error;
    const LimitedOpener opener(opener_, kOpenedByRequestMax);
    PartitionsNamed named;
    std::string_view last_text;  // Of many parts the reason is the same.
    for (const ProduceRequest::Topic& topic : request.topic_data) {
        auto& answers = waiting.response.responses.emplace_back();
        answers.name = waiting.texts.keep(topic.name);
        const Verdict<TopicAccess> allowed =
            refusal ? Verdict<TopicAccess>(refuse(*refusal))
                    : access_.topic(caller.principal, topic.name, Right::produce, now);
        for (const ProduceRequest::Partition& part : topic.partition_data) {
            answers.partition_responses.emplace_back().index = part.index;
            const Verdict<Partition*> partition =
                named.take(topic.name, part.index)
                    ? partitions_.get(allowed, part.index)
                    : refuse(ErrorCode::invalid_request,
                             fmt::format("a request names at most {} partitions, each once",
                                         PartitionsNamed::kMax));
            const auto appended =
                append(now,
                       partition,
                       opener,
                       {.batch = within(frame, part.records.value_or(base::ByteView())),
                        .acks = request.acks,
                        .version = caller.version,
                        .id_space = id_space});
            if (appended) {
                await(**partition, *appended, waiting);
                continue;
            }
            auto& answer = answers.partition_responses.back();
            answer.error_code = appended.error().code;
            answer.base_offset = -1;
            const std::string& reason = appended.error().reason;
            if (last_text != reason) last_text = waiting.texts.keep(reason);
            answer.error_message = last_text;
            if (first_error.empty()) first_error = reason;
        }
    }
    waiting.response.throttle_time_ms =
        quotas_.take_in(now, caller.principal.account, frame.size() + opener.opened());
    if (request.acks == 0) {
        out.replies.push_back({.id = caller.id,
                               .response = std::nullopt,
                               .close_reason = std::move(first_error),
                               .key = ProduceRequest::kApi.key,
                               .throttle_ms = waiting.response.throttle_time_ms});
    } else if (waiting.left == 0) {
        Reply reply = reply_to(caller, waiting.response);
        reply.refusal = std::move(first_error);
        out.replies.push_back(std::move(reply));
    } else {
        deadlines_.add(waiting.deadline, caller.id);
        waiting_.emplace(caller.id, std::move(waiting));
    }
}

void Produces::await(const Partition& partition, const Log::Appended& appended, Waiting& waiting) {
    const LogId log = partition.id().log();
    if (waiting.acks == 0) return partitions_.commit.touch(log);
    auto& topics = waiting.response.responses;
    auto& answer = topics.back().partition_responses.back();
    answer.base_offset = appended.base_offset;
    answer.log_append_time_ms = appended.append_time;
    answer.log_start_offset = partition.log().start();
    answer.error_code = ErrorCode::request_timed_out;  // Until it is durable.
    ++waiting.left;
    parts_[++last_answer_] = {.request = waiting.caller.id,
                              .topic = topics.size() - 1,
                              .partition = topics.back().partition_responses.size() - 1};
    partitions_.commit.wait(log, appended.next_offset, last_answer_);
}

void Produces::on_answer(const GroupCommit::Answer& answer, Effects& out) {
    const auto part = parts_.extract(answer.id);
    CHECK(!part.empty());
    const auto at = waiting_.find(part.mapped().request);
    if (at == waiting_.end()) return;  // It timed out, or its connection is gone.
    Waiting& waiting = at->second;
    auto& item = waiting.response.responses[part.mapped().topic]
                     .partition_responses[part.mapped().partition];
    item.error_code = answer.code;
    if (answer.code != ErrorCode::none) item.base_offset = -1;
    if (--waiting.left > 0) return;
    out.replies.push_back(reply_to(waiting.caller, waiting.response));
    deadlines_.remove(waiting.deadline, at->first);
    waiting_.erase(at);
}

void Produces::on_time(std::int64_t now, Effects& out) {
    for (const RequestId& id : deadlines_.take(now)) {
        const auto waiting = waiting_.extract(id);
        out.replies.push_back(reply_to(waiting.mapped().caller, waiting.mapped().response));
    }
}

void Produces::on_closed(std::uint64_t connection) {
    auto at = waiting_.lower_bound({connection, 0});
    while (at != waiting_.end() && at->first.connection == connection) {
        deadlines_.remove(at->second.deadline, at->first);
        at = waiting_.erase(at);
    }
}

}  // namespace bps
