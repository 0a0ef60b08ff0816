#include "node/bps/core/groups.hpp"

#include "base/check.hpp"
#include "base/crc32c.hpp"

#include <algorithm>
#include <utility>

namespace bps {

namespace {

constexpr std::int64_t kCountEveryMs = 100;

}  // namespace

ErrorCode code_of_store(ErrorCode code) {
    switch (code) {
        case ErrorCode::none:
            return ErrorCode::none;
        case ErrorCode::not_leader_or_follower:
        case ErrorCode::kafka_storage_error:
            return ErrorCode::not_coordinator;
        case ErrorCode::message_too_large:
            return ErrorCode::unknown_server_error;
        default:
            return ErrorCode::coordinator_not_available;
    }
}

std::int32_t Groups::partition_of(std::string_view group) const {
    CHECK(partitions_ > 0);
    return static_cast<std::int32_t>(base::crc32c(base::as_bytes(group)) %
                                     static_cast<std::uint32_t>(partitions_));
}

ErrorCode Groups::coordinates(std::string_view group) const {
    if (group.empty()) return ErrorCode::invalid_group_id;
    if (partitions_ == 0) return ErrorCode::coordinator_not_available;
    return led_.contains(partition_of(group)) ? ErrorCode::none : ErrorCode::not_coordinator;
}

Verdict<Group*> Groups::allowed(std::int64_t now,
                                const Caller& caller,
                                std::string_view name,
                                Right right) {
    if (const ErrorCode code = coordinates(name); code != ErrorCode::none) {
        return refuse(code, "it is coordinated elsewhere");
    }
    const auto at = groups_.find(name);
    Group* const group = at == groups_.end() ? nullptr : &at->second;
    const auto owner = access_.group(caller.principal,
                                     name,
                                     group != nullptr ? std::optional(group->owner) : std::nullopt,
                                     right,
                                     now);
    if (!owner) return refuse(owner.error());
    return group;
}

Verdict<void> Groups::may_make(chain::Name owner) const {
    const auto has = std::ranges::count_if(
        groups_, [owner](const auto& each) { return each.second.owner == owner; });
    return quotas_.may_add_group(owner, static_cast<std::size_t>(has));
}

bool Groups::take_member_room(std::int64_t now,
                              const Group* group,
                              chain::Name owner,
                              std::size_t more) {
    const std::size_t has = group == nullptr ? 0 : group->member_bytes();
    return has + more <= settings_.group_bytes_max && take_room(now, owner, more);
}

bool Groups::take_room(std::int64_t now, chain::Name owner, std::size_t more) {
    const auto [at, is_first] = rooms_.try_emplace(owner);
    Room& room = at->second;
    const auto is_over = [&] { return room.bytes + more > settings_.tenant_bytes_max; };
    // Counting takes time, too: a tenant that has no room asks in vain for a moment.
    const bool may_count = !room.full_at || now >= *room.full_at + kCountEveryMs;
    if (is_first || (is_over() && may_count)) {
        room = {};
        for (const auto& [name, each] : groups_) {
            if (each.owner == owner) room.bytes += each.bytes();
        }
        if (is_over()) room.full_at = now;
    }
    if (is_over()) return false;
    room.bytes += more;
    return true;
}

Group& Groups::make(std::int64_t now, std::string_view name, chain::Name owner) {
    Group& group = groups_[std::string(name)];
    group.name = name;
    group.owner = owner;
    group.state_since = now;
    group.serial = ++last_serial_;
    return group;
}

Verdict<Group*> Groups::find_or_make(std::int64_t now, std::string_view name, chain::Name owner) {
    const auto at = groups_.find(name);
    if (at != groups_.end()) return &at->second;
    if (const auto may = may_make(owner); !may) return refuse(may.error());
    return &make(now, name, owner);
}

// One that was only asked for leaves nothing behind.
void Groups::drop_if_unused(Group& group) {
    const bool is_used = !group.members.empty() || !group.pending.empty() || group.is_recorded ||
                         !group.offsets.empty() || !group.committing.empty();
    if (!is_used) forget(group);
}

void Groups::forget(Group& group) {
    for (auto& [id, member] : group.members)
        set_timer(member.expires_at, std::nullopt, {group.name, TimerKind::member, id});
    for (const auto& [id, until] : group.pending)
        timers_.remove(until, {group.name, TimerKind::pending, id});
    set_timer(group.rebalance_ends_at, std::nullopt, {group.name, TimerKind::rebalance, {}});
    set_timer(group.gathers_until, std::nullopt, {group.name, TimerKind::gather, {}});
    groups_.erase(groups_.find(group.name));
}

void Groups::set_timer(std::optional<std::int64_t>& at,
                       std::optional<std::int64_t> to,
                       const Timer& timer) {
    if (at) timers_.remove(*at, timer);
    at = to;
    if (at) timers_.add(*at, timer);
}

void Groups::keep_alive(std::int64_t now, const Group& group, GroupMember& member) {
    const auto until =
        member.waits() ? std::nullopt : std::optional(now + member.session_timeout_ms);
    set_timer(member.expires_at, until, {group.name, TimerKind::member, member.id});
}

GroupRecord Groups::record_of(const Group& group) {
    GroupValue value;
    value.owner = group.owner.value;
    value.protocol_type = group.protocol_type;
    value.generation = group.generation;
    value.protocol = group.protocol;
    value.time = group.state_since;
    // Before the first generation is agreed on, it has no leader and no members that could come
    // back.
    if (group.protocol && group.members.contains(group.leader)) value.leader = group.leader;
    for (const auto& [id, member] : group.members) {
        if (!group.protocol) break;
        const auto* const chosen = member.find_protocol(*group.protocol);
        value.members.push_back(
            {.id = id,
             .instance = member.instance,
             .client_id = member.client_id,
             .client_host = member.client_host,
             .rebalance_timeout_ms = member.rebalance_timeout_ms,
             .session_timeout_ms = member.session_timeout_ms,
             .metadata = chosen != nullptr ? base::ByteView(chosen->metadata) : base::ByteView(),
             .assignment = member.assignment});
    }
    return {.key = pack_group_record(GroupKey{.group = group.name}),
            .value = pack_group_record(value)};
}

GroupRecord Groups::gone(const Group& group) {
    return {.key = pack_group_record(GroupKey{.group = group.name}), .value = std::nullopt};
}

GroupRecord Groups::gone(const Group& group, const PartitionId& id) {
    return {.key = pack_group_record(
                OffsetKey{.group = group.name, .topic = id.topic, .partition = id.index}),
            .value = std::nullopt};
}

void Groups::write(std::int32_t partition,
                   std::vector<GroupRecord> records,
                   Stored then,
                   GroupEffects& out) {
    storing_.emplace(++last_write_, std::move(then));
    out.writes.push_back(
        {.id = last_write_, .partition = partition, .records = std::move(records)});
}

void Groups::write(std::map<std::int32_t, std::vector<GroupRecord>> records,
                   Reply good,
                   Reply bad,
                   GroupEffects& out) {
    if (records.empty()) {
        out.replies.push_back(std::move(good));
        return;
    }
    gathered_[++last_gathered_] = {.left = records.size(),
                                   .has_failed = false,
                                   .good = std::move(good),
                                   .bad = std::move(bad)};
    while (!records.empty()) {
        auto each = records.extract(records.begin());
        write(each.key(), std::move(each.mapped()), StoredPart{last_gathered_}, out);
    }
}

Group* Groups::find(const StoredGroup& of) {
    const auto at = groups_.find(of.group);
    return at == groups_.end() || at->second.serial != of.serial ? nullptr : &at->second;
}

void Groups::on_stored(std::int64_t now, std::uint64_t write, ErrorCode code, GroupEffects& out) {
    auto stored = storing_.extract(write);
    CHECK(!stored.empty());
    Stored& then = stored.mapped();
    if (const auto* of = std::get_if<StoredGroup>(&then)) {
        Group* const group = find(*of);
        if (group != nullptr && code == ErrorCode::none) group->is_recorded = true;
    } else if (const auto* assignment = std::get_if<StoredAssignment>(&then)) {
        on_assignment_stored(now, *assignment, code, out);
    } else if (auto* offsets = std::get_if<StoredOffsets>(&then)) {
        on_offsets_stored(write, *offsets, code, out);
    } else if (const auto* part = std::get_if<StoredPart>(&then)) {
        const auto at = gathered_.find(part->gathered);
        Gathered& gathered = at->second;
        if (code != ErrorCode::none) gathered.has_failed = true;
        if (--gathered.left > 0) return;
        out.replies.push_back(std::move(gathered.has_failed ? gathered.bad : gathered.good));
        gathered_.erase(at);
    }
}

base::Result<void> Groups::load(base::ByteView key, std::optional<base::ByteView> value) {
    const auto read = read_group_record_key(key);
    if (!read) return base::fail(read.error());
    if (const auto* of_group = std::get_if<GroupKey>(&*read)) {
        if (!value) {
            const auto at = groups_.find(of_group->group);
            if (at != groups_.end()) at->second.is_recorded = false;
            return {};
        }
        const auto content = read_group_value(*value);
        if (!content) return base::fail(content.error());
        load_group(*of_group, *content);
        return {};
    }
    const auto& of_offset = std::get<OffsetKey>(*read);
    const PartitionId id{of_offset.topic, of_offset.partition};
    const auto at = groups_.find(of_offset.group);
    if (!value) {
        if (at != groups_.end()) at->second.offsets.erase(id);
        return {};
    }
    const auto content = read_offset_value(*value);
    if (!content) return base::fail(content.error());
    Group& group = at != groups_.end() ? at->second : make(0, of_offset.group, {});
    group.offsets[id] = {.offset = content->offset,
                         .leader_epoch = content->leader_epoch,
                         .metadata = std::string(content->metadata),
                         .time = content->time};
    return {};
}

void Groups::load_group(const GroupKey& key, const GroupValue& value) {
    const auto at = groups_.find(key.group);
    Group& group = at != groups_.end() ? at->second : make(0, key.group, {});
    // What an earlier owner of the name committed is not this one's.
    if (!group.owner.empty() && group.owner.value != value.owner) group.offsets.clear();
    group.owner = {value.owner};
    group.is_recorded = true;
    group.state = value.members.empty() ? GroupState::empty : GroupState::stable;
    group.state_since = value.time;
    group.generation = value.generation;
    group.protocol_type = value.protocol_type;
    group.protocol = value.protocol;
    group.leader = value.leader.value_or("");
    group.members.clear();
    group.instances.clear();
    for (const GroupValue::Member& each : value.members) {
        GroupMember& member = group.members[std::string(each.id)];
        member.id = each.id;
        member.instance = each.instance;
        member.client_id = each.client_id;
        member.client_host = each.client_host;
        member.rebalance_timeout_ms = each.rebalance_timeout_ms;
        member.session_timeout_ms = each.session_timeout_ms;
        member.protocols = {{group.protocol.value_or(""), base::to_bytes(each.metadata)}};
        member.assignment = base::to_bytes(each.assignment);
        if (member.instance) group.instances[*member.instance] = member.id;
    }
    const auto with_instance = std::ranges::count_if(
        group.members, [](const auto& entry) { return entry.second.instance.has_value(); });
    const bool is_whole = group.members.size() == value.members.size() &&
                          group.instances.size() == static_cast<std::size_t>(with_instance) &&
                          (group.leader.empty() || group.members.contains(group.leader)) &&
                          (group.members.empty() || group.protocol);
    if (is_whole) return;
    // Its members join again. Other groups of the partition, and its own offsets, are not less
    // good.
    group.state = GroupState::empty;
    group.protocol.reset();
    group.leader.clear();
    group.members.clear();
    group.instances.clear();
}

void Groups::begin(std::int64_t now, std::int32_t partition) {
    led_.insert(partition);
    for (auto at = groups_.begin(); at != groups_.end();) {
        Group& group = (at++)->second;
        if (partition_of(group.name) != partition) continue;
        // A group that was deleted, with offsets that were not yet.
        if (!group.is_recorded) {
            forget(group);
            continue;
        }
        for (auto& [id, member] : group.members)
            keep_alive(now, group, member);
    }
}

void Groups::end(std::int32_t partition, GroupEffects& out) {
    led_.erase(partition);
    for (auto at = groups_.begin(); at != groups_.end();) {
        Group& group = (at++)->second;
        if (partition_of(group.name) != partition) continue;
        while (!group.members.empty()) {
            const std::string id = group.members.begin()->first;
            erase_member(group, id, ErrorCode::not_coordinator, out);
        }
        forget(group);
    }
}

void Groups::on_time(std::int64_t now, GroupEffects& out) {
    for (const Timer& timer : timers_.take(now)) {
        const auto at = groups_.find(timer.group);
        if (at != groups_.end()) on_timer(now, timer, at->second, out);
    }
}

// What it was set for may have happened meanwhile.
void Groups::on_timer(std::int64_t now, const Timer& timer, Group& group, GroupEffects& out) {
    const auto is_due = [now](std::optional<std::int64_t>& when) {
        if (!when || *when > now) return false;
        when.reset();
        return true;
    };
    switch (timer.kind) {
        case TimerKind::member: {
            GroupMember* const member = group.find_member(timer.member);
            if (member == nullptr || !is_due(member->expires_at)) return;
            return remove_member(now, group, timer.member, ErrorCode::unknown_member_id, out);
        }
        case TimerKind::pending:
            if (group.pending.erase(timer.member) == 0) return;
            try_complete_join(now, group, out);
            return drop_if_unused(group);
        case TimerKind::gather:
            if (is_due(group.gathers_until)) try_complete_join(now, group, out);
            return;
        case TimerKind::rebalance:
            if (!is_due(group.rebalance_ends_at)) return;
            if (group.state == GroupState::preparing_rebalance) {
                complete_join(now, group, out);
            } else if (group.state == GroupState::completing_rebalance) {
                expel_unsynced(now, group, out);
            }
            return;
    }
}

void Groups::on_closed(std::int64_t now, std::uint64_t connection) {
    const auto is_gone = [connection](const std::optional<Caller>& caller) {
        return caller && caller->id.connection == connection;
    };
    for (auto& [name, group] : groups_) {
        for (auto& [id, member] : group.members) {
            if (!is_gone(member.joins) && !is_gone(member.syncs)) continue;
            member.joins.reset();
            member.syncs.reset();
            keep_alive(now, group, member);
        }
    }
}

void Groups::check_invariants() const {
    for (const auto& [name, group] : groups_) {
        CHECK(group.name == name);
        group.check_invariants();
    }
}

}  // namespace bps
