#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/error_code.hpp"
#include "node/bps/core/codec/stored_records.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Records in and out, and where they lie.
namespace bps {

struct ProduceRequest {
    static constexpr Api kApi{0, "Produce", 0, 9, 9};

    struct Partition {
        std::int32_t index = 0;
        std::optional<base::ByteView> records;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Index", self.index);
            walk("Records", self.records);
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partition_data;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("PartitionData", self.partition_data);
        }
    };

    std::optional<std::string_view> transactional_id;
    std::int16_t acks = 0;
    std::int32_t timeout_ms = 0;
    std::vector<Topic> topic_data;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("TransactionalId", self.transactional_id, {.since = 3});
        walk("Acks", self.acks);
        walk("TimeoutMs", self.timeout_ms);
        walk("TopicData", self.topic_data);
    }
};

struct ProduceResponse {
    static constexpr Api kApi = ProduceRequest::kApi;

    struct RecordError {
        std::int32_t batch_index = 0;
        std::optional<std::string_view> batch_index_error_message;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("BatchIndex", self.batch_index);
            walk("BatchIndexErrorMessage", self.batch_index_error_message);
        }
    };

    struct Partition {
        std::int32_t index = 0;
        ErrorCode error_code = ErrorCode::none;
        std::int64_t base_offset = 0;
        std::int64_t log_append_time_ms = -1;
        std::int64_t log_start_offset = -1;
        std::vector<RecordError> record_errors;
        std::optional<std::string_view> error_message;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Index", self.index);
            walk("ErrorCode", self.error_code);
            walk("BaseOffset", self.base_offset);
            walk("LogAppendTimeMs", self.log_append_time_ms, {.since = 2});
            walk("LogStartOffset", self.log_start_offset, {.since = 5});
            walk("RecordErrors", self.record_errors, {.since = 8});
            walk("ErrorMessage", self.error_message, {.since = 8});
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partition_responses;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("PartitionResponses", self.partition_responses);
        }
    };

    std::vector<Topic> responses;
    std::int32_t throttle_time_ms = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Responses", self.responses);
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 1});
    }
};

struct FetchRequest {
    static constexpr Api kApi{1, "Fetch", 4, 12, 12};

    struct Partition {
        std::int32_t partition = 0;
        std::int32_t current_leader_epoch = -1;
        std::int64_t fetch_offset = 0;
        std::int32_t last_fetched_epoch = -1;
        std::int64_t log_start_offset = -1;
        std::int32_t partition_max_bytes = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Partition", self.partition);
            walk("CurrentLeaderEpoch", self.current_leader_epoch, {.since = 9});
            walk("FetchOffset", self.fetch_offset);
            walk("LastFetchedEpoch", self.last_fetched_epoch, {.since = 12});
            walk("LogStartOffset", self.log_start_offset, {.since = 5});
            walk("PartitionMaxBytes", self.partition_max_bytes);
        }
    };

    struct Topic {
        std::string_view topic;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Topic", self.topic);
            walk("Partitions", self.partitions);
        }
    };

    struct ForgottenTopic {
        std::string_view topic;
        std::vector<std::int32_t> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Topic", self.topic);
            walk("Partitions", self.partitions);
        }
    };

    std::optional<std::string_view> cluster_id;
    std::int32_t replica_id = -1;
    std::int32_t max_wait_ms = 0;
    std::int32_t min_bytes = 0;
    std::int32_t max_bytes = 0x7FFFFFFF;
    std::int8_t isolation_level = 0;
    std::int32_t session_id = 0;
    std::int32_t session_epoch = -1;
    std::vector<Topic> topics;
    std::vector<ForgottenTopic> forgotten_topics_data;
    std::string_view rack_id;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ClusterId", self.cluster_id, {.since = 12, .tag = 0});
        walk("ReplicaId", self.replica_id);
        walk("MaxWaitMs", self.max_wait_ms);
        walk("MinBytes", self.min_bytes);
        walk("MaxBytes", self.max_bytes);
        walk("IsolationLevel", self.isolation_level);
        walk("SessionId", self.session_id, {.since = 7});
        walk("SessionEpoch", self.session_epoch, {.since = 7});
        walk("Topics", self.topics);
        walk("ForgottenTopicsData", self.forgotten_topics_data, {.since = 7});
        walk("RackId", self.rack_id, {.since = 11});
    }
};

struct FetchResponse {
    static constexpr Api kApi = FetchRequest::kApi;

    struct AbortedTransaction {
        std::int64_t producer_id = 0;
        std::int64_t first_offset = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ProducerId", self.producer_id);
            walk("FirstOffset", self.first_offset);
        }
    };

    struct Partition {
        std::int32_t partition_index = 0;
        ErrorCode error_code = ErrorCode::none;
        std::int64_t high_watermark = 0;
        std::int64_t last_stable_offset = -1;
        std::int64_t log_start_offset = -1;
        std::optional<std::vector<AbortedTransaction>> aborted_transactions;
        std::int32_t preferred_read_replica = -1;
        StoredRecords records;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("ErrorCode", self.error_code);
            walk("HighWatermark", self.high_watermark);
            walk("LastStableOffset", self.last_stable_offset);
            walk("LogStartOffset", self.log_start_offset, {.since = 5});
            walk("AbortedTransactions", self.aborted_transactions);
            walk("PreferredReadReplica", self.preferred_read_replica, {.since = 11});
            walk("Records", self.records);
        }
    };

    struct Topic {
        std::string_view topic;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Topic", self.topic);
            walk("Partitions", self.partitions);
        }
    };

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::int32_t session_id = 0;
    std::vector<Topic> responses;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("ErrorCode", self.error_code, {.since = 7});
        walk("SessionId", self.session_id, {.since = 7});
        walk("Responses", self.responses);
    }
};

struct ListOffsetsRequest {
    static constexpr Api kApi{2, "ListOffsets", 1, 7, 6};

    struct Partition {
        std::int32_t partition_index = 0;
        std::int32_t current_leader_epoch = -1;
        std::int64_t timestamp = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("CurrentLeaderEpoch", self.current_leader_epoch, {.since = 4});
            walk("Timestamp", self.timestamp);
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

    std::int32_t replica_id = 0;
    std::int8_t isolation_level = 0;
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ReplicaId", self.replica_id);
        walk("IsolationLevel", self.isolation_level, {.since = 2});
        walk("Topics", self.topics);
    }
};

struct ListOffsetsResponse {
    static constexpr Api kApi = ListOffsetsRequest::kApi;

    struct Partition {
        std::int32_t partition_index = 0;
        ErrorCode error_code = ErrorCode::none;
        std::int64_t timestamp = -1;
        std::int64_t offset = -1;
        std::int32_t leader_epoch = -1;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("ErrorCode", self.error_code);
            walk("Timestamp", self.timestamp);
            walk("Offset", self.offset);
            walk("LeaderEpoch", self.leader_epoch, {.since = 4});
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
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 2});
        walk("Topics", self.topics);
    }
};

struct InitProducerIdRequest {
    static constexpr Api kApi{22, "InitProducerId", 0, 4, 2};

    std::optional<std::string_view> transactional_id;
    std::int32_t transaction_timeout_ms = 0;
    std::int64_t producer_id = -1;
    std::int16_t producer_epoch = -1;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("TransactionalId", self.transactional_id);
        walk("TransactionTimeoutMs", self.transaction_timeout_ms);
        walk("ProducerId", self.producer_id, {.since = 3});
        walk("ProducerEpoch", self.producer_epoch, {.since = 3});
    }
};

struct InitProducerIdResponse {
    static constexpr Api kApi = InitProducerIdRequest::kApi;

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::int64_t producer_id = -1;
    std::int16_t producer_epoch = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("ErrorCode", self.error_code);
        walk("ProducerId", self.producer_id);
        walk("ProducerEpoch", self.producer_epoch);
    }
};

struct OffsetForLeaderEpochRequest {
    static constexpr Api kApi{23, "OffsetForLeaderEpoch", 0, 4, 4};

    struct Partition {
        std::int32_t partition = 0;
        std::int32_t current_leader_epoch = -1;
        std::int32_t leader_epoch = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Partition", self.partition);
            walk("CurrentLeaderEpoch", self.current_leader_epoch, {.since = 2});
            walk("LeaderEpoch", self.leader_epoch);
        }
    };

    struct Topic {
        std::string_view topic;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Topic", self.topic);
            walk("Partitions", self.partitions);
        }
    };

    std::int32_t replica_id = -2;
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ReplicaId", self.replica_id, {.since = 3});
        walk("Topics", self.topics);
    }
};

struct OffsetForLeaderEpochResponse {
    static constexpr Api kApi = OffsetForLeaderEpochRequest::kApi;

    struct Partition {
        ErrorCode error_code = ErrorCode::none;
        std::int32_t partition = 0;
        std::int32_t leader_epoch = -1;
        std::int64_t end_offset = -1;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("Partition", self.partition);
            walk("LeaderEpoch", self.leader_epoch, {.since = 1});
            walk("EndOffset", self.end_offset);
        }
    };

    struct Topic {
        std::string_view topic;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Topic", self.topic);
            walk("Partitions", self.partitions);
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

struct DeleteRecordsRequest {
    static constexpr Api kApi{21, "DeleteRecords", 0, 2, 2};

    struct Partition {
        std::int32_t partition_index = 0;
        std::int64_t offset = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("Offset", self.offset);
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

    std::vector<Topic> topics;
    std::int32_t timeout_ms = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Topics", self.topics);
        walk("TimeoutMs", self.timeout_ms);
    }
};

struct DeleteRecordsResponse {
    static constexpr Api kApi = DeleteRecordsRequest::kApi;

    struct Partition {
        std::int32_t partition_index = 0;
        std::int64_t low_watermark = 0;
        ErrorCode error_code = ErrorCode::none;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("LowWatermark", self.low_watermark);
            walk("ErrorCode", self.error_code);
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
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("Topics", self.topics);
    }
};

}  // namespace bps
