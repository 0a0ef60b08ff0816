// What a broker asks of the contract though no client did.
#include "tests/node/bps/core/admin_fixture.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using support::AdminFixture;

struct DutiesFixture : AdminFixture {
    DutiesFixture() { view.broker(2); }
    // A partition of topic 5 that was led in a boot that is over.
    void leave(std::int32_t index, const std::vector<std::int32_t>& replicas) {
        view.partition({5, index}, 3, replicas);
        bps::rows::Partition row = *view.directory.find_partition({5, index});
        row.leader_boot = 0;
        view.partition(row);
    }
    void on_final() { broker->on_final(now, effects); }
    std::vector<std::uint32_t> elected() {
        std::vector<std::uint32_t> partitions;
        for (const auto& each : called<bps::actions::Elect>().partitions)
            partitions.push_back(each.partition);
        return partitions;
    }
    bps::FindCoordinatorResponse find() {
        bps::FindCoordinatorRequest request;
        request.key = "g";
        return decoded<bps::FindCoordinatorResponse>(ask(3, request), 3);
    }
};

}  // namespace

TEST_CASE("a broker asks for the elections that make it a leader, and for no others", "[bps]") {
    DutiesFixture f;
    f.on_final();
    CHECK(f.effects.calls.empty());
    f.leave(0, {1, 2});
    f.leave(1, {2, 1});
    f.leave(2, {3, 1});  // There is no broker 3.
    f.on_final();
    CHECK(f.elected() == std::vector<std::uint32_t>{0, 2});
    CHECK(f.effects.calls.size() == 1);
    f.on_final();
    CHECK(f.effects.calls.size() == 1);  // One is on its way.

    f.view.partition({5, 0}, 4, {1, 2});
    f.finish();
    f.on_final();
    CHECK(f.effects.calls.size() == 2);
    CHECK(f.elected() == std::vector<std::uint32_t>{2});
    f.refuse("each of these partitions has a live leader");
    f.on_final();
    CHECK(f.effects.calls.size() == 2);
    f.now += 1'000;
    f.on_final();
    CHECK(f.effects.calls.size() == 3);
}

TEST_CASE("elections go by as many as the contract takes at once", "[bps]") {
    DutiesFixture f;
    for (std::int32_t index = 0; index < 200; ++index)
        f.leave(index, {1});
    f.on_final();
    CHECK(f.elected().size() == 128);
    for (std::int32_t index = 0; index < 128; ++index)
        f.view.partition({5, index}, 4);
    f.finish();
    f.on_final();
    CHECK(f.elected().size() == 72);
}

TEST_CASE("a replica that is behind is none that could lead", "[bps]") {
    DutiesFixture f;
    f.leave(0, {1});
    bps::rows::Partition row = *f.view.directory.find_partition({5, 0});
    row.replicas[0].generation = 0;
    f.view.partition(row);
    f.on_final();
    CHECK(f.effects.calls.empty());
}

TEST_CASE("a broker that is suspected or fenced says that it is there", "[bps]") {
    DutiesFixture f;
    bps::rows::Broker row = support::ChainView::broker_row(1);
    row.suspected_at = 99;
    f.view.broker(row);
    f.on_final();
    CHECK(f.called<bps::actions::Alive>().broker == 1);
    CHECK(f.called<bps::actions::Alive>().boot == 1);
    f.on_final();
    CHECK(f.effects.calls.size() == 1);
    f.finish();
    row.suspected_at = 0;
    f.view.broker(row);
    f.on_final();
    CHECK(f.effects.calls.size() == 1);
    row.fenced = true;
    f.view.broker(row);
    f.on_final();
    CHECK(f.effects.calls.size() == 2);
    CHECK(f.called<bps::actions::Alive>().broker == 1);
}

TEST_CASE("the first group makes the topic that groups are kept in, if the broker may", "[bps]") {
    DutiesFixture f;
    f.broker->set_offsets_topic(0, 0);
    const auto refused = f.find();
    CHECK(refused.error_code == ErrorCode::coordinator_not_available);
    CHECK(refused.error_message->ends_with(
        "type bor-cli bps delegate bps 1 createtopic --prefix __consumer_offsets"));
    CHECK(f.effects.calls.empty());

    f.view.delegate(support::ChainView::kContract, {"createtopic"_n});
    CHECK(f.find().error_code == ErrorCode::coordinator_not_available);
    const auto made = f.called<bps::actions::CreateTopic>();
    CHECK(made.by == "broker1"_n);
    CHECK(made.owner == "bps"_n);
    CHECK(made.name == "__consumer_offsets");
    REQUIRE(made.settings.size() == 2);
    CHECK(made.settings[0].name == "cleanup.policy");
    CHECK(made.settings[0].value == "compact");
    CHECK(made.settings[1].name == "segment.bytes");
    CHECK(made.settings[1].value == "1048576");
    REQUIRE(made.assignment.size() == 8);
    CHECK(made.assignment[0].brokers == std::vector<std::int32_t>{1});
    CHECK(made.assignment[1].brokers == std::vector<std::int32_t>{2});
    CHECK(f.find().error_code == ErrorCode::coordinator_not_available);
    CHECK(f.effects.calls.size() == 1);
}
