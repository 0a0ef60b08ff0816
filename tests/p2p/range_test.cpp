#include "p2p/stranger.hpp"
#include "p2p/world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

// A node with trust = certified asks for ranges with a proof of the last block, and for other
// copies of what turned out wrong.

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

// Nodes 1 and up have the same chain; node 0 has nothing, and trusts what is certified.
struct Fixture {
    World world;

    Fixture(std::size_t nodes, std::size_t blocks) : world(nodes) {
        world[1].ledger.grow(blocks);
        for (std::size_t i = 2; i < nodes; ++i)
            world[i].ledger = world[1].ledger;
        for (std::size_t i = 1; i < nodes; ++i)
            world.tell_ledger(world[i]);
        world[0].options.trusts_certified = true;
        world.start(world[0]);
        std::vector<RegisteredNode> listed;
        for (std::size_t i = 0; i < nodes; ++i)
            listed.push_back({key_of(i), World::organisation(i), kValidator});
        world.input(world[0], input::RegistryChanged{listed});
    }
    void join(std::size_t nodes) {
        for (std::size_t i = 1; i < nodes; ++i)
            world.join(0, i);
    }
    [[nodiscard]] bool is_synced() { return world[0].ledger.head->id == world[1].ledger.head->id; }
    [[nodiscard]] bool was_closed(const std::string& reason) const {
        return std::ranges::find(world.closes, reason) != world.closes.end();
    }
};

}  // namespace

TEST_CASE("final blocks come in ranges with a proof, from several peers") {
    Fixture fixture(4, 6'000);
    fixture.join(4);
    fixture.world.run(seconds(5));
    CHECK(fixture.is_synced());
    CHECK(fixture.world[0].ranges >= 3);
    CHECK(fixture.world[0].sync_blocks == 0);
    CHECK(fixture.world.closes.empty());
    for (const PeerStatus& peer : fixture.world[0].network->status().peers)
        CHECK(peer.score == 100);
}

TEST_CASE("of whom has no proof blocks come one by one") {
    Fixture fixture(3, 3'000);
    fixture.world[1].proofs = Node::Proofs::none;
    fixture.world[2].proofs = Node::Proofs::none;
    fixture.join(3);
    fixture.world.run(seconds(5));
    CHECK(fixture.is_synced());
    CHECK(fixture.world[0].ranges == 0);
    CHECK(fixture.world[0].sync_blocks >= 2'990);
    CHECK(fixture.world.closes.empty());
}

TEST_CASE("an answer that ends early proves what it has, and the rest is asked for again") {
    Fixture fixture(3, 3'000);
    fixture.world[1].read_most = 100;
    fixture.world[2].read_most = 130;
    fixture.join(3);
    fixture.world.run(seconds(20));
    CHECK(fixture.is_synced());
    CHECK(fixture.world[0].ranges >= 23);
    CHECK(fixture.world.closes.empty());
}

TEST_CASE("a proof that does not hold costs its sender, and others have the range") {
    Fixture fixture(4, 6'000);
    fixture.world[2].proofs = Node::Proofs::lies;
    fixture.join(4);
    fixture.world.run(seconds(15));
    CHECK(fixture.is_synced());
    CHECK(fixture.was_closed("A: bad_block"));
    CHECK(fixture.world[0].network->status().peers.size() == 2);
}

TEST_CASE("who sends fewer blocks than it proves is closed") {
    Fixture fixture(4, 6'000);
    fixture.world[2].falsify = [](Ledger&, std::vector<SharedBytes>& blocks) {
        if (blocks.size() > 1) blocks.pop_back();
    };
    fixture.join(4);
    fixture.world.run(seconds(15));
    CHECK(fixture.is_synced());
    CHECK(fixture.was_closed("A: bad_block"));
    CHECK(fixture.world.log.has("proves block"));
}

TEST_CASE("another copy of a wrong block is asked of one peer after the other") {
    Fixture fixture(4, 200);
    fixture.join(4);
    fixture.world.run(seconds(5));
    REQUIRE(fixture.is_synced());
    const chain::BlockPtr block =
        fixture.world[1].ledger.blocks.at(fixture.world[1].ledger.finals.at(50));
    const auto wrong =
        chain::make_block({block->header, signature_of(50)}, block->transactions, block->witness);
    fixture.world[1].ledger.blocks[block->id] = wrong;
    fixture.world[2].ledger.earliest = 60;
    fixture.world.tell_ledger(fixture.world[2]);
    fixture.world.run(seconds(2));
    fixture.world.input(fixture.world[0], input::MendBlocks{{block->id}});
    fixture.world.run(seconds(2));
    CHECK(fixture.was_closed("A: bad_block"));
    REQUIRE(fixture.world[0].mends.size() == 2);
    CHECK(fixture.world[0].mends.front().block->signature == wrong->signature);
    CHECK(fixture.world[0].mends.back().block->signature == block->signature);
    // Nothing is wanted any more.
    fixture.world.input(fixture.world[0], input::MendBlocks{});
    fixture.world.run(seconds(30));
    CHECK(fixture.world[0].mends.size() == 2);
    CHECK(fixture.world[0].network->status().peers.size() == 2);
}

TEST_CASE("whom nobody has another copy of is asked for again later") {
    Fixture fixture(2, 200);
    fixture.world[0].options.joins_with_one_organisation = true;
    fixture.world.start(fixture.world[0]);
    fixture.join(2);
    fixture.world.run(seconds(5));
    chain::BlockId unknown;
    unknown.bytes[3] = std::byte{50};
    for (int i = 0; i < 20; ++i) {
        fixture.world.input(fixture.world[0], input::MendBlocks{{unknown}});
        fixture.world.run(seconds(2));
    }
    CHECK(fixture.world[0].mends.empty());
    CHECK(fixture.world[0].network->status().peers.size() <= 1);
}
