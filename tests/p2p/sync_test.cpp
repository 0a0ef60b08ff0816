#include "p2p/world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

// A node that is far behind fetches final blocks by height, from all peers at once, whatever
// some of them do.

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

// Nodes 1 and up have the same chain; node 0 has nothing.
struct Fixture {
    World world;

    explicit Fixture(std::size_t nodes, std::size_t blocks, const BlockOptions& options = {})
        : world(nodes) {
        world[1].ledger.grow(blocks, options);
        for (std::size_t i = 2; i < nodes; ++i)
            world[i].ledger = world[1].ledger;
        for (std::size_t i = 1; i < nodes; ++i)
            world.tell_ledger(world[i]);
    }
    void join() {
        for (std::size_t i = 1;; ++i) {
            try {
                (void)world[i];
            } catch (const std::out_of_range&) {
                return;
            }
            world.join(0, i);
        }
    }
    [[nodiscard]] bool is_synced() { return world[0].ledger.head->id == world[1].ledger.head->id; }
};

TEST_CASE("a blank node fetches the chain from several peers at once") {
    Fixture fixture(4, 3'000);
    fixture.join();
    fixture.world.run(seconds(5));
    CHECK(fixture.is_synced());
    CHECK(fixture.world[0].sync_blocks >= 2'990);
    for (std::size_t i = 1; i < 4; ++i) {
        CHECK(fixture.world.said(i, 0).find("blocks") != std::string::npos);
    }
    CHECK(fixture.world[0].network->status().sync.mode == SyncMode::normal);
    CHECK(fixture.world.closes.empty());
    CHECK(fixture.world.log.has("sync: from block 2"));
}

TEST_CASE("the mode names where the node stands, and progress is shown while it syncs") {
    Fixture fixture(3, 60'000);
    fixture.world[1].read_delay = milliseconds(1'000);
    fixture.world[2].read_delay = milliseconds(1'000);
    fixture.join();
    fixture.world.run(milliseconds(5'800));
    const SyncStatus status = fixture.world[0].network->status().sync;
    CHECK(status.mode == SyncMode::last_irr_catch_up);
    CHECK(status.target > 59'000);
    CHECK(status.blocks_per_second > 100);
    CHECK(status.eta.has_value());
    CHECK(fixture.world.log.has("blocks/s"));
    fixture.world.run(seconds(60));
    CHECK(fixture.is_synced());
}

TEST_CASE("a peer that answers nothing holds nobody up for long") {
    Fixture fixture(4, 3'000);
    fixture.world[2].answers_reads = false;
    fixture.join();
    fixture.world.run(seconds(15));
    CHECK(fixture.is_synced());
    CHECK(fixture.world.log.lines.size() < 100);
}

TEST_CASE(
    "a peer that answers nothing, and whose round trip is years, as it says, holds nobody up") {
    Fixture fixture(4, 3'000);
    fixture.world[2].misdate = [](TimeStamps& stamps) {
        stamps.receive = std::int64_t{1} << 60U;
        stamps.transmit = 0;
    };
    fixture.join();
    fixture.world.run(seconds(5));
    CHECK(fixture.is_synced());
    // There is more to fetch, once its round trip was measured.
    fixture.world[2].answers_reads = false;
    fixture.world[1].ledger.grow(30'000);
    for (std::size_t i = 1; i < 4; ++i) {
        fixture.world[i].ledger = fixture.world[1].ledger;
        fixture.world.tell_ledger(fixture.world[i]);
    }
    fixture.world.run(seconds(60));
    CHECK(fixture.is_synced());
}

TEST_CASE("who answers later each time holds nobody up for long") {
    BlockOptions large;
    large.transactions = {transaction_of(1, 4'000)};
    Fixture fixture(4, 60'000, large);
    double latency = 0;  // About as node 0 measures it: smoothed, in seconds.
    fixture.world[2].falsify = [&](Ledger&, const std::vector<SharedBytes>&) {
        const double after = 1.5 + 2.4 * latency;
        latency = (3 * latency + after) / 4;
        fixture.world[2].read_delay = milliseconds(static_cast<int>(1'000 * after));
    };
    fixture.join();
    fixture.world.run(seconds(60));
    CHECK(fixture.is_synced());
}

TEST_CASE("a peer that answers late loses score and the ranges") {
    Fixture fixture(4, 3'000);
    fixture.world[2].read_delay = seconds(20);
    fixture.join();
    fixture.world.run(seconds(10));
    CHECK(fixture.is_synced());
    const Status status = fixture.world[0].network->status();
    REQUIRE(status.peers.size() == 3);
    CHECK(status.peers[1].score < 100);
    CHECK(status.peers[0].score == 100);
}

TEST_CASE("a peer that sends other heights than asked for is closed as unlinkable") {
    Fixture fixture(4, 3'000);
    fixture.world[2].falsify = [](Ledger&, std::vector<SharedBytes>& blocks) {
        if (blocks.size() > 1) std::swap(blocks.front(), blocks.back());
    };
    fixture.join();
    fixture.world.run(seconds(10));
    CHECK(fixture.is_synced());
    CHECK(std::count(fixture.world.closes.begin(), fixture.world.closes.end(), "A: unlinkable") ==
          1);
    CHECK(fixture.world[0].network->status().peers.size() == 2);
}

TEST_CASE("a peer whose blocks the ledger finds wrong is closed, and the sync goes on") {
    Fixture fixture(4, 3'000);
    // A chain of the liar's own, whose ids link.
    fixture.world[2].ledger = {};
    fixture.world[2].ledger.grow(20);
    fixture.world[2].falsify = [](Ledger&, std::vector<SharedBytes>& blocks) {
        std::vector<SharedBytes> lies;
        chain::BlockPtr last;
        for (const SharedBytes& bytes : blocks) {
            const auto block = *chain::decode_block(*bytes);
            auto lie = std::make_shared<chain::Block>(*block);
            lie->header.producer = *chain::Name::from_string("liar");
            if (last) lie->header.previous = last->id;
            lie->id = lie->header.id();
            last = lie;
            lies.push_back(std::make_shared<const base::Bytes>(chain::encode_block(*lie)));
        }
        blocks = lies;
    };
    fixture.world[2].ledger = fixture.world[1].ledger;
    fixture.join();
    fixture.world.run(seconds(20));
    CHECK(fixture.is_synced());
    const Status status = fixture.world[0].network->status();
    for (const PeerStatus& peer : status.peers)
        CHECK(peer.key != key_of(2));
}

TEST_CASE("a slow and a lying peer together do not keep a node from the head") {
    Fixture fixture(4, 3'000);
    fixture.world[2].read_delay = seconds(20);
    fixture.world[3].falsify = [](Ledger&, std::vector<SharedBytes>& blocks) {
        if (blocks.size() > 1) blocks.erase(blocks.begin() + 1);
    };
    fixture.join();
    fixture.world.run(seconds(20));
    CHECK(fixture.is_synced());
}

// Node 2 has the first 200 blocks; what it says is final above is its own. Node 3 is honest.
void grow_alone(Fixture& fixture, const std::function<chain::Slot(std::size_t)>& slots) {
    World& world = fixture.world;
    Ledger& liar = world[2].ledger;
    const Ledger honest = liar;
    liar = {};
    for (chain::Height height = 2; height <= 200; ++height)
        (void)liar.add(honest.blocks.at(honest.finals.at(height)));
    for (std::size_t i = 0; i < 4'000; ++i)
        (void)liar.add(block_on(*liar.head, {.producer = "alone", .slots = slots(i)}));
    world[0].ledger.latest = 10'000;
    // It calls all of it final; nothing in the blocks does.
    liar.finalize(liar.head->id);
    world.tell_ledger(world[2]);
}

// That what one member alone has signed keeps a node no longer than this, and costs no other.
void check_synced(Fixture& fixture, base::Duration time) {
    fixture.join();
    fixture.world.run(time);
    CHECK(fixture.is_synced());
    for (const PeerStatus& peer : fixture.world[0].network->status().peers) {
        if (peer.key != key_of(2)) CHECK(peer.score == 100);
    }
    CHECK(fixture.world[0].network->status().peers.size() >= 2);
}

TEST_CASE("blocks of one member that are dated years ahead keep nobody from the head") {
    Fixture fixture(4, 3'000);
    grow_alone(fixture, [](std::size_t i) { return i == 0 ? 60'000'000U : 1U; });
    check_synced(fixture, seconds(20));
}

TEST_CASE("a branch of one member, which nobody makes final, keeps nobody from the head") {
    Fixture fixture(4, 3'000);
    SECTION("and ends") {
        grow_alone(fixture, [](std::size_t) { return 2U; });
    }
    SECTION("and comes to what is dated ahead") {
        grow_alone(fixture, [](std::size_t i) { return i == 1'000 ? 60'000'000U : 1U; });
    }
    SECTION("and stops being served") {
        grow_alone(fixture, [](std::size_t) { return 1U; });
        fixture.world[2].falsify = [](Ledger&, std::vector<SharedBytes>& blocks) {
            for (std::size_t i = 0; i < blocks.size(); ++i) {
                const auto block = chain::decode_block(*blocks[i]);
                if ((*block)->header.height > 700) return blocks.resize(i);
            }
        };
    }
    check_synced(fixture, seconds(40));
}

TEST_CASE("a node whose clock is behind waits for it, and nobody pays") {
    Fixture fixture(4, 3'000);
    fixture.world[0].ledger.latest = 1'000;
    fixture.join();
    fixture.world.run(seconds(60));
    CHECK(fixture.world[0].ledger.head->header.slot == 1'000);
    for (const PeerStatus& peer : fixture.world[0].network->status().peers)
        CHECK(peer.score == 100);
    fixture.world[0].ledger.latest = 10'000;
    fixture.world.run(seconds(10));
    CHECK(fixture.is_synced());
}

TEST_CASE("a peer that claims a height which it has not costs itself the connection") {
    Fixture fixture(3, 500);
    fixture.join();
    fixture.world.run(seconds(2));
    REQUIRE(fixture.is_synced());
    // Says so in a notice, like one that is far ahead.
    Notice lie{.finalized = {1'000'000, {}}, .head = {1'000'000, {}}};
    const auto bytes = pack_message(lie);
    const ChannelId channel = fixture.world[0].network->status().peers.front().channel;
    fixture.world.input(fixture.world[0], input::Message{channel, *bytes});
    for (int i = 0; i < 60; ++i) {
        fixture.world.run(seconds(1));
        if (fixture.world[0].network->status().peers.size() < 2) break;
        fixture.world.input(fixture.world[0], input::Message{channel, *bytes});
    }
    CHECK(fixture.world[0].network->status().peers.size() == 1);
    CHECK(fixture.world.log.has("has not the blocks that it named"));
}

std::size_t count_arrived(const Effects& effects) {
    return static_cast<std::size_t>(std::ranges::count_if(effects, [](const Effect& effect) {
        return std::holds_alternative<effect::BlockArrived>(effect);
    }));
}

// At most 40 of the blocks that are asked for.
Blocks answer_to(const SyncRequest& request, const Ledger& ledger) {
    Blocks answer;
    for (chain::Height h = request.from; h <= request.to && answer.blocks.size() < 40; ++h) {
        answer.blocks.push_back(ledger.blocks.at(ledger.finals.at(h)));
    }
    return answer;
}

TEST_CASE("memory is bounded: so many bytes are asked for, however long the chain is") {
    // 40 MB of blocks, with a ledger that judges nothing.
    Fixture fixture(2, 400, {.transactions = {transaction_of(1, 100'000)}});
    World& world = fixture.world;
    Network& network = *world[0].network;
    Effects out;
    std::size_t arrived = 0;
    base::Hash256 exporter;
    network.step(
        world.now, input::RegistryChanged{{{key_of(1), World::organisation(1), kValidator}}}, out);
    network.step(
        world.now, input::ChannelUp{ChannelId{900}, key_of(1), "b:1", true, exporter, {}}, out);
    const auto& ledger = world[1].ledger;
    const BlockPoint final{ledger.finalized->header.height, ledger.finalized->id};
    const auto say = [&](const Body& body, Mark mark = {}) {
        network.step(world.now, input::Message{ChannelId{900}, *pack_message(body, mark)}, out);
    };
    Hello hello{.finalized = final, .head = final};
    hello.chain_id = world[0].options.chain_id;
    say(hello);
    say(Notice{.finalized = final, .head = final});
    std::size_t served = 0;
    for (int step = 0; step < 50; ++step) {
        world.now += milliseconds(100);
        network.step(world.now, input::Tick{}, out);
        const Effects asked = std::exchange(out, {});
        arrived += count_arrived(asked);
        for (const Effect& effect : asked) {
            const auto* send = std::get_if<effect::Send>(&effect);
            if (send == nullptr) continue;
            const auto envelope = read_envelope(*send->bytes);
            if (envelope->type != MessageType::sync_request) continue;
            const auto request = std::get<SyncRequest>(*read_body(*envelope, *send->bytes));
            const Blocks blocks = answer_to(request, ledger);
            served += blocks.blocks.size();
            say(blocks, {.correlation = envelope->correlation, .flags = kFlagLast});
        }
        arrived += count_arrived(out);
        std::erase_if(out, [](const Effect& effect) {
            return std::holds_alternative<effect::BlockArrived>(effect);
        });
    }
    // 16 MiB with the ledger, 32 MiB asked for or held.
    CHECK(arrived * 100'000 <= (17U << 20U));
    CHECK(served * 100'000 <= (17U << 20U) + (37U << 20U));
    CHECK(arrived >= 100);
}

TEST_CASE("a new node waits for a second organisation, and then for an equal answer") {
    World world(3);
    world[1].ledger.grow(100);
    world[2].ledger = world[1].ledger;
    world[2].ledger.grow(30);
    for (std::size_t i = 1; i < 3; ++i)
        world.tell_ledger(world[i]);
    SECTION("one organisation") {
        world.join(0, 1);
        world.run(seconds(60));
        CHECK(world[0].sync_blocks == 0);
        const auto sync = world[0].network->status().sync;
        CHECK(sync.waiting_for.find("peers of two organisations of the genesis list (orga, orgb, "
                                    "orgc) that are on one chain: connected is orgb;") !=
              std::string::npos);
        CHECK(sync.gate_waits_for == sync.waiting_for);
        CHECK(world.log.has("join-with-one-organisation = true"));
    }
    SECTION("two that agree") {
        world.join(0, 1);
        world.join(0, 2);
        world.run(seconds(2));
        CHECK(world[0].sync_blocks > 120);
    }
    SECTION("two of which one has pruned what the other calls final") {
        world[2].ledger.earliest = 110;
        world.tell_ledger(world[2]);
        world.join(0, 1);
        world.join(0, 2);
        world.run(seconds(30));
        CHECK(world[0].sync_blocks == 0);
        CHECK(world[0].network->status().sync.waiting_for.find("which has pruned what is below "
                                                               "block 110") != std::string::npos);
        for (const PeerStatus& peer : world[0].network->status().peers)
            CHECK(peer.score == 100);
        // They can, as soon as the one comes to what the other has.
        world[1].ledger = world[2].ledger;
        world[1].ledger.earliest = 1;
        world.tell_ledger(world[1]);
        for (std::size_t i = 1; i < 3; ++i)
            (void)world.make(world[i]);
        world.run(seconds(30));
        CHECK(world[0].sync_blocks > 120);
    }
    SECTION("two that do not") {
        world[2].ledger = {};
        world[2].ledger.grow(130, {.producer = "q"});
        world.tell_ledger(world[2]);
        world.join(0, 1);
        world.join(0, 2);
        world.run(seconds(12));
        CHECK(world[0].sync_blocks == 0);
        CHECK(world[0].network->status().sync.waiting_for.find("different final blocks") !=
              std::string::npos);
    }
    SECTION("two of three that do, whoever is asked first") {
        world[1].ledger = {};
        for (int i = 0; i < 130; ++i)
            (void)world[1].ledger.add(block_on(*world[1].ledger.head, {.producer = "q"}));
        // It calls that final; nothing in the blocks does.
        world[1].ledger.finalize(world[1].ledger.head->id);
        world.tell_ledger(world[1]);
        world.add(3);
        std::vector<RegisteredNode> nodes;
        for (std::size_t i = 0; i < 4; ++i)
            nodes.push_back({key_of(i), World::organisation(i), kValidator});
        for (std::size_t i = 0; i < 4; ++i)
            world.input(world[i], input::RegistryChanged{nodes});
        world[3].ledger = world[2].ledger;
        world.tell_ledger(world[3]);
        for (std::size_t i = 1; i < 4; ++i)
            world.join(0, i);
        world.run(seconds(12));
        CHECK(world[0].ledger.head->id == world[2].ledger.head->id);
    }
    SECTION("a checkpoint decides") {
        world[2].ledger = {};
        world[2].ledger.grow(130, {.producer = "q"});
        world.tell_ledger(world[2]);
        world[0].options.checkpoint = BlockPoint{50, world[1].ledger.finals.at(50)};
        world.start(world[0]);
        world.input(world[0],
                    input::RegistryChanged{{{key_of(1), World::organisation(1), 1},
                                            {key_of(2), World::organisation(2), 1}}});
        world.join(0, 2);
        world.run(seconds(5));
        CHECK(world[0].network->status().peers.empty());
        CHECK(world.log.has("block 50 is not the checkpoint"));
        // What came below it may be dropped again: it was never final.
        world.join(0, 1);
        world.run(seconds(20));
        CHECK(world[0].ledger.finalized->id == world[1].ledger.finalized->id);
    }
}

// Node 0 knows the genesis list and has nothing; the others have a chain of 100 blocks.
struct Blank {
    World world;

    // `listed`: in the genesis list, each of its own organisation but those of `of_one`.
    explicit Blank(std::size_t nodes,
                   const std::vector<std::size_t>& listed,
                   const std::set<std::size_t>& of_one = {},
                   const std::function<void(Options&)>& change = {})
        : world(nodes) {
        if (change) change(world[0].options);
        world.start(world[0]);
        std::vector<RegisteredNode> list;
        list.reserve(listed.size());
        for (const std::size_t i : listed) {
            list.push_back(
                {key_of(i), World::organisation(of_one.contains(i) ? 25 : i), kValidator});
        }
        world.input(world[0], input::RegistryChanged{list});
        world[1].ledger.grow(100);
        for (std::size_t i = 2; i < nodes; ++i)
            world[i].ledger = world[1].ledger;
        for (std::size_t i = 1; i < nodes; ++i)
            world.tell_ledger(world[i]);
    }
    // Dialled by its address, for this key if it is given.
    void dial(std::size_t number, const std::optional<PublicKey>& pinned = {}) {
        world.input(world[0], input::Dial{world[number].options.listen_address, pinned});
    }
    [[nodiscard]] bool has_begun() {
        world.run(seconds(30));
        return world[0].ledger.finalized->header.height > 1;
    }
    [[nodiscard]] std::string waiting_for() { return world[0].network->status().sync.waiting_for; }
};

TEST_CASE("an unlisted node is no second organisation, be there ever so many") {
    Blank test(4, {1, 9});
    for (std::size_t i = 1; i < 4; ++i)
        test.dial(i);
    CHECK_FALSE(test.has_begun());
    CHECK(test.waiting_for().find("connected is orgb, and 2 in no list, which do not count") !=
          std::string::npos);
}

TEST_CASE("two nodes of one organisation are one organisation") {
    Blank test(3, {1, 2, 9}, {1, 2});
    test.dial(1);
    test.dial(2);
    CHECK_FALSE(test.has_begun());
}

TEST_CASE("a pinned peer in no list counts as one organisation, several of them as one, too") {
    Blank test(4, {1, 9});
    test.dial(2, key_of(2));
    test.dial(3, key_of(3));
    CHECK_FALSE(test.has_begun());
    CHECK(test.waiting_for().find("connected is a pinned peer that is in no list;") !=
          std::string::npos);
    test.dial(1);
    CHECK(test.has_begun());
}

TEST_CASE("who comes after others were compared in vain is compared at once") {
    Blank test(4, {1, 2, 3});
    for (const std::size_t i : {2U, 3U})
        test.world[i].ledger.grow(30);
    test.world[2].ledger.earliest = 110;
    for (const std::size_t i : {2U, 3U})
        test.world.tell_ledger(test.world[i]);
    test.dial(1);
    test.dial(2);
    test.world.run(seconds(2));
    REQUIRE(test.waiting_for().find("which has pruned what is below block 110") !=
            std::string::npos);
    test.dial(3);
    test.world.run(seconds(2));
    CHECK(test.waiting_for().empty());
    CHECK(test.world[0].ledger.finalized->header.height > 1);
}

TEST_CASE("where the genesis list has one organisation, one of its nodes is enough") {
    Blank test(3, {1});
    test.dial(2);
    CHECK_FALSE(test.has_begun());
    test.dial(1);
    CHECK(test.has_begun());
    CHECK(test.world.log.has("taken from one organisation alone"));
}

TEST_CASE("a genesis file that lists no node leaves nobody to believe but whom one dials") {
    Blank test(2, {});
    test.dial(1);
    CHECK(test.has_begun());
}

TEST_CASE("an operator may let one organisation be enough, but no stranger") {
    Blank test(3, {1, 9}, {}, [](Options& options) { options.joins_with_one_organisation = true; });
    test.dial(2);
    CHECK_FALSE(test.has_begun());
    test.dial(1);
    CHECK(test.has_begun());
}

// What a node at genesis is sent unasked is as old keys could have signed it.
TEST_CASE("pushed blocks and certificates are no way round a second organisation") {
    Blank test(2, {1, 9});
    Ledger forged;
    test.world[1].ledger = forged;
    test.world.tell_ledger(test.world[1]);
    test.dial(1);
    test.world.run(seconds(1));
    // It says that it is at genesis, too, and then makes a chain.
    for (int i = 0; i < 20; ++i) {
        const auto parent = test.world[1].ledger.head->header.previous;
        BlockOptions options;
        if (test.world[1].ledger.blocks.contains(parent)) options.finalized = parent;
        const auto block = test.world.make(test.world[1], options);
        test.world.input(
            test.world[1],
            input::PassCertificate{certificate_of(*block, chain::VoteKind::commit), {}});
        test.world.run(milliseconds(100));
    }
    test.world.run(seconds(5));
    CHECK(test.world[0].ledger.head->header.height == 1);
    CHECK(test.world[0].certificates.empty());
    CHECK(test.waiting_for().find("two organisations") != std::string::npos);
}

TEST_CASE("who is in the genesis list takes part in the beginning of a chain with one other") {
    World world(3);
    world.join(0, 1);
    world.run(seconds(1));
    const auto block = world.make(world[1]);
    world.run(seconds(1));
    CHECK(world[0].ledger.head->id == block->id);
}

TEST_CASE("what two organisations agree on binds what others give") {
    Blank test(4, {1, 2, 3});
    Ledger liar;
    liar.grow(200, {.producer = "q"});
    test.world[3].ledger = liar;
    test.world.tell_ledger(test.world[3]);
    test.world[1].read_delay = milliseconds(200);
    test.world[2].read_delay = milliseconds(200);
    test.dial(1);
    test.dial(2);
    test.world.run(milliseconds(150));
    test.dial(3);
    test.world.run(seconds(30));
    CHECK(test.world[0].ledger.finals.at(50) == test.world[1].ledger.finals.at(50));
}

TEST_CASE("a pushed block that is not the checkpoint costs its sender the connection") {
    World world(2);
    BlockPoint point{2, {}};
    point.id.bytes[3] = std::byte{2};
    world[0].options.checkpoint = point;
    world.start(world[0]);
    world.input(world[0],
                input::RegistryChanged{{{key_of(1), World::organisation(1), kValidator}}});
    world.join(0, 1);
    world.run(seconds(1));
    (void)world.make(world[1]);
    world.run(seconds(1));
    CHECK(world[0].ledger.head->header.height == 1);
    CHECK(world.log.has("block 2 is not the checkpoint"));
}

}  // namespace
