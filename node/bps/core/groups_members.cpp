// Assignments, heartbeats, and leaving.
#include "base/check.hpp"
#include "node/bps/core/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bps {

namespace {

constexpr std::int16_t kLeaveManySince = 3;  // Of LeaveGroup.

std::size_t bytes_of(const SyncGroupRequest& request) {
    std::size_t all = 0;
    for (const SyncGroupRequest::Assignment& each : request.assignments)
        all += each.assignment.size();
    return all;
}

}  // namespace

Verdict<GroupMember*> Groups::find_member(Group* group, const MemberIdentity& identity) {
    const auto unknown = [] {
        return refuse(ErrorCode::unknown_member_id, "the group has no such member");
    };
    if (group == nullptr) return unknown();
    if (identity.instance) {
        const auto at = group->instances.find(*identity.instance);
        if (at == group->instances.end()) return unknown();
        if (at->second != identity.member) {
            return refuse(ErrorCode::fenced_instance_id,
                          "another member has come with this instance id");
        }
    }
    GroupMember* const member = group->find_member(identity.member);
    if (member == nullptr) return unknown();
    return member;
}

void Groups::sync(std::int64_t now,
                  const Caller& caller,
                  const SyncGroupRequest& request,
                  GroupEffects& out) {
    const ErrorCode code = try_sync(now, caller, request, out);
    if (code != ErrorCode::none) refuse_sync(caller, code, out);
}

void Groups::answer_sync(const Group& group,
                         const GroupMember& member,
                         const Caller& caller,
                         GroupEffects& out) {
    SyncGroupResponse response;
    response.protocol_type = group.protocol_type;
    response.protocol_name = group.protocol;
    response.assignment = member.assignment;
    out.replies.push_back(reply_to(caller, response));
}

void Groups::refuse_sync(const Caller& caller, ErrorCode code, GroupEffects& out) {
    SyncGroupResponse response;
    response.error_code = code;
    out.replies.push_back(reply_to(caller, response));
}

// None: it is answered, or waits.
ErrorCode Groups::try_sync(std::int64_t now,
                           const Caller& caller,
                           const SyncGroupRequest& request,
                           GroupEffects& out) {
    const auto found = allowed(now, caller, request.group_id, Right::consume);
    if (!found) return found.error().code;
    const auto of =
        find_member(*found, {.member = request.member_id, .instance = request.group_instance_id});
    if (!of) return of.error().code;
    Group& group = **found;
    GroupMember& member = **of;
    if (request.generation_id != group.generation) return ErrorCode::illegal_generation;
    const bool has_other_protocol =
        (request.protocol_type && *request.protocol_type != group.protocol_type) ||
        (request.protocol_name && request.protocol_name != group.protocol);
    if (has_other_protocol) return ErrorCode::inconsistent_group_protocol;
    if (!take_member_room(now, &group, group.owner, bytes_of(request)))
        return ErrorCode::group_max_size_reached;
    switch (group.state) {
        case GroupState::empty:
            return ErrorCode::unknown_member_id;
        case GroupState::preparing_rebalance:
            return ErrorCode::rebalance_in_progress;
        case GroupState::stable:
            answer_sync(group, member, caller, out);
            keep_alive(now, group, member);
            return ErrorCode::none;
        case GroupState::completing_rebalance:
            break;
    }
    // The client gave that one up.
    if (member.syncs) refuse_sync(*member.syncs, ErrorCode::rebalance_in_progress, out);
    member.syncs = caller;
    keep_alive(now, group, member);
    if (member.id == group.leader && !group.is_storing) store_assignment(group, request, out);
    return ErrorCode::none;
}

// Those that the leader did not name get nothing.
void Groups::store_assignment(Group& group, const SyncGroupRequest& request, GroupEffects& out) {
    for (auto& [id, member] : group.members)
        member.assignment.clear();
    for (const SyncGroupRequest::Assignment& each : request.assignments) {
        if (GroupMember* const member = group.find_member(each.member_id)) {
            member->assignment = base::to_bytes(each.assignment);
        }
    }
    group.is_storing = true;
    write(partition_of(group.name),
          one(record_of(group)),
          StoredAssignment{.of = {.group = group.name, .serial = group.serial},
                           .generation = group.generation},
          out);
}

void Groups::on_assignment_stored(std::int64_t now,
                                  const StoredAssignment& stored,
                                  ErrorCode code,
                                  GroupEffects& out) {
    Group* const found = find(stored.of);
    if (found == nullptr) return;
    Group& group = *found;
    if (code == ErrorCode::none) group.is_recorded = true;
    const bool is_late =
        group.generation != stored.generation || group.state != GroupState::completing_rebalance;
    if (is_late) return;
    group.is_storing = false;
    if (code != ErrorCode::none) {
        answer_syncs(now, group, code_of_store(code), out);
        return prepare(now, group, out);
    }
    group.state = GroupState::stable;
    group.state_since = now;
    set_timer(group.rebalance_ends_at, std::nullopt, {group.name, TimerKind::rebalance, {}});
    answer_syncs(now, group, ErrorCode::none, out);
}

void Groups::answer_syncs(std::int64_t now, Group& group, ErrorCode code, GroupEffects& out) {
    group.is_storing = false;
    for (auto& [id, member] : group.members) {
        if (!member.syncs) continue;
        const Caller caller = *std::exchange(member.syncs, std::nullopt);
        if (code != ErrorCode::none) {
            refuse_sync(caller, code, out);
        } else if (is_forbidden(now, group, caller)) {
            refuse_sync(caller, ErrorCode::group_authorization_failed, out);
        } else {
            answer_sync(group, member, caller, out);
        }
        keep_alive(now, group, member);
    }
}

void Groups::heartbeat(std::int64_t now,
                       const Caller& caller,
                       const HeartbeatRequest& request,
                       GroupEffects& out) {
    const auto judge = [&]() -> ErrorCode {
        const auto found = allowed(now, caller, request.group_id, Right::consume);
        if (!found) return found.error().code;
        const auto member = find_member(
            *found, {.member = request.member_id, .instance = request.group_instance_id});
        if (!member) return member.error().code;
        Group& group = **found;
        if (request.generation_id != group.generation) return ErrorCode::illegal_generation;
        keep_alive(now, group, **member);
        return group.state == GroupState::preparing_rebalance ? ErrorCode::rebalance_in_progress
                                                              : ErrorCode::none;
    };
    HeartbeatResponse response;
    response.error_code = judge();
    out.replies.push_back(reply_to(caller, response));
}

void Groups::leave(std::int64_t now,
                   const Caller& caller,
                   const LeaveGroupRequest& request,
                   GroupEffects& out) {
    LeaveGroupResponse response;
    const auto found = allowed(now, caller, request.group_id, Right::consume);
    GroupEffects others;  // Of the members that stay: they hear of it after the one that goes.
    if (!found) {
        response.error_code = found.error().code;
    } else if (caller.version < kLeaveManySince) {
        response.error_code = leave_one(
            now, *found, {.member_id = request.member_id, .group_instance_id = {}}, others);
    } else {
        for (const LeaveGroupRequest::Member& member : request.members) {
            // The group may go with its last member.
            const auto at = groups_.find(request.group_id);
            Group* const group = at == groups_.end() ? nullptr : &at->second;
            response.members.push_back({.member_id = member.member_id,
                                        .group_instance_id = member.group_instance_id,
                                        .error_code = leave_one(now, group, member, others)});
        }
    }
    out.replies.push_back(reply_to(caller, response));
    std::ranges::move(others.replies, std::back_inserter(out.replies));
    std::ranges::move(others.writes, std::back_inserter(out.writes));
}

ErrorCode Groups::leave_one(std::int64_t now,
                            Group* group,
                            const LeaveGroupRequest::Member& member,
                            GroupEffects& out) {
    if (group == nullptr) return ErrorCode::unknown_member_id;
    std::string id(member.member_id);
    // An administrator removes a static member by its instance alone.
    if (member.group_instance_id && id.empty()) {
        const auto at = group->instances.find(*member.group_instance_id);
        if (at == group->instances.end()) return ErrorCode::unknown_member_id;
        id = at->second;
    }
    if (const auto pending = group->pending.find(id); pending != group->pending.end()) {
        timers_.remove(pending->second, {group->name, TimerKind::pending, id});
        group->pending.erase(pending);
        try_complete_join(now, *group, out);
        drop_if_unused(*group);
        return ErrorCode::none;
    }
    const auto found = find_member(group, {.member = id, .instance = member.group_instance_id});
    if (!found) return found.error().code;
    remove_member(now, *group, id, ErrorCode::unknown_member_id, out);
    return ErrorCode::none;
}

void Groups::remove_member(
    std::int64_t now, Group& group, const std::string& id, ErrorCode code, GroupEffects& out) {
    erase_member(group, id, code, out);
    prepare(now, group, out);
}

void Groups::erase_member(Group& group, const std::string& id, ErrorCode code, GroupEffects& out) {
    const auto at = group.members.find(id);
    CHECK(at != group.members.end());
    GroupMember& member = at->second;
    if (member.joins) refuse_join(*member.joins, id, code, out);
    if (member.syncs) refuse_sync(*member.syncs, code, out);
    set_timer(member.expires_at, std::nullopt, {group.name, TimerKind::member, id});
    if (member.instance) group.instances.erase(*member.instance);
    group.members.erase(at);
    if (group.leader == id) {
        group.leader = group.members.empty() ? std::string() : group.members.begin()->first;
    }
}

// Where the rows are too old to say, whoever waits is not punished for it.
bool Groups::is_forbidden(std::int64_t now, const Group& group, const Caller& caller) const {
    const auto may = access_.group(caller.principal, group.name, group.owner, Right::consume, now);
    return !may && may.error().code == ErrorCode::group_authorization_failed;
}

void Groups::expel_forbidden(std::int64_t now, Group& group, GroupEffects& out) {
    std::vector<std::string> forbidden;
    for (const auto& [id, member] : group.members) {
        if (member.joins && is_forbidden(now, group, *member.joins)) forbidden.push_back(id);
    }
    for (const std::string& id : forbidden)
        erase_member(group, id, ErrorCode::group_authorization_failed, out);
}

void Groups::expel(Group& group, bool (*stays)(const GroupMember&), GroupEffects& out) {
    std::vector<std::string> absent;
    for (const auto& [id, member] : group.members) {
        if (!stays(member)) absent.push_back(id);
    }
    for (const std::string& id : absent)
        erase_member(group, id, ErrorCode::unknown_member_id, out);
}

// A member that has its generation and does not ask for its assignment is stuck.
void Groups::expel_unsynced(std::int64_t now, Group& group, GroupEffects& out) {
    expel(
        group, [](const GroupMember& member) { return member.syncs.has_value(); }, out);
    prepare(now, group, out);
}

}  // namespace bps
