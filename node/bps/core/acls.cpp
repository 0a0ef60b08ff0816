#include "node/bps/core/acls.hpp"

#include "node/bps/core/topic_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace bps {

namespace {

constexpr std::string_view kAnyName = "*";
constexpr std::string_view kUser = "User:";

AclOperation operation_of(const rows::Grant& grant) {
    switch (grant.operation) {
        case rows::Operation::produce:
            return AclOperation::write;
        case rows::Operation::consume:
            return AclOperation::read;
        case rows::Operation::admin:
            break;
    }
    return grant.resource == rows::Resource::topic ? AclOperation::alter : AclOperation::remove;
}

template <class Filter>
Verdict<AclFilter> read(const Filter& filter) {
    if (filter.resource_type_filter > 0 && filter.pattern_type_filter > 0 && filter.operation > 0 &&
        filter.permission_type > 0) {
        return AclFilter{.resource = static_cast<AclResource>(filter.resource_type_filter),
                         .pattern = static_cast<AclPattern>(filter.pattern_type_filter),
                         .operation = static_cast<AclOperation>(filter.operation),
                         .permission = static_cast<AclPermission>(filter.permission_type),
                         .name = filter.resource_name_filter,
                         .principal = filter.principal_filter,
                         .host = filter.host_filter};
    }
    return refuse(ErrorCode::invalid_request,
                  "a filter with an unknown type of resource, pattern, operation or permission: "
                  "use ANY");
}

bool matches_name(AclPattern pattern, std::string_view name, const Acl& acl) {
    switch (pattern) {
        case AclPattern::any:
            return acl.name == name;
        case AclPattern::match:
            if (acl.pattern == AclPattern::prefixed) return name.starts_with(acl.name);
            return acl.name == name || acl.name == kAnyName;
        default:
            return acl.pattern == pattern && acl.name == name;
    }
}

tl::unexpected<Refusal> invalid(std::string reason) {
    return refuse(ErrorCode::invalid_request, std::move(reason));
}

// Whom an entry is for, and on what: a grant but for its operation.
Verdict<rows::Grant> subject_of(const CreateAclsRequest::Acl& acl) {
    if (static_cast<AclPermission>(acl.permission_type) != AclPermission::allow) {
        return invalid("only ALLOW is served: instead of a DENY, take the grant back");
    }
    if (acl.host != kAnyHost) return invalid("a right does not depend on the host: use host *");
    if (!acl.principal.starts_with(kUser)) return invalid("a principal is User:ACCOUNT@PERMISSION");
    const std::string_view who = acl.principal.substr(kUser.size());
    const std::size_t at = std::min(who.find('@'), who.size());
    const auto account = chain::Name::from_string(who.substr(0, at));
    const auto permission = chain::Name::from_string(who.substr(std::min(at + 1, who.size())));
    if (!account || account->empty() || !permission || at + 1 == who.size()) {
        return invalid("a principal is User:ACCOUNT or User:ACCOUNT@PERMISSION, with an account");
    }
    const auto resource = static_cast<AclResource>(acl.resource_type);
    if (resource != AclResource::topic && resource != AclResource::group) {
        return invalid("rights are on a topic (2) or a group (3)");
    }
    const auto pattern = static_cast<AclPattern>(acl.resource_pattern_type);
    if (pattern != AclPattern::literal && pattern != AclPattern::prefixed) {
        return invalid("a pattern is LITERAL (3) or PREFIXED (4)");
    }
    rows::Grant grant;
    grant.resource = resource == AclResource::topic ? rows::Resource::topic : rows::Resource::group;
    grant.account = *account;
    grant.permission = *permission;
    grant.prefixed = pattern == AclPattern::prefixed || acl.resource_name == kAnyName;
    if (acl.resource_name == kAnyName) return grant;
    // Names of groups have the same form.
    const auto named = check_topic_name(acl.resource_name);
    if (!named) return invalid(named.error().reason);
    grant.name = acl.resource_name;
    return grant;
}

Verdict<std::vector<rows::Operation>> operations_of(rows::Resource resource,
                                                    AclOperation operation) {
    using enum rows::Operation;
    const bool is_topic = resource == rows::Resource::topic;
    const auto of_admin = is_topic ? AclOperation::alter : AclOperation::remove;
    if (operation == AclOperation::all) {
        return is_topic ? std::vector{produce, consume, admin} : std::vector{consume, admin};
    }
    if (operation == AclOperation::read) return std::vector{consume};
    if (operation == AclOperation::write && is_topic) return std::vector{produce};
    if (operation == of_admin) return std::vector{admin};
    return invalid(
        fmt::format("operation {} is no grant: use {}, READ (3) or ALL (2); DESCRIBE "
                    "goes with each of them",
                    static_cast<int>(operation),
                    is_topic ? "ALTER (7), WRITE (4)" : "DELETE (6)"));
}

}  // namespace

Acl to_acl(const rows::Grant& grant) {
    const bool is_for_all = grant.prefixed && grant.name.empty();
    Acl acl;
    acl.resource =
        grant.resource == rows::Resource::topic ? AclResource::topic : AclResource::group;
    acl.name = is_for_all ? std::string(kAnyName) : grant.name;
    acl.pattern = grant.prefixed && !is_for_all ? AclPattern::prefixed : AclPattern::literal;
    acl.principal = std::string(kUser) + grant.account.to_string();
    if (!grant.permission.empty()) acl.principal += "@" + grant.permission.to_string();
    acl.operation = operation_of(grant);
    return acl;
}

// ALL is any operation here: no entry has it.
bool AclFilter::matches(const Acl& acl) const {
    const bool is_named =
        name ? matches_name(pattern, *name, acl)
             : pattern == AclPattern::any || pattern == AclPattern::match || pattern == acl.pattern;
    return is_named && (resource == AclResource::any || resource == acl.resource) &&
           (!principal || *principal == acl.principal) && (!host || *host == kAnyHost) &&
           (operation == AclOperation::any || operation == AclOperation::all ||
            operation == acl.operation) &&
           (permission == AclPermission::any || permission == AclPermission::allow);
}

Verdict<AclFilter> read_filter(const DescribeAclsRequest& request) {
    return read(request);
}
Verdict<AclFilter> read_filter(const DeleteAclsRequest::Filter& filter) {
    return read(filter);
}

Verdict<std::vector<rows::Grant>> read_grants(const CreateAclsRequest::Acl& acl) {
    const auto subject = subject_of(acl);
    if (!subject) return refuse(subject.error());
    const auto operations =
        operations_of(subject->resource, static_cast<AclOperation>(acl.operation));
    if (!operations) return refuse(operations.error());
    std::vector<rows::Grant> grants;
    for (const rows::Operation operation : *operations) {
        grants.push_back(*subject);
        grants.back().operation = operation;
    }
    return grants;
}

}  // namespace bps
