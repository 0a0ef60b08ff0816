#pragma once

#include "tests/node/bps/core/broker_fixture.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace support {

// Consumers of one group `g` on a broker. `gather_ms` is 0 unless a test says otherwise.
struct GroupFixture : BrokerFixture {
    explicit GroupFixture(std::int32_t gather_ms = 0) {
        group_settings.gather_ms = gather_ms;
        restart();
    }

    struct Member {
        std::string id;
        std::optional<std::string> instance;
        std::int32_t generation = -1;
    };
    struct Joined {
        bps::ErrorCode code = bps::ErrorCode::none;
        Member member;
        std::string leader;
        std::string protocol;
        std::vector<std::string> members;  // Ids, as the leader is told.
    };
    using Protocols = std::vector<std::pair<std::string, std::string>>;

    static base::Bytes subscription(const std::string& topic) {
        bps::Writer out;
        out.integer<std::int16_t>(0);
        out.integer<std::int32_t>(1);
        out.integer(static_cast<std::int16_t>(topic.size()));
        out.raw(base::as_bytes(topic));
        out.integer<std::int32_t>(-1);
        return out.take();
    }
    std::uint64_t join(const Member& member,
                       const Protocols& protocols = {{"range", "t"}},
                       std::int16_t version = 7) {
        bps::JoinGroupRequest request;
        request.group_id = "g";
        request.session_timeout_ms = 10'000;
        request.rebalance_timeout_ms = 60'000;
        request.member_id = member.id;
        request.group_instance_id = member.instance;
        request.protocol_type = "consumer";
        std::vector<base::Bytes> metadata;
        for (const auto& [name, topic] : protocols)
            metadata.push_back(subscription(topic));
        for (std::size_t i = 0; i < protocols.size(); ++i)
            request.protocols.push_back({protocols[i].first, metadata[i]});
        return ask(version, request);
    }
    Joined joined(std::uint64_t id, std::int16_t version = 7) {
        const auto response = decoded<bps::JoinGroupResponse>(id, version);
        Joined found{.code = response.error_code,
                     .member = {std::string(response.member_id), {}, response.generation_id},
                     .leader = std::string(response.leader),
                     .protocol = std::string(response.protocol_name.value_or("")),
                     .members = {}};
        for (const auto& each : response.members)
            found.members.emplace_back(each.member_id);
        return found;
    }
    // The id that a new member is told to come again with.
    Member new_member() {
        const Joined told = joined(join({}));
        REQUIRE(told.code == bps::ErrorCode::member_id_required);
        return told.member;
    }
    std::uint64_t sync_group(
        const Member& member,
        const std::vector<std::pair<std::string, std::string>>& assignments = {}) {
        bps::SyncGroupRequest request;
        request.group_id = "g";
        request.generation_id = member.generation;
        request.member_id = member.id;
        request.group_instance_id = member.instance;
        for (const auto& [id, text] : assignments)
            request.assignments.push_back({id, base::as_bytes(text)});
        return ask(5, request);
    }
    std::pair<bps::ErrorCode, std::string> synced(std::uint64_t id) {
        const auto response = decoded<bps::SyncGroupResponse>(id, 5);
        return {response.error_code, std::string(base::as_text(response.assignment))};
    }
    bps::ErrorCode heartbeat(const Member& member) {
        bps::HeartbeatRequest request;
        request.group_id = "g";
        request.generation_id = member.generation;
        request.member_id = member.id;
        request.group_instance_id = member.instance;
        return decoded<bps::HeartbeatResponse>(ask(4, request), 4).error_code;
    }
    bps::ErrorCode leave(const Member& member) {
        bps::LeaveGroupRequest request;
        request.group_id = "g";
        request.members = {{member.id, member.instance}};
        return decoded<bps::LeaveGroupResponse>(ask(4, request), 4).members.at(0).error_code;
    }
    std::uint64_t ask_commit(const Member& member,
                             std::int64_t offset,
                             std::int32_t index = 0,
                             const std::string& metadata = "m") {
        bps::OffsetCommitRequest request;
        request.group_id = "g";
        request.generation_id_or_member_epoch = member.generation;
        request.member_id = member.id;
        request.group_instance_id = member.instance;
        request.topics = {{"t", {{index, offset, 3, metadata}}}};
        return ask(8, request);
    }
    bps::ErrorCode committed(std::uint64_t id) {
        return decoded<bps::OffsetCommitResponse>(id, 8).topics.at(0).partitions.at(0).error_code;
    }
    bps::ErrorCode commit(const Member& member, std::int64_t offset) {
        const auto id = ask_commit(member, offset);
        sync();
        return committed(id);
    }
    std::int64_t offset(std::int32_t index = 0) {
        bps::OffsetFetchRequest request;
        request.group_id = "g";
        request.topics = {{{"t", {index}}}};
        const auto response = decoded<bps::OffsetFetchResponse>(ask(7, request), 7);
        CHECK(response.error_code == bps::ErrorCode::none);
        return response.topics.at(0).partitions.at(0).committed_offset;
    }
    const bps::Group& group() { return broker->groups().all().at("g"); }
    bool is_there() { return broker->groups().all().contains("g"); }

    // A stable group of so many dynamic members; the first leads. Each is assigned its number.
    std::vector<Member> stable(std::size_t count) {
        std::vector<Member> members;
        std::vector<std::uint64_t> joins;
        joins.reserve(count);
        for (std::size_t i = 0; i < count; ++i)
            members.push_back(new_member());
        for (const Member& member : members)
            joins.push_back(join(member));
        rebalance(members, joins);
        return members;
    }
    // Answers to joins that have come, and the syncs of all of them.
    void rebalance(std::vector<Member>& members, const std::vector<std::uint64_t>& joins) {
        std::string leader;
        for (std::size_t i = 0; i < members.size(); ++i) {
            const Joined answer = joined(joins[i]);
            REQUIRE(answer.code == bps::ErrorCode::none);
            members[i].generation = answer.member.generation;
            leader = answer.leader;
        }
        std::vector<std::pair<std::string, std::string>> assignments;
        for (std::size_t i = 0; i < members.size(); ++i)
            assignments.emplace_back(members[i].id, std::to_string(i));
        std::vector<std::uint64_t> syncs;
        syncs.reserve(members.size());
        for (const Member& member : members) {
            const bool leads = member.id == leader;
            syncs.push_back(sync_group(member, leads ? assignments : decltype(assignments)()));
        }
        sync();
        for (std::size_t i = 0; i < members.size(); ++i)
            REQUIRE(synced(syncs[i]) == std::pair(bps::ErrorCode::none, std::to_string(i)));
        REQUIRE(group().state == bps::GroupState::stable);
    }
};

}  // namespace support
