// What groups commit, who asks for it, and what of it comes back after a restart.
#include "tests/node/bps/core/group_fixture.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using support::GroupFixture;
using Member = GroupFixture::Member;

const Member kNobody;

bps::OffsetFetchResponse all_offsets(GroupFixture& f, std::int16_t version = 7) {
    bps::OffsetFetchRequest request;
    request.group_id = "g";
    return f.decoded<bps::OffsetFetchResponse>(f.ask(version, request), version);
}
ErrorCode delete_group(GroupFixture& f) {
    bps::DeleteGroupsRequest request;
    request.groups_names = {"g"};
    const auto id = f.ask(2, request);
    f.sync();
    return f.decoded<bps::DeleteGroupsResponse>(id, 2).results.at(0).error_code;
}
bps::DescribeGroupsResponse::Group describe(GroupFixture& f) {
    bps::DescribeGroupsRequest request;
    request.groups = {"g"};
    return f.decoded<bps::DescribeGroupsResponse>(f.ask(5, request), 5).groups.at(0);
}
std::vector<std::string> list(GroupFixture& f, const std::vector<std::string_view>& states) {
    bps::ListGroupsRequest request;
    request.states_filter = states;
    std::vector<std::string> names;
    for (const auto& group : f.decoded<bps::ListGroupsResponse>(f.ask(4, request), 4).groups)
        names.push_back(std::string(group.group_id) + " " + std::string(group.group_state));
    return names;
}
ErrorCode delete_offset(GroupFixture& f, std::int32_t index) {
    bps::OffsetDeleteRequest request;
    request.group_id = "g";
    request.topics = {{"t", {{index}}}};
    const auto id = f.ask(0, request);
    f.sync();
    const auto response = f.decoded<bps::OffsetDeleteResponse>(id, 0);
    if (response.error_code != ErrorCode::none) return response.error_code;
    return response.topics.at(0).partitions.at(0).error_code;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("an offset is committed, and seen, when it is durable", "[bps][groups]") {
    GroupFixture f;
    CHECK(f.offset() == -1);
    CHECK_FALSE(f.is_there());
    const auto id = f.ask_commit(kNobody, 7);
    CHECK_FALSE(f.reply(id).has_value());
    CHECK(f.offset() == -1);
    CHECK(f.sync() == 1);
    CHECK(f.committed(id) == ErrorCode::none);
    CHECK(f.offset() == 7);
    f.restart();
    CHECK(f.offset() == 7);
    CHECK(f.group().owner == f.tenant);
    const auto all = all_offsets(f);
    REQUIRE(all.topics.size() == 1);
    CHECK(all.topics[0].name == "t");
    CHECK(all.topics[0].partitions.at(0).committed_leader_epoch == 3);
    CHECK(*all.topics[0].partitions.at(0).metadata == "m");
}

TEST_CASE("a commit before the first generation leaves a group that can be read again",
          "[bps][groups]") {
    GroupFixture f(500);
    auto member = f.new_member();
    (void)f.join(member);  // It waits for others.
    member.generation = 0;
    CHECK(f.commit(member, 7) == ErrorCode::none);
    f.restart();
    CHECK(f.is_there());
    CHECK(f.group().members.empty());
    CHECK(f.offset() == 7);
    CHECK(f.group().owner == f.tenant);
    CHECK(f.commit(kNobody, 8) == ErrorCode::none);
}

TEST_CASE("who may commit, and when", "[bps][groups]") {
    GroupFixture f;
    CHECK(f.commit({"x", {}, 1}, 1) == ErrorCode::illegal_generation);
    auto members = f.stable(1);
    CHECK(f.commit(members[0], 1) == ErrorCode::none);
    CHECK(f.commit(kNobody, 2) == ErrorCode::unknown_member_id);
    CHECK(f.commit({"x", {}, 1}, 2) == ErrorCode::unknown_member_id);
    CHECK(f.commit({members[0].id, {}, 9}, 2) == ErrorCode::illegal_generation);
    const Member b = f.new_member();
    f.join(b);
    // While a rebalance begins, what was read before it may be committed.
    CHECK(f.commit(members[0], 3) == ErrorCode::none);
    members[0].generation = f.joined(f.join(members[0])).member.generation;
    CHECK(f.commit(members[0], 4) == ErrorCode::rebalance_in_progress);
    CHECK(f.offset() == 3);
}

TEST_CASE("what cannot be committed is refused by itself", "[bps][groups]") {
    GroupFixture f;
    CHECK(f.committed(f.ask_commit(kNobody, 1, 2)) == ErrorCode::unknown_topic_or_partition);
    CHECK(f.committed(f.ask_commit(kNobody, 1, -1)) == ErrorCode::unknown_topic_or_partition);
    CHECK(f.committed(f.ask_commit(kNobody, 1, 0, std::string(4'097, 'm'))) ==
          ErrorCode::offset_metadata_too_large);
    f.view.revoke(f.tenant, bps::rows::Operation::consume);
    CHECK(f.committed(f.ask_commit(kNobody, 1)) == ErrorCode::topic_authorization_failed);
    CHECK_FALSE(f.is_there());
}

TEST_CASE("a commit that the disk refuses is not seen, and owns nothing", "[bps][groups]") {
    GroupFixture f;
    f.broker->set_disk_low(true);
    CHECK(f.committed(f.ask_commit(kNobody, 1)) == ErrorCode::not_coordinator);
    CHECK_FALSE(f.is_there());
    f.broker->set_disk_low(false);
    CHECK(f.commit(kNobody, 2) == ErrorCode::none);
    f.restart();
    CHECK(f.offset() == 2);
}

TEST_CASE("a group that is deleted leaves nothing, also of what was on its way", "[bps][groups]") {
    GroupFixture f;
    CHECK(delete_group(f) == ErrorCode::group_id_not_found);
    const auto members = f.stable(1);
    CHECK(f.commit(members[0], 1) == ErrorCode::none);
    CHECK(delete_group(f) == ErrorCode::non_empty_group);
    CHECK(f.leave(members[0]) == ErrorCode::none);
    f.sync();
    const auto late = f.ask_commit(kNobody, 5, 1);
    CHECK(delete_group(f) == ErrorCode::none);
    CHECK(f.committed(late) == ErrorCode::not_coordinator);
    CHECK_FALSE(f.is_there());
    f.restart();
    CHECK_FALSE(f.is_there());
    // Another tenant may have the name now.
    f.tenant = "bob"_n;
    CHECK(f.offset(0) == -1);
    CHECK(f.offset(1) == -1);
    CHECK(f.commit(kNobody, 6) == ErrorCode::none);
    f.restart();
    CHECK(f.offset(0) == 6);
    CHECK(f.offset(1) == -1);
}

TEST_CASE("a topic that is made again has no offset of the old one", "[bps][groups]") {
    GroupFixture f;
    CHECK(f.commit(kNobody, 5) == ErrorCode::none);
    const auto late = f.ask_commit(kNobody, 6);
    f.make_again(2);
    CHECK(f.offset() == -1);
    f.broker->on_topic_deleted(f.now, 1, f.effects);
    f.sync();
    CHECK(f.committed(late) == ErrorCode::none);
    CHECK(f.group().offsets.empty());
    f.restart();
    CHECK(f.group().offsets.empty());
    CHECK(all_offsets(f).topics.empty());
}

TEST_CASE("the offset of a topic that is read is not deleted", "[bps][groups]") {
    GroupFixture f;
    CHECK(delete_offset(f, 0) == ErrorCode::group_id_not_found);
    const auto members = f.stable(1);
    CHECK(f.commit(members[0], 1) == ErrorCode::none);
    CHECK(delete_offset(f, 0) == ErrorCode::group_subscribed_to_topic);
    CHECK(f.leave(members[0]) == ErrorCode::none);
    f.sync();
    CHECK(delete_offset(f, 0) == ErrorCode::none);
    CHECK(f.offset() == -1);
    f.restart();
    CHECK(f.offset() == -1);
}

TEST_CASE("offsets of a group without members expire, and then the group", "[bps][groups]") {
    GroupFixture f;
    f.group_settings.offsets_retention_ms = 1'000;
    f.restart();
    CHECK(f.commit(kNobody, 1) == ErrorCode::none);
    f.pass(999);
    CHECK(f.expire());
    CHECK(f.offset() == 1);
    f.pass(1);
    CHECK(f.expire());
    f.sync();
    CHECK_FALSE(f.is_there());
    f.restart();
    CHECK_FALSE(f.is_there());
    const auto members = f.stable(1);
    CHECK(f.commit(members[0], 1) == ErrorCode::none);
    f.now += 5'000;
    CHECK(f.expire());
    CHECK(f.offset() == 1);
}

TEST_CASE("an offset that is committed as an earlier one expires stays", "[bps][groups]") {
    GroupFixture f;
    f.group_settings.offsets_retention_ms = 1'000;
    f.restart();
    CHECK(f.commit(kNobody, 1) == ErrorCode::none);
    f.pass(1'000);
    const auto late = f.ask_commit(kNobody, 2);
    CHECK(f.expire());
    f.sync();
    CHECK(f.committed(late) == ErrorCode::none);
    CHECK(f.offset() == 2);
    f.restart();
    CHECK(f.offset() == 2);
}

TEST_CASE("groups are shown to who may see them", "[bps][groups]") {
    GroupFixture f;
    CHECK(describe(f).group_state == "Dead");
    CHECK(list(f, {}).empty());
    const auto members = f.stable(2);
    const auto group = describe(f);
    CHECK(group.error_code == ErrorCode::none);
    CHECK(group.group_state == "Stable");
    CHECK(group.protocol_type == "consumer");
    CHECK(group.protocol_data == "range");
    REQUIRE(group.members.size() == 2);
    for (const auto& member : group.members) {
        CHECK(member.client_id == "client");
        CHECK(base::equal(member.member_metadata, GroupFixture::subscription("t")));
        CHECK(base::as_text(member.member_assignment) ==
              (member.member_id == members[0].id ? "0" : "1"));
    }
    CHECK(list(f, {}) == Names{"g Stable"});
    CHECK(list(f, {"Empty"}).empty());
    CHECK(list(f, {"Empty", "Stable"}) == Names{"g Stable"});
    f.tenant = "bob"_n;
    CHECK(describe(f).error_code == ErrorCode::group_authorization_failed);
    CHECK(list(f, {}).empty());
    CHECK(all_offsets(f).error_code == ErrorCode::group_authorization_failed);
    CHECK(delete_group(f) == ErrorCode::group_authorization_failed);
    CHECK(delete_offset(f, 0) == ErrorCode::group_authorization_failed);
}

TEST_CASE("clients find the coordinator of a group, and none of transactions", "[bps][groups]") {
    GroupFixture f;
    const auto find = [&](std::string_view key, std::int8_t type) {
        bps::FindCoordinatorRequest request;
        request.key = key;
        request.key_type = type;
        return f.decoded<bps::FindCoordinatorResponse>(f.ask(3, request), 3);
    };
    const auto found = find("g", 0);
    CHECK(found.error_code == ErrorCode::none);
    CHECK(found.node_id == 1);
    CHECK(found.host == "broker.example");
    CHECK(found.port == 9092);
    CHECK(find("", 0).error_code == ErrorCode::invalid_group_id);
    CHECK(find("g", 1).error_code == ErrorCode::transactional_id_authorization_failed);
    CHECK(find("g", 2).error_code == ErrorCode::invalid_request);
    f.broker->set_offsets_topic(0, 0);
    CHECK(find("g", 0).error_code == ErrorCode::coordinator_not_available);
    CHECK(f.joined(f.join({})).code == ErrorCode::coordinator_not_available);
}

TEST_CASE("an offsets partition with foreign records is led, and coordinates nothing",
          "[bps][groups]") {
    GroupFixture f;
    f.broker.reset();
    f.effects = {};
    const bps::PartitionId id{GroupFixture::kOffsetsTopic, 0};
    auto& files = f.files[{9, 9}];
    f.broker = f.make_broker();
    auto log = support::open_log(files, {});
    support::append(*log, support::record("no group"));
    f.broker->add(id, std::move(log), {});
    const auto led = f.broker->lead(f.now, id, 5, 1, f.effects);
    REQUIRE_FALSE(led.has_value());
    CHECK(led.error().detail.starts_with("__consumer_offsets, offset 0: "));
    CHECK(f.broker->partitions().find(id)->leads());
    CHECK(f.heartbeat({"x", {}, 1}) == ErrorCode::not_coordinator);
}

TEST_CASE("100,000 commits take little room, and the last holds", "[bps][groups][compaction]") {
    constexpr std::int64_t kCommits = 100'000;
    constexpr std::int32_t kPartitions = 2;
    constexpr std::uint64_t kSegmentBytes = 64U << 10U;
    GroupFixture f;
    f.settings.log = {.segment_bytes = kSegmentBytes, .compacts = true};
    f.restart();
    auto& disk = f.files[{GroupFixture::kOffsetsTopic, f.broker->groups().partition_of("g")}];
    std::uint64_t most = 0;
    bool has_more = false;
    for (std::int64_t offset = 0; offset < kCommits; ++offset) {
        const auto partition = static_cast<std::int32_t>(offset % kPartitions);
        const auto id = f.ask_commit({}, offset, partition);
        f.sync();
        REQUIRE(f.committed(id) == ErrorCode::none);
        if (offset % 100 == 0) {
            REQUIRE(f.expire());
            has_more = true;
        }
        if (has_more) {
            has_more = f.broker->compact(f.now, f.effects).value();
            if (f.sync() > 0) has_more = true;
        }
        most = std::max(most, disk.bytes());
    }
    CHECK(most < 5 * kSegmentBytes);
    for (const bool again : {false, true}) {
        if (again) f.restart();
        CHECK(f.offset(0) == kCommits - 2);
        CHECK(f.offset(1) == kCommits - 1);
    }
}
