// Groups of the classic protocol, on a broker whose disk syncs when the test says so.
#include "tests/node/bps/core/group_fixture.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using bps::GroupState;
using support::GroupFixture;
using Member = GroupFixture::Member;
using Synced = std::pair<ErrorCode, std::string>;

}  // namespace

TEST_CASE("a group forms: its leader assigns, and every member gets its part", "[bps][groups]") {
    GroupFixture f;
    const auto members = f.stable(3);
    CHECK(f.group().leader == members[0].id);
    CHECK(f.group().protocol == "range");
    for (const Member& member : members)
        CHECK(f.heartbeat(member) == ErrorCode::none);
    CHECK(f.synced(f.sync_group(members[2])) == Synced{ErrorCode::none, "2"});
}

TEST_CASE("a new member is told an id first, unless its version knows none", "[bps][groups]") {
    GroupFixture f;
    const auto told = f.joined(f.join({}));
    CHECK(told.code == ErrorCode::member_id_required);
    CHECK(told.member.id.starts_with("client-"));
    CHECK(f.group().members.empty());
    GroupFixture old;
    const auto joined = old.joined(old.join({}, {{"range", "t"}}, 3), 3);
    CHECK(joined.code == ErrorCode::none);
    CHECK(joined.members == std::vector{joined.member.id});
}

TEST_CASE("a rebalance waits for who was told an id, as long as his session", "[bps][groups]") {
    GroupFixture f;
    f.new_member();
    const auto id = f.join({}, {{"range", "t"}}, 3);
    f.pass(9'999);
    CHECK_FALSE(f.reply(id).has_value());
    f.pass(1);
    CHECK(f.joined(id, 3).code == ErrorCode::none);
}

TEST_CASE("an id that was given out and not used is forgotten", "[bps][groups]") {
    GroupFixture f;
    const Member member = f.new_member();
    CHECK(f.is_there());
    f.pass(10'000);
    CHECK_FALSE(f.is_there());
    CHECK(f.joined(f.join(member)).code == ErrorCode::unknown_member_id);
    CHECK_FALSE(f.broker->next_time().has_value());
}

TEST_CASE("only the leader is told who is there", "[bps][groups]") {
    GroupFixture f;
    const Member a = f.new_member();
    const Member b = f.new_member();
    const auto first = f.join(a);
    CHECK_FALSE(f.reply(first).has_value());  // It waits for the other one.
    const auto second = f.join(b);
    const auto of_a = f.joined(first);
    const auto of_b = f.joined(second);
    CHECK(of_a.members.size() == 2);
    CHECK(of_b.members.empty());
    CHECK(of_a.leader == a.id);
    CHECK(of_b.leader == a.id);
    CHECK(of_a.member.generation == of_b.member.generation);
}

TEST_CASE("the assignment is told when it is durable", "[bps][groups]") {
    GroupFixture f;
    Member a = f.new_member();
    a.generation = f.joined(f.join(a)).member.generation;
    const auto id = f.sync_group(a, {{a.id, "all"}});
    CHECK_FALSE(f.reply(id).has_value());
    CHECK(f.group().state == GroupState::completing_rebalance);
    CHECK(f.sync() == 1);
    CHECK(f.synced(id) == Synced{ErrorCode::none, "all"});
}

TEST_CASE("an assignment that cannot be stored makes the group join again", "[bps][groups]") {
    GroupFixture f;
    Member a = f.new_member();
    a.generation = f.joined(f.join(a)).member.generation;
    f.broker->set_disk_low(true);
    const auto id = f.sync_group(a, {{a.id, "all"}});
    CHECK(f.synced(id).first == ErrorCode::not_coordinator);
    CHECK(f.group().state == GroupState::preparing_rebalance);
    CHECK(f.heartbeat(a) == ErrorCode::rebalance_in_progress);
}

TEST_CASE("the protocol is what most prefer among what all know", "[bps][groups]") {
    GroupFixture f;
    const std::vector<GroupFixture::Protocols> lists = {
        {{"range", "t"}, {"roundrobin", "t"}, {"sticky", "t"}},
        {{"sticky", "t"}, {"roundrobin", "t"}},
        {{"cooperative-sticky", "t"}, {"roundrobin", "t"}, {"sticky", "t"}}};
    std::vector<Member> members;
    std::vector<std::uint64_t> joins;
    for (std::size_t i = 0; i < lists.size(); ++i)
        members.push_back(f.new_member());
    for (std::size_t i = 0; i < lists.size(); ++i)
        joins.push_back(f.join(members[i], lists[i]));
    // roundrobin: of the first and the third; sticky: of the second.
    for (const auto id : joins)
        CHECK(f.joined(id).protocol == "roundrobin");
    CHECK(f.joined(f.join({}, {{"other", "t"}})).code == ErrorCode::inconsistent_group_protocol);
    CHECK(f.joined(f.join({}, {})).code == ErrorCode::inconsistent_group_protocol);
}

TEST_CASE("a member that comes makes the others join again", "[bps][groups]") {
    GroupFixture f;
    auto members = f.stable(2);
    members.push_back(f.new_member());
    std::vector<std::uint64_t> joins(3);
    joins[2] = f.join(members[2]);
    CHECK(f.group().state == GroupState::preparing_rebalance);
    for (const std::size_t i : {0U, 1U}) {
        CHECK(f.heartbeat(members[i]) == ErrorCode::rebalance_in_progress);
        CHECK(f.synced(f.sync_group(members[i])).first == ErrorCode::rebalance_in_progress);
        joins[i] = f.join(members[i]);
    }
    f.rebalance(members, joins);
    CHECK(f.group().generation == 2);
    members[0].generation = 1;
    CHECK(f.heartbeat(members[0]) == ErrorCode::illegal_generation);
    CHECK(f.synced(f.sync_group(members[0])).first == ErrorCode::illegal_generation);
}

TEST_CASE("who does not join in time is left behind", "[bps][groups]") {
    GroupFixture f;
    auto members = f.stable(2);
    const auto join = f.join(members[0], {{"range", "other"}});
    for (int i = 0; i < 11; ++i) {
        f.pass(5'000);
        CHECK(f.heartbeat(members[1]) == ErrorCode::rebalance_in_progress);
    }
    CHECK_FALSE(f.reply(join).has_value());
    f.pass(5'000);
    CHECK(f.joined(join).members == std::vector{members[0].id});
    CHECK(f.heartbeat(members[1]) == ErrorCode::unknown_member_id);
}

TEST_CASE("who is silent for its session is out, and the others share", "[bps][groups]") {
    GroupFixture f;
    auto members = f.stable(2);
    f.pass(6'000);
    CHECK(f.heartbeat(members[0]) == ErrorCode::none);
    f.pass(4'000);
    CHECK(f.heartbeat(members[0]) == ErrorCode::rebalance_in_progress);
    CHECK(f.heartbeat(members[1]) == ErrorCode::unknown_member_id);
    const auto join = f.join(members[0]);
    CHECK(f.joined(join).members.size() == 1);
}

TEST_CASE("who does not ask for its assignment is out", "[bps][groups]") {
    GroupFixture f;
    std::vector<Member> members = {f.new_member(), f.new_member()};
    std::vector<std::uint64_t> joins = {f.join(members[0]), f.join(members[1])};
    for (std::size_t i = 0; i < 2; ++i)
        members[i].generation = f.joined(joins[i]).member.generation;
    const auto waits = f.sync_group(members[1]);
    for (int i = 0; i < 12; ++i) {
        f.heartbeat(members[0]);
        f.pass(5'000);
    }
    CHECK(f.synced(waits).first == ErrorCode::rebalance_in_progress);
    CHECK(f.heartbeat(members[0]) == ErrorCode::unknown_member_id);
    CHECK(f.group().leader == members[1].id);
}

TEST_CASE("who leaves goes at once; the last leaves an empty group", "[bps][groups]") {
    GroupFixture f;
    const auto members = f.stable(2);
    CHECK(f.leave({"nobody", {}, 1}) == ErrorCode::unknown_member_id);
    CHECK(f.leave(members[0]) == ErrorCode::none);
    CHECK(f.heartbeat(members[1]) == ErrorCode::rebalance_in_progress);
    CHECK(f.group().leader == members[1].id);
    CHECK(f.leave(members[1]) == ErrorCode::none);
    CHECK(f.group().state == GroupState::empty);
    CHECK(f.group().generation == 2);
    CHECK_FALSE(f.broker->next_time().has_value());
}

TEST_CASE("a member whose join waits is answered when it is taken out", "[bps][groups]") {
    GroupFixture f;
    const auto members = f.stable(2);
    const auto id = f.join(members[0], {{"range", "other"}});
    CHECK(f.leave(members[0]) == ErrorCode::none);
    CHECK(f.joined(id).code == ErrorCode::unknown_member_id);
}

TEST_CASE("a follower that asks again gets the same answer, a leader a rebalance",
          "[bps][groups]") {
    GroupFixture f;
    const auto members = f.stable(2);
    const auto again = f.joined(f.join(members[1]));
    CHECK(again.code == ErrorCode::none);
    CHECK(again.member.generation == members[1].generation);
    CHECK(f.group().state == GroupState::stable);
    f.join(members[0]);
    CHECK(f.group().state == GroupState::preparing_rebalance);
}

TEST_CASE("members that start together share the first rebalance", "[bps][groups]") {
    GroupFixture f(500);
    const Member a = f.new_member();
    const auto first = f.join(a);
    f.pass(400);
    const Member b = f.new_member();
    const auto second = f.join(b);
    CHECK_FALSE(f.reply(first).has_value());
    f.pass(100);
    CHECK(f.joined(first).members.size() == 2);
    CHECK(f.joined(second).member.generation == 1);
}

TEST_CASE("a static member that comes back keeps its part, and nobody notices", "[bps][groups]") {
    GroupFixture f;
    std::vector<Member> members = {{"", "one", -1}, {"", "two", -1}};
    const auto first = f.join(members[0]);
    const auto second = f.join(members[1]);
    members[0].id = f.joined(first).member.id;
    CHECK(members[0].id.starts_with("one-"));
    CHECK_FALSE(f.reply(second).has_value());
    const auto rejoin = f.join(members[0]);
    const auto of_second = f.joined(second);
    members[1].id = of_second.member.id;
    members[0].generation = f.joined(rejoin).member.generation;
    members[1].generation = of_second.member.generation;
    const auto a = f.sync_group(members[0], {{members[0].id, "0"}, {members[1].id, "1"}});
    const auto b = f.sync_group(members[1]);
    f.sync();
    CHECK(f.synced(a).second == "0");
    CHECK(f.synced(b).second == "1");

    const Member before = members[1];
    const auto back = f.join({"", "two", -1});
    CHECK_FALSE(f.reply(back).has_value());
    f.sync();
    const auto answer = f.joined(back);
    CHECK(answer.code == ErrorCode::none);
    CHECK(answer.member.generation == before.generation);
    CHECK(answer.member.id != before.id);
    const Member now{answer.member.id, "two", before.generation};
    CHECK(f.synced(f.sync_group(now)) == Synced{ErrorCode::none, "1"});
    CHECK(f.heartbeat(now) == ErrorCode::none);
    CHECK(f.heartbeat(members[0]) == ErrorCode::none);
    // What it was before is fenced.
    CHECK(f.heartbeat(before) == ErrorCode::fenced_instance_id);
    CHECK(f.synced(f.sync_group(before)).first == ErrorCode::fenced_instance_id);
    CHECK(f.joined(f.join(before)).code == ErrorCode::fenced_instance_id);
    CHECK(f.committed(f.ask_commit(before, 1)) == ErrorCode::fenced_instance_id);
    CHECK(f.leave(before) == ErrorCode::fenced_instance_id);
    f.restart();
    CHECK(f.heartbeat(now) == ErrorCode::none);
}

TEST_CASE("the longest name of an instance begins ids and records as others do", "[bps][groups]") {
    GroupFixture f;
    const std::string longest(32'767, 'i');
    const auto first = f.joined(f.join({"", longest, -1}));
    CHECK(first.code == ErrorCode::none);
    CHECK(first.member.id.size() == 255 + 1 + 32);
    const Member member{first.member.id, longest, first.member.generation};
    const auto asked = f.sync_group(member, {{member.id, "0"}});
    f.sync();
    CHECK(f.synced(asked) == Synced{ErrorCode::none, "0"});
    f.restart();
    CHECK(f.heartbeat(member) == ErrorCode::none);
}

TEST_CASE("a static leader that comes back does not lead a group that is stable", "[bps][groups]") {
    GroupFixture f;
    Member a{"", "one", -1};
    const auto first = f.joined(f.join(a));
    a = {first.member.id, "one", first.member.generation};
    f.sync_group(a, {{a.id, "all"}});
    f.sync();
    const auto back = f.join({"", "one", -1});
    f.sync();
    const auto answer = f.joined(back);
    CHECK(answer.leader == a.id);
    CHECK(answer.members.empty());
    CHECK(f.group().leader == answer.member.id);
    // With other wishes it is a rebalance.
    const auto changed = f.join({"", "one", -1}, {{"sticky", "t"}});
    CHECK(f.joined(changed).member.generation == a.generation + 1);
}

TEST_CASE("an administrator takes a static member out by its instance", "[bps][groups]") {
    GroupFixture f;
    f.joined(f.join({"", "one", -1}));
    CHECK(f.leave({"", "two", -1}) == ErrorCode::unknown_member_id);
    CHECK(f.leave({"", "one", -1}) == ErrorCode::none);
    CHECK(f.group().members.empty());
}

TEST_CASE("a static member that does not join in time stays for its session", "[bps][groups]") {
    GroupFixture f;
    const Member a{f.joined(f.join({"", "one", -1})).member.id, "one", 1};
    const Member b = f.new_member();
    const auto join = f.join(b);
    for (int i = 0; i < 12; ++i) {
        CHECK(f.heartbeat(a) == ErrorCode::rebalance_in_progress);
        f.pass(5'000);
    }
    const auto answer = f.joined(join);
    CHECK(answer.leader == b.id);
    CHECK(answer.members.size() == 2);
}

TEST_CASE("a connection that closes starts the session of who waited on it", "[bps][groups]") {
    GroupFixture f;
    const auto members = f.stable(2);
    f.join(members[0], {{"range", "other"}});
    f.broker->on_closed(f.now, 1);
    f.broker->check_invariants();
    f.pass(10'000);
    CHECK(f.group().members.empty());
    CHECK(f.effects.replies.empty());
}

TEST_CASE("a group has as many members as it may have", "[bps][groups]") {
    GroupFixture f;
    f.group_settings.members_max = 2;
    f.restart();
    f.stable(2);
    CHECK(f.joined(f.join({})).code == ErrorCode::group_max_size_reached);
    CHECK(f.joined(f.join({"", "one", -1})).code == ErrorCode::group_max_size_reached);
}

TEST_CASE("a session that is too short or too long is refused", "[bps][groups]") {
    GroupFixture f;
    f.group_settings.session_timeout_ms_min = 10'001;
    f.restart();
    CHECK(f.joined(f.join({})).code == ErrorCode::invalid_session_timeout);
    CHECK_FALSE(f.is_there());
}

TEST_CASE("a restart is no rebalance", "[bps][groups]") {
    GroupFixture f;
    const auto members = f.stable(3);
    CHECK(f.commit(members[1], 42) == ErrorCode::none);
    f.restart();
    CHECK(f.group().state == GroupState::stable);
    for (const Member& member : members)
        CHECK(f.heartbeat(member) == ErrorCode::none);
    CHECK(f.synced(f.sync_group(members[2])) == Synced{ErrorCode::none, "2"});
    CHECK(f.offset() == 42);
    CHECK(f.group().owner == f.caller(0).principal.account);
    // Who did not survive it, is noticed.
    f.pass(10'000);
    CHECK(f.group().state == GroupState::empty);
}

TEST_CASE("a coordinator that leads no more says so to all who wait", "[bps][groups]") {
    GroupFixture f;
    const auto members = f.stable(2);
    const auto join = f.join(members[0], {{"range", "other"}});
    const auto partition = f.broker->groups().partition_of("g");
    f.broker->stop_leading(f.now, {GroupFixture::kOffsetsTopic, partition}, f.effects);
    CHECK(f.joined(join).code == ErrorCode::not_coordinator);
    CHECK(f.heartbeat(members[1]) == ErrorCode::not_coordinator);
    CHECK(f.committed(f.ask_commit(members[1], 1)) == ErrorCode::not_coordinator);
    CHECK_FALSE(f.broker->next_time().has_value());
    // And takes it up again from the log.
    REQUIRE(
        f.broker->lead(f.now, {GroupFixture::kOffsetsTopic, partition}, f.epoch + 1, 1, f.effects)
            .has_value());
    CHECK(f.heartbeat(members[1]) == ErrorCode::none);
}

TEST_CASE("a group belongs to the tenant who used it first", "[bps][groups]") {
    GroupFixture f;
    const auto members = f.stable(1);
    f.tenant = "bob"_n;
    CHECK(f.heartbeat(members[0]) == ErrorCode::group_authorization_failed);
    CHECK(f.joined(f.join({})).code == ErrorCode::group_authorization_failed);
    CHECK(f.synced(f.sync_group(members[0])).first == ErrorCode::group_authorization_failed);
    CHECK(f.committed(f.ask_commit(members[0], 1)) == ErrorCode::group_authorization_failed);
    f.restart();
    CHECK(f.heartbeat(members[0]) == ErrorCode::group_authorization_failed);
    f.tenant = "alice"_n;
    CHECK(f.heartbeat(members[0]) == ErrorCode::none);
}
