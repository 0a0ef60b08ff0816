#include "node/bps/core/metadata.hpp"

#include "node/bps/core/acls.hpp"
#include "node/bps/core/topic_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace bps {

namespace {

constexpr std::int8_t kBrokerEndpoints = 1;
constexpr std::int8_t kControllerEndpoints = 2;
constexpr std::string_view kInternalPrefix = "__";

bool is_among(const std::vector<Cluster::Node>& nodes, std::int32_t id) {
    return std::ranges::find(nodes, id, &Cluster::Node::id) != nodes.end();
}

// Who has logged in has topics of its own; what a token is for may be less.
std::int32_t cluster_operations(const Caller& caller) {
    using enum AclOperation;
    const std::int32_t of_all = bits_of({describe, describe_configs, idempotent_write});
    return caller.principal.scope == nullptr ? of_all | bits_of({create, alter}) : of_all;
}

}  // namespace

ApiVersionsResponse api_versions() {
    ApiVersionsResponse response;
    for (const Api& api : listed_apis())
        response.api_keys.push_back({api.key, api.version_min, api.version_max});
    return response;
}

std::optional<ResponseFrame> answer_unlisted(const RequestHeader& header) {
    if (header.key != ApiVersionsRequest::kApi.key) return std::nullopt;
    ApiVersionsResponse response = api_versions();
    response.error_code = ErrorCode::unsupported_version;
    return encode_response(header.correlation, 0, response);
}

std::string why_unlisted(const RequestHeader& header) {
    std::string why = fmt::format("key {} version {} is not listed", header.key, header.version);
    for (const Api& api : listed_apis()) {
        if (api.key != header.key || header.version >= api.version_min) continue;
        why +=
            fmt::format("; versions {} to {} are: use api.version.request=true, or a newer client",
                        api.version_min,
                        api.version_max);
    }
    return why;
}

std::int32_t Metadata::controller(const Nodes& nodes) const {
    if (nodes.empty()) return -1;
    const std::int32_t self = rights_.settings().broker;
    return is_among(nodes, self) ? self : nodes.front().id;
}

std::int32_t Metadata::topic_operations(std::int64_t now,
                                        const Caller& caller,
                                        std::string_view name) const {
    using enum AclOperation;
    const auto may = [&](Right right) {
        return rights_.topic(caller.principal, name, right, now).has_value();
    };
    std::int32_t bits = bits_of({describe, describe_configs});
    if (may(Right::consume)) bits |= bits_of({read});
    if (may(Right::produce)) bits |= bits_of({write});
    if (may(Right::admin)) bits |= bits_of({remove, alter, alter_configs});
    return bits;
}

// A replica is offline if clients cannot reach its broker.
MetadataResponse::Partition Metadata::describe_partition(PartitionId id, const Nodes& nodes) const {
    MetadataResponse::Partition answer;
    answer.partition_index = id.index;
    answer.leader_id = -1;
    answer.error_code = ErrorCode::leader_not_available;
    const rows::Partition* const row = directory_.find_partition(id);
    if (row == nullptr) return answer;
    answer.leader_epoch = row->leader_epoch;
    for (const rows::Replica& replica : row->replicas) {
        answer.replica_nodes.push_back(replica.broker);
        if (directory_.is_in_sync(replica)) answer.isr_nodes.push_back(replica.broker);
        if (!is_among(nodes, replica.broker)) answer.offline_replicas.push_back(replica.broker);
    }
    const auto leader = directory_.live_leader(*row);
    if (!leader || !is_among(nodes, *leader)) return answer;
    answer.leader_id = *leader;
    answer.error_code = ErrorCode::none;
    return answer;
}

// Whose rows are too old is told that there is no leader: clients ask again then.
MetadataResponse::Topic Metadata::describe_topic(std::int64_t now,
                                                 const Caller& caller,
                                                 std::string_view name,
                                                 const Nodes& nodes) const {
    MetadataResponse::Topic answer;
    answer.name = name;
    answer.is_internal = name.starts_with(kInternalPrefix);
    if (const auto named = check_topic_name(name); !named) {
        answer.error_code = named.error().code;
        return answer;
    }
    const auto allowed = rights_.topic(caller.principal, name, Right::see, now);
    if (!allowed) {
        const bool is_stale = allowed.error().code == ErrorCode::not_leader_or_follower;
        answer.error_code = is_stale ? ErrorCode::leader_not_available : allowed.error().code;
        return answer;
    }
    for (std::int32_t index = 0; index < allowed->partitions; ++index)
        answer.partitions.push_back(describe_partition({allowed->id, index}, nodes));
    return answer;
}

MetadataResponse Metadata::metadata(std::int64_t now,
                                    const Caller& caller,
                                    const MetadataRequest& request,
                                    Texts& texts) const {
    const Nodes nodes = directory_.nodes(caller);
    MetadataResponse response;
    for (const Cluster::Node& node : nodes) {
        response.brokers.push_back({.node_id = node.id,
                                    .host = texts.keep(node.host),
                                    .port = node.port,
                                    .rack = std::nullopt});
    }
    response.cluster_id = cluster_id_;
    response.controller_id = controller(nodes);
    const auto add = [&](std::string_view name) {
        response.topics.push_back(describe_topic(now, caller, name, nodes));
        auto& topic = response.topics.back();
        if (request.include_topic_authorized_operations && topic.error_code == ErrorCode::none) {
            topic.topic_authorized_operations = topic_operations(now, caller, name);
        }
    };
    // Version 0 has no null: an empty list is all of them.
    const bool wants_all = !request.topics || (caller.version == 0 && request.topics->empty());
    if (wants_all) {
        for (const auto& [name, id] : rights_.topic_names()) {
            const auto seen = rights_.topic(caller.principal, name, Right::see, now);
            const bool is_hidden =
                !seen && seen.error().code == ErrorCode::topic_authorization_failed;
            if (!is_hidden) add(name);
        }
    } else {
        // Each once, as often as it is named: the answer is not larger than what there is.
        std::set<std::string_view> names;
        for (const MetadataRequest::Topic& topic : *request.topics) {
            if (names.insert(topic.name).second) add(topic.name);
        }
    }
    if (request.include_cluster_authorized_operations) {
        response.cluster_authorized_operations = cluster_operations(caller);
    }
    return response;
}

DescribeClusterResponse Metadata::describe_cluster(const Caller& caller,
                                                   const DescribeClusterRequest& request,
                                                   Texts& texts) const {
    DescribeClusterResponse response;
    response.endpoint_type = request.endpoint_type;
    if (request.endpoint_type != kBrokerEndpoints) {
        response.error_code = request.endpoint_type == kControllerEndpoints
                                  ? ErrorCode::mismatched_endpoint_type
                                  : ErrorCode::unsupported_endpoint_type;
        response.error_message = texts.keep(
            fmt::format("endpoints of type {}: a broker knows those of type {} (brokers)",
                        request.endpoint_type,
                        kBrokerEndpoints));
        return response;
    }
    const Nodes nodes = directory_.nodes(caller);
    response.cluster_id = cluster_id_;
    response.controller_id = controller(nodes);
    for (const Cluster::Node& node : nodes) {
        response.brokers.push_back({.broker_id = node.id,
                                    .host = texts.keep(node.host),
                                    .port = node.port,
                                    .rack = std::nullopt});
    }
    if (request.include_cluster_authorized_operations) {
        response.cluster_authorized_operations = cluster_operations(caller);
    }
    return response;
}

}  // namespace bps
