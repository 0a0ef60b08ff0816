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
    offset_metadata_too_large = 12,
    coordinator_load_in_progress = 14,
    coordinator_not_available = 15,
    not_coordinator = 16,
    invalid_topic_exception = 17,
    not_enough_replicas = 19,
    invalid_required_acks = 21,
    illegal_generation = 22,
    inconsistent_group_protocol = 23,
    invalid_group_id = 24,
    unknown_member_id = 25,
    invalid_session_timeout = 26,
    rebalance_in_progress = 27,
    invalid_commit_offset_size = 28,
    topic_authorization_failed = 29,
    group_authorization_failed = 30,
    cluster_authorization_failed = 31,
    invalid_timestamp = 32,
    unsupported_version = 35,
    invalid_request = 42,
    unsupported_for_message_format = 43,
    policy_violation = 44,
    out_of_order_sequence_number = 45,
    invalid_producer_epoch = 47,
    transactional_id_authorization_failed = 53,
    kafka_storage_error = 56,
    sasl_authentication_failed = 58,
    non_empty_group = 68,
    group_id_not_found = 69,
    fetch_session_id_not_found = 70,
    fenced_leader_epoch = 74,
    unknown_leader_epoch = 75,
    unsupported_compression_type = 76,
    offset_not_available = 78,
    member_id_required = 79,
    group_max_size_reached = 81,
    fenced_instance_id = 82,
    group_subscribed_to_topic = 86,
    invalid_record = 87,
};

}  // namespace bps
