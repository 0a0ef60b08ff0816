#include "p2p/stranger.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

// A pushed block names transactions that we have: an id is short, and what is copied for it is not.

using namespace p2p;
using namespace p2p::test;

namespace {

constexpr std::size_t kTransaction = std::size_t{128} << 10U;
constexpr std::size_t kAccepted = std::size_t{64} << 20U;  // Bytes of a peer, at once.

chain::BlockPtr naming(const chain::Block& block, std::uint32_t first, std::uint32_t count) {
    auto named = std::make_shared<chain::Block>(block);
    for (std::uint32_t i = 0; i < count; ++i) {
        named->transactions.emplace_back().transaction =
            transaction_of(first + i, kTransaction).packed_digest();
    }
    return named;
}

bool asks_for_transactions(const Stranger& test, ChannelId channel) {
    return std::ranges::any_of(test.heard(channel), [](const Body& body) {
        const auto* request = std::get_if<Request>(&body);
        return request != nullptr && request->wanted == Wanted::transactions;
    });
}

// Bytes of transactions in blocks that went to the ledger, which has no time for them.
std::size_t take_arrived(Stranger& test) {
    std::size_t bytes = 0;
    const auto arrived = test.effects<effect::BlockArrived>();
    test.out.clear();
    for (const auto& each : arrived) {
        for (const chain::TransactionReceipt& receipt : each.block->transactions)
            bytes += std::get<chain::PackedTransaction>(receipt.transaction).packed_trx.size();
        test.step(
            input::Judged{Item::block, each.block->id, each.channel, Verdict::refused, "a third"});
    }
    return bytes;
}

}  // namespace

TEST_CASE("a block that names a transaction twice costs its sender and is not put together",
          "[p2p][bodies]") {
    Stranger test;
    const ChannelId channel = test.greet();
    const auto known = transaction_of(1, kTransaction).packed_digest();
    const auto unknown = transaction_of(2, kTransaction).packed_digest();
    test.say(channel, transaction_of(1, kTransaction));
    auto block = std::make_shared<chain::Block>(*block_on(*test.ledger.head));
    const bool known_twice = GENERATE(false, true);
    for (const auto& id : {known, unknown, known_twice ? known : unknown})
        block->transactions.emplace_back().transaction = id;
    test.out.clear();
    test.say(channel, Blocks{{block}});
    CHECK(test.out.empty());
    CHECK(test.status(channel).score == 75);
}

TEST_CASE("what a peer names in blocks counts as if it had sent it", "[p2p][bodies]") {
    constexpr std::uint32_t kNamed = 32;
    Stranger test;
    const ChannelId channel = test.greet();
    for (std::uint32_t i = 0; i < kNamed; ++i)
        test.say(channel, transaction_of(i, kTransaction));
    test.tick(seconds(1));
    test.say(channel, test.notice());
    std::size_t bytes = 0;
    std::size_t asked_for_whole = 0;
    for (chain::Slot slots = 1; slots <= 40; ++slots) {
        const auto block = block_on(*test.ledger.head, {.slots = slots});
        test.say(channel, Blocks{{naming(*block, 0, kNamed)}});
        for (const auto& question : test.questions(channel))
            asked_for_whole += question.ids == std::vector{block->id} ? 1U : 0U;
        bytes += take_arrived(test);
    }
    CHECK(bytes > kAccepted / 2);
    CHECK(bytes <= kAccepted);
    CHECK(test.status(channel).score < 100);
    CHECK_FALSE(test.closed(channel));
    // What is over it is asked for whole, so far as that may be: an honest peer's is not lost.
    CHECK(asked_for_whole > 0);
}

// A short transaction costs more to find than to read.
TEST_CASE("of the transactions that a peer names so many a second are looked for",
          "[p2p][bodies]") {
    constexpr std::uint32_t kNamed = 8'000;
    Stranger test;
    const ChannelId channel = test.greet();
    for (std::uint32_t i = 0; i < kNamed; ++i)
        test.say(channel, transaction_of(i));
    test.out.clear();
    const auto push = [&](chain::Slot first, chain::Slot count) {
        std::size_t whole = 0;
        for (chain::Slot slots = first; slots < first + count; ++slots) {
            auto block =
                std::make_shared<chain::Block>(*block_on(*test.ledger.head, {.slots = slots}));
            for (std::uint32_t i = 0; i < kNamed; ++i)
                block->transactions.emplace_back().transaction = transaction_of(i).packed_digest();
            test.say(channel, Blocks{{block}});
            whole += take_arrived(test) > 0 ? 1U : 0U;
        }
        return whole;
    };
    CHECK(push(1, 15) == 80'000 / kNamed);
    test.tick(seconds(1));
    CHECK(push(16, 7) == 40'000 / kNamed);
    CHECK(test.status(channel).score == 100);
}

// One transaction may be what many blocks wait for: it is copied for each.
TEST_CASE("what comes late for blocks that named it counts as if it had come for each",
          "[p2p][bodies]") {
    constexpr std::uint32_t kNamed = 12;
    constexpr std::uint32_t kBlocks = 16;
    Stranger test;
    const ChannelId channel = test.greet();
    std::size_t bytes = 0;
    for (std::uint32_t round = 0; round < 4; ++round) {
        for (chain::Slot i = 1; i <= kBlocks; ++i) {
            const auto block = block_on(*test.ledger.head, {.slots = round * kBlocks + i});
            test.say(channel, Blocks{{naming(*block, round * kNamed, kNamed)}});
        }
        for (std::uint32_t i = 0; i < kNamed; ++i)
            test.say(channel, transaction_of(round * kNamed + i, kTransaction));
        bytes += take_arrived(test);
    }
    CHECK(bytes > kAccepted / 2);
    CHECK(bytes <= kAccepted);
}

TEST_CASE("of a block that is dropped, or waits here, only the header is looked at",
          "[p2p][bodies]") {
    Stranger test;
    const ChannelId channel = test.greet();
    chain::Block unknown = *test.ledger.head;
    unknown.id.bytes[31] = std::byte{99};
    SECTION("dropped, being too high") {
        unknown.header.height += 1'000;
        test.say(channel, Blocks{{naming(*block_on(unknown), 1, 1)}});
        CHECK_FALSE(asks_for_transactions(test, channel));
    }
    SECTION("waiting for its parent") {
        const auto orphan = block_on(unknown);
        test.say(channel, Blocks{{orphan}});
        test.say(channel, Blocks{{naming(*orphan, 1, 1)}});
        CHECK_FALSE(asks_for_transactions(test, channel));
    }
    SECTION("neither") {
        test.say(channel, Blocks{{naming(*block_on(*test.ledger.head), 1, 1)}});
        CHECK(asks_for_transactions(test, channel));
    }
}

namespace {

// Two that push the block of our head's child, and what each names in it.
struct TwoCopies {
    Stranger test;
    ChannelId liar = test.greet();
    ChannelId honest = test.greet({.number = 6});
    chain::BlockPtr block =
        block_on(*test.ledger.head, {.transactions = {transaction_of(1, kTransaction)}});

    void push(ChannelId channel, std::uint32_t named) {
        chain::Block copy = *block;
        copy.transactions.clear();
        test.say(channel, Blocks{{naming(copy, named, 1)}});
    }
    [[nodiscard]] std::size_t asked_for_whole(ChannelId channel) const {
        std::size_t found = 0;
        for (const auto& question : test.questions(channel))
            found += question.ids == std::vector{block->id} ? 1U : 0U;
        return found;
    }
};

}  // namespace

TEST_CASE("a copy that names what does not exist does not hold up the block of another peer",
          "[p2p][bodies]") {
    TwoCopies two;
    const bool is_liar_first = GENERATE(true, false);
    const bool is_header_first = GENERATE(true, false);
    if (is_header_first) {
        two.test.say(two.honest, HeaderPush{{two.block->header, two.block->signature}, {}});
    }
    if (is_liar_first) {
        two.push(two.liar, 99);
        two.push(two.honest, 1);
    } else {
        two.push(two.honest, 1);
        two.push(two.liar, 99);
    }
    REQUIRE(two.asked_for_whole(two.honest) == 1);
    CHECK(two.asked_for_whole(two.liar) == 1);
    const auto question = two.test.questions(two.honest).front();
    two.test.say(
        two.honest, Blocks{{two.block}}, {.correlation = question.correlation, .flags = kFlagLast});
    const auto arrived = two.test.effects<effect::BlockArrived>();
    REQUIRE(arrived.size() == 1);
    CHECK(arrived.front().channel == two.honest);
    CHECK(two.test.status(two.honest).score == 100);
}

// A pushed block waits for transactions for two round trips; what those are, its sender decides.
TEST_CASE("a peer with long round trips does not hold up its block for long", "[p2p][bodies]") {
    TwoCopies two;
    two.test.out.clear();
    while (two.test.heartbeat(two.liar) == 0)
        two.test.tick(milliseconds(100));
    const std::int64_t asked = two.test.heartbeat(two.liar);
    two.test.tick(milliseconds(900));
    two.test.say(two.liar, TimeStamps{.origin = asked, .receive = asked, .transmit = asked});
    REQUIRE(two.test.status(two.liar).round_trip >= milliseconds(500));
    two.test.out.clear();
    two.push(two.liar, 99);
    two.test.tick(milliseconds(900));
    CHECK(two.asked_for_whole(two.liar) == 1);
}
