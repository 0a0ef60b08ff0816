#include "chain/execution/rows.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"
#include "tests/support/snapshots.hpp"

// Clocks were wrong, and what is final is dated ahead of the right time (spec 04, `--retime`).

namespace {

using support::Cluster;

// All clocks are ahead for a while; an account is made before that, and one meanwhile.
struct Ahead {
    Cluster cluster{4, 0, 12};
    chain::TransactionPtr before;
    chain::TransactionPtr meanwhile;
    chain::Retime retime;

    Ahead() {
        cluster.run(1, 4);
        before = cluster[0].new_account("bank", "before");
        cluster[0].submit(before);
        cluster.run(5, 20);
        cluster.run(1'000, 1'004);
        meanwhile = cluster[0].new_account("bank", "meanwhile");
        cluster[0].submit(meanwhile);
        cluster.run(1'005, 1'010);
        REQUIRE(cluster[0].view().finalized->header.slot == 1'010);
        REQUIRE(support::Machine::has_account("meanwhile", *cluster[0].view().final_state));
        // Slot 1200 begins when slot 22 would have.
        retime = {cluster[0].view().finalized->id, 1'200, cluster[0].genesis().times.time_of(22)};
        for (std::size_t i = 0; i < cluster.size(); ++i)
            cluster.kill(i);
    }
};

}  // namespace

TEST_CASE("a chain that is dated ahead goes on when its time is set back", "[retime]") {
    Ahead ahead;
    Cluster& cluster = ahead.cluster;
    const chain::Retime retime = ahead.retime;
    for (std::size_t i = 0; i < cluster.size(); ++i)
        cluster[i].retime({retime});
    cluster.tick_at(1'200);
    for (std::size_t i = 0; i < cluster.size(); ++i)
        cluster.start(i);
    cluster.deliver();
    cluster.run(1'201, 1'210);
    const node::Published& view = cluster[0].view();
    CHECK(view.finalized->header.slot == 1'210);
    CHECK(cluster[3].view().finalized->id == view.finalized->id);
    CHECK(cluster.refused.empty());
    const auto row = chain::load_retimes(*view.final_state);
    REQUIRE(row.has_value());
    CHECK(row->retimes == std::vector{retime});
    const auto reason = [&](const chain::TransactionPtr& transaction) {
        const auto ticket = cluster[0].submit(transaction);
        const auto& outcome = cluster[0].answers.at(ticket).outcome;
        return outcome ? std::string() : outcome.error().detail;
    };
    SECTION("what was executed is not executed again") {
        // It is forgotten, since the time was past it, and it is not expired any more.
        CHECK(reason(ahead.before).find("set back") != std::string::npos);
        CHECK(reason(ahead.meanwhile) != "");
        CHECK(reason(cluster[0].new_account("bank", "after")) == "");
    }
    SECTION("a snapshot is loaded by those who know of it") {
        const auto storage = cluster[0].storage().snapshot();
        const auto taken = support::take_snapshot(*storage,
                                                  *storage,
                                                  *view.final_state,
                                                  cluster[0].genesis().chain_id(),
                                                  view.finalized->header.height);
        REQUIRE(taken.has_value());
        genesis::Trust trust = support::trust_of(cluster[0].genesis());
        support::MemoryStorage disk;
        const auto refused = support::load_snapshot(*taken, trust, disk);
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().detail.find("'recover-from' does not name") != std::string::npos);
        trust.retimes = {retime};
        cluster.kill(0);
        support::wipe(cluster[0].storage());
        REQUIRE(support::load_snapshot(*taken, trust, cluster[0].storage()).has_value());
        cluster.start(0);
        cluster.deliver();
        cluster.run(1'211, 1'214);
        CHECK(cluster[0].view().finalized->header.slot == 1'214);
    }
    SECTION("a restart changes nothing, and a node that is far behind follows") {
        cluster.kill(0);
        cluster.start(0);
        cluster.deliver();
        cluster.run(1'211, 1'214);
        CHECK(cluster[0].view().finalized->header.slot == 1'214);
    }
    SECTION("without the recovery, and with another, the node does not open") {
        cluster.kill(0);
        const auto refusal = [&] {
            const auto opened = cluster[0].open();
            REQUIRE_FALSE(opened.has_value());
            return opened.error().detail;
        };
        cluster[0].retime({});
        CHECK(refusal().find("from slot 1200 on") != std::string::npos);
        chain::Retime other = retime;
        other.time.microseconds += 1'000'000;
        cluster[0].retime({other});
        CHECK(refusal().find("from slot 1200 on") != std::string::npos);
    }
}

TEST_CASE("other times are refused for slots that are final, and from a block of another chain",
          "[retime]") {
    Ahead ahead;
    support::Machine& machine = ahead.cluster[0];
    chain::Retime retime = ahead.retime;
    const auto refusal = [&] {
        machine.retime({retime});
        const auto opened = machine.open();
        REQUIRE_FALSE(opened.has_value());
        return opened.error().detail;
    };
    SECTION("final") {
        retime.first = 1'010;
        CHECK(refusal().find("is final here already") != std::string::npos);
    }
    SECTION("another chain") {
        retime.from.bytes[30] ^= std::byte{1};
        CHECK(refusal().find("the recovery begins at") != std::string::npos);
    }
}

TEST_CASE("blocks of slots that get other times are given up where they are stored", "[retime]") {
    Cluster cluster(4, 0, 12);
    cluster.run(1, 6);
    cluster.kill(2);
    cluster.kill(3);
    cluster.run(7, 9);
    const bool with_transaction = GENERATE(false, true);
    if (with_transaction) cluster[0].submit(cluster[0].new_account("bank", "meanwhile"));
    cluster.run(10, 14);
    REQUIRE(cluster[0].view().finalized->header.slot == 6);
    REQUIRE(cluster[0].view().head->header.slot == 13);
    // Made from a node whose head was lower, and rolled out here now.
    const chain::Retime retime{
        cluster[0].view().finalized->id,
        11,
        chain::TimePoint{cluster[0].genesis().times.time_of(1).microseconds - 86'400'000'000}};
    cluster.kill(0);
    cluster[0].retime({retime});
    cluster[0].set_time(retime.time.to_timestamp());
    const auto opened = cluster[0].open();
    REQUIRE(opened.has_value());
    CHECK(cluster[0].view().head->header.slot == 9);
}
