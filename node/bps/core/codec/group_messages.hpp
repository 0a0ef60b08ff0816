#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/error_code.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// The members of consumer groups.
namespace bps {

struct JoinGroupRequest {
    static constexpr Api kApi{11, "JoinGroup", 0, 7, 6};

    struct Protocol {
        std::string_view name;
        base::ByteView metadata;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Metadata", self.metadata);
        }
    };

    std::string_view group_id;
    std::int32_t session_timeout_ms = 0;
    std::int32_t rebalance_timeout_ms = -1;
    std::string_view member_id;
    std::optional<std::string_view> group_instance_id;
    std::string_view protocol_type;
    std::vector<Protocol> protocols;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("GroupId", self.group_id);
        walk("SessionTimeoutMs", self.session_timeout_ms);
        walk("RebalanceTimeoutMs", self.rebalance_timeout_ms, {.since = 1});
        walk("MemberId", self.member_id);
        walk("GroupInstanceId", self.group_instance_id, {.since = 5});
        walk("ProtocolType", self.protocol_type);
        walk("Protocols", self.protocols);
    }
};

struct JoinGroupResponse {
    static constexpr Api kApi = JoinGroupRequest::kApi;

    struct Member {
        std::string_view member_id;
        std::optional<std::string_view> group_instance_id;
        base::ByteView metadata;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("MemberId", self.member_id);
            walk("GroupInstanceId", self.group_instance_id, {.since = 5});
            walk("Metadata", self.metadata);
        }
    };

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::int32_t generation_id = -1;
    std::optional<std::string_view> protocol_type;
    std::optional<std::string_view> protocol_name;
    std::string_view leader;
    std::string_view member_id;
    std::vector<Member> members;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 2});
        walk("ErrorCode", self.error_code);
        walk("GenerationId", self.generation_id);
        walk("ProtocolType", self.protocol_type, {.since = 7});
        walk("ProtocolName", self.protocol_name, {.null_since = 7});
        walk("Leader", self.leader);
        walk("MemberId", self.member_id);
        walk("Members", self.members);
    }
};

struct HeartbeatRequest {
    static constexpr Api kApi{12, "Heartbeat", 0, 4, 4};

    std::string_view group_id;
    std::int32_t generation_id = 0;
    std::string_view member_id;
    std::optional<std::string_view> group_instance_id;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("GroupId", self.group_id);
        walk("GenerationId", self.generation_id);
        walk("MemberId", self.member_id);
        walk("GroupInstanceId", self.group_instance_id, {.since = 3});
    }
};

struct HeartbeatResponse {
    static constexpr Api kApi = HeartbeatRequest::kApi;

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 1});
        walk("ErrorCode", self.error_code);
    }
};

struct LeaveGroupRequest {
    static constexpr Api kApi{13, "LeaveGroup", 0, 4, 4};

    struct Member {
        std::string_view member_id;
        std::optional<std::string_view> group_instance_id;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("MemberId", self.member_id);
            walk("GroupInstanceId", self.group_instance_id);
        }
    };

    std::string_view group_id;
    std::string_view member_id;
    std::vector<Member> members;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("GroupId", self.group_id);
        walk("MemberId", self.member_id, {.until = 2});
        walk("Members", self.members, {.since = 3});
    }
};

struct LeaveGroupResponse {
    static constexpr Api kApi = LeaveGroupRequest::kApi;

    struct Member {
        std::string_view member_id;
        std::optional<std::string_view> group_instance_id;
        ErrorCode error_code = ErrorCode::none;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("MemberId", self.member_id);
            walk("GroupInstanceId", self.group_instance_id);
            walk("ErrorCode", self.error_code);
        }
    };

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::vector<Member> members;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 1});
        walk("ErrorCode", self.error_code);
        walk("Members", self.members, {.since = 3});
    }
};

struct SyncGroupRequest {
    static constexpr Api kApi{14, "SyncGroup", 0, 5, 4};

    struct Assignment {
        std::string_view member_id;
        base::ByteView assignment;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("MemberId", self.member_id);
            walk("Assignment", self.assignment);
        }
    };

    std::string_view group_id;
    std::int32_t generation_id = 0;
    std::string_view member_id;
    std::optional<std::string_view> group_instance_id;
    std::optional<std::string_view> protocol_type;
    std::optional<std::string_view> protocol_name;
    std::vector<Assignment> assignments;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("GroupId", self.group_id);
        walk("GenerationId", self.generation_id);
        walk("MemberId", self.member_id);
        walk("GroupInstanceId", self.group_instance_id, {.since = 3});
        walk("ProtocolType", self.protocol_type, {.since = 5});
        walk("ProtocolName", self.protocol_name, {.since = 5});
        walk("Assignments", self.assignments);
    }
};

struct SyncGroupResponse {
    static constexpr Api kApi = SyncGroupRequest::kApi;

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::optional<std::string_view> protocol_type;
    std::optional<std::string_view> protocol_name;
    base::ByteView assignment;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 1});
        walk("ErrorCode", self.error_code);
        walk("ProtocolType", self.protocol_type, {.since = 5});
        walk("ProtocolName", self.protocol_name, {.since = 5});
        walk("Assignment", self.assignment);
    }
};

struct DescribeGroupsRequest {
    static constexpr Api kApi{15, "DescribeGroups", 0, 5, 5};

    std::vector<std::string_view> groups;
    bool include_authorized_operations = false;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Groups", self.groups);
        walk("IncludeAuthorizedOperations", self.include_authorized_operations, {.since = 3});
    }
};

struct DescribeGroupsResponse {
    static constexpr Api kApi = DescribeGroupsRequest::kApi;

    struct Member {
        std::string_view member_id;
        std::optional<std::string_view> group_instance_id;
        std::string_view client_id;
        std::string_view client_host;
        base::ByteView member_metadata;
        base::ByteView member_assignment;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("MemberId", self.member_id);
            walk("GroupInstanceId", self.group_instance_id, {.since = 4});
            walk("ClientId", self.client_id);
            walk("ClientHost", self.client_host);
            walk("MemberMetadata", self.member_metadata);
            walk("MemberAssignment", self.member_assignment);
        }
    };

    struct Group {
        ErrorCode error_code = ErrorCode::none;
        std::string_view group_id;
        std::string_view group_state;
        std::string_view protocol_type;
        std::string_view protocol_data;
        std::vector<Member> members;
        std::int32_t authorized_operations = kNoOperations;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("GroupId", self.group_id);
            walk("GroupState", self.group_state);
            walk("ProtocolType", self.protocol_type);
            walk("ProtocolData", self.protocol_data);
            walk("Members", self.members);
            walk("AuthorizedOperations", self.authorized_operations, {.since = 3});
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Group> groups;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 1});
        walk("Groups", self.groups);
    }
};

struct ListGroupsRequest {
    static constexpr Api kApi{16, "ListGroups", 0, 4, 3};

    std::vector<std::string_view> states_filter;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("StatesFilter", self.states_filter, {.since = 4});
    }
};

struct ListGroupsResponse {
    static constexpr Api kApi = ListGroupsRequest::kApi;

    struct Group {
        std::string_view group_id;
        std::string_view protocol_type;
        std::string_view group_state;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("GroupId", self.group_id);
            walk("ProtocolType", self.protocol_type);
            walk("GroupState", self.group_state, {.since = 4});
        }
    };

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::vector<Group> groups;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 1});
        walk("ErrorCode", self.error_code);
        walk("Groups", self.groups);
    }
};

struct DeleteGroupsRequest {
    static constexpr Api kApi{42, "DeleteGroups", 0, 2, 2};

    std::vector<std::string_view> groups_names;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("GroupsNames", self.groups_names);
    }
};

struct DeleteGroupsResponse {
    static constexpr Api kApi = DeleteGroupsRequest::kApi;

    struct Group {
        std::string_view group_id;
        ErrorCode error_code = ErrorCode::none;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("GroupId", self.group_id);
            walk("ErrorCode", self.error_code);
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Group> results;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("Results", self.results);
    }
};

}  // namespace bps
