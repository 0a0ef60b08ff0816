#include "node/bps/core/broker.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace bps {

Partition& Broker::get(PartitionId id) const {
    Partition* const found = partitions_.find(id);
    CHECK(found != nullptr);
    return *found;
}

void Broker::add(PartitionId id, std::unique_ptr<Log> log, const PartitionSettings& settings) {
    CHECK(partitions_.find(id) == nullptr);
    partitions_.commit.attach(id.log(), *log);
    partitions_.all.emplace(id, std::make_unique<Partition>(id, std::move(log), settings));
}

void Broker::configure(PartitionId id, const PartitionSettings& settings) {
    get(id).configure(settings);
}

base::Result<void> Broker::lead(
    std::int64_t now, PartitionId id, std::int32_t epoch, std::int32_t insync, Effects& out) {
    auto led = get(id).lead(epoch, insync);
    // What was found in the log when it was opened may not be durable.
    partitions_.commit.touch(id.log());
    if (!led) fetches_.on_changed(now, id, out);
    settle(now, out);
    return led;
}

void Broker::stop_leading(std::int64_t now, PartitionId id, Effects& out) {
    get(id).stop_leading();
    fetches_.on_changed(now, id, out);
    settle(now, out);
}

base::Result<void> Broker::set_log_start(std::int64_t now,
                                         PartitionId id,
                                         std::int64_t offset,
                                         Effects& out) {
    auto moved = get(id).set_log_start(offset);
    deletions_.on_log_start(id, out);
    fetches_.on_changed(now, id, out);
    return moved;
}

void Broker::remove(std::int64_t now, PartitionId id, Effects& out) {
    const auto answers = partitions_.commit.detach(id.log(), ErrorCode::unknown_topic_or_partition);
    partitions_.all.erase(id);
    for (const GroupCommit::Answer& answer : answers)
        produces_.on_answer(answer, out);
    fetches_.on_changed(now, id, out);
    deletions_.on_log_start(id, out);
    settle(now, out);
}

bool Broker::on_request(std::int64_t now,
                        const Caller& caller,
                        const Request& request,
                        std::span<std::byte> frame,
                        Effects& out) {
    if (const auto* produce = std::get_if<ProduceRequest>(&request)) {
        produces_.start(now, caller, *produce, frame, out);
    } else if (const auto* fetch = std::get_if<FetchRequest>(&request)) {
        fetches_.start(now, caller, *fetch, out);
    } else if (const auto* list = std::get_if<ListOffsetsRequest>(&request)) {
        out.replies.push_back(reply_to(caller, lookups_.list_offsets(now, caller, *list)));
    } else if (const auto* ends = std::get_if<OffsetForLeaderEpochRequest>(&request)) {
        out.replies.push_back(reply_to(caller, lookups_.epoch_ends(now, caller, *ends)));
    } else if (const auto* deletion = std::get_if<DeleteRecordsRequest>(&request)) {
        deletions_.start(now, caller, *deletion, out);
    } else {
        return false;
    }
    settle(now, out);
    return true;
}

void Broker::on_closed(std::uint64_t connection) {
    produces_.on_closed(connection);
    fetches_.on_closed(connection);
    deletions_.on_closed(connection);
}

void Broker::on_synced(std::int64_t now, const std::vector<LogId>& failed, Effects& out) {
    partitions_.commit.on_failed(failed);
    settle(now, out);
}

void Broker::on_refused(const Deletion& deletion, ErrorCode code, Effects& out) {
    deletions_.on_refused(deletion, code, out);
}

void Broker::on_time(std::int64_t now, Effects& out) {
    produces_.on_time(now, out);
    fetches_.on_time(now, out);
    deletions_.on_time(now, out);
}

std::optional<std::int64_t> Broker::next_time() const {
    std::optional<std::int64_t> first;
    for (const auto& each : {produces_.next_time(), fetches_.next_time(), deletions_.next_time()}) {
        if (each && (!first || *each < *first)) first = each;
    }
    return first;
}

std::vector<base::Error> Broker::expire(std::int64_t now) {
    std::vector<base::Error> errors;
    for (const auto& [id, partition] : partitions_.all) {
        auto done = partition->expire(now);
        if (done) done = partition->log().checkpoint();
        if (done) continue;
        errors.push_back(
            {done.error().code,
             fmt::format("partition {} of topic {}: {}", id.index, id.topic, done.error().detail)});
    }
    return errors;
}

void Broker::settle(std::int64_t now, Effects& out) {
    if (auto sync = partitions_.commit.begin_sync()) {
        CHECK(!out.sync);
        out.sync = std::move(sync);
    }
    for (const GroupCommit::Answer& answer : partitions_.commit.take_ready())
        produces_.on_answer(answer, out);
    for (const LogId log : partitions_.commit.take_changed())
        fetches_.on_changed(now, PartitionId::of(log), out);
}

void Broker::check_invariants() const {
    for (const auto& [id, partition] : partitions_.all)
        partition->check_invariants();
}

}  // namespace bps
