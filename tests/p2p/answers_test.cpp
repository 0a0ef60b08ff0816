#include "p2p/stranger.hpp"

#include <catch2/catch.hpp>

// What may answer a question for blocks by id, and what an answer costs.

using namespace p2p;
using namespace p2p::test;

namespace {

// Blocks that build on something that nobody has.
std::vector<chain::BlockPtr> orphans_on(const chain::Block& parent, std::uint8_t count) {
    std::vector<chain::BlockPtr> orphans;
    for (std::uint8_t i = 0; i < count; ++i) {
        chain::Block unknown = parent;
        unknown.id.bytes[31] = std::byte{i};
        orphans.push_back(block_on(unknown));
    }
    return orphans;
}

}  // namespace

TEST_CASE("an answer by id holds what was asked for, whole and once, or costs its sender",
          "[p2p][answers]") {
    Stranger test;
    const ChannelId channel = test.greet();
    const auto one = block_on(*test.ledger.head, {.transactions = {transaction_of(1)}});
    const auto two = block_on(*test.ledger.head, {.slots = 2});
    const auto three = block_on(*test.ledger.head, {.slots = 3});
    test.say(channel, transaction_of(1));
    const auto question = test.ask(channel, {one->id, two->id});
    REQUIRE(question.ids.size() == 2);
    const auto answer = [&](std::vector<chain::BlockPtr> blocks, std::uint8_t flags = 0) {
        test.say(channel,
                 Blocks{std::move(blocks)},
                 {.correlation = question.correlation, .flags = flags});
        return test.effects<effect::BlockArrived>().size();
    };
    SECTION("what was asked for") {
        CHECK(answer({one}) == 1);
        CHECK(answer({two}, kFlagLast) == 2);
        CHECK(test.status(channel).score == 100);
    }
    SECTION("more than that") {
        CHECK(answer({one, three}) == 0);
        CHECK(test.status(channel).score == 75);
        // That ends the question: what follows is late.
        CHECK(answer({two}) == 0);
        CHECK(test.status(channel).score == 75);
    }
    SECTION("what was asked of it by another question") {
        const auto other = test.ask(channel, {three->id});
        REQUIRE(other.ids == std::vector{three->id});
        CHECK(answer({three}) == 0);
        CHECK(test.status(channel).score == 75);
    }
    SECTION("the same again") {
        CHECK(answer({one}) == 1);
        CHECK(answer({one}) == 1);
        CHECK(test.status(channel).score == 75);
    }
    SECTION("a block that names a transaction in the place of holding it") {
        auto named = std::make_shared<chain::Block>(*one);
        named->transactions.front().transaction = transaction_of(1).packed_digest();
        CHECK(answer({named}) == 0);
        CHECK(test.status(channel).score == 75);
    }
    SECTION("nothing") {
        CHECK(answer({}, kFlagLast) == 0);
        CHECK(test.status(channel).score == 100);
    }
}

// An answer is in no budget, so that what it holds besides would have no bound.
TEST_CASE("who answers with blocks that nobody asked for is soon closed", "[p2p][answers]") {
    Stranger test;
    const ChannelId channel = test.greet();
    std::size_t messages = 0;
    for (std::uint8_t round = 1; round <= 40 && !test.closed(channel); ++round) {
        chain::BlockId id = test.ledger.head->id;
        id.bytes[30] = std::byte{round};
        const auto question = test.ask(channel, {id});
        REQUIRE(question.correlation != 0);
        chain::BlockHeader header = block_on(*test.ledger.head)->header;
        header.height += 1'000;
        Blocks junk;
        for (std::uint8_t i = 0; i < 200; ++i) {
            header.state_digest.bytes[0] = std::byte{i};
            junk.blocks.push_back(chain::make_block({header, signature_of(1)}, {}, {}));
        }
        test.say(channel, junk, {.correlation = question.correlation, .flags = kFlagLast});
        ++messages;
    }
    CHECK(messages <= 5);
    CHECK(test.went(channel, Reason::bad_block));
}

// All that is wanted is looked through, for each of up to a thousand blocks that would be much.
TEST_CASE("what the blocks of a message lack is asked for once, not after each", "[p2p][answers]") {
    Stranger test;
    const ChannelId channel = test.greet();
    const auto orphans = orphans_on(*test.ledger.head, 5);
    std::vector<chain::BlockId> ids;
    std::vector<chain::BlockId> parents;
    for (const chain::BlockPtr& orphan : orphans) {
        ids.push_back(orphan->id);
        parents.push_back(orphan->header.previous);
    }
    const auto question = test.ask(channel, ids);
    REQUIRE(question.ids.size() == ids.size());
    test.say(channel, Blocks{orphans}, {.correlation = question.correlation, .flags = kFlagLast});
    const auto asked = test.questions(channel);
    REQUIRE(asked.size() == 1);
    CHECK(asked.front().ids == parents);
}

// Sync hands blocks to the ledger by itself; the ledger says that they are there.
TEST_CASE("a block that waits for its parent goes on when sync brings that", "[p2p][answers]") {
    Stranger test;
    const ChannelId channel = test.greet();
    const auto parent = block_on(*test.ledger.head);
    const auto child = block_on(*parent);
    const auto grandchild = block_on(*child);
    test.say(channel, Blocks{{grandchild}});
    test.say(channel, Blocks{{child}});
    CHECK(test.effects<effect::BlockArrived>().empty());
    REQUIRE(test.ledger.add(parent) == Verdict::good);
    if (GENERATE(false, true)) test.ledger.finalize(parent->id);
    test.step(test.ledger.view());
    const auto arrived = test.effects<effect::BlockArrived>();
    REQUIRE(arrived.size() == 2);
    CHECK(arrived[0].block->id == child->id);
    CHECK(arrived[1].block->id == grandchild->id);
}
