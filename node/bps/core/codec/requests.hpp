#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "node/bps/core/codec/acl_messages.hpp"
#include "node/bps/core/codec/cluster_messages.hpp"
#include "node/bps/core/codec/config_messages.hpp"
#include "node/bps/core/codec/data_messages.hpp"
#include "node/bps/core/codec/group_messages.hpp"
#include "node/bps/core/codec/offset_messages.hpp"
#include "node/bps/core/codec/topic_messages.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace bps {

// Every request that is listed (spec 08, "Protocol"), by ascending key. Borrows from its frame.
using Request = std::variant<ProduceRequest,
                             FetchRequest,
                             ListOffsetsRequest,
                             MetadataRequest,
                             OffsetCommitRequest,
                             OffsetFetchRequest,
                             FindCoordinatorRequest,
                             JoinGroupRequest,
                             HeartbeatRequest,
                             LeaveGroupRequest,
                             SyncGroupRequest,
                             DescribeGroupsRequest,
                             ListGroupsRequest,
                             SaslHandshakeRequest,
                             ApiVersionsRequest,
                             CreateTopicsRequest,
                             DeleteTopicsRequest,
                             DeleteRecordsRequest,
                             InitProducerIdRequest,
                             OffsetForLeaderEpochRequest,
                             DescribeAclsRequest,
                             CreateAclsRequest,
                             DeleteAclsRequest,
                             DescribeConfigsRequest,
                             AlterConfigsRequest,
                             SaslAuthenticateRequest,
                             CreatePartitionsRequest,
                             DeleteGroupsRequest,
                             ElectLeadersRequest,
                             IncrementalAlterConfigsRequest,
                             AlterPartitionReassignmentsRequest,
                             ListPartitionReassignmentsRequest,
                             OffsetDeleteRequest,
                             DescribeClusterRequest>;

// The messages that are listed, by ascending key: the answer to ApiVersions.
[[nodiscard]] std::span<const Api> listed_apis();
// The message that has this key; null: none that is listed.
[[nodiscard]] const Api* find_api(std::int16_t key);

// What stands before each request. Versions 1 and 2 of Kafka's request header; version 0 belongs
// to a message that is not listed.
struct RequestHeader {
    std::int16_t key = 0;
    std::int16_t version = 0;
    std::int32_t correlation = 0;
    std::optional<std::string_view> client_id;
};

// A request's header, and its body as it came.
struct RequestFrame {
    RequestHeader header;
    // Null: the key or the version is not listed. Then nobody knows where the header ends:
    // `client_id` and `body` are empty.
    const Api* api = nullptr;
    base::ByteView body;
};

// Reads a frame without the length before it. malformed: the header does not decode.
[[nodiscard]] base::Result<RequestFrame> read_request_frame(base::ByteView frame);

// Reads the body of a frame whose key and version are listed; bytes behind its last field are
// passed over. malformed: it does not decode; the text names the field and where it is.
[[nodiscard]] base::Result<Request> decode_request(const RequestFrame& frame);

}  // namespace bps
