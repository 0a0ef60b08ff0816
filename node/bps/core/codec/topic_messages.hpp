#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/error_code.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Topics and their partitions, made and changed.
namespace bps {

struct CreateTopicsRequest {
    static constexpr Api kApi{19, "CreateTopics", 0, 5, 5};

    struct Assignment {
        std::int32_t partition_index = 0;
        std::vector<std::int32_t> broker_ids;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("BrokerIds", self.broker_ids);
        }
    };

    struct Config {
        std::string_view name;
        std::optional<std::string_view> value;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Value", self.value);
        }
    };

    struct Topic {
        std::string_view name;
        std::int32_t num_partitions = 0;
        std::int16_t replication_factor = 0;
        std::vector<Assignment> assignments;
        std::vector<Config> configs;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("NumPartitions", self.num_partitions);
            walk("ReplicationFactor", self.replication_factor);
            walk("Assignments", self.assignments);
            walk("Configs", self.configs);
        }
    };

    std::vector<Topic> topics;
    std::int32_t timeout_ms = 60000;
    bool validate_only = false;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Topics", self.topics);
        walk("timeoutMs", self.timeout_ms);
        walk("validateOnly", self.validate_only, {.since = 1});
    }
};

struct CreateTopicsResponse {
    static constexpr Api kApi = CreateTopicsRequest::kApi;

    struct Config {
        std::string_view name;
        std::optional<std::string_view> value;
        bool read_only = false;
        std::int8_t config_source = -1;
        bool is_sensitive = false;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Value", self.value);
            walk("ReadOnly", self.read_only);
            walk("ConfigSource", self.config_source);
            walk("IsSensitive", self.is_sensitive);
        }
    };

    struct Topic {
        std::string_view name;
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;
        ErrorCode topic_config_error_code = ErrorCode::none;
        std::int32_t num_partitions = -1;
        std::int16_t replication_factor = -1;
        std::optional<std::vector<Config>> configs;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message, {.since = 1});
            walk("TopicConfigErrorCode", self.topic_config_error_code, {.since = 5, .tag = 0});
            walk("NumPartitions", self.num_partitions, {.since = 5});
            walk("ReplicationFactor", self.replication_factor, {.since = 5});
            walk("Configs", self.configs, {.since = 5});
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 2});
        walk("Topics", self.topics);
    }
};

struct DeleteTopicsRequest {
    static constexpr Api kApi{20, "DeleteTopics", 0, 5, 4};

    std::vector<std::string_view> topic_names;
    std::int32_t timeout_ms = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("TopicNames", self.topic_names);
        walk("TimeoutMs", self.timeout_ms);
    }
};

struct DeleteTopicsResponse {
    static constexpr Api kApi = DeleteTopicsRequest::kApi;

    struct Topic {
        std::string_view name;
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message, {.since = 5});
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Topic> responses;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 1});
        walk("Responses", self.responses);
    }
};

struct CreatePartitionsRequest {
    static constexpr Api kApi{37, "CreatePartitions", 0, 3, 2};

    struct Assignment {
        std::vector<std::int32_t> broker_ids;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("BrokerIds", self.broker_ids);
        }
    };

    struct Topic {
        std::string_view name;
        std::int32_t count = 0;
        std::optional<std::vector<Assignment>> assignments;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Count", self.count);
            walk("Assignments", self.assignments);
        }
    };

    std::vector<Topic> topics;
    std::int32_t timeout_ms = 0;
    bool validate_only = false;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Topics", self.topics);
        walk("TimeoutMs", self.timeout_ms);
        walk("ValidateOnly", self.validate_only);
    }
};

struct CreatePartitionsResponse {
    static constexpr Api kApi = CreatePartitionsRequest::kApi;

    struct Topic {
        std::string_view name;
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message);
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Topic> results;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("Results", self.results);
    }
};

struct ElectLeadersRequest {
    static constexpr Api kApi{43, "ElectLeaders", 0, 2, 2};

    struct Topic {
        std::string_view topic;
        std::vector<std::int32_t> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Topic", self.topic);
            walk("Partitions", self.partitions);
        }
    };

    std::int8_t election_type = 0;
    std::optional<std::vector<Topic>> topic_partitions;
    std::int32_t timeout_ms = 60000;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ElectionType", self.election_type, {.since = 1});
        walk("TopicPartitions", self.topic_partitions);
        walk("TimeoutMs", self.timeout_ms);
    }
};

struct ElectLeadersResponse {
    static constexpr Api kApi = ElectLeadersRequest::kApi;

    struct Partition {
        std::int32_t partition_id = 0;
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionId", self.partition_id);
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message);
        }
    };

    struct Topic {
        std::string_view topic;
        std::vector<Partition> partition_result;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Topic", self.topic);
            walk("PartitionResult", self.partition_result);
        }
    };

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::vector<Topic> replica_election_results;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("ErrorCode", self.error_code, {.since = 1});
        walk("ReplicaElectionResults", self.replica_election_results);
    }
};

struct AlterPartitionReassignmentsRequest {
    static constexpr Api kApi{45, "AlterPartitionReassignments", 0, 0, 0};

    struct Partition {
        std::int32_t partition_index = 0;
        std::optional<std::vector<std::int32_t>> replicas;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("Replicas", self.replicas);
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Partitions", self.partitions);
        }
    };

    std::int32_t timeout_ms = 60000;
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("TimeoutMs", self.timeout_ms);
        walk("Topics", self.topics);
    }
};

struct AlterPartitionReassignmentsResponse {
    static constexpr Api kApi = AlterPartitionReassignmentsRequest::kApi;

    struct Partition {
        std::int32_t partition_index = 0;
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message);
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Partitions", self.partitions);
        }
    };

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::optional<std::string_view> error_message;
    std::vector<Topic> responses;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("ErrorCode", self.error_code);
        walk("ErrorMessage", self.error_message);
        walk("Responses", self.responses);
    }
};

struct ListPartitionReassignmentsRequest {
    static constexpr Api kApi{46, "ListPartitionReassignments", 0, 0, 0};

    struct Topic {
        std::string_view name;
        std::vector<std::int32_t> partition_indexes;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("PartitionIndexes", self.partition_indexes);
        }
    };

    std::int32_t timeout_ms = 60000;
    std::optional<std::vector<Topic>> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("TimeoutMs", self.timeout_ms);
        walk("Topics", self.topics);
    }
};

struct ListPartitionReassignmentsResponse {
    static constexpr Api kApi = ListPartitionReassignmentsRequest::kApi;

    struct Partition {
        std::int32_t partition_index = 0;
        std::vector<std::int32_t> replicas;
        std::vector<std::int32_t> adding_replicas;
        std::vector<std::int32_t> removing_replicas;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("Replicas", self.replicas);
            walk("AddingReplicas", self.adding_replicas);
            walk("RemovingReplicas", self.removing_replicas);
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Partitions", self.partitions);
        }
    };

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::optional<std::string_view> error_message;
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("ErrorCode", self.error_code);
        walk("ErrorMessage", self.error_message);
        walk("Topics", self.topics);
    }
};

}  // namespace bps
