#include "tests/consensus/fixture.hpp"

#include <chrono>
#include <optional>

// Spec 04, "Finality": nothing is signed for a slot before a quorum of clocks has come to it, and
// nothing for the slots in which an earlier life of the node may have signed.

namespace {

using namespace std::chrono_literals;
using test::all;
using test::kCommit;
using test::kNotarize;
using test::Said;
using test::Validator;
using test::votes;
using test::voting;
namespace effect = test::effect;
namespace input = test::input;

// Validator 1 of four, whose clock runs from slot 0; no other clock was heard.
struct Alone : Validator {
    Alone() {
        options().clock_bound = 100ms;
        restart(fresh_journals());
        hear_no_clocks();
        (void)tick(0);
    }
    // The clock of this member is ahead of ours as it was at the start.
    consensus::Effects hear(unsigned member, base::Timestamp now, base::Duration ahead) {
        return step(now, input::ClockHeard{voting(member), now + ahead});
    }
    [[nodiscard]] std::optional<chain::Slot> floor(base::Timestamp now) {
        return (*this)->clocks(now).floor;
    }
};

}  // namespace

TEST_CASE("nothing is signed before a quorum of clocks was heard", "[consensus][clocks]") {
    Alone v;
    CHECK(v->keys()[0].waits);
    const auto a = v.block(2, v.genesis());
    CHECK(votes(v.adopt(a)).empty());
    CHECK(all<effect::Produce>(v.tick(4)).empty());
    CHECK(v.hear(2, v.at(4, 10), 0ms).empty());
    SECTION("a stranger's does not count, nor ours, nor one that is heard twice") {
        (void)v.hear(2, v.at(4, 11), 0ms);
        (void)v.hear(9, v.at(4, 12), 0ms);
        (void)v.hear(1, v.at(4, 13), 0ms);
        CHECK(v->keys()[0].waits);
        CHECK(all<effect::Produce>(v.tick(8)).empty());
    }
    SECTION("with a third, ours among them, it goes on, in slots that begin after that") {
        (void)v.hear(3, v.at(4, 20), 0ms);
        CHECK_FALSE(v->keys()[0].waits);
        CHECK(v.floor(v.at(4, 20)) == 4);
        CHECK(votes(v.adopt(v.block(4, a))).empty());
        CHECK(votes(v.adopt(v.block(5, a))) == Said{"NOTARIZE 5"});
        CHECK(all<effect::Produce>(v.tick(8)).size() == 1);
    }
}

TEST_CASE("a clock that is ahead signs nothing that a quorum has not come to",
          "[consensus][clocks]") {
    Alone v;
    for (const unsigned member : {2U, 3U, 4U})
        (void)v.hear(member, v.at(0, 10), 0ms);
    // Set three hours ahead in slot 3.
    (void)v.step(v.at(3), input::ClockSet{3h});
    for (chain::Slot slot = 3; slot < 80; ++slot)
        CHECK(all<effect::Produce>(v.tick(slot)).empty());
    CHECK(votes(v.adopt(v.block(80, v.genesis()))).empty());  // Long past, by our clock.
    SECTION("and set back it votes and produces at once") {
        (void)v.step(v.at(81), input::ClockSet{0ms});
        const auto b = v.block(82, v.genesis());
        CHECK(votes(v.adopt(b)) == Said{"NOTARIZE 82"});
        CHECK(all<effect::Produce>(v.tick(84)).size() == 1);
    }
    SECTION("nor do f others who say that theirs are, too") {
        (void)v.hear(2, v.at(81), 3h);
        CHECK(all<effect::Produce>(v.tick(84)).empty());
        // But with a quorum it is the time.
        (void)v.hear(3, v.at(84, 10), 3h);
        CHECK(all<effect::Produce>(v.tick(88)).size() == 1);
    }
}

TEST_CASE("clocks may differ by the bound, each way", "[consensus][clocks]") {
    Alone v;
    const auto hear = [&](base::Duration ahead) {
        for (const unsigned member : {2U, 3U, 4U})
            (void)v.hear(member, v.at(0, 10), ahead);
    };
    SECTION("behind by no more than it they don't delay") {
        hear(-100ms);
        CHECK(all<effect::Produce>(v.tick(4)).size() == 1);
    }
    SECTION("behind by more they do, and it wakes when they have come") {
        hear(-130ms);
        const auto effects = v.tick(4);
        CHECK(all<effect::Produce>(effects).empty());
        const auto wakes = all<effect::WakeAt>(effects);
        CHECK(std::ranges::count(wakes, v.at(4, 30), &effect::WakeAt::time) == 1);
        CHECK(all<effect::Produce>(v.tick(4, 30)).size() == 1);
    }
    SECTION("a vote is cast late, not lost") {
        hear(-130ms);
        const auto a = v.block(2, v.genesis());
        CHECK(votes(v.adopt(a)).empty());  // 10 ms after its slot began.
        CHECK(votes(v.tick(2, 29)).empty());
        const auto late = v.tick(2, 30);
        CHECK(votes(late) == Said{"NOTARIZE 2"});
        const auto persists = all<effect::Persist>(late);
        REQUIRE_FALSE(persists.empty());
        CHECK(persists.back().wait);
        CHECK(persists.back().block == a->id);
        CHECK(votes(v.tick(2, 40)).empty());
    }
    SECTION("what is heard of a clock replaces what was") {
        hear(-10s);
        CHECK(all<effect::Produce>(v.tick(4)).empty());
        for (const unsigned member : {2U, 3U})
            (void)v.hear(member, v.at(4, 1), 0ms);
        CHECK(all<effect::Produce>(v.tick(4, 2)).size() == 1);
    }
}

TEST_CASE("after the start the slots up to the (f+1)-th highest clock are spared",
          "[consensus][clocks]") {
    Alone v;
    SECTION("one clock far ahead spares nothing") {
        (void)v.hear(2, v.at(2, 100), 3h);
        (void)v.hear(3, v.at(2, 100), 0ms);
        CHECK(v.floor(v.at(2, 100)) == 2);
    }
    SECTION("nor does our own") {
        (void)v.step(v.at(2), input::ClockSet{3h});
        for (const unsigned member : {2U, 3U})
            (void)v.hear(member, v.at(2, 100), 0ms);
        CHECK(v.floor(v.at(2, 100)) == 2);
    }
    SECTION("twice the bound is added") {
        for (const unsigned member : {2U, 3U})
            (void)v.hear(member, v.at(2, 350), 0ms);
        CHECK(v.floor(v.at(2, 350)) == 3);
    }
    SECTION("where what others show comes late, ours counts") {
        for (const unsigned member : {2U, 3U})
            (void)v.hear(member, v.at(4, 100), -700ms);
        CHECK(v.floor(v.at(4, 100)) == 4);
    }
    SECTION("two that are wrong are believed until one says otherwise") {
        (void)v.hear(2, v.at(2, 100), 3h);
        (void)v.hear(3, v.at(2, 100), 3h);
        CHECK(v.floor(v.at(2, 100)) == 2 + 3 * 7'200);
        (void)v.hear(3, v.at(6, 100), 0ms);
        CHECK(v.floor(v.at(6, 100)) == 2);  // As of the moment in which a quorum was heard.
    }
}

TEST_CASE("a lost journal is told by clocks from when on it may sign", "[consensus][clocks]") {
    Validator v;
    v.options().clock_bound = 100ms;
    v.options().accept_amnesia = GENERATE(false, true);
    v.restart(v.lost_journals(40));
    v.hear_no_clocks();
    const auto before = v.tick(0);
    CHECK(all<effect::Alarm>(before).size() == 1);  // Of the one that votes.
    CHECK(all<effect::Persist>(before).empty());
    for (const unsigned member : {2U, 3U}) {
        // They are ahead of us.
        const auto heard = v.step(v.at(3, 350), input::ClockHeard{voting(member), v.at(15, 350)});
        if (member == 2) CHECK(heard.empty());
        if (member == 3 && v.options().accept_amnesia) {
            CHECK(all<effect::Persist>(heard).size() == 1);
            CHECK(v->journals().at(v.voting_tag()).safety().floor == 16);
        }
    }
    CHECK(v->clocks(v.at(3, 350)).floor == 16);
    CHECK(v->keys()[0].lost == !v.options().accept_amnesia);
}

// What is accepted is written for ever, up to a slot that clocks tell.
TEST_CASE("a lost journal is not accepted while clocks differ", "[consensus][clocks]") {
    const bool is_ours_ahead = GENERATE(false, true);
    const auto others = is_ours_ahead ? base::Duration(-24h) : base::Duration(24h);
    Validator v;
    v.options().clock_bound = 100ms;
    v.options().accept_amnesia = true;
    v.options().started = v.at(200'000);
    v.restart(v.lost_journals(40));
    v.hear_no_clocks();
    (void)v.tick(200'000);
    const auto hear_others = [&](const base::Timestamp& now, base::Duration ahead) {
        std::size_t pages = 0;
        for (const unsigned member : {2U, 3U}) {
            const auto heard = v.step(now, input::ClockHeard{voting(member), now + ahead});
            pages += all<effect::Persist>(heard).size();
        }
        return pages;
    };
    CHECK(hear_others(v.at(200'000, 10), others) == 0);
    CHECK(v->keys()[0].lost);
    CHECK(v->keys()[1].waits);
    CHECK_FALSE(v->clocks(v.at(200'000, 10)).floor);
    SECTION("until ours is set") {
        const auto set = v.step(v.at(200'003), input::ClockSet{others});
        CHECK(all<effect::Persist>(set).size() == 1);
        CHECK(v->journals().at(v.voting_tag()).safety().floor == v->clocks(v.at(200'003)).floor);
    }
    SECTION("until others are") {
        CHECK(hear_others(v.at(200'003, 10), 0ms) == 1);
        CHECK(v->journals().at(v.voting_tag()).safety().floor == 200'003);
    }
    CHECK_FALSE(v->keys()[0].lost);
}

// On a machine whose clock is wrong at its start, where what it hears of clocks is old.
TEST_CASE("a lost key waits for what it is seen to have signed, and for a clock that is set right",
          "[consensus][clocks]") {
    const bool is_own_vote_seen = GENERATE(false, true);
    Validator v;
    const auto a = v.block(990, v.genesis());
    const auto b = v.block(999, a, {.justify = a});
    const auto silent_until = [&](std::size_t key) {
        return v->keys()[key].silent_until.value_or(0);
    };
    // It has signed COMMIT 999. The machine burns; the key is put on another one, whose clock shows
    // slot 4 in slot 1001.
    v.options().clock_bound = 100ms;
    v.options().started = v.at(4);
    v.restart(v.lost_journals(0));
    v.hear_no_clocks();
    (void)v.tick(4);
    for (const unsigned member : {2U, 3U})
        (void)v.step(v.at(4, 10), input::ClockHeard{voting(member), v.at(4, 10)});
    REQUIRE(silent_until(1) == 4);
    (void)v.tick(7);
    if (is_own_vote_seen) {
        (void)v.step(v.at(7, 20), input::OwnVoteSeen{Validator::vote(kCommit, b, 1)});
        CHECK(silent_until(1) == 999);
        // Headers are signed with the key beside it, which was lost with it.
        CHECK(silent_until(0) == 999);
    } else {
        (void)v.step(v.at(7, 30), input::ClockSet{v.at(1004) - v.at(7)});
        CHECK(silent_until(1) == 1001);  // That was the slot when a quorum of clocks was heard.
    }
    // Another block, of a slot above what the clocks of the start told, becomes final.
    (void)v.step(v.at(8), input::BlockAdopted{a, false});
    (void)v.step(v.at(8), input::CertificateReceived{v.certificate(kCommit, a)});
    CHECK(v->finalized().slot == 990);
    CHECK(v->keys()[1].lost);
}

// All clocks were ahead for a while. They are right again, and the machine has a new disk.
TEST_CASE("a lost key waits for slots that were certified before they have come",
          "[consensus][clocks]") {
    Validator v;
    const auto a = v.block(30, v.genesis());
    const auto b = v.block(31, a, {.justify = a});
    const auto c = v.block(33, b, {.justify = b});
    v.options().started = v.at(7);
    v.restart(v.lost_journals(0));
    (void)v.tick(7);
    CHECK(v->keys()[1].silent_until == 7);
    for (const auto& block : {a, b})
        (void)v.step(v.at(8), input::BlockAdopted{block, false});
    (void)v.step(v.at(8), input::CertificateReceived{v.certificate(kCommit, a)});
    CHECK(v->finalized().slot == 30);
    CHECK(v->keys()[1].silent_until == 30);
    (void)v.step(v.at(8), input::CertificateReceived{v.certificate(kNotarize, b)});
    (void)v.tick(9);
    CHECK(v->keys()[1].silent_until == 31);
    (void)v.tick(33);
    (void)v.step(v.at(33), input::CertificateReceived{v.certificate(kCommit, b)});
    CHECK(v->keys()[1].lost);
    (void)v.step(v.at(33), input::BlockAdopted{c, false});
    (void)v.step(v.at(33), input::CertificateReceived{v.certificate(kNotarize, c)});
    (void)v.step(v.at(33), input::CertificateReceived{v.certificate(kCommit, c)});
    CHECK(v->finalized().slot == 33);
    CHECK_FALSE(v->keys()[1].lost);
}

// It is told of each block by its certificates before its own clock comes to the slot.
TEST_CASE("a lost key votes again on a machine whose clock is a little behind",
          "[consensus][clocks]") {
    const auto behind = GENERATE(100ms, 250ms, 450ms);
    Validator v;
    v.options().clock_bound = 100ms;
    v.options().started = v.at(7);
    v.restart(v.lost_journals(0));
    v.hear_no_clocks();
    for (const unsigned member : {2U, 3U, 4U})
        (void)v.step(v.at(7), input::ClockHeard{voting(member), v.at(7) + behind});
    auto parent = v.genesis();
    for (chain::Slot slot = 9; slot < 20; ++slot) {
        const auto block =
            slot == 9 ? v.block(slot, parent) : v.block(slot, parent, {.justify = parent});
        for (const auto kind : {kNotarize, kCommit}) {
            (void)v.step(v.at(slot) - behind + 20ms,
                         input::CertificateReceived{v.certificate(kind, block)});
        }
        (void)v.step(v.at(slot), input::BlockAdopted{block, false});
        (void)v.tick(slot);
        parent = block;
    }
    CHECK(v->finalized().slot >= 18);
    CHECK_FALSE(v->keys()[1].lost);
}

// Member 2 is Byzantine: it repeats what member 3's clock showed long ago to a node that has just
// started on a new disk, before anybody else is heard.
TEST_CASE("an old statement of another's clock does not make a lost journal vote again",
          "[consensus][clocks]") {
    const bool is_attacked = GENERATE(false, true);
    Validator v;
    v.options().clock_bound = 100ms;
    v.restart(v.fresh_journals());
    const auto a = v.block(990, v.genesis());
    const auto b = v.block(999, a, {.justify = a});
    (void)v.tick(989);
    (void)v.adopt(a);
    (void)v.certify(kNotarize, a);
    (void)v.certify(kCommit, a);
    (void)v.adopt(b);
    const auto said = v.certify(kNotarize, b);
    REQUIRE(votes(said) == Said{"COMMIT 999"});
    const chain::Vote before{all<effect::CastVote>(said)[0].data, voting(1), {}};
    // The machine burns; the key is put on another one, its journal is lost. Slot 1004.
    v.options().started = v.at(1004);
    v.restart(v.lost_journals(0));
    v.hear_no_clocks();
    (void)v.tick(1004);
    const auto then = is_attacked ? v.at(3) : v.at(1004, 10);
    (void)v.step(v.at(1004, 10), input::ClockHeard{voting(2), then});
    (void)v.step(v.at(1004, 11), input::ClockHeard{voting(3), then});
    // Now all honest clocks are heard.
    for (const unsigned member : {2U, 3U, 4U})
        (void)v.step(v.at(1004, 20), input::ClockHeard{voting(member), v.at(1004, 20)});
    // It fetches the chain up to a; b was final where nobody hears it now.
    (void)v.step(v.at(1004, 30), input::BlockAdopted{a, false});
    (void)v.step(v.at(1004, 31), input::CertificateReceived{v.certificate(kCommit, a)});
    const auto c = v.block(1006, a, {.justify = a});
    const auto effects = v.adopt(c);
    CHECK(votes(effects).empty());
    for (const auto& vote : all<effect::CastVote>(effects)) {
        const auto evidence = chain::find_evidence(before, chain::Vote{vote.data, voting(1), {}});
        CHECK_FALSE(evidence.has_value());
        if (evidence) CHECK_FALSE(chain::check_form(*evidence).has_value());
    }
    const auto late = v.certify(kNotarize, c);
    CHECK(votes(late).empty());
}

// On a machine with a new disk whose clock is behind: what it fetches becomes final up to its own
// clock, so that a key went on before the clock was set, and what honest clocks said meanwhile was
// not listened to.
TEST_CASE("a lost key does not vote again by the blocks of an hour that is long over",
          "[consensus][clocks]") {
    const bool is_attacked = GENERATE(false, true);
    const bool is_set_first = GENERATE(false, true);
    Validator v;
    v.options().clock_bound = 100ms;
    const auto x = v.block(6, v.genesis());
    const auto b = v.block(1001, x, {.justify = x});
    v.options().started = v.at(990);
    v.restart(v.fresh_journals());
    (void)v.tick(990);
    (void)v.step(v.at(990, 10), input::BlockAdopted{x, false});
    (void)v.step(v.at(990, 20), input::CertificateReceived{v.certificate(kNotarize, x)});
    (void)v.step(v.at(990, 30), input::CertificateReceived{v.certificate(kCommit, x)});
    (void)v.adopt(b);
    const auto said = v.certify(kNotarize, b);
    REQUIRE(votes(said) == Said{"COMMIT 1001"});
    const chain::Vote before{all<effect::CastVote>(said)[0].data, voting(1), {}};

    // The power goes everywhere in slot 1001. This machine gets a new disk; its clock shows slot 4
    // in slot 1004.
    Validator w;
    w.options().clock_bound = 100ms;
    w.options().started = w.at(4);
    w.restart(w.lost_journals(0));
    w.hear_no_clocks();
    (void)w.tick(4);
    const base::Duration right = w.at(1004) - w.at(4);
    // Member 2 is Byzantine and there first; it repeats what member 3 said in slot 4.
    const base::Duration first = is_attacked ? base::Duration{} : right;
    for (const unsigned member : {2U, 3U})
        (void)w.step(w.at(4, 10), input::ClockHeard{voting(member), w.at(4, 10) + first});
    // A second later the honest ones are heard.
    for (const unsigned member : {3U, 4U})
        (void)w.step(w.at(6, 20), input::ClockHeard{voting(member), w.at(6, 20) + right});
    if (is_set_first) (void)w.step(w.at(6, 30), input::ClockSet{right});
    // It fetches the chain, as far as its clock has come.
    (void)w.step(w.at(6, 40), input::BlockAdopted{x, false});
    (void)w.step(w.at(6, 50), input::CertificateReceived{w.certificate(kNotarize, x)});
    (void)w.step(w.at(6, 60), input::CertificateReceived{w.certificate(kCommit, x)});
    CHECK(w->finalized().slot == 6);
    CHECK(w->keys()[1].lost);
    // The clock is set.
    (void)w.step(w.at(8), input::ClockSet{right});
    for (const unsigned member : {2U, 3U, 4U})
        (void)w.step(w.at(8, 10), input::ClockHeard{voting(member), w.at(8, 10) + right});
    // A block of slot 1009 by member 2, which builds on what is below b.
    const auto c = w.block(1009, x, {.justify = x});
    const auto voted = w.step(w.at(9, 20), input::BlockAdopted{c, false});
    CHECK(votes(voted).empty());
    for (const auto& vote : all<effect::CastVote>(voted)) {
        auto evidence = chain::find_evidence(before, chain::Vote{vote.data, voting(1), {}});
        CHECK_FALSE(evidence.has_value());
        if (evidence) CHECK_FALSE(chain::check_form(*evidence).has_value());
    }
}
