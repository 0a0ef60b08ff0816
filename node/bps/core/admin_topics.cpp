// Topics made, deleted, and given more partitions.
#include "node/bps/core/admin.hpp"
#include "node/bps/core/known_settings.hpp"
#include "node/bps/core/placement.hpp"
#include "node/bps/core/request_items.hpp"
#include "node/bps/core/topic_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace bps {

namespace {

constexpr std::int32_t kUnset = -1;  // The broker chooses (KIP-464).
constexpr std::int32_t kDefaultPartitions = 1;
constexpr std::int8_t kOfTopic = 1;  // Sources of a setting.
constexpr std::int8_t kDefault = 5;

Verdict<std::vector<rows::Setting>> settings_of(
    const std::vector<CreateTopicsRequest::Config>& configs) {
    std::vector<rows::Setting> settings;
    for (const CreateTopicsRequest::Config& config : configs) {
        if (!config.value) {
            return refuse(ErrorCode::invalid_config,
                          "a setting without a value: leave it out, then its default holds");
        }
        settings.push_back({std::string(config.name), std::string(*config.value)});
    }
    if (auto checked = check_settings(settings); !checked) return refuse(checked.error());
    return settings;
}

// What version 5 says of a topic that is made.
void describe(const actions::CreateTopic& made, CreateTopicsResponse::Topic& item, Texts& texts) {
    item.num_partitions = static_cast<std::int32_t>(made.assignment.size());
    item.replication_factor = static_cast<std::int16_t>(made.assignment[0].brokers.size());
    auto& configs = item.configs.emplace();
    for (const SettingInForce& each : settings_in_force(made.settings)) {
        configs.push_back({.name = each.known->name,
                           .value = texts.keep(each.value),
                           .read_only = false,
                           .config_source = each.is_set ? kOfTopic : kDefault,
                           .is_sensitive = false});
    }
}

}  // namespace

void Admin::create_topics(const Asked& by, const CreateTopicsRequest& request, Effects& out) {
    ChainAnswer answer{CreateTopicsResponse{}};
    auto& items = std::get<CreateTopicsResponse>(answer.response).topics;
    const RequestItems named(request.topics, [](const auto& topic) { return topic.name; });
    for (const CreateTopicsRequest::Topic& topic : request.topics) {
        auto& item = items.emplace_back();
        item.name = answer.texts.keep(topic.name);
        const Place at{items.size() - 1};
        const auto once = named.check(topic.name);
        const auto made =
            once ? new_topic(by, topic) : Verdict<actions::CreateTopic>(refuse(once.error()));
        if (!made) {
            answer.refuse(at, made.error());
            continue;
        }
        describe(*made, item, answer.texts);
        if (!request.validate_only) answer.parts.push_back(part(*made, {at}, made->name));
    }
    chain_.start(by.now, by.caller, request.timeout_ms, std::move(answer), out);
}

// A name that is another's answers as one that is reserved for another.
Verdict<void> Admin::check_new_name(const Asked& by, std::string_view name) const {
    if (auto form = check_topic_name(name); !form) return form;
    if (world_.rights.find_topic(name) == nullptr) return {};
    const auto seen = world_.rights.topic(by.caller.principal, name, Right::see, by.now);
    if (!seen && seen.error().code == ErrorCode::topic_authorization_failed) {
        return refuse(
            ErrorCode::topic_authorization_failed,
            fmt::format("the name {} belongs to another tenant: choose another one", name));
    }
    return refuse(ErrorCode::topic_already_exists, fmt::format("the topic {} exists", name));
}

Verdict<actions::CreateTopic> Admin::new_topic(const Asked& by,
                                               const CreateTopicsRequest::Topic& topic) const {
    if (auto named = check_new_name(by, topic.name); !named) return refuse(named.error());
    const auto owner = world_.rights.new_topic_owner(by.caller.principal, topic.name);
    if (!owner) return refuse(owner.error());
    auto assignment = assignment_of(topic);
    if (!assignment) return refuse(assignment.error());
    auto settings = settings_of(topic.configs);
    if (!settings) return refuse(settings.error());
    const auto delegated = world_.rights.delegated(*owner, actions::CreateTopic::kName, topic.name);
    if (!delegated) return refuse(delegated.error());
    return actions::CreateTopic{.by = self(),
                                .owner = *owner,
                                .name = std::string(topic.name),
                                .settings = *std::move(settings),
                                .assignment = *std::move(assignment)};
}

Verdict<actions::Assignment> Admin::assignment_of(const CreateTopicsRequest::Topic& topic) const {
    const auto check_count = [](std::int64_t count) -> Verdict<void> {
        if (count >= 1 && count <= kPartitionsMax) return {};
        return refuse(ErrorCode::invalid_partitions,
                      fmt::format("a topic has 1 to {} partitions, not {}", kPartitionsMax, count));
    };
    if (topic.assignments.empty()) {
        const std::int32_t count =
            topic.num_partitions == kUnset ? kDefaultPartitions : topic.num_partitions;
        if (auto counted = check_count(count); !counted) return refuse(counted.error());
        const std::int32_t factor = topic.replication_factor == kUnset
                                        ? default_replication(world_.directory)
                                        : topic.replication_factor;
        return place(world_.directory, static_cast<std::size_t>(count), factor);
    }
    if (topic.num_partitions != kUnset || topic.replication_factor != kUnset) {
        return refuse(ErrorCode::invalid_request,
                      "replicas are given, and their numbers, too: leave the numbers at -1");
    }
    const std::size_t count = topic.assignments.size();
    if (auto counted = check_count(static_cast<std::int64_t>(count)); !counted) {
        return refuse(counted.error());
    }
    actions::Assignment made(count);
    for (const CreateTopicsRequest::Assignment& each : topic.assignments) {
        const auto index = static_cast<std::size_t>(each.partition_index);
        if (each.partition_index < 0 || index >= count || !made[index].brokers.empty()) {
            return refuse(ErrorCode::invalid_replica_assignment,
                          fmt::format("replicas of partition {}: the partitions are 0 to {}, and "
                                      "each is named once",
                                      each.partition_index,
                                      count - 1));
        }
        const auto checked = check_replicas(world_.directory, each.broker_ids);
        if (!checked) return refuse(checked.error());
        made[index].brokers = each.broker_ids;
    }
    return made;
}

void Admin::delete_topics(const Asked& by, const DeleteTopicsRequest& request, Effects& out) {
    ChainAnswer answer{DeleteTopicsResponse{}};
    auto& items = std::get<DeleteTopicsResponse>(answer.response).responses;
    const RequestItems named(request.topic_names, [](std::string_view name) { return name; });
    for (const std::string_view name : request.topic_names) {
        items.emplace_back().name = answer.texts.keep(name);
        const Place at{items.size() - 1};
        const auto once = named.check(name);
        const auto topic = once ? changeable(by, name, actions::DeleteTopic::kName)
                                : Verdict<const rows::Topic*>(refuse(once.error()));
        if (topic) {
            answer.parts.push_back(
                part(actions::DeleteTopic{.by = self(), .topic = (*topic)->id}, {at}));
        } else {
            answer.refuse(at, topic.error());
        }
    }
    chain_.start(by.now, by.caller, request.timeout_ms, std::move(answer), out);
}

void Admin::create_partitions(const Asked& by,
                              const CreatePartitionsRequest& request,
                              Effects& out) {
    ChainAnswer answer{CreatePartitionsResponse{}};
    auto& items = std::get<CreatePartitionsResponse>(answer.response).results;
    const RequestItems named(request.topics, [](const auto& topic) { return topic.name; });
    for (const CreatePartitionsRequest::Topic& topic : request.topics) {
        items.emplace_back().name = answer.texts.keep(topic.name);
        const Place at{items.size() - 1};
        const auto once = named.check(topic.name);
        const auto more =
            once ? more_partitions(by, topic) : Verdict<actions::AddParts>(refuse(once.error()));
        if (!more) {
            answer.refuse(at, more.error());
        } else if (!request.validate_only) {
            answer.parts.push_back(part(*more, {at}, topic.name));
        }
    }
    chain_.start(by.now, by.caller, request.timeout_ms, std::move(answer), out);
}

// The action says how many more there are to be: a second one before the first is final would add
// its own on top.
Verdict<actions::AddParts> Admin::more_partitions(
    const Asked& by, const CreatePartitionsRequest::Topic& topic) const {
    const auto found = changeable(by, topic.name, actions::AddParts::kName);
    if (!found) return refuse(found.error());
    if (chain_.is_under_way(actions::AddParts::kName, topic.name)) {
        return refuse(ErrorCode::request_timed_out,
                      "more partitions of it are being made: wait, and look how many there are");
    }
    const auto present = static_cast<std::int32_t>((*found)->partitions);
    if (topic.count <= present || topic.count > kPartitionsMax) {
        return refuse(ErrorCode::invalid_partitions,
                      fmt::format("{} has {} partitions; it can have more, up to {}, but not {}",
                                  topic.name,
                                  present,
                                  kPartitionsMax,
                                  topic.count));
    }
    const auto more = static_cast<std::size_t>(topic.count - present);
    actions::AddParts made{.by = self(), .topic = (*found)->id, .assignment = {}};
    if (!topic.assignments) {
        const rows::Partition* const first = world_.directory.find_partition({(*found)->id, 0});
        const auto factor = first == nullptr ? default_replication(world_.directory)
                                             : static_cast<std::int32_t>(first->replicas.size());
        auto placed = place(world_.directory, more, factor);
        if (!placed) return refuse(placed.error());
        made.assignment = *std::move(placed);
        return made;
    }
    if (topic.assignments->size() != more) {
        return refuse(ErrorCode::invalid_replica_assignment,
                      fmt::format("replicas of {} new partitions: {} are to be made",
                                  topic.assignments->size(),
                                  more));
    }
    for (const CreatePartitionsRequest::Assignment& each : *topic.assignments) {
        const auto checked = check_replicas(world_.directory, each.broker_ids);
        if (!checked) return refuse(checked.error());
        made.assignment.push_back({.brokers = each.broker_ids});
    }
    return made;
}

}  // namespace bps
