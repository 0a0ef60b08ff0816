#include "p2p/stranger.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

// What the ledger finds wrong is laid to who sent it: to nobody who came to the place of one that
// is gone, and to nobody who only sent what belongs beside it.

using namespace p2p;
using namespace p2p::test;

namespace {

struct Asked {
    std::uint64_t correlation = 0;
    SyncRequest request;
};

// We are behind the chain of our peers.
struct Behind {
    Stranger test;
    Ledger far = test.ledger;

    Behind() { far.grow(2'000); }
    ChannelId greet(std::size_t number) {
        const ChannelId channel = test.come({.number = number});
        const input::LedgerChanged view = far.view();
        Hello hello = test.hello();
        hello.finalized = view.finalized;
        hello.head = view.head;
        test.say(channel, hello);
        test.say(channel, Notice{.finalized = view.finalized, .head = view.head});
        return channel;
    }
    [[nodiscard]] std::vector<Asked> asked(ChannelId channel) const {
        std::vector<Asked> all;
        for (const auto& send : test.effects<effect::Send>()) {
            const auto envelope = read_envelope(*send.bytes);
            if (send.channel != channel || envelope->type != MessageType::sync_request) continue;
            all.push_back(
                {envelope->correlation, std::get<SyncRequest>(*read_body(*envelope, *send.bytes))});
        }
        return all;
    }
    [[nodiscard]] chain::BlockPtr at(chain::Height height) const {
        return far.blocks.at(far.finals.at(height));
    }
    void answer(ChannelId channel, const Asked& asked, const chain::BlockPtr& last = nullptr) {
        Blocks blocks;
        for (chain::Height height = asked.request.from; height <= asked.request.to; ++height) {
            const bool is_last = height == asked.request.to;
            blocks.blocks.push_back(is_last && last != nullptr ? last : at(height));
            if (!is_last && blocks.blocks.size() < kBlocksMax) continue;
            test.say(
                channel,
                std::exchange(blocks, {}),
                {.correlation = asked.correlation, .flags = is_last ? kFlagLast : std::uint8_t{0}});
        }
    }
    void leave(ChannelId channel) { test.step(input::ChannelDown{channel, "gone"}); }
    void judge(ChannelId channel, const chain::Block& block, Verdict verdict) {
        test.step(input::Judged{Item::block, block.id, channel, verdict, "the ledger says so"});
    }
    [[nodiscard]] std::size_t arrived(ChannelId channel) const {
        const auto all = test.effects<effect::BlockArrived>();
        return static_cast<std::size_t>(
            std::ranges::count(all, channel, &effect::BlockArrived::channel));
    }
};

// Two peers are asked for two ranges each; the first of them, with the lower ones, will go.
struct BehindOneThatGoes : Behind {
    struct Peers {
        ChannelId gone;
        std::vector<Asked> of_gone;
        ChannelId honest;
        std::vector<Asked> of_honest;
    };
    BehindOneThatGoes() {
        peers.gone = greet(6);
        peers.of_gone = asked(peers.gone);
        peers.honest = greet(Stranger::kThem);
        peers.of_honest = asked(peers.honest);
        REQUIRE((peers.of_gone.size() == 2 && peers.of_honest.size() == 2));
    }
    Peers peers;
};

}  // namespace

TEST_CASE("what is held of a peer that is gone is laid to nobody, and asked for again",
          "[p2p][blame]") {
    Behind behind;
    const ChannelId first = behind.greet(Stranger::kThem);
    const ChannelId gone = behind.greet(6);
    const auto of_first = behind.asked(first);
    const auto of_gone = behind.asked(gone);
    REQUIRE((of_first.size() == 2 && of_gone.size() == 2));
    REQUIRE(of_first[1].request.to + 1 == of_gone[0].request.from);
    behind.answer(gone, of_gone[0]);
    behind.leave(gone);
    behind.test.out.clear();
    const ChannelId next = behind.greet(6);
    behind.answer(first, of_first[0]);
    behind.answer(first, of_first[1]);
    CHECK(behind.arrived(first) > 100);
    CHECK(behind.arrived(next) == 0);
    auto again = behind.asked(next);
    for (const Asked& each : behind.asked(first))
        again.push_back(each);
    CHECK(std::ranges::any_of(
        again, [&](const Asked& each) { return each.request.from == of_gone[0].request.from; }));
}

TEST_CASE("a bad block of a peer that is gone costs nobody who sent what is above it",
          "[p2p][blame]") {
    BehindOneThatGoes behind;
    const auto& [gone, of_gone, honest, of_honest] = behind.peers;
    behind.answer(gone, of_gone[0]);
    behind.answer(gone, of_gone[1]);
    behind.answer(honest, of_honest[0]);
    REQUIRE(behind.arrived(honest) > 0);
    behind.leave(gone);
    behind.judge(gone, *behind.at(of_gone[1].request.to), Verdict::bad);
    behind.judge(honest, *behind.at(of_honest[0].request.from), Verdict::unsure);
    CHECK(behind.test.status(honest).score == 100);
}

TEST_CASE("who does not build on the block of a peer that is gone is not closed", "[p2p][blame]") {
    BehindOneThatGoes behind;
    const auto& [gone, of_gone, honest, of_honest] = behind.peers;
    behind.answer(gone, of_gone[0]);
    const chain::Height last = of_gone[1].request.to;
    behind.answer(gone, of_gone[1], block_on(*behind.at(last - 1), {.slots = 7}));
    behind.leave(gone);
    behind.answer(honest, of_honest[0]);
    CHECK_FALSE(behind.test.closed(honest));
    CHECK(behind.test.status(honest).score == 100);
    // All is asked for again.
    behind.test.out.clear();
    behind.test.tick(seconds(1));
    const auto again = behind.asked(honest);
    REQUIRE_FALSE(again.empty());
    CHECK(again.front().request.from == of_gone[0].request.from);
}

TEST_CASE("a branch of a peer that is gone, which nobody makes final, is given up",
          "[p2p][blame]") {
    Behind behind;
    behind.far = behind.test.ledger;
    behind.far.grow(3'000, {.producer = "q"});
    const ChannelId gone = behind.greet(6);
    for (const Asked& each : behind.asked(gone))
        behind.answer(gone, each);
    for (const auto& each : behind.test.effects<effect::BlockArrived>())
        behind.judge(gone, *each.block, Verdict::good);
    behind.leave(gone);
    behind.far = behind.test.ledger;
    behind.far.grow(50);
    behind.test.out.clear();
    const ChannelId honest = behind.greet(Stranger::kThem);
    const input::LedgerChanged view = behind.far.view();
    for (int i = 0; i < 8; ++i) {
        behind.test.tick(seconds(1));
        behind.test.say(honest, Notice{.finalized = view.finalized, .head = view.head});
    }
    const auto asked = behind.asked(honest);
    REQUIRE_FALSE(asked.empty());
    CHECK(asked.front().request.from == behind.test.ledger.finalized->header.height + 1);
}

TEST_CASE("a false copy that was pushed during a sync costs who pushed it alone", "[p2p][blame]") {
    Behind behind;
    const ChannelId honest = behind.greet(Stranger::kThem);
    const auto asked = behind.asked(honest);
    const ChannelId liar = behind.greet(6);
    const chain::BlockPtr good = behind.at(behind.test.ledger.head->header.height + 1);
    const auto lie = std::make_shared<chain::Block>(*good);
    lie->transactions.emplace_back().transaction = transaction_of(1);
    const bool is_proved = GENERATE(true, false);
    behind.test.say(liar, Blocks{{lie}});
    REQUIRE(behind.arrived(liar) == 1);
    behind.answer(honest, asked.at(0));
    REQUIRE(behind.arrived(honest) > 0);
    behind.judge(liar, *good, is_proved ? Verdict::bad : Verdict::unsure);
    behind.judge(honest, *behind.at(good->header.height + 1), Verdict::unsure);
    CHECK(behind.test.status(honest).score == 100);
    CHECK(behind.test.closed(liar).has_value() == is_proved);
    // The honest copy is taken now.
    behind.test.out.clear();
    behind.test.tick(seconds(1));
    const auto again = behind.asked(honest);
    REQUIRE_FALSE(again.empty());
    behind.answer(honest, again.front());
    const auto arrived = behind.test.effects<effect::BlockArrived>();
    CHECK(std::ranges::any_of(arrived, [&](const effect::BlockArrived& each) {
        return each.channel == honest && each.block->id == good->id && each.is_sync;
    }));
}

TEST_CASE("a good copy that was pushed during a sync holds nothing up", "[p2p][blame]") {
    Behind behind;
    const ChannelId honest = behind.greet(Stranger::kThem);
    const auto asked = behind.asked(honest);
    const ChannelId other = behind.greet(6);
    const chain::BlockPtr good = behind.at(behind.test.ledger.head->header.height + 1);
    behind.test.say(other, Blocks{{good}});
    behind.answer(honest, asked.at(0));
    const std::size_t arrived = behind.arrived(honest);
    behind.judge(other, *good, Verdict::good);
    behind.judge(honest, *behind.at(good->header.height + 1), Verdict::good);
    behind.answer(honest, asked.at(1));
    CHECK(behind.arrived(honest) > arrived);
    CHECK(behind.test.status(honest).score == 100);
}

TEST_CASE("a copy to mend is asked of others when its sender is gone while it is looked at",
          "[p2p][blame]") {
    Stranger test;
    const ChannelId gone = test.greet();
    const chain::BlockPtr block = test.ledger.blocks.at(test.ledger.finals.at(5));
    const auto asked = [&](ChannelId channel) -> std::uint64_t {
        for (const auto& send : test.effects<effect::Send>()) {
            const auto envelope = read_envelope(*send.bytes);
            if (send.channel != channel || envelope->type != MessageType::sync_request) continue;
            return envelope->correlation;
        }
        return 0;
    };
    test.step(input::MendBlocks{{block->id}});
    REQUIRE(asked(gone) != 0);
    test.say(gone, Blocks{{block}}, {.correlation = asked(gone), .flags = kFlagLast});
    REQUIRE(test.effects<effect::MendArrived>().size() == 1);
    test.step(input::ChannelDown{gone, "gone"});
    const ChannelId next = test.greet();
    test.step(input::Judged{Item::block, block->id, gone, Verdict::bad, "its signature is wrong"});
    CHECK_FALSE(test.closed(next));
    test.step(input::MendBlocks{{block->id}});
    test.tick(seconds(1));
    CHECK(asked(next) != 0);
}

TEST_CASE("a copy to mend is asked of who comes in the place of the one that was asked",
          "[p2p][blame]") {
    Stranger test;
    const ChannelId gone = test.greet();
    test.step(input::MendBlocks{{test.ledger.finals.at(5)}});
    test.step(input::ChannelDown{gone, "gone"});
    const ChannelId next = test.greet();
    test.tick(milliseconds(200));
    std::size_t asked = 0;
    for (const Body& body : test.heard(next))
        asked += std::holds_alternative<SyncRequest>(body) ? 1U : 0U;
    CHECK(asked == 1);
}
