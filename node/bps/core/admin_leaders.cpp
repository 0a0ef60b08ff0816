// Leaders elected, and partitions moved to other brokers.
#include "node/bps/core/admin.hpp"
#include "node/bps/core/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace bps {

namespace {

constexpr std::int8_t kPreferred = 0;  // Types of an election (KIP-460).
constexpr std::int8_t kUnclean = 1;

actions::PartitionOf named(PartitionId id) {
    return {.topic = id.topic, .partition = static_cast<std::uint32_t>(id.index)};
}

Refusal no_partition(std::int32_t index, const rows::Topic& topic) {
    return {ErrorCode::unknown_topic_or_partition,
            fmt::format("partition {} of {}, which has {}", index, topic.name, topic.partitions)};
}

// The items of an answer to ElectLeaders, and the actions for them: one `elect` has many
// partitions.
class Elections {
  public:
    explicit Elections(ChainAnswer& answer)
        : answer_(answer),
          topics_(std::get<ElectLeadersResponse>(answer.response).replica_election_results) {}

    // One more item of the last topic in the answer. Null: there is no such partition.
    void add(const Verdict<const rows::Topic*>& topic,
             std::int32_t index,
             const rows::Partition* row,
             const Verdict<chain::Name>& action) {
        auto& items = topics_.back().partition_result;
        items.emplace_back().partition_id = index;
        const ChainAnswer::Place at{topics_.size() - 1, items.size() - 1};
        if (!topic) return answer_.refuse(at, topic.error());
        if (row == nullptr) return answer_.refuse(at, no_partition(index, **topic));
        if (!action) return answer_.refuse(at, action.error());
        const PartitionId id{(*topic)->id, index};
        if (*action == actions::Elect::kName) return elect(id, at);
        const actions::Prefer prefer{
            .broker = row->leader, .id = named(id), .epoch = row->leader_epoch};
        answer_.parts.push_back({.action = *action, .data = chain::pack(prefer), .places = {at}});
    }
    void finish() {
        if (places_.empty()) return;
        answer_.parts.push_back({.action = actions::Elect::kName,
                                 .data = chain::pack(std::exchange(action_, {})),
                                 .places = std::exchange(places_, {})});
    }

  private:
    void elect(PartitionId id, const ChainAnswer::Place& at) {
        action_.partitions.push_back(named(id));
        places_.push_back(at);
        if (places_.size() == actions::kListMax) finish();
    }

    ChainAnswer& answer_;
    std::vector<ElectLeadersResponse::Topic>& topics_;
    actions::Elect action_;
    std::vector<ChainAnswer::Place> places_;
};

// A reassignment on its way.
ListPartitionReassignmentsResponse::Partition describe(std::int32_t index,
                                                       const rows::Partition& row) {
    ListPartitionReassignmentsResponse::Partition item;
    item.partition_index = index;
    for (std::size_t i = 0; i < row.replicas.size(); ++i) {
        const std::int32_t broker = row.replicas[i].broker;
        item.replicas.push_back(broker);
        if (i >= row.replicas_before) item.adding_replicas.push_back(broker);
        if (std::ranges::find(row.target, broker) == row.target.end()) {
            item.removing_replicas.push_back(broker);
        }
    }
    return item;
}

}  // namespace

void Admin::elect_leaders(const Asked& by, const ElectLeadersRequest& request, Effects& out) {
    ChainAnswer answer{ElectLeadersResponse{}};
    auto& topics = std::get<ElectLeadersResponse>(answer.response).replica_election_results;
    Elections elections(answer);
    const auto add = [&](const Verdict<const rows::Topic*>& topic, std::int32_t index) {
        const PartitionId id{topic ? (*topic)->id : 0, index};
        elections.add(topic,
                      index,
                      world_.directory.find_partition(id),
                      election_of(id, request.election_type));
    };
    if (request.topic_partitions) {
        for (const ElectLeadersRequest::Topic& topic : *request.topic_partitions) {
            topics.emplace_back().topic = answer.texts.keep(topic.topic);
            const auto found = administered(by, topic.topic);
            for (const std::int32_t index : topic.partitions)
                add(found, index);
        }
    } else {
        for (const auto& [name, id] : world_.rights.topic_names()) {
            const auto found = administered(by, name);
            const auto needed =
                found ? in_need(**found, request.election_type) : std::vector<std::int32_t>();
            if (needed.empty()) continue;
            topics.emplace_back().topic = answer.texts.keep(std::string_view(name));
            for (const std::int32_t index : needed)
                add(found, index);
        }
    }
    elections.finish();
    chain_.start(by.now, by.caller, request.timeout_ms, std::move(answer), out);
}

std::vector<std::int32_t> Admin::in_need(const rows::Topic& topic, std::int8_t type) const {
    std::vector<std::int32_t> found;
    for (std::uint32_t number = 0; number < topic.partitions; ++number) {
        const auto index = static_cast<std::int32_t>(number);
        const auto action = election_of({topic.id, index}, type);
        if (action || action.error().code != ErrorCode::election_not_needed) {
            found.push_back(index);
        }
    }
    return found;
}

Verdict<chain::Name> Admin::election_of(PartitionId id, std::int8_t type) const {
    if (type != kPreferred && type != kUnclean) {
        return refuse(
            ErrorCode::invalid_request,
            fmt::format("an election of type {}: it is 0 (preferred) or 1 (unclean)", type));
    }
    const rows::Partition* const row = world_.directory.find_partition(id);
    if (row == nullptr || row->replicas.empty()) {
        return refuse(ErrorCode::unknown_topic_or_partition, "there is no such partition");
    }
    const auto can_lead = [&](const rows::Replica& replica) {
        return world_.directory.is_in_sync(replica) && world_.directory.is_live(replica.broker);
    };
    const rows::Replica& preferred = row->replicas.front();
    const auto leader = world_.directory.live_leader(*row);
    if (leader && (type == kUnclean || *leader == preferred.broker)) {
        return refuse(ErrorCode::election_not_needed, fmt::format("broker {} leads it", *leader));
    }
    if (!leader) {
        if (std::ranges::any_of(row->replicas, can_lead)) return actions::Elect::kName;
        if (type == kPreferred) {
            return refuse(ErrorCode::eligible_leaders_not_available,
                          "no replica in sync is on a live broker: start one of them");
        }
        return refuse(ErrorCode::policy_violation,
                      fmt::format("records may be lost: only its owner signs that; type bor-cli "
                                  "push action {} unclean '[{}, {}]' -p OWNER",
                                  world_.rights.settings().contract.to_string(),
                                  id.topic,
                                  id.index));
    }
    if (!can_lead(preferred)) {
        return refuse(ErrorCode::preferred_leader_not_available,
                      fmt::format("broker {} is not in sync, or not live", preferred.broker));
    }
    if (*leader != world_.rights.settings().broker) {
        return refuse(
            ErrorCode::not_leader_or_follower,
            fmt::format("broker {} leads it and hands over itself: ask that one", *leader));
    }
    return actions::Prefer::kName;
}

void Admin::alter_reassignments(const Asked& by,
                                const AlterPartitionReassignmentsRequest& request,
                                Effects& out) {
    ChainAnswer answer{AlterPartitionReassignmentsResponse{}};
    auto& topics = std::get<AlterPartitionReassignmentsResponse>(answer.response).responses;
    for (const AlterPartitionReassignmentsRequest::Topic& topic : request.topics) {
        topics.emplace_back().name = answer.texts.keep(topic.name);
        auto& items = topics.back().partitions;
        const auto found = changeable(by, topic.name, actions::Reassign::kName);
        for (const auto& partition : topic.partitions) {
            items.emplace_back().partition_index = partition.partition_index;
            const Place at{topics.size() - 1, items.size() - 1};
            const auto action =
                found ? reassignment_of(**found, partition)
                      : Verdict<std::optional<actions::Reassign>>(refuse(found.error()));
            if (!action) {
                answer.refuse(at, action.error());
            } else if (*action) {
                answer.parts.push_back(part(**action, {at}));
            }
        }
    }
    chain_.start(by.now, by.caller, request.timeout_ms, std::move(answer), out);
}

Verdict<std::optional<actions::Reassign>> Admin::reassignment_of(
    const rows::Topic& topic,
    const AlterPartitionReassignmentsRequest::Partition& partition) const {
    const PartitionId id{topic.id, partition.partition_index};
    const rows::Partition* const row = world_.directory.find_partition(id);
    if (row == nullptr) return refuse(no_partition(id.index, topic));
    actions::Reassign action{.by = self(), .id = named(id), .target = {}};
    if (!partition.replicas) {
        if (!row->target.empty()) return action;
        return refuse(ErrorCode::no_reassignment_in_progress,
                      fmt::format("partition {} of {} is not being moved", id.index, topic.name));
    }
    if (!row->target.empty()) {
        return refuse(
            ErrorCode::reassignment_in_progress,
            fmt::format(
                "partition {} of {} is being moved: take that back first", id.index, topic.name));
    }
    const auto checked = check_replicas(world_.directory, *partition.replicas, row->replicas);
    if (!checked) return refuse(checked.error());
    if (std::ranges::equal(row->replicas, *partition.replicas, {}, &rows::Replica::broker)) {
        return std::nullopt;
    }
    action.target = *partition.replicas;
    return action;
}

// Those on their way, as far as the caller may see them.
ListPartitionReassignmentsResponse Admin::list_reassignments(
    const Asked& by, const ListPartitionReassignmentsRequest& request) const {
    ListPartitionReassignmentsResponse response;
    const auto add = [&](std::string_view name, PartitionId id) {
        const rows::Partition* const row = world_.directory.find_partition(id);
        if (row == nullptr || row->target.empty()) return;
        if (response.topics.empty() || response.topics.back().name != name) {
            response.topics.emplace_back().name = name;
        }
        response.topics.back().partitions.push_back(describe(id.index, *row));
    };
    const auto seen = [&](std::string_view name) {
        return world_.rights.topic(by.caller.principal, name, Right::see, by.now);
    };
    if (request.topics) {
        for (const ListPartitionReassignmentsRequest::Topic& topic : *request.topics) {
            const auto found = seen(topic.name);
            if (!found) continue;
            for (const std::int32_t index : topic.partition_indexes)
                add(topic.name, {found->id, index});
        }
        return response;
    }
    for (const auto& [name, id] : world_.rights.topic_names()) {
        const auto found = seen(name);
        for (std::int32_t index = 0; found && index < found->partitions; ++index)
            add(name, {found->id, index});
    }
    return response;
}

}  // namespace bps
