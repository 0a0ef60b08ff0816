#include "p2p/stranger.hpp"

#include <catch2/catch.hpp>

// Every reason for go_away, each with a text for the peer and a line for the log, and what is
// not a reason.

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

TEST_CASE("self: a connection to ourselves") {
    Stranger test;
    const ChannelId channel = test.come({.number = Stranger::kUs});
    Hello hello = test.hello();
    SECTION("without vote keys") {}
    SECTION("with our vote key and our boot id") {
        test.claim(hello,
                   channel,
                   {.vote_key = Stranger::kUs, .boot_id = test.options.boot_id},
                   Stranger::kUs);
    }
    test.say(channel, hello);
    CHECK(test.went(channel, Reason::self));
    CHECK(test.effects<effect::TwinKey>().empty());
}

TEST_CASE("duplicate: of two connections both ends keep that of the lower key") {
    World world(2);
    SECTION("both dial") {
        world.join(0, 1);
        world.join(1, 0);
    }
    SECTION("in the other order") {
        world.join(1, 0);
        world.join(0, 1);
    }
    world.run(seconds(2));
    REQUIRE(world[0].network->status().peers.size() == 1);
    REQUIRE(world[1].network->status().peers.size() == 1);
    CHECK(world[0].network->status().peers.front().outbound);  // Node 0 has the lower key.
    CHECK_FALSE(world[1].network->status().peers.front().outbound);
    for (const std::string& close : world.closes) {
        CHECK(close.find("duplicate") != std::string::npos);
    }
}

TEST_CASE("wrong_chain, wrong_version") {
    Stranger test;
    const ChannelId channel = test.come();
    Hello hello = test.hello();
    Reason reason = Reason::wrong_chain;
    SECTION("another chain") {
        hello.chain_id.bytes[5] = std::byte{9};
    }
    SECTION("only newer versions") {
        hello.version_min = kProtocolVersion + 1;
        hello.version_max = kProtocolVersion + 3;
        reason = Reason::wrong_version;
    }
    SECTION("only older versions") {
        hello.version_min = 0;
        hello.version_max = 0;
        reason = Reason::wrong_version;
    }
    test.say(channel, hello);
    CHECK(test.went(channel, reason));
}

TEST_CASE("forked: another final block at our height, or below") {
    Stranger test;
    const ChannelId channel = test.come();
    Hello hello = test.hello();
    SECTION("at our height") {
        hello.finalized.id.bytes[9] ^= std::byte{1};
        test.say(channel, hello);
        CHECK(test.went(channel, Reason::forked));
    }
    SECTION("below") {
        const chain::BlockId real = test.ledger.finals.at(4);
        hello.finalized = {4, real};
        bool is_forked = false;
        SECTION("another one") {
            hello.finalized.id.bytes[9] ^= std::byte{1};
            is_forked = true;
        }
        SECTION("the same") {}
        test.say(channel, hello);
        const auto reads = test.effects<effect::ReadBlocks>();
        REQUIRE(reads.size() == 1);
        CHECK(reads.front().from == 4);
        CHECK_FALSE(test.closed(channel));
        const auto bytes =
            std::make_shared<const base::Bytes>(chain::encode_block(*test.ledger.blocks.at(real)));
        test.step(input::BlocksRead{reads.front().ticket, {bytes}});
        CHECK(test.went(channel, Reason::forked) == is_forked);
        CHECK(std::holds_alternative<Notice>(test.heard(channel).back()) == !is_forked);
    }
}

// A recovery of the test's, from this block.
RecoveryPoint recovery_from(const chain::BlockId& block, std::uint8_t number) {
    RecoveryPoint recovery{.from = block};
    recovery.id.bytes[0] = std::byte{number};
    return recovery;
}

TEST_CASE("other_recovery: neither has anything for the other any more") {
    const chain::BlockId head = Stranger().ledger.head->id;
    const bool is_ours_too = GENERATE(false, true);
    Stranger test({}, is_ours_too ? recovery_from(head, 1) : RecoveryPoint{});
    const input::LedgerChanged view = test.ledger.view();
    REQUIRE(view.head.id == head);
    REQUIRE(view.finalized.height < view.head.height);
    const ChannelId channel = test.come();
    Hello hello = test.hello();
    hello.recovery = recovery_from(head, 2);
    std::optional<Reason> reason;
    SECTION("its recovery begins from our head, and it has gone on from there") {
        hello.finalized = hello.head;
        reason = Reason::other_recovery;
    }
    SECTION("it has not come to that block") {}
    SECTION("we have not come there") {
        hello.finalized = hello.head = {view.head.height + 1, block_on(*test.ledger.head)->id};
        hello.recovery.from = hello.head.id;
    }
    SECTION("it is the same recovery") {
        hello.finalized = hello.head;
        hello.recovery = test.options.recovery;
    }
    SECTION("its recovery is an older one, and it can follow up to ours") {
        hello.recovery.from = view.finalized.id;
        if (!is_ours_too) reason = Reason::other_recovery;
    }
    test.say(channel, hello);
    CHECK(test.closed(channel) == reason);
    if (!reason) return;
    CHECK(test.went(channel, *reason));
    CHECK(test.log.has("needs its recovery.txt and recover-from"));
    // That is no offence: it may come again at once.
    CHECK_FALSE(test.closed(test.come()));
}

TEST_CASE("a block above a recovery that the other side does not follow is no offence") {
    Stranger test;
    const ChannelId channel = test.come();
    Hello hello = test.hello();
    const auto other = block_on(*test.ledger.head);
    const auto block = block_on(*other);
    hello.recovery = recovery_from(other->id, 1);
    test.say(channel, hello);
    test.say(channel, test.notice());
    const bool is_above = GENERATE(true, false);
    const auto item = GENERATE(Item::header, Item::block);
    input::Judged judged{item, (is_above ? block : other)->id, channel, Verdict::bad, "schedule"};
    test.step(judged);
    CHECK(test.went(channel, is_above ? Reason::other_recovery : Reason::bad_block));
    const ChannelId again = test.come();
    CHECK((test.closed(again) == Reason::flooding) == !is_above);
    if (!is_above) return;
    // As long as a ban would last, it is not taken with another recovery than ours.
    const bool is_over = GENERATE(false, true);
    if (is_over) test.tick(seconds(31));
    const bool claims_again = GENERATE(true, false);
    Hello next = test.hello();
    if (claims_again) next.recovery = recovery_from(block_on(*block)->id, 3);
    const ChannelId third = test.come();
    test.say(third, next);
    CHECK((test.closed(third) == Reason::other_recovery) == (claims_again && !is_over));
}

TEST_CASE("not_permitted: who is in no list") {
    Stranger test;
    SECTION("a stranger that connects") {
        const ChannelId channel = test.come({.number = 9});
        CHECK(test.went(channel, Reason::not_permitted));
        CHECK(test.heard(channel).size() == 1);  // It is not even greeted.
        CHECK_FALSE(test.network->lets_in(test.now, key_of(9), false));
        CHECK(test.network->lets_in(test.now, key_of(Stranger::kThem), false));
    }
    SECTION("strangers, however many, who take no place and two lines of the log") {
        const std::size_t lines = test.log.lines.size();
        for (int i = 0; i < 100; ++i)
            CHECK(test.went(test.come({.number = 9}), Reason::not_permitted));
        CHECK(test.log.lines.size() == lines + 1);
        test.tick(seconds(10));
        CHECK(test.went(test.come({.number = 9}), Reason::not_permitted));
        CHECK(test.log.lines.size() == lines + 2);
        CHECK_FALSE(test.closed(test.come()));
    }
    SECTION("one on the deny list") {
        test.step(input::ListsChanged{{}, {key_of(Stranger::kThem)}});
        CHECK(test.went(test.come(), Reason::not_permitted));
    }
    SECTION("one that the allow list leaves out") {
        test.step(input::ListsChanged{{key_of(6)}, {}});
        CHECK(test.went(test.come(), Reason::not_permitted));
        CHECK_FALSE(test.closed(test.come({.number = 6})));
    }
    SECTION("another key than the pinned one") {
        test.step(input::Dial{"stranger:1", key_of(6)});
        CHECK(test.went(test.come({.outbound = true}), Reason::not_permitted));
    }
}

TEST_CASE("a joining node takes any peer that it dialled, but tells it nothing") {
    Stranger test;
    const ChannelId channel = test.come({.number = 9, .outbound = true});
    CHECK_FALSE(test.closed(channel));
    Hello hello = test.hello();
    hello.finalized.height += 100;  // So that we are not caught up yet.
    hello.head = hello.finalized;
    test.say(channel, hello);
    Notice notice{.finalized = hello.finalized, .head = hello.head};
    test.say(channel, notice);
    REQUIRE(test.effects<effect::PeerReady>().size() == 1);
    test.out.clear();
    auto transaction = std::make_shared<chain::DecodedTransaction>();
    transaction->packed = transaction_of(1);
    test.step(input::PushTransaction{transaction});
    test.step(input::PushVote{vote_of(*test.ledger.head, 0)});
    CHECK(test.effects<effect::Send>().empty());
    // Once it has caught up the registry counts.
    test.say(channel, test.notice());
    CHECK(test.went(channel, Reason::not_permitted));
}

TEST_CASE("who has its peers' final block as head alone has not joined yet") {
    Stranger test;
    const ChannelId channel = test.come({.number = 9, .outbound = true});
    Hello hello = test.hello();
    hello.finalized = hello.head;  // Three blocks above our final one, and in our branch.
    REQUIRE(hello.finalized.height > test.ledger.view().finalized.height);
    test.say(channel, hello);
    test.say(channel, Notice{.finalized = hello.finalized, .head = hello.head});
    REQUIRE(test.effects<effect::PeerReady>().size() == 1);
    CHECK_FALSE(test.closed(channel));
    // That block registers the peer: who it names is known before the block is said to be final.
    test.step(input::RegistryChanged{{{key_of(9), World::organisation(9), kValidator}}});
    test.ledger.finalize(hello.finalized.id);
    test.step(test.ledger.view());
    CHECK_FALSE(test.closed(channel));
    // Joined: now the registry alone counts.
    CHECK(test.went(test.come({.number = 8, .outbound = true}), Reason::not_permitted));
}

TEST_CASE("who was alone for long joins anew, as all keys may have been rotated meanwhile") {
    Stranger test;
    const ChannelId old = test.greet({.outbound = true});
    CHECK(test.went(test.come({.number = 9, .outbound = true}), Reason::not_permitted));
    test.step(input::ChannelDown{old, "cut"});
    test.tick(std::chrono::seconds(20));
    CHECK(test.went(test.come({.number = 9, .outbound = true}), Reason::not_permitted));
    test.tick(std::chrono::seconds(11));
    CHECK_FALSE(test.closed(test.come({.number = 9, .outbound = true})));
    // Who dials us is checked as ever.
    CHECK(test.went(test.come({.number = 8}), Reason::not_permitted));
}

TEST_CASE("revoked: with the registry that no more names it, at once and when it comes again") {
    Stranger test;
    const ChannelId channel = test.greet();
    const ChannelId other = test.greet({.number = 6});
    test.step(input::RegistryChanged{{{key_of(6), World::organisation(6), kObserver}}});
    CHECK(test.went(channel, Reason::revoked));
    CHECK_FALSE(test.closed(other));
    CHECK(test.went(test.come(), Reason::revoked));
}

TEST_CASE("a key that is being rotated does not cost the connection") {
    Stranger test;
    const ChannelId channel = test.greet();
    test.step(input::RegistryChanged{{{key_of(Stranger::kThem), World::organisation(5), kValidator},
                                      {key_of(7), World::organisation(5), kValidator}}});
    CHECK_FALSE(test.closed(channel));
    CHECK_FALSE(test.closed(test.come({.number = 7})));
}

TEST_CASE("bad_block, bad_transaction, bad_vote: what the ledger finds proves") {
    Stranger test;
    const ChannelId channel = test.greet();
    const auto block = block_on(*test.ledger.head);
    Reason reason = Reason::bad_block;
    input::Judged judged{Item::block, {}, channel, Verdict::bad, "wrong signature"};
    SECTION("a header") {
        test.say(channel, HeaderPush{{block->header, block->signature}, {}});
        judged.item = Item::header;
        judged.id = test.effects<effect::HeaderArrived>().at(0).id;
    }
    SECTION("a block") {
        test.say(channel, Blocks{{block}});
        judged.item = Item::block;
        judged.id = test.effects<effect::BlockArrived>().at(0).block->id;
    }
    SECTION("a transaction") {
        test.say(channel, transaction_of(1));
        judged.item = Item::transaction;
        judged.id = test.effects<effect::TransactionArrived>().at(0).id;
        reason = Reason::bad_transaction;
    }
    SECTION("a vote") {
        test.say(channel, vote_of(*block, 5));
        judged.item = Item::vote;
        judged.id = test.effects<effect::VoteArrived>().at(0).id;
        reason = Reason::bad_vote;
    }
    SECTION("a certificate") {
        test.say(channel, certificate_of(*block, chain::VoteKind::commit));
        judged.item = Item::certificate;
        judged.id = test.effects<effect::CertificateArrived>().at(0).id;
        reason = Reason::bad_vote;
    }
    test.step(judged);
    CHECK(test.went(channel, reason));
    // It is not talked to for a while.
    const ChannelId again = test.come();
    CHECK(test.went(again, Reason::flooding));
    test.tick(seconds(31));
    CHECK_FALSE(test.closed(test.come()));
}

TEST_CASE("what is refused, or not known yet, costs nothing") {
    Stranger test;
    const ChannelId channel = test.greet();
    test.say(channel, transaction_of(1));
    const base::Hash256 id = test.effects<effect::TransactionArrived>().at(0).id;
    const auto verdict = GENERATE(Verdict::refused, Verdict::unsure, Verdict::duplicate);
    test.step(input::Judged{Item::transaction, id, channel, verdict, "expired"});
    CHECK_FALSE(test.closed(channel));
    test.out.clear();
    test.say(channel, transaction_of(1));
    // Only what could not be told may come again.
    CHECK(test.effects<effect::TransactionArrived>().size() ==
          (verdict == Verdict::unsure ? 1U : 0U));
}

TEST_CASE("behind: a peer that never greets, falls silent, or leaves our messages unread") {
    Stranger test;
    SECTION("never greets") {
        const ChannelId channel = test.come();
        test.tick(seconds(11));
        CHECK(test.went(channel, Reason::behind));
    }
    SECTION("falls silent") {
        const ChannelId channel = test.greet();
        test.tick(seconds(7));
        CHECK(test.went(channel, Reason::behind));
    }
    SECTION("reads nothing") {
        const ChannelId channel = test.greet();
        for (int i = 0; i < 400 && !test.closed(channel); ++i) {
            const auto block = block_on(
                *test.ledger.head,
                {.transactions = {transaction_of(static_cast<std::uint32_t>(i), 400'000)}});
            test.step(input::PassCertificate{certificate_of(*block, chain::VoteKind::notarize),
                                             std::nullopt});
            test.say(channel, Request{Wanted::blocks, {block->id}}, {.correlation = 5});
            for (const auto& read : test.effects<effect::ReadBlocks>()) {
                const auto bytes = std::make_shared<const base::Bytes>(chain::encode_block(*block));
                test.step(input::BlocksRead{read.ticket, {bytes}});
            }
            std::erase_if(test.out, [](const Effect& effect) {
                return std::holds_alternative<effect::ReadBlocks>(effect);
            });
            test.now += milliseconds(100);
        }
        std::size_t bytes = 0;
        for (const auto& send : test.effects<effect::Send>())
            bytes += send.bytes->size();
        // Nothing but small messages once 4 MiB wait.
        CHECK(bytes < (6U << 20U));
    }
}

TEST_CASE("shutting_down: to all, and to who comes then") {
    Stranger test;
    const ChannelId channel = test.greet();
    test.step(input::Stop{});
    CHECK(test.went(channel, Reason::shutting_down));
    CHECK(test.went(test.come(), Reason::shutting_down));
}

TEST_CASE("internal: there is no room for more") {
    Stranger test;
    std::vector<RegisteredNode> nodes;
    for (std::size_t i = 100; i < 165; ++i)
        nodes.push_back({key_of(i), chain::Name{}, 1});
    test.step(input::RegistryChanged{nodes});
    test.out.clear();
    for (std::size_t i = 100; i < 164; ++i) {
        CHECK_FALSE(test.closed(test.come({.number = i})));
    }
    CHECK(test.went(test.come({.number = 164}), Reason::internal));
}

TEST_CASE("duplicate: of one key two channels wait to be greeted, and no more") {
    Stranger test;
    const ChannelId inbound = test.come({.number = 6});
    const ChannelId outbound = test.come({.number = 6, .outbound = true});
    CHECK_FALSE(test.closed(inbound));  // Both dialled at once.
    SECTION("the oldest gives way") {
        test.tick(seconds(1));
        const ChannelId newest = test.come({.number = 6});
        CHECK(test.went(inbound, Reason::duplicate));
        CHECK_FALSE(test.closed(outbound));
        CHECK_FALSE(test.closed(newest));
        // That is no offence.
        test.say(newest, test.hello());
        CHECK(test.status(newest).state == PeerState::accepted);
    }
    SECTION("one that is greeted stays, however many come") {
        test.say(inbound, test.hello());
        for (int i = 0; i < 5; ++i)
            (void)test.come({.number = 6});
        CHECK_FALSE(test.closed(inbound));
        CHECK(test.network->status().peers.size() == 3);
    }
    SECTION("those that wait for an earlier start count") {
        test.say_claim(inbound, {Stranger::kThem, 500, 20}, 6);
        for (chain::Slot start = 30; start < 40; ++start)
            test.say_claim(test.come({.number = 6}), {Stranger::kThem, 500 + start, start}, 6);
        CHECK(test.network->status().peers.size() == 3);
    }
    SECTION("they leave room for others") {
        for (int i = 0; i < 100; ++i)
            (void)test.come({.number = 6});
        CHECK_FALSE(test.closed(test.come()));
    }
}

// All slots are taken, by nodes of this role; 100 came first.
void fill(Stranger& test, std::uint8_t role) {
    std::vector<RegisteredNode> nodes{{key_of(5), World::organisation(5), kValidator},
                                      {key_of(6), World::organisation(6), kObserver},
                                      {key_of(7), World::organisation(7), kGateway}};
    for (std::size_t i = 100; i < 164; ++i)
        nodes.push_back({key_of(i), World::organisation(1), role});
    test.step(input::RegistryChanged{nodes});
    for (std::size_t i = 100; i < 164; ++i) {
        (void)test.greet({.number = i});
        test.tick(milliseconds(1));
    }
    REQUIRE(test.network->status().peers.size() == 64);
    test.out.clear();
}

TEST_CASE("internal: the newest observer gives its slot to who votes, or whom we dial") {
    Stranger test;
    fill(test, kObserver);
    const ChannelId last{test.channels};
    const ChannelId before{test.channels - 1};
    SECTION("a validator") {
        CHECK_FALSE(test.closed(test.come({.number = 5})));
    }
    SECTION("a gateway") {
        CHECK_FALSE(test.closed(test.come({.number = 7})));
    }
    SECTION("an observer that we dial") {
        test.step(input::Dial{"stranger:1", key_of(6)});
        CHECK_FALSE(test.closed(test.come({.number = 6, .outbound = true})));
    }
    SECTION("not another observer") {
        CHECK(test.went(test.come({.number = 6}), Reason::internal));
        CHECK_FALSE(test.closed(last));
        return;
    }
    SECTION("nor one that may not connect") {
        test.step(input::ListsChanged{{}, {key_of(5)}});
        CHECK(test.went(test.come({.number = 5}), Reason::not_permitted));
        CHECK_FALSE(test.closed(last));
        return;
    }
    CHECK(test.went(last, Reason::internal));
    CHECK_FALSE(test.closed(before));
    // The next one takes the next slot.
    (void)test.come({.number = 5});
    CHECK(test.went(before, Reason::internal));
    CHECK(test.network->status().peers.size() == 64);
}

TEST_CASE("internal: a validator that is connected takes no second slot from another") {
    Stranger test;
    fill(test, kObserver);
    const ChannelId before{test.channels - 1};
    const ChannelId first = test.greet({.number = 5});
    CHECK_FALSE(test.closed(first));
    CHECK(test.went(test.come({.number = 5}), Reason::internal));
    CHECK_FALSE(test.closed(before));
    CHECK_FALSE(test.closed(first));
}

TEST_CASE("internal: validators keep their slots, whoever comes") {
    Stranger test;
    fill(test, kValidator);
    CHECK(test.went(test.come({.number = 5}), Reason::internal));
    CHECK(test.went(test.come({.number = 6, .outbound = true}), Reason::internal));
    CHECK(test.network->status().peers.size() == 64);
}

TEST_CASE("a go_away from the peer closes, is logged, and slows the dialling down") {
    Stranger test;
    test.step(input::Dial{"stranger:1", {}});
    test.tick(milliseconds(200));
    REQUIRE(test.effects<effect::Connect>().size() == 1);
    const ChannelId channel = test.come({.outbound = true});
    test.out.clear();
    test.say(channel, GoAway{Reason::not_permitted, "who are you"});
    CHECK(test.closed(channel) == Reason::not_permitted);
    CHECK(test.heard(channel).empty());
    CHECK(test.log.has("it said go_away not_permitted: who are you"));
    const auto dials = test.network->status().dials;
    CHECK(dials.front().failures == 1);
    CHECK(dials.front().last_error.find("who are you") != std::string::npos);
}

}  // namespace
