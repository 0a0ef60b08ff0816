#include "cli/kafka_groups.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace cli {

namespace {

tl::unexpected<KafkaError> fail(const rd_kafka_error_t* error) {
    return tl::unexpected(KafkaError{rd_kafka_error_code(error), rd_kafka_error_string(error)});
}

std::string text_of(const char* text) {
    return text == nullptr ? "" : text;
}

std::string state_text(rd_kafka_consumer_group_state_t state) {
    return text_of(rd_kafka_consumer_group_state_name(state));
}

std::vector<KafkaOffset> offsets_of(const rd_kafka_topic_partition_list_t* list) {
    std::vector<KafkaOffset> offsets;
    for (int i = 0; list != nullptr && i < list->cnt; ++i) {
        const rd_kafka_topic_partition_t& each = list->elems[i];
        offsets.push_back({each.topic, each.partition, each.offset});
    }
    std::ranges::sort(
        offsets, {}, [](const KafkaOffset& each) { return std::tie(each.topic, each.partition); });
    return offsets;
}

// The one group of an answer: its error, or that of one of its partitions.
KafkaResult<std::vector<KafkaOffset>> group_result(const rd_kafka_group_result_t** groups,
                                                   std::size_t count) {
    if (count != 1) {
        return tl::unexpected(
            KafkaError{RD_KAFKA_RESP_ERR__BAD_MSG, "the answer is not about one group"});
    }
    if (const auto* error = rd_kafka_group_result_error(groups[0]); error != nullptr) {
        return fail(error);
    }
    const auto* places = rd_kafka_group_result_partitions(groups[0]);
    for (int i = 0; places != nullptr && i < places->cnt; ++i) {
        const auto code = places->elems[i].err;
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
            return tl::unexpected(KafkaError{code, rd_kafka_err2str(code)});
        }
    }
    return offsets_of(places);
}

KafkaMember member_of(const rd_kafka_MemberDescription_t* member) {
    const auto* assignment = rd_kafka_MemberDescription_assignment(member);
    return {.id = text_of(rd_kafka_MemberDescription_consumer_id(member)),
            .client = text_of(rd_kafka_MemberDescription_client_id(member)),
            .host = text_of(rd_kafka_MemberDescription_host(member)),
            .partitions = offsets_of(assignment == nullptr
                                         ? nullptr
                                         : rd_kafka_MemberAssignment_partitions(assignment))};
}

KafkaGroupDetails details_of(const rd_kafka_ConsumerGroupDescription_t* group) {
    const auto* node = rd_kafka_ConsumerGroupDescription_coordinator(group);
    KafkaGroupDetails details{
        .state = state_text(rd_kafka_ConsumerGroupDescription_state(group)),
        .assignor = text_of(rd_kafka_ConsumerGroupDescription_partition_assignor(group)),
        .coordinator = node == nullptr ? -1 : rd_kafka_Node_id(node),
        .members = {}};
    const std::size_t count = rd_kafka_ConsumerGroupDescription_member_count(group);
    for (std::size_t i = 0; i < count; ++i)
        details.members.push_back(member_of(rd_kafka_ConsumerGroupDescription_member(group, i)));
    return details;
}

}  // namespace

KafkaResult<std::vector<KafkaGroup>> list_groups(KafkaClient& client) {
    const auto event =
        client.ask(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS, [&](const auto* options, auto* queue) {
            rd_kafka_ListConsumerGroups(client.get(), options, queue);
        });
    if (!event) return tl::unexpected(event.error());
    const auto* result = rd_kafka_event_ListConsumerGroups_result(event->get());
    std::size_t count = 0;
    if (const auto** errors = rd_kafka_ListConsumerGroups_result_errors(result, &count);
        count > 0) {
        return fail(errors[0]);
    }
    const auto** valid = rd_kafka_ListConsumerGroups_result_valid(result, &count);
    std::vector<KafkaGroup> groups;
    groups.reserve(count);
    for (const auto* each : std::span(valid, count)) {
        groups.push_back({text_of(rd_kafka_ConsumerGroupListing_group_id(each)),
                          state_text(rd_kafka_ConsumerGroupListing_state(each))});
    }
    std::ranges::sort(groups, {}, &KafkaGroup::name);
    return groups;
}

KafkaResult<KafkaGroupDetails> describe_group(KafkaClient& client, const std::string& group) {
    const char* name = group.c_str();
    const auto event =
        client.ask(RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, [&](const auto* options, auto* queue) {
            rd_kafka_DescribeConsumerGroups(client.get(), &name, 1, options, queue);
        });
    if (!event) return tl::unexpected(event.error());
    std::size_t count = 0;
    const auto** groups = rd_kafka_DescribeConsumerGroups_result_groups(
        rd_kafka_event_DescribeConsumerGroups_result(event->get()), &count);
    if (count != 1) {
        return tl::unexpected(
            KafkaError{RD_KAFKA_RESP_ERR__BAD_MSG, "the answer is not about one group"});
    }
    if (const auto* error = rd_kafka_ConsumerGroupDescription_error(groups[0]);
        error != nullptr && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return fail(error);
    }
    return details_of(groups[0]);
}

KafkaResult<std::vector<KafkaOffset>> kept_offsets(KafkaClient& client, const std::string& group) {
    const Owner<rd_kafka_ListConsumerGroupOffsets_t, rd_kafka_ListConsumerGroupOffsets_destroy>
        asked(rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), nullptr));
    auto* one = asked.get();
    const auto event = client.ask(
        RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, [&](const auto* options, auto* queue) {
            rd_kafka_ListConsumerGroupOffsets(client.get(), &one, 1, options, queue);
        });
    if (!event) return tl::unexpected(event.error());
    std::size_t count = 0;
    const auto** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
        rd_kafka_event_ListConsumerGroupOffsets_result(event->get()), &count);
    return group_result(groups, count);
}

KafkaResult<void> keep_offsets(KafkaClient& client,
                               const std::string& group,
                               const std::vector<KafkaOffset>& offsets) {
    const KafkaPlaces places(rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
    for (const KafkaOffset& each : offsets) {
        rd_kafka_topic_partition_list_add(places.get(), each.topic.c_str(), each.partition)
            ->offset = each.offset;
    }
    const Owner<rd_kafka_AlterConsumerGroupOffsets_t, rd_kafka_AlterConsumerGroupOffsets_destroy>
        asked(rd_kafka_AlterConsumerGroupOffsets_new(group.c_str(), places.get()));
    auto* one = asked.get();
    const auto event = client.ask(
        RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, [&](const auto* options, auto* queue) {
            rd_kafka_AlterConsumerGroupOffsets(client.get(), &one, 1, options, queue);
        });
    if (!event) return tl::unexpected(event.error());
    std::size_t count = 0;
    const auto** groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
        rd_kafka_event_AlterConsumerGroupOffsets_result(event->get()), &count);
    const auto result = group_result(groups, count);
    return result ? KafkaResult<void>() : tl::unexpected(result.error());
}

KafkaResult<void> delete_group(KafkaClient& client, const std::string& group) {
    const Owner<rd_kafka_DeleteGroup_t, rd_kafka_DeleteGroup_destroy> asked(
        rd_kafka_DeleteGroup_new(group.c_str()));
    auto* one = asked.get();
    const auto event =
        client.ask(RD_KAFKA_ADMIN_OP_DELETEGROUPS, [&](const auto* options, auto* queue) {
            rd_kafka_DeleteGroups(client.get(), &one, 1, options, queue);
        });
    if (!event) return tl::unexpected(event.error());
    std::size_t count = 0;
    const auto** groups = rd_kafka_DeleteGroups_result_groups(
        rd_kafka_event_DeleteGroups_result(event->get()), &count);
    const auto result = group_result(groups, count);
    return result ? KafkaResult<void>() : tl::unexpected(result.error());
}

}  // namespace cli
