// Leaders elected and partitions moved, as clients ask for it.
#include "tests/node/bps/core/admin_fixture.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using support::AdminFixture;
using support::outcome;

struct LeadersFixture : AdminFixture {
    LeadersFixture() {
        view.broker(2);
        view.partition({5, 0}, 3, {1, 2});
        view.partition({5, 1}, 4, {1, 2});
    }
    std::uint64_t elect(std::int8_t type, std::vector<std::int32_t> partitions = {0}) {
        bps::ElectLeadersRequest request;
        request.election_type = type;
        request.topic_partitions = {{{"a.x", std::move(partitions)}}};
        request.timeout_ms = 1'000;
        return ask(2, request);
    }
    bps::ElectLeadersResponse::Partition elected(std::uint64_t id, std::size_t index = 0) {
        return decoded<bps::ElectLeadersResponse>(id, 2)
            .replica_election_results.at(0)
            .partition_result.at(index);
    }
    ErrorCode code(std::int8_t type, std::int32_t partition = 0) {
        return elected(elect(type, {partition})).error_code;
    }
    std::uint64_t move(std::optional<std::vector<std::int32_t>> replicas,
                       std::int32_t partition = 0,
                       std::string_view name = "a.x") {
        bps::AlterPartitionReassignmentsRequest request;
        request.timeout_ms = 1'000;
        request.topics = {{name, {{partition, std::move(replicas)}}}};
        return ask(0, request);
    }
    ErrorCode moved(std::uint64_t id) {
        return decoded<bps::AlterPartitionReassignmentsResponse>(id, 0)
            .responses.at(0)
            .partitions.at(0)
            .error_code;
    }
    // Partition 0 is on its way from 1, 2 to 2, 3.
    void on_its_way() {
        view.broker(3);
        bps::rows::Partition row = *view.directory.find_partition({5, 0});
        row.replicas.push_back({3, -1});
        row.replicas_before = 2;
        row.target = {2, 3};
        view.partition(row);
    }
};

}  // namespace

TEST_CASE("who is led by whom it prefers needs no election", "[bps][admin]") {
    LeadersFixture f;
    CHECK(outcome(f.elected(f.elect(0))) ==
          std::pair{ErrorCode::election_not_needed, std::string("broker 1 leads it")});
    CHECK(f.code(1) == ErrorCode::election_not_needed);
    CHECK(f.code(0, 2) == ErrorCode::unknown_topic_or_partition);
    CHECK(f.code(0, -1) == ErrorCode::unknown_topic_or_partition);
    CHECK(f.code(2) == ErrorCode::invalid_request);
    f.view.revoke(f.tenant, bps::rows::Operation::admin);
    f.tenant = "bob"_n;
    CHECK(f.code(0) == ErrorCode::topic_authorization_failed);
    CHECK(f.effects.calls.empty());
}

TEST_CASE("partitions without a leader are elected for, all by one action", "[bps][admin]") {
    LeadersFixture f;
    auto again = f.view.broker_row(1);
    again.boot = 2;  // It leads nothing of its start before.
    f.view.broker(again);
    const auto id = f.elect(0, {0, 1});
    REQUIRE(f.effects.calls.size() == 1);
    const auto action = f.called<bps::actions::Elect>();
    REQUIRE(action.partitions.size() == 2);
    CHECK(action.partitions[1].topic == 5);
    CHECK(action.partitions[1].partition == 1);
    f.finish();
    const auto done = f.decoded<bps::ElectLeadersResponse>(id, 2).replica_election_results;
    CHECK(done.at(0).partition_result.at(0).error_code == ErrorCode::none);
    CHECK(done.at(0).partition_result.at(1).error_code == ErrorCode::none);
    // Nobody who could lead.
    for (const std::int32_t broker : {1, 2}) {
        auto fenced = f.view.broker_row(broker);
        fenced.fenced = true;
        f.view.broker(fenced);
    }
    CHECK(f.code(0) == ErrorCode::eligible_leaders_not_available);
    CHECK(outcome(f.elected(f.elect(1))) ==
          std::pair{ErrorCode::policy_violation,
                    std::string("records may be lost: only its owner signs that; type bor-cli "
                                "push action bps unclean '[5, 0]' -p OWNER")});
    CHECK(f.effects.calls.size() == 1);
}

TEST_CASE("a leader hands over to the preferred one", "[bps][admin]") {
    LeadersFixture f;
    bps::rows::Partition row = *f.view.directory.find_partition({5, 0});
    row.replicas = {{2, 1}, {1, 1}};
    f.view.partition(row);
    const auto id = f.elect(0);
    const auto action = f.called<bps::actions::Prefer>();
    CHECK(action.broker == 1);
    CHECK(action.id.topic == 5);
    CHECK(action.id.partition == 0);
    CHECK(action.epoch == 3);
    f.finish();
    CHECK(f.elected(id).error_code == ErrorCode::none);
    row.replicas = {{2, -1}, {1, 1}};
    f.view.partition(row);
    CHECK(f.code(0) == ErrorCode::preferred_leader_not_available);
    row.replicas = {{1, 1}, {2, 1}};
    row.leader = 2;
    f.view.partition(row);
    CHECK(f.code(0) == ErrorCode::not_leader_or_follower);
}

TEST_CASE("without a list, all that need an election are meant", "[bps][admin]") {
    LeadersFixture f;
    bps::rows::Partition row = *f.view.directory.find_partition({5, 1});
    row.leader = -1;
    f.view.partition(row);
    bps::ElectLeadersRequest request;
    request.timeout_ms = 1'000;
    const auto id = f.ask(2, request);
    REQUIRE(f.called<bps::actions::Elect>().partitions.size() == 1);
    f.finish();
    const auto topics = f.decoded<bps::ElectLeadersResponse>(id, 2).replica_election_results;
    REQUIRE(topics.size() == 1);
    CHECK(topics[0].topic == "a.x");
    REQUIRE(topics[0].partition_result.size() == 1);
    CHECK(topics[0].partition_result[0].partition_id == 1);
}

TEST_CASE("a partition is moved to other brokers", "[bps][admin]") {
    LeadersFixture f;
    f.view.broker(3);
    const auto id = f.move({{2, 3}});
    const auto action = f.called<bps::actions::Reassign>();
    CHECK(action.by == "broker1"_n);
    CHECK(action.id.topic == 5);
    CHECK(action.id.partition == 0);
    CHECK(action.target == std::vector<std::int32_t>{2, 3});
    f.finish();
    CHECK(f.moved(id) == ErrorCode::none);
    CHECK(f.moved(f.move({{1, 2}})) == ErrorCode::none);  // Where it is.
    CHECK(f.moved(f.move({{}})) == ErrorCode::invalid_replica_assignment);
    CHECK(f.moved(f.move({{1, 1}})) == ErrorCode::invalid_replica_assignment);
    CHECK(f.moved(f.move({{4}})) == ErrorCode::invalid_replica_assignment);
    CHECK(f.moved(f.move(std::nullopt)) == ErrorCode::no_reassignment_in_progress);
    CHECK(f.moved(f.move({{2}}, 2)) == ErrorCode::unknown_topic_or_partition);
    CHECK(f.moved(f.move({{2}}, 0, "none")) == ErrorCode::topic_authorization_failed);
    // A draining broker keeps what it has, and gets nothing.
    for (const std::int32_t broker : {2, 3}) {
        auto draining = f.view.broker_row(broker);
        draining.draining = true;
        f.view.broker(draining);
    }
    CHECK(f.moved(f.move({{3}})) == ErrorCode::invalid_replica_assignment);
    CHECK(f.effects.calls.size() == 1);
    f.move({{2}});
    CHECK(f.called<bps::actions::Reassign>().target == std::vector<std::int32_t>{2});
    f.view.delegate("alice"_n, {"grant"_n});
    CHECK(f.moved(f.move({{1}})) == ErrorCode::policy_violation);
}

TEST_CASE("a move on its way is shown, and can be taken back", "[bps][admin]") {
    LeadersFixture f;
    bps::ListPartitionReassignmentsRequest request;
    const auto list = [&] {
        return f.answer<bps::ListPartitionReassignmentsResponse>(0, request).topics;
    };
    CHECK(list().empty());
    f.on_its_way();
    const auto check_shown = [&] {
        const auto topics = list();
        REQUIRE(topics.size() == 1);
        CHECK(topics[0].name == "a.x");
        REQUIRE(topics[0].partitions.size() == 1);
        CHECK(topics[0].partitions[0].partition_index == 0);
        CHECK(topics[0].partitions[0].replicas == std::vector<std::int32_t>{1, 2, 3});
        CHECK(topics[0].partitions[0].adding_replicas == std::vector<std::int32_t>{3});
        CHECK(topics[0].partitions[0].removing_replicas == std::vector<std::int32_t>{1});
    };
    check_shown();
    request.topics = {{{"a.x", {0, 1, 7}}, {"none", {0}}}};
    check_shown();
    request.topics = {{{"a.x", {1}}}};
    CHECK(list().empty());
    CHECK(f.moved(f.move({{1}})) == ErrorCode::reassignment_in_progress);
    const auto id = f.move(std::nullopt);
    CHECK(f.called<bps::actions::Reassign>().target.empty());
    f.finish();
    CHECK(f.moved(id) == ErrorCode::none);
    f.tenant = "carol"_n;
    request.topics.reset();
    CHECK(list().empty());
}
