// What people ask of groups, and deleting them.
#include "node/bps/core/groups.hpp"
#include "node/bps/core/request_items.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace bps {

namespace {

// Of a group that nobody knows, as Kafka has it.
constexpr std::string_view kDead = "Dead";

DescribeGroupsResponse::Group describe_group(const Group& group) {
    DescribeGroupsResponse::Group answer;
    answer.group_id = group.name;
    answer.group_state = to_text(group.state);
    answer.protocol_type = group.protocol_type;
    // What the members say changes until the group is stable.
    const bool is_stable = group.state == GroupState::stable;
    if (is_stable) answer.protocol_data = *group.protocol;
    for (const auto& [id, member] : group.members) {
        auto& of = answer.members.emplace_back();
        of.member_id = id;
        of.group_instance_id = member.instance;
        of.client_id = member.client_id;
        of.client_host = member.client_host;
        if (!is_stable) continue;
        of.member_metadata = member.find_protocol(*group.protocol)->metadata;
        of.member_assignment = member.assignment;
    }
    return answer;
}

}  // namespace

void Groups::describe(std::int64_t now,
                      const Caller& caller,
                      const DescribeGroupsRequest& request,
                      GroupEffects& out) {
    DescribeGroupsResponse response;
    // Clients ask a coordinator for all its groups at once.
    constexpr std::size_t kGroupsMax = 10'000;
    const RequestItems named(
        request.groups, [](std::string_view name) { return name; }, kGroupsMax);
    for (const std::string_view name : request.groups) {
        if (const auto good = named.check(name); !good) {
            response.groups.emplace_back().group_id = name;
            response.groups.back().error_code = good.error().code;
            continue;
        }
        const auto found = allowed(now, caller, name, Right::see);
        if (found && *found != nullptr) {
            response.groups.push_back(describe_group(**found));
            continue;
        }
        auto& answer = response.groups.emplace_back();
        answer.group_id = name;
        if (found) {
            answer.group_state = kDead;
        } else {
            answer.error_code = found.error().code;
        }
    }
    out.replies.push_back(reply_to(caller, response));
}

void Groups::list(std::int64_t now,
                  const Caller& caller,
                  const ListGroupsRequest& request,
                  GroupEffects& out) {
    ListGroupsResponse response;
    const std::set<std::string_view> states(request.states_filter.begin(),
                                            request.states_filter.end());
    for (const auto& [name, group] : groups_) {
        const std::string_view state = to_text(group.state);
        const bool is_asked = states.empty() || states.contains(state);
        if (!is_asked || coordinates(name) != ErrorCode::none) continue;
        const auto may_see = access_.group(caller.principal, name, group.owner, Right::see, now);
        // No rights are known now: that there are no groups would be no answer.
        if (!may_see && may_see.error().code == ErrorCode::coordinator_not_available) {
            response.error_code = may_see.error().code;
        }
        if (!may_see) continue;
        response.groups.push_back(
            {.group_id = name, .protocol_type = group.protocol_type, .group_state = state});
    }
    out.replies.push_back(reply_to(caller, response));
}

// Answered when all of it is durable.
void Groups::remove(std::int64_t now,
                    const Caller& caller,
                    const DeleteGroupsRequest& request,
                    GroupEffects& out) {
    DeleteGroupsResponse response;
    std::map<std::int32_t, std::vector<GroupRecord>> records;  // By partition.
    for (const std::string_view name : request.groups_names) {
        auto& answer = response.results.emplace_back();
        answer.group_id = name;
        const auto found = allowed(now, caller, name, Right::admin);
        if (!found) {
            answer.error_code = found.error().code;
        } else if (*found == nullptr) {
            answer.error_code = ErrorCode::group_id_not_found;
        } else if ((*found)->state != GroupState::empty || !(*found)->pending.empty()) {
            answer.error_code = ErrorCode::non_empty_group;
        } else {
            Group& group = **found;
            auto& of_partition = records[partition_of(name)];
            for (const PartitionId& id : group.offset_ids())
                of_partition.push_back(gone(group, id));
            of_partition.push_back(gone(group));
            forget(group);
        }
    }
    DeleteGroupsResponse failed = response;
    for (auto& answer : failed.results) {
        if (answer.error_code == ErrorCode::none) {
            answer.error_code = ErrorCode::coordinator_not_available;
        }
    }
    write(std::move(records), reply_to(caller, response), reply_to(caller, failed), out);
}

}  // namespace bps
