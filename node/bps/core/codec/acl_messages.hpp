#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/error_code.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Access control lists.
namespace bps {

struct DescribeAclsRequest {
    static constexpr Api kApi{29, "DescribeAcls", 0, 2, 2};

    std::int8_t resource_type_filter = 0;
    std::optional<std::string_view> resource_name_filter;
    std::int8_t pattern_type_filter = 3;
    std::optional<std::string_view> principal_filter;
    std::optional<std::string_view> host_filter;
    std::int8_t operation = 0;
    std::int8_t permission_type = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ResourceTypeFilter", self.resource_type_filter);
        walk("ResourceNameFilter", self.resource_name_filter);
        walk("PatternTypeFilter", self.pattern_type_filter, {.since = 1});
        walk("PrincipalFilter", self.principal_filter);
        walk("HostFilter", self.host_filter);
        walk("Operation", self.operation);
        walk("PermissionType", self.permission_type);
    }
};

struct DescribeAclsResponse {
    static constexpr Api kApi = DescribeAclsRequest::kApi;

    struct Acl {
        std::string_view principal;
        std::string_view host;
        std::int8_t operation = 0;
        std::int8_t permission_type = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Principal", self.principal);
            walk("Host", self.host);
            walk("Operation", self.operation);
            walk("PermissionType", self.permission_type);
        }
    };

    struct Resource {
        std::int8_t resource_type = 0;
        std::string_view resource_name;
        std::int8_t pattern_type = 3;
        std::vector<Acl> acls;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ResourceType", self.resource_type);
            walk("ResourceName", self.resource_name);
            walk("PatternType", self.pattern_type, {.since = 1});
            walk("Acls", self.acls);
        }
    };

    std::int32_t throttle_time_ms = 0;
    ErrorCode error_code = ErrorCode::none;
    std::optional<std::string_view> error_message;
    std::vector<Resource> resources;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("ErrorCode", self.error_code);
        walk("ErrorMessage", self.error_message);
        walk("Resources", self.resources);
    }
};

struct CreateAclsRequest {
    static constexpr Api kApi{30, "CreateAcls", 0, 2, 2};

    struct Acl {
        std::int8_t resource_type = 0;
        std::string_view resource_name;
        std::int8_t resource_pattern_type = 3;
        std::string_view principal;
        std::string_view host;
        std::int8_t operation = 0;
        std::int8_t permission_type = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ResourceType", self.resource_type);
            walk("ResourceName", self.resource_name);
            walk("ResourcePatternType", self.resource_pattern_type, {.since = 1});
            walk("Principal", self.principal);
            walk("Host", self.host);
            walk("Operation", self.operation);
            walk("PermissionType", self.permission_type);
        }
    };

    std::vector<Acl> creations;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Creations", self.creations);
    }
};

struct CreateAclsResponse {
    static constexpr Api kApi = CreateAclsRequest::kApi;

    struct Result {
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message);
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Result> results;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("Results", self.results);
    }
};

struct DeleteAclsRequest {
    static constexpr Api kApi{31, "DeleteAcls", 0, 2, 2};

    struct Filter {
        std::int8_t resource_type_filter = 0;
        std::optional<std::string_view> resource_name_filter;
        std::int8_t pattern_type_filter = 3;
        std::optional<std::string_view> principal_filter;
        std::optional<std::string_view> host_filter;
        std::int8_t operation = 0;
        std::int8_t permission_type = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ResourceTypeFilter", self.resource_type_filter);
            walk("ResourceNameFilter", self.resource_name_filter);
            walk("PatternTypeFilter", self.pattern_type_filter, {.since = 1});
            walk("PrincipalFilter", self.principal_filter);
            walk("HostFilter", self.host_filter);
            walk("Operation", self.operation);
            walk("PermissionType", self.permission_type);
        }
    };

    std::vector<Filter> filters;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Filters", self.filters);
    }
};

struct DeleteAclsResponse {
    static constexpr Api kApi = DeleteAclsRequest::kApi;

    struct Acl {
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;
        std::int8_t resource_type = 0;
        std::string_view resource_name;
        std::int8_t pattern_type = 3;
        std::string_view principal;
        std::string_view host;
        std::int8_t operation = 0;
        std::int8_t permission_type = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message);
            walk("ResourceType", self.resource_type);
            walk("ResourceName", self.resource_name);
            walk("PatternType", self.pattern_type, {.since = 1});
            walk("Principal", self.principal);
            walk("Host", self.host);
            walk("Operation", self.operation);
            walk("PermissionType", self.permission_type);
        }
    };

    struct FilterResult {
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;
        std::vector<Acl> matching_acls;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message);
            walk("MatchingAcls", self.matching_acls);
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<FilterResult> filter_results;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("FilterResults", self.filter_results);
    }
};

}  // namespace bps
