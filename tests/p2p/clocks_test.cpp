#include "p2p/budget.hpp"
#include "p2p/stranger.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

// What the clocks of validators show goes to all who vote (spec 04, "Finality").

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

ClockStatement clock_of(std::size_t number, std::uint64_t life, std::uint64_t count) {
    return {.key = vote_key_of(number), .life = life, .number = count, .shown = 5, .signature = {}};
}

std::vector<RegisteredNode> nodes(std::size_t count) {
    std::vector<RegisteredNode> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back({key_of(i), World::organisation(i), kValidator});
    return all;
}

TEST_CASE("a clock is heard by nodes in a line, once by each") {
    World world(4);
    world.join_line();
    world.run(milliseconds(100));
    const ClockStatement said = clock_of(0, 1, 1);
    world.input(world[0], input::PushClock{said});
    world.run(milliseconds(50));
    CHECK(world[0].clocks.empty());
    for (std::size_t i = 1; i < 4; ++i)
        CHECK(world[i].clocks == std::vector{said});
}

TEST_CASE("of each key what is newer than all before is heard, however soon it comes") {
    World world(3);
    world.join_line();
    world.run(milliseconds(100));
    const auto say = [&](std::uint64_t life, std::uint64_t number) {
        world.input(world[0], input::PushClock{clock_of(0, life, number)});
        world.run(milliseconds(5));
    };
    say(2, 5);
    say(2, 6);
    say(1, 9);  // Of an earlier life.
    say(2, 7);
    say(2, 6);
    say(3, 1);
    const std::vector expected{
        clock_of(0, 2, 5), clock_of(0, 2, 6), clock_of(0, 2, 7), clock_of(0, 3, 1)};
    CHECK(world[1].clocks == expected);
    CHECK(world[2].clocks == expected);
}

TEST_CASE("who repeats an older statement just before a newer one comes does not delay it") {
    Stranger test;
    const ChannelId channel = test.greet();
    for (const std::uint64_t number : {1U, 2U}) {
        test.out.clear();
        test.say(channel, clock_of(Stranger::kThem, 1, number));
        const auto arrived = test.effects<effect::ClockArrived>();
        REQUIRE(arrived.size() == 1);
        CHECK(arrived[0].statement.number == number);
        test.step(input::Judged{Item::clock, arrived[0].id, channel, Verdict::good, ""});
    }
}

TEST_CASE("of the statements of one key few go on, and the last of them does") {
    World world(3);
    world.join_line();
    world.run(milliseconds(100));
    constexpr std::uint64_t kSaid = 100;
    for (std::uint64_t number = 1; number <= kSaid; ++number) {
        world.input(world[0], input::PushClock{clock_of(0, 1, number)});
        world.run(milliseconds(1));
    }
    world.run(seconds(1));
    CHECK(world[1].clocks.size() < 12);
    CHECK(world[1].clocks.back() == clock_of(0, 1, kSaid));
    CHECK(world[2].clocks.size() < 12);
    CHECK(world[2].clocks.back() == clock_of(0, 1, kSaid));
}

TEST_CASE("who comes is told what was heard of its own key") {
    World world(3);
    world.join(0, 1);
    world.run(milliseconds(100));
    for (const std::size_t of : {1U, 2U})
        world.input(world[0], input::PushClock{clock_of(of, 7, 3)});
    world.run(milliseconds(100));
    world.join(0, 2);
    world.run(milliseconds(100));
    CHECK(world[2].clocks == std::vector{clock_of(2, 7, 3)});
}

TEST_CASE("who comes in the place of a peer that is gone is told what that one said") {
    Stranger test;
    const ChannelId gone = test.greet();
    test.say(gone, clock_of(7, 1, 2));
    const auto arrived = test.effects<effect::ClockArrived>();
    REQUIRE(arrived.size() == 1);
    test.step(input::Judged{Item::clock, arrived.front().id, gone, Verdict::good, ""});
    test.step(input::ChannelDown{gone, "it went"});
    const ChannelId next = test.greet();
    test.say(next, clock_of(7, 1, 1));
    const std::vector<Body> heard = test.heard(next);
    CHECK(std::ranges::any_of(heard, [](const Body& body) {
        const auto* said = std::get_if<ClockStatement>(&body);
        return said != nullptr && *said == clock_of(7, 1, 2);
    }));
}

TEST_CASE("who comes hears at once what our clock showed last") {
    World world(2);
    world.input(world[0], input::PushClock{clock_of(0, 7, 3)});
    world.run(milliseconds(100));
    world.join(0, 1);
    world.run(milliseconds(100));
    CHECK(world[1].clocks == std::vector{clock_of(0, 7, 3)});
}

// All keys of two full schedules, as many as are passed on.
TEST_CASE("the most clocks that a node passes on is within the budget of its peers") {
    constexpr std::size_t kKeys = 2 * chain::kProducersMax;
    Budget budget(500);
    std::vector<TokenBucket> keys(kKeys, TokenBucket(kRelayedClocksOfKey));
    base::Timestamp now(seconds(1'000));
    std::size_t over = 0;
    for (int i = 0; i < 2'000; ++i, now += milliseconds(10)) {
        for (TokenBucket& key : keys) {
            while (key.take(now, 1))
                over += budget.take_message(now, MessageType::clock) ? 0U : 1U;
        }
    }
    CHECK(over == 0);
}

TEST_CASE("who passes a wrongly signed clock on is gone") {
    Stranger test;
    const ChannelId channel = test.greet();
    test.say(channel, clock_of(Stranger::kThem, 99, 1));
    base::Hash256 id;
    for (const Effect& effect : test.out) {
        if (const auto* clock = std::get_if<effect::ClockArrived>(&effect)) id = clock->id;
    }
    CHECK(id != base::Hash256{});
    test.step(input::Judged{Item::clock, id, channel, Verdict::bad, "wrong"});
    CHECK(test.closed(channel) == Reason::bad_vote);
}

// Validators 0 - 1 - 2 in a line. 0 and 1 are started anew together, so that only 2 knows what 0
// has said before.
TEST_CASE("what a key said in an earlier life comes back to it by way of others, too") {
    World world(3);
    world.join_line();
    world.run(milliseconds(100));
    for (std::uint64_t number = 1; number <= 100; ++number) {
        world.input(world[0], input::PushClock{clock_of(0, 1, number)});
        world.run(seconds(1));
    }
    REQUIRE(world[2].clocks.back() == clock_of(0, 1, 100));
    world.part(0, 1);
    world.part(1, 2);
    for (const std::size_t i : {0U, 1U}) {
        world[i].options.boot_id += 1'000;
        world[i].start_slot = 1'000;
        world[i].clocks.clear();
        world.start(world[i]);
        world.input(world[i], input::RegistryChanged{nodes(3)});
    }
    world.join(0, 1);
    world.join(1, 2);
    world.run(milliseconds(500));
    // As the core does: what it hears of its own key makes its life a later one.
    std::uint64_t life = 1;
    for (std::uint64_t number = 1; number <= 10; ++number) {
        for (const ClockStatement& own : world[0].clocks)
            life = std::max(life, own.life + 1);
        world.input(world[0], input::PushClock{clock_of(0, life, number)});
        world.run(seconds(1));
    }
    CHECK(world[0].clocks.size() == 1);
    CHECK(world[2].clocks.back() == clock_of(0, 2, 10));
}

}  // namespace
