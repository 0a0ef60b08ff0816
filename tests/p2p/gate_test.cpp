#include "p2p/world.hpp"

#include <catch2/catch.hpp>

// What peers claim to have as final, and whom that stops.
namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

// Whoever says at the birth of a chain that a high block is final, it begins all the same.
TEST_CASE("a claim of one keeps no chain from beginning") {
    World world(4);
    world[3].ledger.grow(1'000, {.producer = "q"});
    world.tell_ledger(world[3]);
    world.join_all();
    world.run(seconds(1));
    for (std::size_t i = 0; i < 20; ++i) {
        (void)world.make(world[i % 3]);
        world.run(seconds(1));
    }
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(world[i].ledger.head->header.height == 21);
}

TEST_CASE("a block that two made up binds nobody when the chain comes to its height") {
    constexpr std::size_t kHonest = 5;
    World world(7);
    for (const std::size_t liar : {5U, 6U}) {
        world[liar].ledger.grow(10, {.producer = "q"});
        world[liar].answers_reads = false;
        world.tell_ledger(world[liar]);
    }
    world.join_all();
    world.run(seconds(1));
    // They are believed: the gate is open.
    CHECK(world.log.has("two organisations name one final block 9:"));
    const chain::Slot now =
        world[0].options.times.slot_at(chain::TimePoint::from_timestamp(world.now));
    for (std::size_t i = 0; i < 30; ++i) {
        Node& maker = world[i % kHonest];
        BlockOptions options{.slots = i == 0 ? now + 1 : 2};
        if (i > 1) options.finalized = maker.ledger.head->header.previous;
        (void)world.make(maker, options);
        world.run(seconds(1));
    }
    for (std::size_t i = 0; i < kHonest; ++i) {
        CHECK(world[i].ledger.head->header.height == 31);
        CHECK(world[i].ledger.finalized->header.height == 29);
    }
}

}  // namespace
