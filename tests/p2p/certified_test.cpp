#include "p2p/stranger.hpp"

#include <catch2/catch.hpp>

// What a valid certificate names is fetched with all that is below it (spec 10).

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

// Of a branch of three blocks the ledger has refused to look at the first.
struct Refused : Stranger {
    const ChannelId channel = greet();
    const chain::BlockPtr first = block_on(*ledger.head);
    const chain::BlockPtr second = block_on(*first);
    const chain::BlockPtr third = block_on(*second);

    Refused() {
        push(first);
        const auto arrived = effects<effect::BlockArrived>();
        REQUIRE(arrived.size() == 1);
        CHECK_FALSE(arrived[0].is_certified);
        step(input::Judged{Item::block, first->id, channel, Verdict::unsure, "a third"});
        out.clear();
    }
    void push(const chain::BlockPtr& block) { say(channel, Blocks{{block}}); }
    // Gives what it is asked for until it is asked no more. Returns those that were asked for.
    std::vector<chain::BlockId> answer(const std::vector<chain::BlockPtr>& has) {
        std::vector<chain::BlockId> asked;
        for (;;) {
            std::vector<std::pair<chain::BlockId, std::uint64_t>> questions;
            for (const Effect& effect : out) {
                const auto* send = std::get_if<effect::Send>(&effect);
                if (send == nullptr) continue;
                const auto envelope = read_envelope(*send->bytes);
                if (envelope->type != MessageType::request) continue;
                const auto body = read_body(*envelope, *send->bytes);
                for (const chain::BlockId& id : std::get<Request>(*body).ids)
                    questions.emplace_back(id, envelope->correlation);
            }
            std::erase_if(out, [](const Effect& effect) {
                return std::holds_alternative<effect::Send>(effect);
            });
            if (questions.empty()) return asked;
            for (const auto& [id, correlation] : questions) {
                asked.push_back(id);
                for (const chain::BlockPtr& block : has) {
                    if (block->id != id) continue;
                    say(channel, Blocks{{block}}, {.correlation = correlation, .flags = kFlagLast});
                }
            }
        }
    }
    void check_all_arrived() {
        const auto arrived = effects<effect::BlockArrived>();
        REQUIRE(arrived.size() == 3);
        CHECK(arrived[0].block->id == first->id);
        CHECK(arrived[1].block->id == second->id);
        CHECK(arrived[2].block->id == third->id);
        for (const auto& each : arrived)
            CHECK(each.is_certified);
    }
};

TEST_CASE("a block that was refused as a third is asked for again when one above is certified") {
    Refused test;
    SECTION("of which nothing else is here") {
        test.step(input::Certified{test.third->id, test.channel});
        const auto asked = test.answer({test.first, test.second, test.third});
        CHECK(asked ==
              std::vector<chain::BlockId>{test.third->id, test.second->id, test.first->id});
        test.check_all_arrived();
    }
    SECTION("which waits here with all but the first") {
        test.push(test.second);
        test.push(test.third);
        (void)test.answer({});
        test.tick(seconds(4));
        test.out.clear();
        test.step(input::Certified{test.third->id, test.channel});
        CHECK(test.answer({test.first}) == std::vector<chain::BlockId>{test.first->id});
        test.check_all_arrived();
    }
}

TEST_CASE("while it lacks a block that a certificate names a node goes on asking for it") {
    Refused test;
    test.step(input::Certified{test.third->id, test.channel});
    for (int i = 0; i < 5; ++i) {
        (void)test.answer({});
        test.tick(seconds(3));
        test.say(test.channel, test.notice());
    }
    test.tick(seconds(1));
    const auto asked = test.answer({test.first, test.second, test.third});
    CHECK(std::ranges::count(asked, test.third->id) >= 1);
    test.check_all_arrived();
    CHECK_FALSE(test.closed(test.channel));
}

TEST_CASE("whoever sends a certificate, too, is asked for its block") {
    Refused test;
    const ChannelId other = test.greet({.number = 6});
    const auto certificate = certificate_of(*test.third, chain::VoteKind::notarize);
    const auto is_asked = [&] {
        bool is_any = false;
        for (const Body& body : test.heard(other)) {
            const auto* request = std::get_if<Request>(&body);
            is_any |= request != nullptr && request->ids == std::vector{test.third->id};
        }
        return is_any;
    };
    test.say(test.channel, certificate);
    test.step(input::Certified{test.third->id, test.channel});
    test.tick(seconds(3));
    CHECK_FALSE(is_asked());
    test.say(other, certificate);
    test.tick(seconds(2));
    CHECK(is_asked());
}

TEST_CASE("beside a certified branch nothing is taken for certified") {
    Refused test;
    test.step(input::Certified{test.second->id, test.channel});
    (void)test.answer({test.first, test.second});
    test.out.clear();
    BlockOptions other;
    other.slots = 3;
    test.push(block_on(*test.ledger.head, other));
    test.push(block_on(*test.first, other));
    test.push(test.third);  // Above it.
    const auto arrived = test.effects<effect::BlockArrived>();
    REQUIRE(arrived.size() == 3);
    for (const auto& each : arrived)
        CHECK_FALSE(each.is_certified);
}

TEST_CASE("a block that the ledger has no more is asked for again when it is certified") {
    Refused test;
    test.step(input::Certified{test.first->id, test.channel});
    REQUIRE(test.answer({test.first}).size() == 1);
    test.step(input::Judged{Item::block, test.first->id, test.channel, Verdict::good, ""});
    test.out.clear();
    test.step(input::Certified{test.first->id, test.channel});
    CHECK(test.answer({test.first}).empty());
    test.step(input::Forgotten{test.first->id});
    test.step(input::Certified{test.first->id, test.channel});
    CHECK(test.answer({test.first}) == std::vector<chain::BlockId>{test.first->id});
}

}  // namespace
