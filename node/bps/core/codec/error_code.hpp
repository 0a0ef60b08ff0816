#pragma once

#include <cstdint>

namespace bps {

// Kafka's error codes, as far as this broker answers with them.
enum class ErrorCode : std::int16_t {
    unknown_server_error = -1,
    none = 0,
    offset_out_of_range = 1,
    corrupt_message = 2,
    unknown_topic_or_partition = 3,
    leader_not_available = 5,
    not_leader_or_follower = 6,
    request_timed_out = 7,
    message_too_large = 10,
    invalid_topic_exception = 17,
    not_enough_replicas = 19,
    invalid_required_acks = 21,
    topic_authorization_failed = 29,
    group_authorization_failed = 30,
    cluster_authorization_failed = 31,
    invalid_timestamp = 32,
    unsupported_version = 35,
    unsupported_for_message_format = 43,
    policy_violation = 44,
    out_of_order_sequence_number = 45,
    invalid_producer_epoch = 47,
    transactional_id_authorization_failed = 53,
    kafka_storage_error = 56,
    fenced_leader_epoch = 74,
    unknown_leader_epoch = 75,
    unsupported_compression_type = 76,
    offset_not_available = 78,
    invalid_record = 87,
};

}  // namespace bps
