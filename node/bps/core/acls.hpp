#pragma once

#include "node/bps/core/codec/acl_messages.hpp"
#include "node/bps/core/refusal.hpp"
#include "node/bps/core/rows.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Kafka's access control lists (KIP-140, KIP-290) stand for grants: WRITE for PRODUCE, READ for
// CONSUME, and ALTER of a topic or DELETE of a group for ADMIN; ALL for all of them. DESCRIBE goes
// with each. All others, and what no grant says (DENY, hosts), are refused.
namespace bps {

inline constexpr std::string_view kAnyHost = "*";

enum class AclResource : std::int8_t { unknown = 0, any = 1, topic = 2, group = 3, cluster = 4 };

enum class AclPattern : std::int8_t { unknown = 0, any = 1, match = 2, literal = 3, prefixed = 4 };

enum class AclOperation : std::int8_t {
    unknown = 0,
    any = 1,
    all = 2,
    read = 3,
    write = 4,
    create = 5,
    remove = 6,
    alter = 7,
    describe = 8,
    cluster_action = 9,
    describe_configs = 10,
    alter_configs = 11,
    idempotent_write = 12,
};

enum class AclPermission : std::int8_t { unknown = 0, any = 1, deny = 2, allow = 3 };

// A set of operations, as responses have it: a bit each.
[[nodiscard]] constexpr std::int32_t bits_of(std::initializer_list<AclOperation> operations) {
    std::uint32_t bits = 0;
    for (const AclOperation each : operations)
        bits |= 1U << static_cast<unsigned>(each);
    return static_cast<std::int32_t>(bits);
}

// A grant as an entry of a list, whose permission is ALLOW and whose host any.
struct Acl {
    AclResource resource = AclResource::topic;
    std::string name;
    AclPattern pattern = AclPattern::literal;
    std::string principal;
    AclOperation operation = AclOperation::read;
};
[[nodiscard]] Acl to_acl(const rows::Grant& grant);

// Which entries are meant, in the words of a request. Borrows from it.
struct AclFilter {
    AclResource resource = AclResource::any;
    AclPattern pattern = AclPattern::any;
    AclOperation operation = AclOperation::any;
    AclPermission permission = AclPermission::any;
    std::optional<std::string_view> name;
    std::optional<std::string_view> principal;
    std::optional<std::string_view> host;

    [[nodiscard]] bool matches(const Acl& acl) const;
};
// invalid_request: a type that is unknown.
[[nodiscard]] Verdict<AclFilter> read_filter(const DescribeAclsRequest& request);
[[nodiscard]] Verdict<AclFilter> read_filter(const DeleteAclsRequest::Filter& filter);

// The grants that an entry stands for, one an operation. invalid_request: none does.
[[nodiscard]] Verdict<std::vector<rows::Grant>> read_grants(const CreateAclsRequest::Acl& acl);

}  // namespace bps
