#include "node/bps/core/broker.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace bps {

namespace {

// Partitions that have nothing to write, in one step.
constexpr std::size_t kSweptAtOnce = 64;

}  // namespace

Broker::Broker(const World& world, const GroupSettings& groups, std::string cluster_id)
    : directory_(world.directory),
      quotas_(world.quotas),
      opener_(world.opener),
      produces_(partitions_, world.rights, world.opener, world.quotas),
      fetches_(partitions_, world.rights, world.quotas),
      lookups_(partitions_, world.rights, world.opener),
      groups_(world.rights, world.quotas, groups, world.rng),
      admin_({world.rights, world.directory, partitions_}, std::move(cluster_id)),
      duties_({world.rights, world.directory, admin_}) {}

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
    Partition& partition = get(id);
    const bool led_before = partition.leads();
    auto led = partition.lead(epoch, insync);
    // What was found in the log when it was opened may not be durable.
    partitions_.commit.touch(id.log());
    if (!led) fetches_.on_changed(now, id, out);
    if (led && !led_before && id.topic == offsets_topic_) led = load_groups(now, partition);
    settle(now, out);
    return led;
}

void Broker::stop_leading(std::int64_t now, PartitionId id, Effects& out) {
    get(id).stop_leading();
    fetches_.on_changed(now, id, out);
    if (id.topic == offsets_topic_) {
        GroupEffects effects;
        groups_.end(id.index, effects);
        carry_out(now, std::move(effects), out);
    }
    settle(now, out);
}

base::Result<void> Broker::set_log_start(std::int64_t now,
                                         PartitionId id,
                                         std::int64_t offset,
                                         Effects& out) {
    auto moved = get(id).set_log_start(offset);
    fetches_.on_changed(now, id, out);
    return moved;
}

void Broker::remove(std::int64_t now, PartitionId id, Effects& out) {
    stop_leading(now, id, out);
    const auto answers = partitions_.commit.detach(id.log(), ErrorCode::unknown_topic_or_partition);
    partitions_.all.erase(id);
    for (const GroupCommit::Answer& answer : answers)
        on_answer(now, answer, out);
    settle(now, out);
}

void Broker::on_topic_deleted(std::int64_t now, TopicId topic, Effects& out) {
    GroupEffects effects;
    groups_.on_topic_deleted(topic, effects);
    carry_out(now, std::move(effects), out);
    settle(now, out);
}

bool Broker::on_request(std::int64_t now,
                        const Caller& caller,
                        const Request& request,
                        std::span<std::byte> frame,
                        Effects& out) {
    if (const auto* find = std::get_if<FindCoordinatorRequest>(&request)) {
        find_coordinator(now, caller, *find, out);
    } else if (!on_data_request(now, caller, request, frame, out)) {
        GroupEffects effects;
        if (!on_group_request(now, caller, request, effects)) {
            return admin_.on_request(now, caller, request, out);
        }
        charge(now, caller, effects);
        carry_out(now, std::move(effects), out);
    }
    settle(now, out);
    return true;
}

bool Broker::on_data_request(std::int64_t now,
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
    } else {
        return false;
    }
    return true;
}

void Broker::on_closed(std::int64_t now, std::uint64_t connection) {
    produces_.on_closed(connection);
    fetches_.on_closed(connection);
    admin_.on_closed(connection);
    groups_.on_closed(now, connection);
}

void Broker::on_synced(std::int64_t now, const std::vector<LogId>& failed, Effects& out) {
    partitions_.commit.on_failed(failed);
    settle(now, out);
}

void Broker::on_called(std::uint64_t ticket, const Verdict<void>& outcome, Effects& out) {
    if (!duties_.on_called(ticket, outcome)) admin_.on_called(ticket, outcome, out);
}

void Broker::on_time(std::int64_t now, Effects& out) {
    produces_.on_time(now, out);
    fetches_.on_time(now, out);
    admin_.on_time(now, out);
    GroupEffects effects;
    groups_.on_time(now, effects);
    carry_out(now, std::move(effects), out);
    settle(now, out);
}

std::optional<std::int64_t> Broker::next_time() const {
    std::optional<std::int64_t> first;
    for (const auto& each :
         {produces_.next_time(), fetches_.next_time(), admin_.next_time(), groups_.next_time()}) {
        if (each && (!first || *each < *first)) first = each;
    }
    return first;
}

base::Result<Log::Retained> Broker::expire(std::int64_t now, Partition& partition) {
    const bool was_compacting = partition.log().is_compacting();
    auto done = partition.expire(now);
    const PartitionId id = partition.id();
    const auto queued = std::ranges::find(to_compact_, id);
    if (queued != to_compact_.end()) {
        // Where retention has ended it, it begins anew, and not before those that wait.
        if (was_compacting && !partition.log().is_compacting()) {
            std::rotate(queued, std::next(queued), to_compact_.end());
        }
    } else if (partition.wants_compaction()) {
        to_compact_.push_back(id);
    }
    if (done) return done;
    return base::fail(
        done.error().code,
        fmt::format("partition {} of topic {}: {}", id.index, id.topic, done.error().detail));
}

void Broker::begin_expiring(std::int64_t now, Effects& out) {
    GroupEffects effects;
    groups_.expire(now, effects);
    carry_out(now, std::move(effects), out);
    if (!expire_next_) expire_next_ = PartitionId{};
}

base::Result<Log::Retained> Broker::expire_and_queue(std::int64_t now, Partition& partition) {
    auto done = expire(now, partition);
    if (done.value_or(Log::Retained::nothing) != Log::Retained::more) return done;
    std::deque<PartitionId>& queue = to_retain_[partition.owner()];
    if (std::ranges::find(queue, partition.id()) == queue.end()) queue.push_back(partition.id());
    return done;
}

void Broker::sweep(std::int64_t now, std::vector<base::Error>& errors) {
    const auto& all = partitions_.all;
    auto at = all.lower_bound(*expire_next_);
    for (std::size_t i = 0; i < kSweptAtOnce && at != all.end(); ++i) {
        const auto done = expire_and_queue(now, *(at++)->second);
        if (!done) errors.push_back(done.error());
        if (!done || *done != Log::Retained::nothing) break;
    }
    expire_next_ = at == all.end() ? std::nullopt : std::optional(at->first);
    if (!expire_next_) partitions_.count_stored();
}

void Broker::retain_next(std::int64_t now, std::vector<base::Error>& errors) {
    auto of = to_retain_.upper_bound(retained_last_);
    if (of == to_retain_.end()) of = to_retain_.begin();
    retained_last_ = of->first;
    const PartitionId id = of->second.front();
    of->second.pop_front();
    if (of->second.empty()) to_retain_.erase(of);
    Partition* const partition = partitions_.find(id);
    if (partition == nullptr) return;
    if (const auto done = expire_and_queue(now, *partition); !done) errors.push_back(done.error());
}

// By turns: a partition with much to drop waits for no sweep, and no sweep for it.
std::vector<base::Error> Broker::expire(std::int64_t now, Effects& out) {
    std::vector<base::Error> errors;
    has_swept_ = expire_next_ && (to_retain_.empty() || !has_swept_);
    if (has_swept_) {
        sweep(now, errors);
    } else if (!to_retain_.empty()) {
        retain_next(now, errors);
    }
    settle(now, out);
    return errors;
}

base::Result<bool> Broker::compact(std::int64_t now, Effects& out) {
    if (to_compact_.empty()) return false;
    const PartitionId id = to_compact_.front();
    Partition* const partition = partitions_.find(id);
    const auto step = partition == nullptr ? base::Result<Log::Compacted>(Log::Compacted::nothing)
                                           : partition->compact(now, opener_);
    if (step && *step == Log::Compacted::more) return true;
    if (step && *step == Log::Compacted::unsynced) {
        partitions_.commit.touch(id.log());
        settle(now, out);
        return false;
    }
    to_compact_.erase(to_compact_.begin());
    if (step) return !to_compact_.empty();
    return base::fail(step.error().code,
                      fmt::format("partition {} of topic {} is not compacted: {}",
                                  id.index,
                                  id.topic,
                                  step.error().detail));
}

void Broker::settle(std::int64_t now, Effects& out) {
    while (partitions_.commit.has_ready()) {
        for (const GroupCommit::Answer& answer : partitions_.commit.take_ready())
            on_answer(now, answer, out);
        for (const LogId log : partitions_.commit.take_changed()) {
            const PartitionId id = PartitionId::of(log);
            // Where the disk fails, expire() tries again and says so.
            (void)get(id).follow_log_start();
            fetches_.on_changed(now, id, out);
        }
    }
}

void Broker::begin_sync(std::int64_t now, Effects& out) {
    while (true) {
        if (auto sync = partitions_.commit.begin_sync()) out.sync = std::move(sync);
        // Of logs that have failed; groups may want more stored then.
        if (!partitions_.commit.has_ready()) return;
        settle(now, out);
    }
}

void Broker::check_invariants() const {
    for (const auto& [id, partition] : partitions_.all)
        partition->check_invariants();
    groups_.check_invariants();
    admin_.chain().check_invariants();
}

}  // namespace bps
