// Offsets that groups commit, and what becomes of them.
#include "base/check.hpp"
#include "node/bps/core/groups.hpp"

#include <algorithm>
#include <utility>

namespace bps {

namespace {

// Of OffsetFetch: before, an error stands in each partition only.
constexpr std::int16_t kWholeErrorSince = 2;
// That OffsetFetch may name: more than any topics have partitions.
constexpr std::size_t kOffsetsNamedMax = 100'000;

// That it takes of the room of its tenant. One that has as many offsets, and commits them anew,
// takes none but for texts; what this misses is counted in expire().
std::size_t bytes_of(const OffsetCommitRequest& request, const Group* group) {
    std::size_t count = 0;
    std::size_t texts = 0;
    for (const OffsetCommitRequest::Topic& topic : request.topics) {
        count += topic.partitions.size();
        for (const OffsetCommitRequest::Partition& part : topic.partitions)
            texts += part.committed_metadata.value_or("").size();
    }
    const bool is_anew = group != nullptr && count <= group->offsets.size();
    return texts + (is_anew ? 0 : count * kOffsetBytes);
}

std::size_t count_of(const OffsetFetchRequest& request) {
    std::size_t all = 0;
    if (request.topics) {
        for (const OffsetFetchRequest::Topic& topic : *request.topics)
            all += topic.partition_indexes.size();
    }
    return all;
}

}  // namespace

ErrorCode Groups::check_commit(std::int64_t now, Group* group, const OffsetCommitRequest& request) {
    const std::int32_t generation = request.generation_id_or_member_epoch;
    // Who assigns partitions by hand commits without being a member.
    if (generation < 0 && request.member_id.empty() && !request.group_instance_id) {
        const bool is_free = group == nullptr || group->state == GroupState::empty;
        return is_free ? ErrorCode::none : ErrorCode::unknown_member_id;
    }
    if (group == nullptr) return ErrorCode::illegal_generation;
    const auto member =
        find_member(group, {.member = request.member_id, .instance = request.group_instance_id});
    if (!member) return member.error().code;
    if (generation != group->generation) return ErrorCode::illegal_generation;
    keep_alive(now, *group, **member);
    return group->state == GroupState::completing_rebalance ? ErrorCode::rebalance_in_progress
                                                            : ErrorCode::none;
}

Verdict<chain::Name> Groups::owner_of(std::int64_t now,
                                      const Caller& caller,
                                      const OffsetCommitRequest& request,
                                      const Group* group) {
    auto owner =
        group != nullptr
            ? Verdict<chain::Name>(group->owner)
            : access_.group(caller.principal, request.group_id, std::nullopt, Right::consume, now);
    if (!owner) return owner;
    if (group == nullptr) {
        if (const auto may = may_make(*owner); !may) return refuse(may.error());
    }
    if (take_room(now, *owner, bytes_of(request, group))) return owner;
    return refuse(ErrorCode::invalid_commit_offset_size, "the tenant's groups take too much");
}

void Groups::commit(std::int64_t now,
                    const Caller& caller,
                    const OffsetCommitRequest& request,
                    GroupEffects& out) {
    const auto found = allowed(now, caller, request.group_id, Right::consume);
    ErrorCode whole = found ? check_commit(now, *found, request) : found.error().code;
    Verdict<chain::Name> owner;
    if (whole == ErrorCode::none) {
        owner = owner_of(now, caller, request, *found);
        if (!owner) whole = owner.error().code;
    }
    StoredOffsets stored;
    stored.caller = caller;
    for (const OffsetCommitRequest::Topic& topic : request.topics) {
        auto& answers = stored.response.topics.emplace_back();
        answers.name = stored.texts.keep(topic.name);
        const auto access = access_.topic(caller.principal, topic.name, Right::consume, now);
        for (const OffsetCommitRequest::Partition& part : topic.partitions) {
            auto& answer = answers.partitions.emplace_back();
            answer.partition_index = part.partition_index;
            const std::string_view metadata = part.committed_metadata.value_or("");
            if (whole != ErrorCode::none) {
                answer.error_code = whole;
            } else if (!access) {
                answer.error_code = access.error().code;
            } else if (part.partition_index < 0 || part.partition_index >= access->partitions) {
                answer.error_code = ErrorCode::unknown_topic_or_partition;
            } else if (metadata.size() > settings_.offset_metadata_bytes_max) {
                answer.error_code = ErrorCode::offset_metadata_too_large;
            } else {
                stored.offsets.push_back({{access->id, part.partition_index},
                                          {.offset = part.committed_offset,
                                           .leader_epoch = part.committed_leader_epoch,
                                           .metadata = std::string(metadata),
                                           .time = now}});
            }
        }
    }
    if (stored.offsets.empty()) {
        out.replies.push_back(reply_to(caller, stored.response));
        return;
    }
    Group& group = *found != nullptr ? **found : make(now, request.group_id, *owner);
    store_offsets(group, std::move(stored), out);
}

void Groups::store_offsets(Group& group, StoredOffsets stored, GroupEffects& out) {
    std::vector<GroupRecord> records;
    // An offset without its group would belong to nobody.
    if (!group.is_recorded) records.push_back(record_of(group));
    for (const auto& [id, committed] : stored.offsets) {
        group.committing.emplace(id, last_write_ + 1);
        records.push_back(record_of(group, id, committed));
    }
    stored.of = {.group = group.name, .serial = group.serial};
    write(partition_of(group.name), std::move(records), std::move(stored), out);
}

GroupRecord Groups::record_of(const Group& group,
                              const PartitionId& id,
                              const CommittedOffset& committed) {
    OffsetValue value;
    value.offset = committed.offset;
    value.leader_epoch = committed.leader_epoch;
    value.metadata = committed.metadata;
    value.time = committed.time;
    return {.key = pack_group_record(
                OffsetKey{.group = group.name, .topic = id.topic, .partition = id.index}),
            .value = pack_group_record(value)};
}

void Groups::on_offsets_stored(std::uint64_t write,
                               StoredOffsets& stored,
                               ErrorCode code,
                               GroupEffects& out) {
    Group* const group = find(stored.of);
    const bool is_there = group != nullptr;
    if (is_there) {
        if (code == ErrorCode::none) group->is_recorded = true;
        for (auto& [id, committed] : stored.offsets) {
            // Else it was deleted meanwhile.
            const bool holds = group->committing.contains({id, write});
            if (holds && code == ErrorCode::none) group->offsets[id] = std::move(committed);
        }
        for (const auto& [id, committed] : stored.offsets)
            group->committing.erase({id, write});
        drop_if_unused(*group);
    }
    ErrorCode told = is_there ? code_of_store(code) : ErrorCode::not_coordinator;
    if (code == ErrorCode::message_too_large) told = ErrorCode::invalid_commit_offset_size;
    for (auto& topic : stored.response.topics) {
        for (auto& part : topic.partitions) {
            if (part.error_code == ErrorCode::none) part.error_code = told;
        }
    }
    out.replies.push_back(reply_to(stored.caller, stored.response));
}

void Groups::fetch(std::int64_t now,
                   const Caller& caller,
                   const OffsetFetchRequest& request,
                   GroupEffects& out) {
    OffsetFetchResponse response;
    Texts texts;
    const auto found = allowed(now, caller, request.group_id, Right::consume);
    if (!found) response.error_code = found.error().code;
    if (count_of(request) > kOffsetsNamedMax) {
        response.error_code = ErrorCode::invalid_request;
    } else if (request.topics) {
        for (const OffsetFetchRequest::Topic& topic : *request.topics)
            fetch_named(now, caller, topic, found, response);
    } else if (found && *found != nullptr) {
        fetch_all(now, caller, **found, response, texts);
    }
    out.replies.push_back(reply_to(caller, response));
}

OffsetFetchResponse::Partition Groups::offset_of(const Group* group, PartitionId id) {
    OffsetFetchResponse::Partition answer;
    answer.partition_index = id.index;
    answer.committed_offset = -1;
    answer.metadata = "";
    if (group == nullptr) return answer;
    const auto at = group->offsets.find(id);
    if (at == group->offsets.end()) return answer;
    answer.committed_offset = at->second.offset;
    answer.committed_leader_epoch = at->second.leader_epoch;
    answer.metadata = at->second.metadata;
    return answer;
}

void Groups::fetch_named(std::int64_t now,
                         const Caller& caller,
                         const OffsetFetchRequest::Topic& topic,
                         const Verdict<Group*>& group,
                         OffsetFetchResponse& response) const {
    auto& answers = response.topics.emplace_back();
    answers.name = topic.name;
    const auto access = access_.topic(caller.principal, topic.name, Right::see, now);
    const TopicId id = access ? access->id : TopicId{0};
    for (const std::int32_t index : topic.partition_indexes) {
        answers.partitions.push_back(offset_of(group ? *group : nullptr, {id, index}));
        auto& answer = answers.partitions.back();
        if (!access) answer.error_code = access.error().code;
        if (!group && caller.version < kWholeErrorSince) answer.error_code = group.error().code;
    }
}

// Those of topics that the caller may see; by id, so those of one topic are together.
void Groups::fetch_all(std::int64_t now,
                       const Caller& caller,
                       const Group& group,
                       OffsetFetchResponse& response,
                       Texts& texts) const {
    std::optional<TopicId> last;
    bool is_seen = false;
    for (const auto& [id, committed] : group.offsets) {
        if (id.topic != last) {
            last = id.topic;
            const auto name = access_.topic_name(id.topic);
            is_seen = name && access_.topic(caller.principal, *name, Right::see, now);
            if (is_seen) response.topics.emplace_back().name = texts.keep(*name);
        }
        if (is_seen) response.topics.back().partitions.push_back(offset_of(&group, id));
    }
}

void Groups::remove_offsets(std::int64_t now,
                            const Caller& caller,
                            const OffsetDeleteRequest& request,
                            GroupEffects& out) {
    OffsetDeleteResponse response;
    const auto found = allowed(now, caller, request.group_id, Right::admin);
    // What its members read, is kept. Of members that do not say what they read: all.
    std::optional<std::set<std::string>> read;
    if (!found) {
        response.error_code = found.error().code;
    } else if (*found == nullptr) {
        response.error_code = ErrorCode::group_id_not_found;
    } else if (read = (*found)->subscribed_topics(); !read) {
        response.error_code = ErrorCode::non_empty_group;
    }
    if (response.error_code != ErrorCode::none) {
        out.replies.push_back(reply_to(caller, response));
        return;
    }
    std::map<std::int32_t, std::vector<GroupRecord>> writes;
    std::vector<GroupRecord> records;
    for (const OffsetDeleteRequest::Topic& topic : request.topics) {
        auto& answers = response.topics.emplace_back();
        answers.name = topic.name;
        auto access = access_.topic(caller.principal, topic.name, Right::see, now);
        if (access && read->contains(std::string(topic.name))) {
            access = refuse(ErrorCode::group_subscribed_to_topic, "members of the group read it");
        }
        for (const OffsetDeleteRequest::Partition& part : topic.partitions) {
            const ErrorCode code = remove_offset(**found, access, part.partition_index, records);
            answers.partitions.push_back(
                {.partition_index = part.partition_index, .error_code = code});
        }
    }
    if (!records.empty()) writes[partition_of(request.group_id)] = std::move(records);
    OffsetDeleteResponse failed;
    failed.error_code = ErrorCode::coordinator_not_available;
    write(std::move(writes), reply_to(caller, response), reply_to(caller, failed), out);
}

ErrorCode Groups::remove_offset(Group& group,
                                const Verdict<TopicAccess>& topic,
                                std::int32_t index,
                                std::vector<GroupRecord>& records) {
    if (!topic) return topic.error().code;
    const PartitionId id{topic->id, index};
    if (group.erase_offset(id)) records.push_back(gone(group, id));
    return ErrorCode::none;
}

void Groups::on_topic_deleted(TopicId topic, GroupEffects& out) {
    for (auto& [name, group] : groups_) {
        if (!led_.contains(partition_of(name))) continue;
        std::vector<GroupRecord> records;
        for (const PartitionId& id : group.offset_ids()) {
            if (id.topic != topic) continue;
            group.erase_offset(id);
            records.push_back(gone(group, id));
        }
        if (!records.empty()) write(partition_of(name), std::move(records), {}, out);
    }
}

void Groups::expire(std::int64_t now, GroupEffects& out) {
    rooms_.clear();
    for (auto at = groups_.begin(); at != groups_.end();) {
        Group& group = (at++)->second;
        const bool is_idle = group.state == GroupState::empty && group.pending.empty() &&
                             led_.contains(partition_of(group.name));
        const std::int64_t before = now - settings_.offsets_retention_ms;
        if (!is_idle || group.state_since > before) continue;
        std::vector<GroupRecord> records;
        std::erase_if(group.offsets, [&](const auto& entry) {
            if (entry.second.time > before || group.is_committing(entry.first)) return false;
            records.push_back(gone(group, entry.first));
            return true;
        });
        const bool is_over = group.offsets.empty() && group.committing.empty();
        if (is_over) records.push_back(gone(group));
        if (!records.empty()) write(partition_of(group.name), std::move(records), {}, out);
        if (is_over) forget(group);
    }
}

}  // namespace bps
