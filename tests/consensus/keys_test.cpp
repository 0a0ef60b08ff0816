#include "tests/consensus/fixture.hpp"

// What our keys may do when their journal is lost, or somebody else uses them.

namespace effect = consensus::effect;
namespace input = consensus::input;
using test::all;
using test::kCommit;
using test::kNotarize;
using test::Said;
using test::signing;
using test::Validator;
using test::votes;
using test::voting;

namespace {

using Alarm = effect::Alarm::Kind;

std::vector<Alarm> alarms(const consensus::Effects& effects) {
    std::vector<Alarm> kinds;
    for (const effect::Alarm& alarm : all<effect::Alarm>(effects)) {
        kinds.push_back(alarm.kind);
    }
    return kinds;
}

}  // namespace

TEST_CASE("a slot's header is signed once, with whichever of our keys", "[consensus][keys]") {
    Validator v;
    v.options().own_keys.push_back(signing(3));
    const consensus::KeyTag other = consensus::key_tag(signing(3));
    auto journals = test::fresh_journals({v.signing_tag(), v.voting_tag(), other});
    // On another branch our producer's key was this one.
    const consensus::SafetyRecord record{.kind = consensus::RecordKind::produced, .slot = 8};
    (void)journals.at(other).append({&record, 1});
    v.restart(std::move(journals));
    CHECK(all<effect::Produce>(v.tick(4)).empty());
    CHECK(all<effect::Produce>(v.tick(8)).empty());
    CHECK(all<effect::Produce>(v.tick(12)).size() == 1);
}

TEST_CASE("a lost journal: its key signs nothing before a later block is final",
          "[consensus][keys]") {
    Validator v;
    v.options().started = v.at(7);
    v.options().clock_bound = std::chrono::milliseconds(500);  // Twice: 9.
    v.restart(v.lost_journals(40));
    CHECK(alarms(v.tick(7)) == std::vector{Alarm::journal_lost});
    CHECK(all<effect::Produce>(v.tick(8)).empty());
    CHECK(all<effect::Produce>(v.tick(12)).empty());
    const auto b = v.block(9, v.genesis());
    CHECK(votes(v.adopt(b)).empty());
    v.certify(kNotarize, b);
    CHECK(alarms(v.certify(kCommit, b)).empty());
    CHECK(v->finalized().slot == 9);
    // 9 was not later than what may have been promised.
    const auto c = v.block(10, b, {.justify = b});
    CHECK(votes(v.adopt(c)).empty());
    const auto effects = v.certify(kCommit, c);
    REQUIRE(effects.size() >= 3);
    CHECK(std::holds_alternative<effect::Finalize>(effects[0]));
    const auto& record = std::get<effect::Persist>(effects[1]);
    CHECK(record.wait);
    REQUIRE(record.pages.size() == 2);
    for (const auto& page : record.pages) {
        CHECK(page.replaces);
        CHECK(page.sequence == 41);
    }
    CHECK(alarms(effects) == std::vector{Alarm::votes_again, Alarm::votes_again});

    SECTION("that block is its lock") {
        const auto sibling = v.block(11, c);
        CHECK(votes(v.adopt(sibling)).empty());
        const auto d = v.block(12, c, {.justify = c});
        CHECK(votes(v.adopt(d)) == Said{"NOTARIZE 12"});
    }
    SECTION("and the next start finds it in the journal") {
        for (const auto& page : record.pages) {
            const auto journal = consensus::SafetyJournal::read(page.key, page.bytes);
            REQUIRE(journal.has_value());
            CHECK(journal->safety().known);
            CHECK(journal->safety().lock_slot == 10);
            CHECK(journal->safety().last_notarize.slot == 10);
            REQUIRE(journal->safety().lock_certificate != nullptr);
            CHECK(*journal->safety().lock_certificate == v.certificate(kCommit, c));
        }
    }
}

TEST_CASE("where that cannot come, the operator may accept it", "[consensus][keys]") {
    Validator v;
    v.options().started = v.at(3);
    v.options().accept_amnesia = true;
    v.restart(v.lost_journals(7));
    CHECK(all<effect::Persist>(v.tick(3)).size() == 1);
    const auto a = v.block(3, v.genesis());
    CHECK(votes(v.adopt(a)).empty());
    const auto check_forgiven = [&] {
        // What peers have seen of its votes until then is what the operator accepted.
        for (const chain::VoteKind kind : {kNotarize, kCommit}) {
            CHECK(v.step(v.at(3), input::OwnVoteSeen{Validator::vote(kind, a, 1)}).empty());
        }
        CHECK_FALSE(v->keys()[1].lost);
        CHECK(votes(v.certify(kNotarize, a)).empty());
    };
    SECTION("up to that moment") {
        check_forgiven();
        CHECK(votes(v.adopt(v.block(4, v.genesis(), {.justify = a}))) == Said{"NOTARIZE 4"});
    }
    SECTION("once for all") {
        v.options().accept_amnesia = false;
        v.restart((*v).journals());
        v.adopt(a);
        check_forgiven();
    }
    SECTION("but nothing after it") {
        const auto b = v.block(4, v.genesis());
        CHECK(alarms(v.step(v.at(4), input::OwnVoteSeen{Validator::vote(kNotarize, b, 1)})) ==
              std::vector(2, Alarm::journal_lost));
    }
}

TEST_CASE("a vote of ours that our journal does not know shows that it is lost",
          "[consensus][keys]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, v.genesis());
    v.adopt(a);
    const auto seen = [&](chain::VoteKind kind, const chain::BlockPtr& block) {
        return v.step(v.at(3), input::OwnVoteSeen{Validator::vote(kind, block, 1)});
    };
    SECTION("what it knows does not") {
        CHECK(seen(kNotarize, a).empty());
        CHECK(votes(v.adopt(b)) == Said{"NOTARIZE 3"});
    }
    const auto check_lost = [&](const consensus::Effects& effects) {
        // What one journal lacks, the other of this disk may lack.
        CHECK(alarms(effects) == std::vector(2, Alarm::journal_lost));
        const auto persists = all<effect::Persist>(effects);
        REQUIRE(persists.size() == 1);
        CHECK_FALSE(persists[0].pages.empty());
        CHECK(votes(v.adopt(b)).empty());
        v.restart((*v).journals());
        CHECK(v->keys()[0].lost);
        CHECK(v->keys()[1].lost);
        CHECK(v->keys()[1].key == voting(1));
    };
    SECTION("a newer NOTARIZE") {
        check_lost(seen(kNotarize, b));
    }
    SECTION("another NOTARIZE of that slot") {
        check_lost(seen(kNotarize, v.block(2, v.genesis(), {.variant = 1})));
    }
    SECTION("a COMMIT") {
        check_lost(seen(kCommit, a));
    }
    SECTION("somebody else's vote does not") {
        CHECK(v.step(v.at(3), input::OwnVoteSeen{Validator::vote(kNotarize, b, 2)}).empty());
    }
}

TEST_CASE("a key that an earlier machine uses signs nothing here", "[consensus][keys]") {
    Validator v;
    CHECK(alarms(v.step(v.at(1), input::TwinSeen{voting(1)})) == std::vector{Alarm::twin_key});
    CHECK(v.step(v.at(1), input::TwinSeen{voting(1)}).empty());
    CHECK(v.step(v.at(1), input::TwinSeen{voting(3)}).empty());
    CHECK(votes(v.adopt(v.block(2, v.genesis()))).empty());
    CHECK(all<effect::Produce>(v.tick(4)).size() == 1);  // The signing key is another.
    v.step(v.at(5), input::TwinSeen{signing(1)});
    CHECK(all<effect::Produce>(v.tick(8)).empty());
}

TEST_CASE("more than f members that tell of a key's twin stop that key here", "[consensus][keys]") {
    Validator v;
    const auto tell = [&](unsigned member, std::vector<base::crypto::PublicKey> keys) {
        return alarms(v.step(v.at(1), input::TwinTold{std::move(keys), {voting(member)}}));
    };
    CHECK(tell(2, {voting(1)}).empty());
    CHECK(tell(2, {voting(1)}).empty());   // Again: does not count.
    CHECK(tell(99, {voting(1)}).empty());  // A stranger.
    CHECK(tell(1, {voting(1)}).empty());   // That has our key: it is the twin, or lies.
    CHECK(tell(3, {signing(1)}).empty());  // The other key has one that tells of it.
    CHECK(tell(3, {voting(4)}).empty());   // None of ours.
    CHECK_FALSE(v->keys()[1].twin);
    SECTION("and no other") {
        CHECK(tell(4, {voting(1)}) == std::vector{Alarm::twin_key});
        CHECK(v->keys()[1].twin);
        CHECK_FALSE(v->keys()[0].twin);
        CHECK(votes(v.adopt(v.block(2, v.genesis()))).empty());
        CHECK(all<effect::Produce>(v.tick(4)).size() == 1);
    }
    SECTION("or several") {
        CHECK(tell(4, {signing(1), voting(1)}).size() == 2);
        CHECK(votes(v.adopt(v.block(2, v.genesis()))).empty());
        CHECK(all<effect::Produce>(v.tick(4)).empty());
    }
}

TEST_CASE("two votes or headers that exclude each other are evidence, once a key",
          "[consensus][evidence]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(2, v.genesis(), {.variant = 1});
    const auto hear = [&](const chain::Vote& vote) {
        return all<effect::Accuse>(v.step(v.at(2), input::VoteReceived{vote}));
    };
    v.adopt(a);
    CHECK(hear(Validator::vote(kNotarize, a, 2)).empty());
    CHECK(hear(Validator::vote(kCommit, b, 2)).empty());
    const auto accused = hear(Validator::vote(kNotarize, b, 2));
    REQUIRE(accused.size() == 1);
    CHECK(chain::check_form(accused[0].evidence).has_value());
    const auto c = v.block(2, v.genesis(), {.variant = 2});
    CHECK(hear(Validator::vote(kNotarize, c, 2)).empty());  // Accused already.
    CHECK(hear(Validator::vote(kCommit, a, 3)).empty());
    CHECK(hear(Validator::vote(kCommit, b, 3)).size() == 1);
    SECTION("headers, adopted or not") {
        CHECK(all<effect::Accuse>(v.step(v.at(2), input::HeaderSeen{{a->header, {}}})).empty());
        CHECK(all<effect::Accuse>(v.step(v.at(2), input::HeaderSeen{{b->header, {}}})).size() == 1);
    }
    SECTION("a COMMIT and a NOTARIZE that R2 forbids, with the headers between") {
        const auto d = v.block(4, b);
        const auto e = v.block(5, d);
        for (const auto& block : {b, d, e}) {
            v.adopt(block);
        }
        CHECK(hear(Validator::vote(kCommit, a, 4)).empty());
        const auto forbidden = hear(Validator::vote(kNotarize, e, 4));
        REQUIRE(forbidden.size() == 1);
        const auto& pair = std::get<chain::ForbiddenCommit>(forbidden[0].evidence);
        CHECK(pair.headers.size() == 2);
        CHECK(chain::check_form(pair).has_value());
    }
    SECTION("the same, when more of its votes are known") {
        const auto d = v.block(4, b);
        const auto e = v.block(5, d);
        for (const auto& block : {b, d, e}) {
            v.adopt(block);
        }
        CHECK(hear(Validator::vote(kNotarize, e, 4)).empty());
        CHECK(hear(Validator::vote(kCommit, e, 4)).empty());
        const auto forbidden = hear(Validator::vote(kCommit, a, 4));
        REQUIRE(forbidden.size() == 1);
        CHECK(std::get<chain::ForbiddenCommit>(forbidden[0].evidence).headers.size() == 2);
    }
    SECTION("not when the block extends the other") {
        const auto d = v.block(4, a);
        v.adopt(d);
        CHECK(hear(Validator::vote(kCommit, a, 4)).empty());
        CHECK(hear(Validator::vote(kNotarize, d, 4)).empty());
    }
}

TEST_CASE("a node that asks around signs nothing before a quorum was heard", "[consensus][keys]") {
    Validator v;
    v.options().asks_around_for = std::chrono::hours(1);
    v.restart(v.fresh_journals());
    const auto a = v.block(2, v.genesis());
    CHECK(votes(v.adopt(a)).empty());
    CHECK(all<effect::Produce>(v.tick(4)).empty());
    CHECK(v->keys()[0].waits);
    const auto hear = [&](unsigned member) {
        v.step(v.at(5, 20), input::ValidatorHeard{{voting(member)}});
    };
    SECTION("validators") {
        hear(2);
        hear(2);  // Again: does not count.
        hear(9);  // A stranger.
        const auto b = v.block(6, a);
        CHECK(votes(v.adopt(b)).empty());
        hear(3);
        CHECK_FALSE(v->keys()[0].waits);
        CHECK(votes(v.adopt(v.block(7, b))) == Said{"NOTARIZE 7"});
    }
    SECTION("validators, also among strangers of any number") {
        hear(2);
        for (unsigned stranger = 100; stranger < 2'100; ++stranger)
            hear(stranger);
        CHECK(v->keys()[0].waits);
        hear(3);
        CHECK_FALSE(v->keys()[0].waits);
    }
    SECTION("or it has waited long enough") {
        v.step(v.at(2) + std::chrono::hours(1), input::Tick{});
        CHECK_FALSE(v->keys()[0].waits);
    }
}

TEST_CASE("who answers a recovery signs nothing more", "[consensus][keys]") {
    Validator v;
    const auto b = v.block(1, v.genesis());
    CHECK(votes(v.adopt(b)) == Said{"NOTARIZE 1"});
    CHECK(votes(v.certify(kNotarize, b)) == Said{"COMMIT 1"});
    const auto effects = v.step(v.at(1, 100), input::StopSigning{});
    REQUIRE(effects.size() == 2);
    const auto& record = std::get<effect::Persist>(effects[0]);
    CHECK(record.wait);
    CHECK(record.pages.size() == 2);  // Of both keys.
    CHECK(std::holds_alternative<effect::StoppedSigning>(effects[1]));
    REQUIRE(v->highest_certificate() != nullptr);
    CHECK(v->highest_certificate()->data.slot == 1);
    const auto c = v.block(2, b, {.justify = b});
    CHECK(votes(v.adopt(c)).empty());
    CHECK(votes(v.certify(kNotarize, c)).empty());
    CHECK(v->highest_certificate()->data.slot == 2);
    for (chain::Slot slot = 3; slot <= 8; ++slot)
        CHECK(all<effect::Produce>(v.tick(slot)).empty());
    // Once more: there is nothing to write.
    CHECK(v.step(v.at(9), input::StopSigning{}).size() == 1);
    // As it is read back.
    consensus::Journals journals = v->journals();
    v.restart(std::move(journals));
    CHECK(votes(v.adopt(v.block(10, v.genesis()))).empty());
    CHECK(all<effect::Produce>(v.tick(12)).empty());
    REQUIRE(v->highest_certificate() != nullptr);
    CHECK(v->highest_certificate()->data.slot == 1);  // Of the lock.
}

// Its operator starts it with the word that recoveries themselves ask for, and later without.
TEST_CASE("who has answered a recovery and then lost its journal signs nothing after any start",
          "[consensus][keys]") {
    Validator v;
    v.options().started = v.at(3);
    v.options().accept_amnesia = true;
    consensus::Journals lost;
    for (const consensus::KeyTag tag : {v.signing_tag(), v.voting_tag()}) {
        const consensus::SafetyRecord stopped{.kind = consensus::RecordKind::stopped};
        const auto page = consensus::SafetyJournal(tag).append({&stopped, 1});
        const consensus::SafetyJournal::Mark rows{page.sequence, page.bytes, page.replaces};
        lost.emplace(tag, consensus::SafetyJournal::lost(tag, rows));
    }
    v.restart(std::move(lost));
    test::Logs logs;
    for (const auto& persist : all<effect::Persist>(v.tick(3))) {
        for (const consensus::JournalPage& page : persist.pages)
            test::write_page(logs, page);
    }
    REQUIRE(logs.size() == 2);
    v.options().started = v.at(9);
    v.options().accept_amnesia = false;
    v.restart(test::read_journals(logs));
    for (const consensus::KeyStatus& key : v->keys())
        CHECK(key.stopped);
    CHECK(votes(v.adopt(v.block(10, v.genesis()))).empty());
    for (chain::Slot slot = 11; slot <= 16; ++slot)
        CHECK(all<effect::Produce>(v.tick(slot)).empty());
}

TEST_CASE("a key that the head's schedule has no more answers as well", "[consensus][keys]") {
    Validator v;
    const auto c = v.block(10, v.genesis(), {.change = test::schedule_of({4, 5, 6, 7}, 1)});
    const auto d = v.block(11, c, {.justify = c, .finalized = c});
    const auto p = v.block(12, d);
    const auto e = v.block(13, p, {.justify = p, .finalized = p});
    const auto f = v.block(14, e);
    for (const auto& block : {c, d, p, e, f})
        (void)v.adopt(block);
    REQUIRE(v->head() == f->id);
    REQUIRE(v->finalized().id == p->id);
    const auto records = all<effect::Persist>(v.step(v.at(14, 100), input::StopSigning{}));
    REQUIRE(records.size() == 1);
    CHECK(records[0].pages.size() == 2);  // Of both keys.
}

TEST_CASE("the answer of a key that has lost its journal would be worth nothing",
          "[consensus][keys]") {
    Validator v;
    v.restart(v.lost_journals(40));
    const auto effects = v.step(v.at(1), input::StopSigning{});
    CHECK(all<effect::Persist>(effects).empty());
    for (const consensus::KeyStatus& key : v->keys())
        CHECK_FALSE(key.stopped);
}

TEST_CASE("the block from which a recovery begins is final as soon as it is here",
          "[consensus][keys]") {
    Validator v;
    const auto b = v.block(1, v.genesis());
    const auto c = v.block(2, b, {.justify = b});
    const auto other = v.block(3, b);
    chain::ScheduleReset reset;
    reset.from = c->id;
    reset.schedule = *v.schedules().active;
    reset.schedule.version = 100;
    v.options().reset = reset;
    v.restart(v.fresh_journals());
    (void)v.adopt(b);
    (void)v.adopt(other);
    CHECK(v->finalized().id == v.genesis()->id);
    const auto finals = all<effect::Finalize>(v.step(v.at(3, 20), input::BlockAdopted{c, false}));
    REQUIRE(finals.size() == 1);
    CHECK(finals[0].block == c->id);
    CHECK_FALSE(finals[0].certificate.has_value());
    CHECK(v->finalized().id == c->id);
    CHECK_FALSE(v->holds(other->id));
    // Once.
    CHECK(all<effect::Finalize>(v.tick(4)).empty());
    SECTION("also where it was there before") {
        v.restart(v.fresh_journals());
        v->restore(b);
        v->restore(c);
        CHECK(all<effect::Finalize>(v.tick(5)).size() == 1);
    }
    SECTION("also where it was final before") {
        v.restart(v.fresh_journals());
        v->restore(b);
        v->restore(c);
        v->restore_final(c->id);
        CHECK(v->finalized().id == c->id);
        CHECK(all<effect::Finalize>(v.tick(5)).empty());
    }
    SECTION("headers name what has a certificate") {
        // Our slot is the fourth: the parent is c, nothing above genesis has a COMMIT certificate.
        const auto made = all<effect::Produce>(v.tick(8));
        REQUIRE(made.size() == 1);
        CHECK(made[0].parent == c->id);
        CHECK_FALSE(made[0].finalized.has_value());
        CHECK(made[0].schedule_version == 100);
    }
}
