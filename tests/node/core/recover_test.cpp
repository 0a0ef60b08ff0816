#include "chain/execution/schedule_rows.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"

// Half of the validators are lost for ever: a new first schedule from a final block (spec 04).

namespace {

using support::Cluster;
using support::key_of;

constexpr chain::Slot kPeriod = 12;

chain::ScheduleEntry entry(const std::string& name, unsigned char tag) {
    const auto key = key_of(tag).public_key();
    return {*chain::Name::from_string(name), key, key};
}

chain::Schedule schedule_of(Cluster& cluster, std::size_t node) {
    return chain::load_schedule(*cluster[node].view().final_state).value();
}

// Two of four are gone; the others have made blocks that can never be final.
chain::ScheduleReset lose_half(Cluster& cluster) {
    cluster.run(1, 6);
    cluster.kill(2);
    cluster.kill(3);
    cluster.run(7, 14);
    REQUIRE(cluster[0].view().finalized->header.slot == 6);
    REQUIRE(cluster[0].view().head->header.slot > 8);
    chain::ScheduleReset reset;
    reset.from = cluster[0].view().finalized->id;
    reset.schedule.version = 100;
    reset.schedule.entries = {entry("bank", 21), entry("bourse", 22)};
    return reset;
}

void restart(Cluster& cluster, std::size_t node, const chain::ScheduleReset& reset) {
    cluster.kill(node);
    cluster[node].reset = reset;
    cluster[node].set_key(key_of(static_cast<unsigned char>(21 + node)));
    cluster.start(node);
}

}  // namespace

TEST_CASE("a chain that lost half of its validators goes on under a new first schedule",
          "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    const chain::ScheduleReset reset = lose_half(cluster);
    cluster.kill(0);
    cluster.kill(1);
    restart(cluster, 0, reset);
    restart(cluster, 1, reset);
    // What was made above the final block is given up.
    CHECK(cluster[0].view().head->id == reset.from);
    cluster.deliver();
    cluster.run(20, 30);
    CHECK(cluster[0].view().finalized->header.slot == 30);
    CHECK(cluster[1].view().finalized->id == cluster[0].view().finalized->id);
    CHECK(schedule_of(cluster, 0) == reset.schedule);
    CHECK(cluster.refused.empty());
    SECTION("elections leave it as it is, and it survives a restart") {
        cluster.run(31, 60);
        CHECK(schedule_of(cluster, 0) == reset.schedule);
        cluster.kill(0);
        cluster.start(0);
        cluster.deliver();
        cluster.run(61, 64);
        CHECK(cluster[0].view().finalized->header.slot == 64);
    }
    SECTION("who comes back follows, if its operator says so") {
        cluster[2].reset = reset;
        cluster.start(2);
        cluster.deliver();
        cluster.run(31, 34);
        CHECK(cluster[2].view().finalized->id == cluster[0].view().finalized->id);
        CHECK(cluster.refused.empty());
    }
    SECTION("else it takes nothing from there") {
        cluster.start(3);
        cluster.deliver();
        cluster.run(31, 34);
        CHECK(cluster[3].view().finalized->id == reset.from);
        CHECK_FALSE(cluster.refused.empty());
    }
}

TEST_CASE("a recovery is refused that would give up what is final, or use a key again",
          "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    chain::ScheduleReset reset = lose_half(cluster);
    cluster.kill(0);
    const auto refusal = [&] {
        cluster[0].reset = reset;
        const auto opened = cluster[0].open();
        REQUIRE_FALSE(opened.has_value());
        return opened.error().detail;
    };
    SECTION("a key that has signed before") {
        reset.schedule.entries[1] = entry("bourse", 8);
        CHECK(refusal().find("make a new one") != std::string::npos);
    }
    SECTION("a block that is not the highest") {
        reset.from = cluster[1].finalized.at(2)->id;
        CHECK(refusal().find("is final here already") != std::string::npos);
    }
    SECTION("another block of that height") {
        reset.from.bytes[30] ^= std::byte{1};
        CHECK(refusal().find("the recovery begins at") != std::string::npos);
    }
}
