#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/error_code.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Who is there, who may come in, and what is spoken.
namespace bps {

struct ApiVersionsRequest {
    static constexpr Api kApi{18, "ApiVersions", 0, 3, 3};

    std::string_view client_software_name;
    std::string_view client_software_version;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ClientSoftwareName", self.client_software_name, {.since = 3});
        walk("ClientSoftwareVersion", self.client_software_version, {.since = 3});
    }
};

struct ApiVersionsResponse {
    static constexpr Api kApi = ApiVersionsRequest::kApi;

    struct ApiVersion {
        std::int16_t api_key = 0;
        std::int16_t min_version = 0;
        std::int16_t max_version = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ApiKey", self.api_key);
            walk("MinVersion", self.min_version);
            walk("MaxVersion", self.max_version);
        }
    };

    ErrorCode error_code = ErrorCode::none;
    std::vector<ApiVersion> api_keys;
    std::int32_t throttle_time_ms = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ErrorCode", self.error_code);
        walk("ApiKeys", self.api_keys);
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 1});
    }
};

struct SaslHandshakeRequest {
    static constexpr Api kApi{17, "SaslHandshake", 0, 1, kNeverFlexible};

    std::string_view mechanism;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Mechanism", self.mechanism);
    }
};

struct SaslHandshakeResponse {
    static constexpr Api kApi = SaslHandshakeRequest::kApi;

    ErrorCode error_code = ErrorCode::none;
    std::vector<std::string_view> mechanisms;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ErrorCode", self.error_code);
        walk("Mechanisms", self.mechanisms);
    }
};

struct SaslAuthenticateRequest {
    static constexpr Api kApi{36, "SaslAuthenticate", 0, 2, 2};

    base::ByteView auth_bytes;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("AuthBytes", self.auth_bytes);
    }
};

struct SaslAuthenticateResponse {
    static constexpr Api kApi = SaslAuthenticateRequest::kApi;

    ErrorCode error_code = ErrorCode::none;
    std::optional<std::string_view> error_message;
    base::ByteView auth_bytes;
    std::int64_t session_lifetime_ms = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ErrorCode", self.error_code);
        walk("ErrorMessage", self.error_message);
        walk("AuthBytes", self.auth_bytes);
        walk("SessionLifetimeMs", self.session_lifetime_ms, {.since = 1});
    }
};

struct MetadataRequest {
    static constexpr Api kApi{3, "Metadata", 0, 9, 9};

    struct Topic {
        std::string_view name;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
        }
    };

    std::optional<std::vector<Topic>> topics;
    bool allow_auto_topic_creation = true;
    bool include_cluster_authorized_operations = false;
    bool include_topic_authorized_operations = false;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Topics", self.topics, {.null_since = 1});
        walk("AllowAutoTopicCreation", self.allow_auto_topic_creation, {.since = 4});
        walk("IncludeClusterAuthorizedOperations",
             self.include_cluster_authorized_operations,
             {.since = 8});
        walk("IncludeTopicAuthorizedOperations",
             self.include_topic_authorized_operations,
             {.since = 8});
    }
};

struct MetadataResponse {
    static constexpr Api kApi = MetadataRequest::kApi;

    struct Broker {
        std::int32_t node_id = 0;
        std::string_view host;
        std::int32_t port = 0;
        std::optional<std::string_view> rack;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("NodeId", self.node_id);
            walk("Host", self.host);
            walk("Port", self.port);
            walk("Rack", self.rack, {.since = 1});
        }
    };

    struct Partition {
        ErrorCode error_code = ErrorCode::none;
        std::int32_t partition_index = 0;
        std::int32_t leader_id = 0;
        std::int32_t leader_epoch = -1;
        std::vector<std::int32_t> replica_nodes;
        std::vector<std::int32_t> isr_nodes;
        std::vector<std::int32_t> offline_replicas;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("PartitionIndex", self.partition_index);
            walk("LeaderId", self.leader_id);
            walk("LeaderEpoch", self.leader_epoch, {.since = 7});
            walk("ReplicaNodes", self.replica_nodes);
            walk("IsrNodes", self.isr_nodes);
            walk("OfflineReplicas", self.offline_replicas, {.since = 5});
        }
    };

    struct Topic {
        ErrorCode error_code = ErrorCode::none;
        std::string_view name;
        bool is_internal = false;
        std::vector<Partition> partitions;
        std::int32_t topic_authorized_operations = kNoOperations;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("Name", self.name);
            walk("IsInternal", self.is_internal, {.since = 1});
            walk("Partitions", self.partitions);
            walk("TopicAuthorizedOperations", self.topic_authorized_operations, {.since = 8});
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Broker> brokers;
    std::optional<std::string_view> cluster_id;
    std::int32_t controller_id = -1;
    std::vector<Topic> topics;
    std::int32_t cluster_authorized_operations = kNoOperations;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 3});
        walk("Brokers", self.brokers);
        walk("ClusterId", self.cluster_id, {.since = 2});
        walk("ControllerId", self.controller_id, {.since = 1});
        walk("Topics", self.topics);
        walk("ClusterAuthorizedOperations", self.cluster_authorized_operations, {.since = 8});
    }
};

struct FindCoordinatorRequest {
    static constexpr Api kApi{10, "FindCoordinator", 0, 3, 3};

    std::string_view key;
    std::int8_t key_type = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Key", self.key);
        walk("KeyType", self.key_type, {.since = 1});
    }
};

struct FindCoordinatorResponse {
    static constexpr Api kApi = FindCoordinatorRequest::kApi;

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::optional<std::string_view> error_message;
    std::int32_t node_id = 0;
    std::string_view host;
    std::int32_t port = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 1});
        walk("ErrorCode", self.error_code);
        walk("ErrorMessage", self.error_message, {.since = 1});
        walk("NodeId", self.node_id);
        walk("Host", self.host);
        walk("Port", self.port);
    }
};

struct DescribeClusterRequest {
    static constexpr Api kApi{60, "DescribeCluster", 0, 1, 0};

    bool include_cluster_authorized_operations = false;
    std::int8_t endpoint_type = 1;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("IncludeClusterAuthorizedOperations", self.include_cluster_authorized_operations);
        walk("EndpointType", self.endpoint_type, {.since = 1});
    }
};

struct DescribeClusterResponse {
    static constexpr Api kApi = DescribeClusterRequest::kApi;

    struct Broker {
        std::int32_t broker_id = 0;
        std::string_view host;
        std::int32_t port = 0;
        std::optional<std::string_view> rack;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("BrokerId", self.broker_id);
            walk("Host", self.host);
            walk("Port", self.port);
            walk("Rack", self.rack);
        }
    };

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::optional<std::string_view> error_message;
    std::int8_t endpoint_type = 1;
    std::string_view cluster_id;
    std::int32_t controller_id = -1;
    std::vector<Broker> brokers;
    std::int32_t cluster_authorized_operations = kNoOperations;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("ErrorCode", self.error_code);
        walk("ErrorMessage", self.error_message);
        walk("EndpointType", self.endpoint_type, {.since = 1});
        walk("ClusterId", self.cluster_id);
        walk("ControllerId", self.controller_id);
        walk("Brokers", self.brokers);
        walk("ClusterAuthorizedOperations", self.cluster_authorized_operations);
    }
};

}  // namespace bps
