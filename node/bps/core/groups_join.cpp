// Joining a group, and the half of a rebalance that waits for its members.
#include "base/check.hpp"
#include "node/bps/core/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bps {

namespace {

constexpr std::int16_t kRebalanceTimeoutSince = 1;  // Of JoinGroup.
constexpr std::int16_t kMemberIdRequiredSince = 4;  // KIP-394.
// Of a member, which are compared with those of all others; clients have less than ten.
constexpr std::size_t kProtocolsMax = 16;
// Of what its client calls itself: with more the id would be longer than a string may be.
constexpr std::size_t kMemberPrefixBytesMax = 255;

// What each member is told of a generation.
JoinGroupResponse response_of(const Group& group, const GroupMember& member) {
    JoinGroupResponse response;
    response.generation_id = group.generation;
    response.protocol_type = group.protocol_type;
    response.protocol_name = group.protocol;
    response.leader = group.leader;
    response.member_id = member.id;
    return response;
}

std::vector<GroupMember::Protocol> protocols_of(const JoinGroupRequest& request) {
    std::vector<GroupMember::Protocol> protocols;
    protocols.reserve(request.protocols.size());
    for (const JoinGroupRequest::Protocol& each : request.protocols)
        protocols.push_back({std::string(each.name), base::to_bytes(each.metadata)});
    return protocols;
}

// That it takes of the room of its tenant.
std::size_t bytes_of(const Caller& caller, const JoinGroupRequest& request) {
    std::size_t all = kMemberBytes + caller.client_id.size();
    for (const JoinGroupRequest::Protocol& each : request.protocols)
        all += each.name.size() + each.metadata.size();
    return all;
}

// All but its id and what it does in the group.
void update(GroupMember& member, const Caller& caller, const JoinGroupRequest& request) {
    member.client_id = caller.client_id;
    member.client_host = caller.client_host;
    member.session_timeout_ms = request.session_timeout_ms;
    member.rebalance_timeout_ms = caller.version < kRebalanceTimeoutSince
                                      ? request.session_timeout_ms
                                      : request.rebalance_timeout_ms;
    member.protocols = protocols_of(request);
}

}  // namespace

void Groups::join(std::int64_t now,
                  const Caller& caller,
                  const JoinGroupRequest& request,
                  GroupEffects& out) {
    std::string member_id(request.member_id);
    const ErrorCode code = try_join(now, caller, request, member_id, out);
    if (code != ErrorCode::none) refuse_join(caller, member_id, code, out);
}

ErrorCode Groups::check_join(const JoinGroupRequest& request) const {
    if (const auto code = coordinates(request.group_id); code != ErrorCode::none) return code;
    if (request.session_timeout_ms < settings_.session_timeout_ms_min ||
        request.session_timeout_ms > settings_.session_timeout_ms_max) {
        return ErrorCode::invalid_session_timeout;
    }
    return request.protocols.size() > kProtocolsMax ? ErrorCode::invalid_request : ErrorCode::none;
}

// None: it is answered, or waits.
ErrorCode Groups::try_join(std::int64_t now,
                           const Caller& caller,
                           const JoinGroupRequest& request,
                           std::string& member_id,
                           GroupEffects& out) {
    if (const auto code = check_join(request); code != ErrorCode::none) return code;
    const auto at = groups_.find(request.group_id);
    const bool is_known = at != groups_.end();
    const auto owner = access_.group(caller.principal,
                                     request.group_id,
                                     is_known ? std::optional(at->second.owner) : std::nullopt,
                                     Right::consume,
                                     now);
    if (!owner) return owner.error().code;
    if (!is_known && !request.member_id.empty()) return ErrorCode::unknown_member_id;
    std::string_view replaced = request.member_id;
    if (is_known && request.group_instance_id) {
        const auto holder = at->second.instances.find(*request.group_instance_id);
        if (holder != at->second.instances.end()) replaced = holder->second;
    }
    const bool fits = is_known
                          ? at->second.accepts(request.protocol_type, request.protocols, replaced)
                          : !request.protocol_type.empty() && !request.protocols.empty();
    if (!fits) return ErrorCode::inconsistent_group_protocol;
    if (!take_member_room(now, is_known ? &at->second : nullptr, *owner, bytes_of(caller, request)))
        return ErrorCode::group_max_size_reached;
    const auto found = find_or_make(now, request.group_id, *owner);
    if (!found) return found.error().code;
    Group& group = **found;
    if (!request.member_id.empty()) return join_known(now, group, caller, request, out);
    const bool is_static = request.group_instance_id.has_value();
    if (is_static || caller.version < kMemberIdRequiredSince) {
        return join_new(now, group, caller, request, out);
    }
    if (group.members.size() + group.pending.size() >= settings_.members_max) {
        return ErrorCode::group_max_size_reached;
    }
    // It comes again with this id; so one that loses the answer leaves no dead member behind.
    member_id = draw_member_id(caller.client_id);
    group.pending[member_id] = now + request.session_timeout_ms;
    timers_.add(now + request.session_timeout_ms, {group.name, TimerKind::pending, member_id});
    return ErrorCode::member_id_required;
}

ErrorCode Groups::join_new(std::int64_t now,
                           Group& group,
                           const Caller& caller,
                           const JoinGroupRequest& request,
                           GroupEffects& out) {
    if (request.group_instance_id && group.instances.contains(*request.group_instance_id)) {
        replace_static(now, group, caller, request, out);
        return ErrorCode::none;
    }
    if (group.members.size() >= settings_.members_max) return ErrorCode::group_max_size_reached;
    add_member(now,
               group,
               caller,
               request,
               draw_member_id(request.group_instance_id.value_or(caller.client_id)));
    prepare(now, group, out);
    return ErrorCode::none;
}

// A static member that was started again: it takes the place of what it was before, with what was
// assigned to it, and nobody else notices (KIP-345).
void Groups::replace_static(std::int64_t now,
                            Group& group,
                            const Caller& caller,
                            const JoinGroupRequest& request,
                            GroupEffects& out) {
    const std::string instance(*request.group_instance_id);
    const std::string old_id = group.instances.at(instance);
    const std::string old_leader = group.leader;
    GroupMember member = group.members.at(old_id);
    member.joins.reset();
    member.syncs.reset();
    member.expires_at.reset();
    erase_member(group, old_id, ErrorCode::fenced_instance_id, out);
    member.id = draw_member_id(instance);
    update(member, caller, request);
    group.instances[instance] = member.id;
    if (old_leader == old_id) group.leader = member.id;
    GroupMember& placed = group.members[member.id] = std::move(member);
    const bool goes_on =
        group.state == GroupState::stable && group.select_protocol() == group.protocol;
    if (!goes_on) {
        placed.joins = caller;
        prepare(now, group, out);
        return;
    }
    keep_alive(now, group, placed);
    JoinGroupResponse response = response_of(group, placed);
    // By its old id: so that a member that led does not take itself for the leader, and make
    // assignments that nobody waits for.
    response.leader = old_leader;
    JoinGroupResponse failed;
    failed.error_code = ErrorCode::coordinator_not_available;
    // It waits for the disk: a coordinator that forgot the new id would fence who has it.
    write({{partition_of(group.name), one(record_of(group))}},
          reply_to(caller, response),
          reply_to(caller, failed),
          out);
}

ErrorCode Groups::join_known(std::int64_t now,
                             Group& group,
                             const Caller& caller,
                             const JoinGroupRequest& request,
                             GroupEffects& out) {
    const auto pending = group.pending.find(request.member_id);
    if (pending != group.pending.end()) {
        if (request.group_instance_id) return ErrorCode::unknown_member_id;
        timers_.remove(pending->second, {group.name, TimerKind::pending, pending->first});
        group.pending.erase(pending);
        add_member(now, group, caller, request, std::string(request.member_id));
        prepare(now, group, out);
        return ErrorCode::none;
    }
    const auto found =
        find_member(&group, {.member = request.member_id, .instance = request.group_instance_id});
    if (!found) return found.error().code;
    GroupMember& member = **found;
    const bool is_same = member.protocols == protocols_of(request);
    const bool is_leader = group.leader == member.id;
    const bool asks_again = is_same && (group.state == GroupState::completing_rebalance ||
                                        (group.state == GroupState::stable && !is_leader));
    if (asks_again) {
        // Its answer was lost.
        answer_join(group, member, caller, out);
        keep_alive(now, group, member);
        return ErrorCode::none;
    }
    rejoin(group, member, caller, request, out);
    prepare(now, group, out);
    return ErrorCode::none;
}

void Groups::add_member(std::int64_t now,
                        Group& group,
                        const Caller& caller,
                        const JoinGroupRequest& request,
                        std::string id) {
    if (group.members.empty()) group.protocol_type = request.protocol_type;
    GroupMember& member = group.members[id];
    member.id = std::move(id);
    member.instance = request.group_instance_id;
    update(member, caller, request);
    member.joins = caller;
    if (member.instance) group.instances[*member.instance] = member.id;
    if (group.leader.empty()) group.leader = member.id;
    keep_alive(now, group, member);
}

void Groups::rejoin(Group& group,
                    GroupMember& member,
                    const Caller& caller,
                    const JoinGroupRequest& request,
                    GroupEffects& out) {
    // One that waits already: it was given up by the client.
    if (member.joins) {
        refuse_join(*member.joins, member.id, ErrorCode::rebalance_in_progress, out);
    }
    update(member, caller, request);
    member.joins = caller;
    set_timer(member.expires_at, std::nullopt, {group.name, TimerKind::member, member.id});
}

std::string Groups::draw_member_id(std::string_view prefix) {
    const auto draw = [this] { return rng_.below(std::uint64_t(-1)); };
    return fmt::format(
        "{}-{:016x}{:016x}", prefix.substr(0, kMemberPrefixBytesMax), draw(), draw());
}

void Groups::prepare(std::int64_t now, Group& group, GroupEffects& out) {
    if (group.state != GroupState::preparing_rebalance) {
        if (group.state == GroupState::completing_rebalance) {
            for (auto& [id, member] : group.members)
                member.assignment.clear();
            answer_syncs(now, group, ErrorCode::rebalance_in_progress, out);
        }
        const bool is_first = group.state == GroupState::empty && settings_.gather_ms > 0;
        if (is_first) {
            set_timer(group.gathers_until,
                      now + settings_.gather_ms,
                      {group.name, TimerKind::gather, {}});
        }
        group.state = GroupState::preparing_rebalance;
        group.state_since = now;
        set_timer(group.rebalance_ends_at,
                  now + group.rebalance_timeout_ms(),
                  {group.name, TimerKind::rebalance, {}});
    }
    try_complete_join(now, group, out);
}

void Groups::try_complete_join(std::int64_t now, Group& group, GroupEffects& out) {
    if (group.state != GroupState::preparing_rebalance) return;
    const bool is_over = !group.gathers_until && group.have_all_joined();
    if (group.members.empty() || is_over) complete_join(now, group, out);
}

void Groups::complete_join(std::int64_t now, Group& group, GroupEffects& out) {
    expel_forbidden(now, group, out);
    expel(
        group, [](const GroupMember& member) { return member.joins || member.instance; }, out);
    const Timer timer{group.name, TimerKind::rebalance, {}};
    if (!group.members.empty() && !group.elect_joined_leader()) {
        // Static members only, and none is back yet: their sessions decide.
        set_timer(group.rebalance_ends_at, now + group.rebalance_timeout_ms(), timer);
        return;
    }
    set_timer(group.gathers_until, std::nullopt, {group.name, TimerKind::gather, {}});
    ++group.generation;
    group.state_since = now;
    group.protocol = group.select_protocol();
    if (group.members.empty()) {
        group.state = GroupState::empty;
        set_timer(group.rebalance_ends_at, std::nullopt, timer);
        write(partition_of(group.name),
              one(record_of(group)),
              StoredGroup{.group = group.name, .serial = group.serial},
              out);
        return;
    }
    CHECK(group.protocol.has_value());
    group.state = GroupState::completing_rebalance;
    set_timer(group.rebalance_ends_at, now + group.rebalance_timeout_ms(), timer);
    for (auto& [id, member] : group.members) {
        if (!member.joins) continue;
        answer_join(group, member, *std::exchange(member.joins, std::nullopt), out);
        keep_alive(now, group, member);
    }
}

// Only the leader is told who is there.
void Groups::answer_join(const Group& group,
                         const GroupMember& member,
                         const Caller& caller,
                         GroupEffects& out) {
    JoinGroupResponse response = response_of(group, member);
    if (member.id == group.leader) {
        for (const auto& [id, each] : group.members) {
            response.members.push_back({.member_id = id,
                                        .group_instance_id = each.instance,
                                        .metadata = each.find_protocol(*group.protocol)->metadata});
        }
    }
    out.replies.push_back(reply_to(caller, response));
}

void Groups::refuse_join(const Caller& caller,
                         std::string_view member_id,
                         ErrorCode code,
                         GroupEffects& out) {
    JoinGroupResponse response;
    response.error_code = code;
    response.member_id = member_id;
    out.replies.push_back(reply_to(caller, response));
}

}  // namespace bps
