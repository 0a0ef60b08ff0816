#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"

// Page and rows of a promise are written side by side: the power goes at each write, and any part
// of that write may be there afterwards (spec 04, "Safety journal").

namespace {

using Left = support::Machine::Left;
using support::Cluster;

// All four lose power in the `cut`-th write of each, of which this is left. Returns the highest
// block that any of them had shown as final.
chain::Height run_to_the_cut(Cluster& cluster, int cut, Left left) {
    for (std::size_t i = 0; i < cluster.size(); ++i) {
        cluster[i].writes_left = cut;
        cluster[i].left = left;
    }
    cluster.run(3, 5);
    chain::Height shown = 0;
    for (std::size_t i = 0; i < cluster.size(); ++i) {
        shown = std::max(shown, cluster[i].view().finalized->header.height);
        cluster[i].stop();
        cluster[i].storage().cut_power();
        cluster[i].writes_left.reset();
    }
    return shown;
}

}  // namespace

TEST_CASE("all lose power at any write, of which any part is left: finality goes on",
          "[core][power]") {
    const Left left = GENERATE(Left::nothing, Left::page, Left::rows, Left::torn_page_and_rows);
    for (int cut = 0; cut < 20; ++cut) {
        CAPTURE(cut, static_cast<int>(left));
        Cluster cluster(4);
        cluster.run(1, 2);
        const chain::Height shown = run_to_the_cut(cluster, cut, left);
        for (std::size_t i = 0; i < cluster.size(); ++i)
            cluster.start(i);
        cluster.deliver();
        for (std::size_t i = 0; i < cluster.size(); ++i) {
            CHECK_FALSE(cluster[i].view().keys[0].lost);
        }
        // Long enough for the blocks of recovery, should there be need of any.
        cluster.run(6, 28);
        for (std::size_t i = 0; i < cluster.size(); ++i) {
            CHECK(cluster[i].view().finalized->header.height >= shown);
            CHECK(cluster[i].view().finalized->header.slot >= 27);
            CHECK(cluster[i].accused.empty());
        }
        CHECK(cluster.refused.empty());
    }
}

TEST_CASE("a lock stays where the storage loses its last synced write", "[core][power]") {
    const std::size_t losers = GENERATE(1U, 2U, 4U);
    for (int cut = 0; cut < 16; ++cut) {
        CAPTURE(losers, cut);
        Cluster cluster(4);
        cluster.run(1, 2);
        const chain::Height shown = run_to_the_cut(cluster, cut, Left::nothing);
        std::vector<chain::Slot> locks;
        for (std::size_t i = 0; i < cluster.size(); ++i) {
            cluster.start(i);
            locks.push_back(cluster[i].view().keys[0].lock);
            cluster[i].stop();
            if (i < losers) cluster[i].storage().lose_last_sync();
        }
        for (std::size_t i = 0; i < cluster.size(); ++i) {
            cluster.start(i);
            CHECK_FALSE(cluster[i].view().keys[0].lost);
            CHECK(cluster[i].view().keys[0].lock == locks[i]);
        }
        cluster.deliver();
        cluster.run(6, 28);
        for (std::size_t i = 0; i < cluster.size(); ++i) {
            CHECK(cluster[i].view().finalized->header.height >= shown);
            CHECK(cluster[i].view().finalized->header.slot >= 27);
            CHECK(cluster[i].view().finalized->id == cluster[0].view().finalized->id);
            CHECK(cluster[i].accused.empty());
        }
        CHECK(cluster.refused.empty());
    }
}

// Where no peer has heard that the block is certified, nothing that peers send names the block.
TEST_CASE("each peer is asked for the block of a lock that the storage has lost", "[core][power]") {
    int found = 0;
    for (int cut = 0; cut < 16; ++cut) {
        CAPTURE(cut);
        Cluster cluster(4);
        cluster.run(1, 2);
        (void)run_to_the_cut(cluster, cut, Left::nothing);
        auto& loser = cluster[1];
        loser.start();
        const chain::Slot lock = loser.view().keys[0].lock;
        const auto held = loser.view().reversible;
        const auto locked = std::ranges::find_if(
            held, [&](const auto& each) { return each->block->header.slot == lock; });
        if (locked == held.end()) continue;
        ++found;
        const chain::Block& block = *(*locked)->block;
        loser.stop();
        base::Batch lost;
        chain::erase_reversible(lost, block.header, block.id);
        REQUIRE(loser.storage().commit(lost, true));
        loser.start();
        CHECK(loser.view().keys[0].lacks_lock);
        std::vector<p2p::input::Certified> asked;
        loser.to_peers = [&](const p2p::Input& said) {
            if (const auto* wanted = std::get_if<p2p::input::Certified>(&said))
                asked.push_back(*wanted);
        };
        for (const std::size_t peer : {0U, 2U}) {
            loser.step(node::input::FromPeers{
                p2p::effect::PeerReady{Cluster::channel(peer), {}, {cluster[peer].public_key()}}});
        }
        REQUIRE(asked.size() == 2);
        CHECK(asked[0].id == block.id);
        CHECK(asked[0].channel == Cluster::channel(0));
        CHECK(asked[1].id == block.id);
        CHECK(asked[1].channel == Cluster::channel(2));
    }
    CHECK(found > 0);
}

TEST_CASE("one that loses power again and again, each time in another part, stays honest",
          "[core][power]") {
    Cluster cluster(4);
    cluster.run(1, 2);
    chain::Slot slot = 3;
    for (int cut = 0; cut < 24; ++cut) {
        cluster[3].writes_left = cut % 7;
        cluster[3].left = static_cast<Left>(cut % 4);
        cluster.run(slot, slot + 2);
        slot += 3;
        cluster[3].stop();
        cluster[3].storage().cut_power();
        cluster[3].writes_left.reset();
        cluster.start(3);
        cluster.deliver();
        CHECK_FALSE(cluster[3].view().keys[0].lost);
    }
    cluster.run(slot, slot + 6);
    for (std::size_t i = 0; i < cluster.size(); ++i) {
        CHECK(cluster[i].view().finalized->header.slot >= slot + 5);
        CHECK(cluster[i].accused.empty());
    }
    CHECK(cluster.refused.empty());
}

// The first cut leaves a part of the page that was under way, as cuts do. The log loses nothing.
TEST_CASE("rows that lose their last sync in two cuts one after another stop nothing",
          "[journal]") {
    const std::size_t size = GENERATE(1U, 4U);
    const int cut = GENERATE(range(0, 16));
    CAPTURE(size, cut);
    Cluster cluster(size);
    cluster.run(1, 2);
    (void)run_to_the_cut(cluster, cut, Left::nothing);
    for (std::size_t i = 0; i < size; ++i) {
        cluster[i].log().resize(cluster[i].log().size() + 4096, std::byte{1});
        cluster[i].storage().lose_last_sync();
        cluster.start(i);
    }
    for (std::size_t i = 0; i < size; ++i) {
        cluster[i].stop();
        cluster[i].storage().lose_last_sync();
        cluster[i].writes_left.reset();
    }
    for (std::size_t i = 0; i < size; ++i) {
        cluster.start(i);
        CHECK_FALSE(cluster[i].view().keys[0].lost);
    }
    cluster.deliver();
    cluster.run(6, 60);
    CHECK(cluster[0].view().finalized->header.slot >= 55);
}
