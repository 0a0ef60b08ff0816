#include "p2p/world.hpp"

#include <catch2/catch.hpp>

// Conversations between two and four nodes, in virtual time: who says what to whom, and what the
// ledgers have in the end. World is the wire; said(a, b) reads like a script.

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

TEST_CASE("two nodes greet each other, and are ready once each accepted the other") {
    World world(2);
    world.join(0, 1);
    world.run(milliseconds(50));
    CHECK(world.said(0, 1) == "hello notice");
    CHECK(world.said(1, 0) == "hello notice");
    REQUIRE(world[0].ready.size() == 1);
    CHECK(world[0].ready.front().key == key_of(1));
    CHECK(world[0].ready.front().vote_keys == std::vector<PublicKey>{vote_key_of(1)});
    const Status status = world[0].network->status();
    REQUIRE(status.peers.size() == 1);
    const PeerStatus& peer = status.peers.front();
    CHECK(peer.state == PeerState::ready);
    CHECK(peer.organisation == World::organisation(1));
    CHECK(peer.address == "b:1");
    CHECK(peer.outbound);
    CHECK(peer.score == 100);
    CHECK(status.sync.mode == SyncMode::normal);
}

TEST_CASE("heartbeats measure the round trip and the other clock") {
    World world(2);
    world.join(0, 1, milliseconds(20));
    world.run(seconds(3));
    const PeerStatus peer = world[0].network->status().peers.front();
    CHECK(peer.round_trip == milliseconds(40));
    CHECK(peer.clock_offset == milliseconds(0));
}

TEST_CASE("a block goes to all, header first, and its body to each node once") {
    World world(4);
    world.join_all();
    world.run(milliseconds(100));
    world.script.clear();
    const auto block = world.make(world[0]);
    world.run(milliseconds(400));
    CHECK(world.said(0, 1) == "header blocks");
    CHECK(world.count(MessageType::blocks) == 3);
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(world[i].ledger.head->id == block->id);
}

TEST_CASE("a block finds its way over nodes in a line") {
    World world(4);
    world.join_line();
    world.run(milliseconds(100));
    const auto block = world.make(world[0]);
    world.run(milliseconds(50));
    CHECK(world[3].ledger.head->id == block->id);
    CHECK(world.said(2, 1).find("blocks") == std::string::npos);
}

TEST_CASE("a transaction is pushed by its first node and offered by the others") {
    World world(4);
    world.join_line();
    world.run(milliseconds(100));
    world.script.clear();
    (void)world.push(world[0], transaction_of(1));
    world.run(milliseconds(300));
    for (std::size_t i = 1; i < 4; ++i)
        CHECK(world[i].transactions.size() == 1);
    CHECK(world.said(0, 1) == "transaction");
    CHECK(world.said(1, 2) == "notice transaction");
    CHECK(world.said(2, 1) == "request");
}

TEST_CASE("between connected nodes a transaction travels once to each") {
    World world(4);
    world.join_all();
    world.run(milliseconds(100));
    world.script.clear();
    (void)world.push(world[0], transaction_of(1));
    world.run(milliseconds(300));
    CHECK(world.count(MessageType::transaction) == 3);
}

TEST_CASE("a block names the transactions that the peer has seen, and brings the others") {
    World world(2);
    world.join(0, 1);
    world.run(milliseconds(100));
    const auto seen = world.push(world[0], transaction_of(1, 10'000));
    world.run(milliseconds(50));
    const std::size_t before = world.bytes;
    const auto block =
        world.make(world[0], {.transactions = {seen->packed, transaction_of(2, 500)}});
    world.run(milliseconds(50));
    CHECK(world[1].ledger.head->id == block->id);
    CHECK(world[1].ledger.blocks.at(block->id)->transactions.size() == 2);
    CHECK(world.bytes - before < 3'000);
}

TEST_CASE("a newcomer is offered the transactions of before") {
    World world(2);
    (void)world.push(world[0], transaction_of(1));
    world.join(0, 1);
    world.run(milliseconds(100));
    CHECK(world[1].transactions.size() == 1);
}

TEST_CASE("a vote goes to all voters; others pass it on only where no certificate comes") {
    World world(4);
    world.join_line();
    world.run(milliseconds(100));
    const auto block = world.make(world[0]);
    world.run(milliseconds(50));
    const chain::Vote vote = vote_of(*block, 0);
    SECTION("no certificate") {
        world.input(world[0], input::PushVote{vote});
        world.run(milliseconds(300));
        for (std::size_t i = 1; i < 4; ++i) {
            CHECK(world[i].votes == std::vector<chain::Vote>{vote});
        }
    }
    SECTION("a certificate in time") {
        world.input(world[0], input::PushVote{vote});
        world.input(world[0],
                    input::PassCertificate{certificate_of(*block, chain::VoteKind::notarize),
                                           std::nullopt});
        world.run(milliseconds(300));
        CHECK(world[1].votes.size() == 1);
        CHECK(world[1].certificates.size() == 1);
        CHECK(world[2].votes.empty());
    }
}

TEST_CASE("a certificate goes once to those who lack it, and to all when that is asked") {
    World world(2);
    world.join(0, 1);
    world.run(milliseconds(100));
    const auto block = world.make(world[0]);
    world.run(milliseconds(50));
    input::PassCertificate pass{certificate_of(*block, chain::VoteKind::commit), std::nullopt};
    world.input(world[0], pass);
    world.run(milliseconds(50));
    REQUIRE(world[1].certificates.size() == 1);
    world.script.clear();
    world.input(world[1], pass);
    world.run(milliseconds(50));
    CHECK(world.said(1, 0).empty());  // It came from there.
    world.input(world[1], pass);
    world.run(milliseconds(50));
    CHECK(world.said(1, 0).empty());  // However often it is said.
    pass.again = true;
    world.input(world[1], pass);
    world.run(milliseconds(50));
    CHECK(world.said(1, 0) == "certificate");
    // The peer had it already: its ledger is not asked again.
    CHECK(world[0].certificates.empty());
}

TEST_CASE("a certificate can be sent to one peer") {
    World world(3);
    world.join_all();
    world.run(milliseconds(100));
    const auto block = world.make(world[0]);
    world.run(milliseconds(50));
    world.script.clear();
    world.input(world[0],
                input::PassCertificate{certificate_of(*block, chain::VoteKind::commit),
                                       world[0].ready.front().channel});
    CHECK(world.said(0, 1) == "certificate");
    CHECK(world.said(0, 2).empty());
}

TEST_CASE("hello is answered with the newest votes of the peer's keys") {
    World world(2);
    world.join(0, 1);
    world.run(milliseconds(100));
    const auto block = world.make(world[1]);
    world.run(milliseconds(50));
    world.input(world[1], input::PushVote{vote_of(*block, 1)});
    world.input(world[1], input::PushVote{vote_of(*block, 1, chain::VoteKind::commit)});
    world.run(milliseconds(50));
    REQUIRE(world[0].votes.size() == 2);
    // Its memory is lost; what it is told is what it said.
    world.input(world[1], input::Stop{});
    world.run(milliseconds(50));
    world.start(world[1]);
    world.input(world[1], input::RegistryChanged{{{key_of(0), World::organisation(0), 1}}});
    world.join(1, 0);
    world.run(milliseconds(100));
    REQUIRE(world[1].votes.size() == 2);
    CHECK(world[1].votes.front().data.kind == chain::VoteKind::notarize);
    CHECK(world[1].votes.back().data.kind == chain::VoteKind::commit);
}

TEST_CASE("hello is answered with votes that were seen in a certificate alone, too") {
    World world(2);
    world.join(0, 1);
    world.run(milliseconds(100));
    const auto block = world.make(world[0]);
    const chain::Vote commit = vote_of(*block, 1, chain::VoteKind::commit);
    world.input(world[0], input::VotesProved{{commit, vote_of(*block, 7)}});
    world.input(world[1], input::Stop{});
    world.run(milliseconds(50));
    world.start(world[1]);
    world.input(world[1], input::RegistryChanged{{{key_of(0), World::organisation(0), 1}}});
    world.join(1, 0);
    world.run(milliseconds(100));
    CHECK(world[1].votes == std::vector<chain::Vote>{commit});
}

TEST_CASE("a node that was away a little gets the reversible blocks that it lacks") {
    World world(2);
    for (int i = 0; i < 5; ++i)
        (void)world.make(world[0]);
    world.join(0, 1);
    world.run(milliseconds(500));
    CHECK(world[1].ledger.head->id == world[0].ledger.head->id);
    CHECK(world[1].sync_blocks == 0);
    CHECK(world[1].network->status().sync.mode == SyncMode::normal);
}

TEST_CASE("what was lost on the way is asked for by id") {
    World world(2);
    world.join(0, 1);
    world.run(milliseconds(100));
    // Two blocks that were never pushed, then one that was.
    world[0].ledger.grow(2);
    const auto block = world.make(world[0]);
    world.run(seconds(1));
    CHECK(world[1].ledger.head->id == block->id);
}

TEST_CASE("a reconnected node on a branch that was dropped comes over") {
    World world(3);
    world[1].ledger.grow(2, {.producer = "q"});
    world[0].ledger.grow(40);
    world[2].ledger = world[0].ledger;
    for (std::size_t i = 0; i < 3; ++i)
        world.tell_ledger(world[i]);
    world.join(0, 1);
    world.join(1, 2);
    world.run(seconds(3));
    CHECK(world[1].ledger.head->id == world[0].ledger.head->id);
}

TEST_CASE("a block or transaction that fits in no message is kept here, and said so") {
    World world(2);
    world.join(0, 1);
    world.run(milliseconds(100));
    world.script.clear();
    const std::vector<chain::PackedTransaction> many(18, transaction_of(1, 500'000));
    (void)world.make(world[0], {.transactions = many});
    CHECK(world.log.has("too long for a message"));
    (void)world.push(world[0], transaction_of(1, 600'000));
    CHECK(world.said(0, 1).empty());
}

TEST_CASE("configured peers are dialled, again after failures, and not twice") {
    World world(2);
    world.is_cut = true;
    world.input(world[0], input::Dial{"b:1", key_of(1)});
    world.run(seconds(8));
    const std::size_t failed = world.dials.size();
    CHECK(failed >= 3);
    CHECK(failed <= 7);
    CHECK(world[0].network->status().dials.front().last_error == "connection refused");
    world.is_cut = false;
    world.run(seconds(5));
    CHECK(world.dials.size() == failed + 1);
    CHECK(world[0].network->status().dials.front().connected);
    world.input(world[1], input::Dial{"a:1", key_of(0)});
    world.run(seconds(5));
    CHECK(world.dials.size() == failed + 1);
    CHECK(world[1].network->status().peers.size() == 1);
}

TEST_CASE("hanging up ends the connection and the dialling") {
    World world(2);
    world.input(world[0], input::Dial{"b:1", {}});
    world.run(seconds(1));
    REQUIRE(world[0].network->status().peers.size() == 1);
    world.input(world[0], input::Hangup{"b:1"});
    world.run(seconds(10));
    CHECK(world[0].network->status().peers.empty());
    CHECK(world.dials.size() == 1);
}

TEST_CASE("a silent peer is closed") {
    World world(2);
    world.join(0, 1);
    world.run(milliseconds(100));
    // One whose process hangs: its network is never stepped again.
    Node& node = world[0];
    Effects out;
    for (int second = 1; second < 10; ++second) {
        node.network->step(world.now + seconds(second), input::Tick{}, out);
    }
    CHECK(node.network->status().peers.empty());
    CHECK(world.log.has("was silent for 6 s"));
}

TEST_CASE("two runs give one trace") {
    const auto run = [] {
        World world(4);
        world.join_all();
        world.run(milliseconds(100));
        for (int i = 0; i < 5; ++i) {
            (void)world.make(world[static_cast<std::size_t>(i) % 4]);
            world.run(milliseconds(300));
        }
        return std::pair(world.script, world.bytes);
    };
    CHECK(run() == run());
}

}  // namespace

TEST_CASE("who was refused for long is dialled at once when he may connect") {
    World world(2);
    const auto ready = [&](std::size_t i) {
        const auto peers = world[i].network->status().peers;
        return peers.size() == 1 && peers.front().state == PeerState::ready;
    };
    const auto deny = [&](bool is_denied) {
        world.input(world[0],
                    is_denied ? input::ListsChanged{{}, {key_of(1)}} : input::ListsChanged{});
    };
    // Either dials the other, or only who refuses does, without knowing whom he will find.
    const bool both = GENERATE(true, false);
    world.input(world[0],
                input::Dial{"b:1", both ? std::optional(key_of(1)) : std::optional<PublicKey>()});
    if (both) world.input(world[1], input::Dial{"a:1", key_of(0)});
    world.run(seconds(1));
    REQUIRE(ready(0));
    deny(true);
    world.run(seconds(100));
    CHECK(world[0].network->status().peers.empty());
    CHECK_FALSE(world[0].network->status().dials.front().last_error.empty());
    const std::size_t dials = world.dials.size();
    deny(false);
    world.run(milliseconds(500));
    CHECK(ready(0));
    CHECK(ready(1));
    CHECK(world.dials.size() > dials);
    // Nobody is told of what was.
    for (std::size_t i = 0; i < 2; ++i) {
        for (const DialStatus& dial : world[i].network->status().dials)
            CHECK(dial.last_error.empty());
    }
}

TEST_CASE("who was in no registry is dialled at once when he is registered") {
    World world(2);
    const RegisteredNode first{key_of(0), World::organisation(0), kValidator};
    const RegisteredNode second{key_of(1), World::organisation(1), kValidator};
    world.input(world[0], input::RegistryChanged{{first}});
    world.input(world[0], input::Dial{"b:1", {}});
    world.run(seconds(100));
    CHECK(world[0].network->status().peers.empty());
    world.input(world[0], input::RegistryChanged{{first, second}});
    world.run(milliseconds(500));
    REQUIRE(world[0].network->status().peers.size() == 1);
    CHECK(world[0].network->status().peers.front().state == PeerState::ready);
}
