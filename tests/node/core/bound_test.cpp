#include "node/machine/machine.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/alone.hpp"
#include "tests/support/cluster.hpp"
#include "tests/support/observer.hpp"

#include <vector>

// A node holds so many blocks that are not final and no more, whoever makes them; and what leads to
// a final block is always taken.

namespace {

constexpr std::uint64_t kMost = 100;

genesis::Genesis bounded_genesis() {
    genesis::Genesis genesis = support::genesis_of(4);
    genesis.parameters.max_reversible = kMost;
    return genesis;
}

// A chain of four, and who comes late and hears one member first.
struct Late {
    Late() {
        cluster.run(1, 40);
        last = static_cast<chain::Height>(chain::ids_below(cluster[0].view().finalized->header));
        observer.start_at(15'000);
        for (std::uint64_t i = 0; i < kMost + 50; ++i)
            observer.give(member.next());
    }
    [[nodiscard]] chain::Height final() { return observer.view().finalized->header.height; }

    support::Cluster cluster{bounded_genesis()};
    chain::Height last = 0;
    support::Alone member{cluster[0].genesis(), 3};
    support::Observer observer{cluster[0].genesis()};
};

}  // namespace

TEST_CASE("a chain that one member makes alone is held up to a bound") {
    Late late;
    CHECK(late.observer.view().reversible.size() == kMost);
    CHECK(late.observer.view().head->header.height == kMost + 1);
    // The first for which there was no room: the gossip may ask for it again.
    CHECK(late.observer.forgotten.size() == 1);
}

TEST_CASE("blocks of one member give way to one of another, and not that to them") {
    const genesis::Genesis genesis = bounded_genesis();
    support::Alone other(genesis, 1);
    support::Alone member(genesis, 3);
    support::Observer observer(genesis);
    observer.start_at(15'000);
    const chain::BlockPtr one = other.next();
    observer.give(one);
    for (std::uint64_t i = 0; i < kMost + 50; ++i)
        observer.give(member.next_beside());
    CHECK(observer.forgotten.size() == 51);
    CHECK(std::ranges::find(observer.forgotten, one->id) == observer.forgotten.end());
}

TEST_CASE("a chain that one member makes alone keeps nobody from following the others") {
    Late late;
    if (GENERATE(false, true)) late.observer.start();
    auto& from = late.cluster[0];
    SECTION("block by block") {
        late.observer.give_from(from.storage(), 2, late.last);
    }
    SECTION("block by block, with one of the member's between each two") {
        const chain::BlockReader reader(from.storage());
        for (chain::Height height = 2; height <= late.last; ++height) {
            late.observer.give(reader.at(height).value());
            late.observer.give(late.member.next());
        }
    }
    SECTION("by a range") {
        late.observer.give(support::Observer::range(
            from.storage(), 2, late.last, from.genesis().schedule.version));
    }
    CHECK(late.final() + 5 > late.last);
    CHECK(late.observer.refusal().empty());
}

TEST_CASE("who was cut off until no more blocks fit follows the others again") {
    support::Cluster cluster(bounded_genesis());
    cluster.run(1, 8);
    for (const std::size_t other : {0U, 1U, 2U})
        cluster.cut(other, 3);
    cluster.run(9, 900);
    cluster.mend();
    auto& from = cluster[0];
    auto& alone = cluster[3];
    const chain::Height before = alone.view().finalized->header.height;
    const auto last = static_cast<chain::Height>(chain::ids_below(from.view().finalized->header));
    SECTION("by a range") {
        alone.step(node::input::FromPeers{support::Observer::range(
            from.storage(), before + 1, last, from.genesis().schedule.version)});
        // A step executes a part of it.
        for (int i = 0; i < 30; ++i)
            alone.step(node::input::Tick{});
    }
    SECTION("block by block") {
        cluster.resends = 0;
        const chain::BlockReader reader(from.storage());
        for (chain::Height height = before + 1; height <= last; ++height) {
            alone.step(node::input::FromPeers{p2p::effect::BlockArrived{
                support::Cluster::channel(0), reader.at(height).value(), true}});
        }
    }
    CHECK(alone.view().finalized->header.height + 5 > last);
}

// One of four is dead. Another is cut off in the moment in which it alone has the certificate of a
// block, and is locked on it; the other two go on, without a quorum, until no more blocks fit.
TEST_CASE("the block of a lock is taken where no more fit, and finality comes back") {
    support::Cluster cluster(bounded_genesis());
    cluster.run(1, 6);
    cluster.kill(3);
    cluster.run(7, 8);  // Of 3, which is dead, and of 0.
    const chain::Height before = cluster[0].view().finalized->header.height;
    cluster.drops = [](std::size_t from, std::size_t) { return from == 2; };
    cluster.tick_at(9);
    cluster.drops = {};
    cluster.cut(0, 2);
    cluster.cut(1, 2);
    cluster.run(10, 700);
    REQUIRE(cluster[2].view().keys[0].lock > cluster[0].view().keys[0].lock);
    cluster.resends = 200;
    cluster.heal();
    cluster.deliver();
    for (chain::Slot slot = 701; slot <= 800; ++slot) {
        cluster.resends = 10;
        cluster.tick_at(slot);
    }
    CHECK(cluster[0].view().finalized->header.height > before + 5);
}
