#include "p2p/stranger.hpp"

#include <catch2/catch.hpp>

// One vote key at two nodes: who finds it, who is told of which keys, and who may lie about it.

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

TEST_CASE("twin_key: our vote key signs elsewhere; the later start must not vote") {
    Stranger test;
    const ChannelId channel = test.come({.our_start = 10});
    Hello hello = test.hello();
    bool ours_is_later = false;
    std::set<PublicKey> told;
    SECTION("they started later") {
        test.claim(hello, channel, {Stranger::kUs, 500, 20});
        told = {vote_key_of(Stranger::kUs)};
    }
    SECTION("we started later") {
        test.claim(hello, channel, {Stranger::kUs, 500, 5});
        ours_is_later = true;
    }
    test.claim(hello, channel, {.vote_key = Stranger::kThem});
    test.say(channel, hello);
    CHECK(test.went(channel, Reason::twin_key));
    CHECK(test.told_keys(channel) == told);
    const auto twins = test.effects<effect::TwinKey>();
    REQUIRE(twins.size() == 1);
    CHECK(twins.front().key == vote_key_of(Stranger::kUs));
    CHECK(twins.front().ours_is_later == ours_is_later);
}

TEST_CASE("twin_key: each vote key of ours that signs elsewhere is found") {
    Stranger test;
    const ChannelId channel = test.come({.our_start = 10});
    test.say_claims(channel, {{Stranger::kUs, 500, 5}, {Stranger::kOurNext, 500, 20}});
    CHECK(test.went(channel, Reason::twin_key));
    CHECK(test.told_keys(channel) == std::set{vote_key_of(Stranger::kOurNext)});
    const auto twins = test.effects<effect::TwinKey>();
    REQUIRE(twins.size() == 2);
    CHECK(twins.front().ours_is_later);
    CHECK_FALSE(twins.back().ours_is_later);
}

TEST_CASE("a twin that has not signed does not count") {
    Stranger test;
    const ChannelId channel = test.come();
    Hello hello = test.hello();
    test.claim(hello, channel, {Stranger::kUs, 500, 20});
    SECTION("another signature") {
        hello.vote_keys.front().signature = signature_of(1);
    }
    SECTION("a statement of another channel") {
        hello.vote_keys.clear();
        test.claim(hello, ChannelId{77}, {Stranger::kUs, 500, 20});
    }
    SECTION("our own statement, sent back") {
        hello.vote_keys.clear();
        test.claim(hello, channel, {Stranger::kUs, 500, 20}, Stranger::kUs);
    }
    test.say(channel, hello);
    CHECK(test.went(channel, Reason::bad_vote));
    CHECK(test.effects<effect::TwinKey>().empty());
}

TEST_CASE("twin_key: one vote key at two nodes; the later start goes") {
    Stranger test;
    const ChannelId first = test.come();
    test.say_claim(first, {Stranger::kThem, 500, 20});
    const ChannelId second = test.come({.number = 6});
    SECTION("the second") {
        test.say_claim(second, {Stranger::kThem, 600, 30}, 6);
        CHECK(test.went(second, Reason::twin_key));
        CHECK_FALSE(test.closed(first));
    }
    SECTION("the first") {
        test.say_claim(second, {Stranger::kThem, 600, 10}, 6);
        CHECK(test.went(first, Reason::twin_key));
        CHECK_FALSE(test.closed(second));
    }
}

TEST_CASE("twin_key: each node is told which of its keys are used since an earlier start") {
    Stranger test;
    const ChannelId first = test.come();
    test.say_claims(first, {{50, 500, 20}, {51, 500, 20}, {52, 500, 20}});
    const ChannelId second = test.come({.number = 6});
    SECTION("all that the second has too, not those that it has alone") {
        test.say_claims(second, {{53, 600, 30}, {52, 600, 30}, {50, 600, 30}}, 6);
        CHECK(test.went(second, Reason::twin_key));
        CHECK(test.told_keys(second) == std::set{vote_key_of(50), vote_key_of(52)});
        CHECK_FALSE(test.closed(first));
    }
    SECTION("all that the first has too") {
        test.say_claims(second, {{51, 600, 10}, {52, 600, 10}, {53, 600, 10}}, 6);
        CHECK(test.went(first, Reason::twin_key));
        CHECK(test.told_keys(first) == std::set{vote_key_of(51), vote_key_of(52)});
        CHECK_FALSE(test.closed(second));
    }
    SECTION("both, where each is the later with one") {
        test.say_claims(second, {{50, 600, 30}, {51, 600, 10}, {53, 600, 10}}, 6);
        CHECK(test.went(second, Reason::twin_key));
        CHECK(test.told_keys(second) == std::set{vote_key_of(50)});
        CHECK(test.went(first, Reason::twin_key));
        CHECK(test.told_keys(first) == std::set{vote_key_of(51)});
    }
}

TEST_CASE("a node that was restarted replaces its old connection and is no twin") {
    Stranger test;
    const ChannelId first = test.come();
    test.say_claim(first, {Stranger::kThem, 500, 20});
    const ChannelId second = test.come();
    test.say_claim(second, {Stranger::kThem, 501, 30});
    CHECK_FALSE(test.closed(first));
    CHECK(test.heard(second).size() == 1);  // Our hello: it waits.
    test.tick(seconds(2));
    CHECK(test.went(first, Reason::duplicate));
    CHECK_FALSE(test.closed(second));
    CHECK(test.status(second).state == PeerState::accepted);
    // But the older start speaks again: both are alive.
    const ChannelId third = test.come();
    test.say_claim(third, {Stranger::kThem, 500, 20});
    CHECK(test.went(second, Reason::twin_key));
    CHECK(test.log.has("the later start goes"));
}

TEST_CASE("our clock is set while a later start waits: the earlier one has as long to answer") {
    Stranger test;
    const ChannelId first = test.come();
    test.say_claim(first, {Stranger::kThem, 500, 20});
    test.say(first, test.notice());
    test.tick(milliseconds(100));
    const ChannelId second = test.come();
    test.say_claim(second, {Stranger::kThem, 501, 30});
    test.tick(milliseconds(100));
    const auto ahead = GENERATE(seconds(10), seconds(-10));
    const std::int64_t asked_before = test.heartbeat(first);
    test.step(input::ClockSet{ahead});
    test.tick(milliseconds(200));
    CHECK_FALSE(test.closed(first));
    SECTION("it answers") {
        // It is asked anew, since the answer to what it was asked before counts no more.
        REQUIRE(test.heartbeat(first) != asked_before);
        test.say(first, TimeStamps{.origin = test.heartbeat(first), .receive = 1, .transmit = 1});
        CHECK(test.went(second, Reason::twin_key));
        CHECK_FALSE(test.closed(first));
    }
    SECTION("it does not") {
        test.tick(seconds(2));
        CHECK(test.went(first, Reason::duplicate));
        CHECK_FALSE(test.closed(second));
    }
}

TEST_CASE("twin_key: a later start beside one that answers a heartbeat") {
    Stranger test;
    const ChannelId first = test.come();
    test.say_claims(first, {{Stranger::kThem, 500, 20}, {50, 500, 20}});
    test.say(first, test.notice());
    test.tick(milliseconds(100));
    const std::int64_t asked_before = test.heartbeat(first);
    test.tick(milliseconds(100));
    test.out.clear();
    const ChannelId second = test.come();
    test.say_claims(second, {{Stranger::kThem, 501, 30}, {50, 501, 30}, {51, 501, 30}});
    // This answer may have left before the later start.
    test.say(first, TimeStamps{.origin = asked_before, .receive = 1, .transmit = 1});
    CHECK_FALSE(test.closed(second));
    SECTION("it answers") {
        test.tick(milliseconds(100));
        test.say(first, TimeStamps{.origin = test.heartbeat(first), .receive = 1, .transmit = 1});
        CHECK(test.went(second, Reason::twin_key));
        CHECK(test.told_keys(second) == std::set{vote_key_of(Stranger::kThem), vote_key_of(50)});
        CHECK_FALSE(test.closed(first));
        // It is known now.
        const ChannelId third = test.come();
        test.say_claim(third, {Stranger::kThem, 501, 30});
        CHECK(test.went(third, Reason::twin_key));
    }
    SECTION("it goes") {
        test.say(first, GoAway{Reason::shutting_down, ""});
        CHECK_FALSE(test.closed(second));
        CHECK(test.status(second).state == PeerState::accepted);
    }
    SECTION("it goes, and two have come") {
        const ChannelId third = test.come();
        test.say_claim(third, {Stranger::kThem, 502, 40});
        test.say(first, GoAway{Reason::shutting_down, ""});
        CHECK(test.status(second).state == PeerState::accepted);
        CHECK(test.status(third).state == PeerState::greeting);
        CHECK_FALSE(test.closed(third));
    }
}

TEST_CASE("a peer that has not proved who it is tells nothing of our keys") {
    Stranger test;
    const ChannelId channel = test.come();
    test.say(channel, GoAway{Reason::twin_key, "later", {vote_key_of(Stranger::kUs)}});
    CHECK(test.closed(channel) == Reason::twin_key);
    CHECK(test.effects<effect::TwinTold>().empty());
}

TEST_CASE("a peer that goes away since keys of ours are used elsewhere is told of, with its keys") {
    Stranger test;
    const ChannelId channel = test.come();
    const PublicKey ours = vote_key_of(Stranger::kUs);
    GoAway away{Reason::twin_key, "the later start goes", {ours}};
    test.say_claim(channel, {Stranger::kThem, 500, 20});
    SECTION("one of them") {
        test.say(channel, away);
        const auto told = test.effects<effect::TwinTold>();
        REQUIRE(told.size() == 1);
        CHECK(told.front().keys == std::vector{ours});
        CHECK(told.front().said_by == std::vector{vote_key_of(Stranger::kThem)});
    }
    SECTION("where it names none it is not") {
        away.vote_keys.clear();
        test.say(channel, away);
        CHECK(test.closed(channel) == Reason::twin_key);
        CHECK(test.effects<effect::TwinTold>().empty());
    }
    SECTION("what we have not proved to it costs it the connection, and nothing else") {
        away.vote_keys.insert(vote_key_of(Stranger::kThem));
        test.say(channel, away);
        CHECK(test.went(channel, Reason::bad_vote));
        CHECK(test.effects<effect::TwinTold>().empty());
        CHECK(test.went(test.come(), Reason::flooding));
    }
}

TEST_CASE("a go_away whose keys are not as they are said is refused") {
    base::Writer body;
    const auto begin = [&body](Reason reason, std::uint32_t count) {
        body.u8(static_cast<std::uint8_t>(reason));
        body.string("text");
        body.varuint32(count);
    };
    const auto add = [&body](std::size_t number) { encode(body, vote_key_of(number)); };
    std::string error;
    SECTION("for another reason") {
        begin(Reason::flooding, 1);
        add(1);
        error = "goes with twin_key only";
    }
    SECTION("one twice") {
        begin(Reason::twin_key, 2);
        add(1);
        add(1);
        error = "is not ascending";
    }
    SECTION("in another order") {
        begin(Reason::twin_key, 2);
        add(2);
        add(1);
        error = "is not ascending";
    }
    SECTION("more than a node has") {
        begin(Reason::twin_key, kVoteKeysMax + 1);
        for (std::size_t i = 0; i <= kVoteKeysMax; ++i)
            add(i);
        error = "17 items, more than the limit of 16";
    }
    Stranger test;
    const ChannelId channel = test.come();
    test.say_claim(channel, {Stranger::kThem, 500, 20});
    test.say_bytes(channel, envelop({}, MessageType::go_away, body.view(), {}));
    CHECK(test.went(channel, Reason::wrong_version));
    CHECK(test.effects<effect::TwinTold>().empty());
    CHECK(test.log.has("go_away does not decode: vote_keys"));
    CHECK(test.log.has(error));
}

TEST_CASE("who had a twin may start again once the twin is gone") {
    Stranger test;
    const ChannelId first = test.come();
    test.say_claim(first, {Stranger::kThem, 500, 20});
    const ChannelId second = test.come({.number = 6});
    test.say_claim(second, {Stranger::kThem, 600, 30}, 6);
    REQUIRE(test.went(second, Reason::twin_key));
    test.say(first, GoAway{Reason::shutting_down, ""});
    const ChannelId third = test.come();
    test.say_claim(third, {Stranger::kThem, 700, 40});
    // Its power fails, and it comes back before the old connection is missed.
    const ChannelId fourth = test.come();
    test.say_claim(fourth, {Stranger::kThem, 800, 50});
    test.tick(seconds(2));
    CHECK(test.went(third, Reason::duplicate));
    CHECK_FALSE(test.closed(fourth));
}

TEST_CASE("a node that started with its clock ahead, and then twice, is no twin") {
    Stranger test;
    const ChannelId first = test.come();
    test.say_claim(first, {Stranger::kThem, 500, 100});  // Its clock was ahead.
    REQUIRE_FALSE(test.closed(first));
    // Its power was cut: nobody knows yet that the old channel is dead.
    const ChannelId second = test.come();
    test.say_claim(second, {Stranger::kThem, 600, 50});
    REQUIRE_FALSE(test.closed(second));
    test.tick(seconds(1));
    const ChannelId third = test.come();
    test.say_claim(third, {Stranger::kThem, 700, 60});
    CHECK_FALSE(test.went(third, Reason::twin_key));
    CHECK(test.told_keys(third).empty());
}

}  // namespace
