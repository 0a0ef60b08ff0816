#include "tests/consensus/fixture.hpp"

// R1 to R5 of spec 04, one validator of four; each refusal beside what is allowed.

namespace effect = consensus::effect;
namespace input = consensus::input;
using test::all;
using test::kCommit;
using test::key;
using test::kNotarize;
using test::Said;
using test::schedule_of;
using test::Validator;
using test::votes;

TEST_CASE("a vote that was counted counts, whatever its key signs afterwards", "[consensus]") {
    Validator v;
    const auto block = v.block(2, v.genesis());
    v.adopt(block);
    v.certify(kNotarize, block);
    const auto hear = [&](const chain::Vote& vote) {
        return v.step(v.at(14), input::VoteReceived{vote});
    };
    hear(Validator::vote(kCommit, block, 2));
    // Of blocks that nobody has, one a slot: no two of them are evidence.
    for (chain::Slot slot = 3; slot <= 14; ++slot) {
        chain::Vote other = Validator::vote(kCommit, block, 2);
        other.data.slot = slot;
        other.data.block_id.bytes[0] = static_cast<std::byte>(slot);
        CHECK(hear(other).empty());
    }
    CHECK(hear(Validator::vote(kCommit, block, 3)).empty());
    const auto finals = all<effect::Finalize>(hear(Validator::vote(kCommit, block, 4)));
    REQUIRE(finals.size() == 1);
    CHECK(consensus::check_form(finals.front().certificate.value(), v.schedules()));
    CHECK(consensus::signers(finals.front().certificate.value(), v.schedules()) ==
          std::vector{test::voting(2), test::voting(3), test::voting(4)});
}

TEST_CASE("a vote ahead of the clock is not kept", "[consensus]") {
    Validator v;
    const auto block = v.block(2, v.genesis());
    v.adopt(block);
    chain::Vote early = Validator::vote(kCommit, block, 2);
    early.data.slot = 9;
    v.step(v.at(5), input::VoteReceived{early});
    CHECK(v->newest_votes(test::voting(2)).empty());
    v.step(v.at(8), input::VoteReceived{early});
    CHECK(v->newest_votes(test::voting(2)).size() == 1);
}

TEST_CASE("R1: a valid block of this slot is notarized, once", "[consensus][R1]") {
    Validator v;
    const auto first = v.block(2, v.genesis());
    CHECK(votes(v.adopt(first)) == Said{"NOTARIZE 2"});
    SECTION("not again") {
        CHECK(votes(v.adopt(first)).empty());
    }
    SECTION("nor a sibling in the slot") {
        CHECK(votes(v.adopt(v.block(2, v.genesis(), {.variant = 1}))).empty());
    }
    SECTION("nor a block of an earlier slot") {
        CHECK(votes(v.adopt(v.block(1, v.genesis()))).empty());
    }
    SECTION("a later one on another branch is") {
        CHECK(votes(v.adopt(v.block(3, v.genesis()))) == Said{"NOTARIZE 3"});
    }
}

TEST_CASE("R1: a lock forbids branches whose justify is older", "[consensus][R1]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    v.adopt(a);
    CHECK(votes(v.certify(kNotarize, a)) == Said{"COMMIT 2"});
    SECTION("without it") {
        CHECK(votes(v.adopt(v.block(3, v.genesis()))).empty());
    }
    SECTION("even above the locked block") {
        CHECK(votes(v.adopt(v.block(3, a))).empty());
    }
    SECTION("with it") {
        CHECK(votes(v.adopt(v.block(3, a, {.justify = a}))) == Said{"NOTARIZE 3"});
    }
}

TEST_CASE("R1: a block of long ago is not notarized", "[consensus][R1]") {
    Validator v;
    v.tick(20);
    CHECK(votes(v.adopt(v.block(15, v.genesis()))).empty());
    CHECK(votes(v.adopt(v.block(16, v.genesis()))) == Said{"NOTARIZE 16"});
}

TEST_CASE("R1: who lacks the block of a certificate votes for nothing", "[consensus][R1]") {
    Validator v;
    const auto a = v.block(5, v.genesis());
    CHECK(v.certify(kNotarize, a).empty());  // Its block is not here.
    CHECK(votes(v.adopt(v.block(4, v.genesis()))).empty());
    SECTION("until it has the block") {
        const auto effects = v.adopt(a);
        CHECK(votes(effects) == Said{"NOTARIZE 5", "COMMIT 5"});
        CHECK(v->head() == a->id);
    }
    SECTION("for another branch neither, unless nobody gives the block for long") {
        v.tick(6);
        CHECK(votes(v.adopt(v.block(6, v.genesis()))).empty());
        v.tick(15);
        CHECK(votes(v.adopt(v.block(15, v.genesis()))) == Said{"NOTARIZE 15"});
    }
}

TEST_CASE("R2: COMMIT and lock need a certificate above lock and final", "[consensus][R2]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, a, {.justify = a});
    v.adopt(a);
    v.adopt(b);
    SECTION("the newer one commits") {
        CHECK(votes(v.certify(kNotarize, b)) == Said{"COMMIT 3"});
        SECTION("then not the older") {
            CHECK(votes(v.certify(kNotarize, a)).empty());
        }
    }
    SECTION("nothing at or below the final block") {
        v.certify(kCommit, b);
        CHECK(v->finalized().id == b->id);
        CHECK(votes(v.certify(kNotarize, b)).empty());
        CHECK(votes(v.certify(kNotarize, a)).empty());
    }
}

TEST_CASE("R2: a past NOTARIZE of a conflicting block forbids the COMMIT", "[consensus][R2]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    v.adopt(a);
    SECTION("a later block that does not extend it, with an older justify") {
        v.adopt(v.block(3, v.genesis()));
        CHECK(votes(v.step(v.at(2, 20), input::CertificateReceived{v.certificate(kNotarize, a)}))
                  .empty());
    }
    SECTION("one that extends it does not") {
        const auto b = v.block(3, a);
        v.adopt(b);
        // Its own slot is over, so the COMMIT waits for a NOTARIZE above its certificate.
        CHECK(votes(v.certify(kNotarize, a)).empty());
        CHECK(votes(v.adopt(v.block(4, b, {.justify = a}))) == Said{"COMMIT 2", "NOTARIZE 4"});
    }
}

TEST_CASE("R2: a COMMIT at the end of its slot waits for the next NOTARIZE", "[consensus][R2]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    v.adopt(a);
    const auto certificate = input::CertificateReceived{v.certificate(kNotarize, a)};
    SECTION("in time") {
        CHECK(votes(v.step(v.at(2, 497), certificate)) == Said{"COMMIT 2"});
    }
    SECTION("within the guard") {
        CHECK(votes(v.step(v.at(2, 499), certificate)).empty());
        CHECK(votes(v.adopt(v.block(3, a, {.justify = a}))) == Said{"COMMIT 2", "NOTARIZE 3"});
    }
    SECTION("the guard grows with the measured delay, to a quarter of the slot") {
        v->set_delay(std::chrono::milliseconds(10));
        CHECK(votes(v.step(v.at(2, 465), certificate)).empty());
    }
    SECTION("and not further") {
        v->set_delay(std::chrono::seconds(10));
        CHECK(votes(v.step(v.at(2, 370), certificate)) == Said{"COMMIT 2"});
    }
}

TEST_CASE("record and certificate are durable before certificate and COMMIT leave",
          "[consensus][R2]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto adopted = v.adopt(a);
    REQUIRE(adopted.size() == 2);
    const auto& vote_record = std::get<effect::Persist>(adopted[0]);
    CHECK(vote_record.wait);
    CHECK(vote_record.block == a->id);
    CHECK_FALSE(vote_record.pages.empty());
    const auto certified = v.certify(kNotarize, a);
    REQUIRE(certified.size() == 3);
    const auto& lock_record = std::get<effect::Persist>(certified[0]);
    CHECK(lock_record.wait);
    CHECK(lock_record.certificate.has_value());
    CHECK_FALSE(lock_record.pages.empty());
    CHECK(std::holds_alternative<effect::PassOn>(certified[1]));
    CHECK(std::holds_alternative<effect::CastVote>(certified[2]));
}

TEST_CASE("R3: a COMMIT certificate makes a block and its ancestors final", "[consensus][R3]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, a);
    const auto fork = v.block(4, v.genesis());
    for (const auto& block : {a, b, fork}) {
        v.adopt(block);
    }
    CHECK(v->head() == fork->id);
    const auto effects = v.certify(kCommit, b);
    REQUIRE(all<effect::Finalize>(effects).size() == 1);
    CHECK(all<effect::PassOn>(effects).size() == 1);
    CHECK(v->finalized().id == b->id);
    CHECK(v->head() == b->id);
    CHECK_FALSE(v->holds(fork->id));
    SECTION("an older one changes nothing") {
        CHECK(v.certify(kCommit, a).empty());
        CHECK(v->finalized().id == b->id);
    }
    SECTION("what does not build on it is not taken in") {
        const auto late = v.block(5, v.genesis());
        using Fate = consensus::HeaderVerdict::Fate;
        CHECK(v->check(v.at(5), *late).fate == Fate::stale);
        CHECK(all<effect::Forget>(v.adopt(late)).size() == 1);
    }
}

// It is not final with it, and so none of the others is old.
TEST_CASE("R3: of a block that was spared one certificate is passed on, whoever signed it",
          "[consensus][R3]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    (void)v.step(v.at(2, 5), input::BlockAdopted{.block = a, .spared = true});
    const auto by = [&](std::initializer_list<unsigned> members) {
        auto certificate = v.certificate(kCommit, a);
        std::byte bitmap{};
        certificate.signatures.clear();
        for (const unsigned member : members) {
            bitmap |= std::byte{1} << (member - 1);
            certificate.signatures.push_back(Validator::vote(kCommit, a, member).signature);
        }
        certificate.bitmaps = {base::Bytes{bitmap}};
        REQUIRE(consensus::check_form(certificate, v.schedules()).has_value());
        return all<effect::PassOn>(v.step(v.at(2, 15), input::CertificateReceived{certificate}));
    };
    CHECK(by({1, 2, 3}).size() == 1);
    CHECK(by({2, 3, 4}).empty());
    CHECK(by({1, 2, 4}).empty());
    for (const unsigned member : {2U, 3U, 4U}) {
        const auto heard =
            v.step(v.at(2, 20), input::VoteReceived{Validator::vote(kCommit, a, member)});
        CHECK(all<effect::PassOn>(heard).empty());
    }
    CHECK(v->finalized().id == v.genesis()->id);
}

TEST_CASE("nothing is voted for above a block that was spared, before one above it is final",
          "[consensus][R1][R2]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    (void)v.step(v.at(2, 5), input::BlockAdopted{.block = a, .spared = true});
    const auto b = v.block(3, a, {.justify = a});
    CHECK(votes(v.adopt(b)).empty());
    CHECK(votes(v.certify(kNotarize, b)).empty());
    (void)v.certify(kCommit, b);
    REQUIRE(v->finalized().id == b->id);
    CHECK(votes(v.adopt(v.block(4, b, {.justify = b}))) == Said{"NOTARIZE 4"});
}

TEST_CASE("R3: votes of a quorum do the same, also when they come before the block",
          "[consensus][R3]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto hear = [&](chain::VoteKind kind, unsigned member) {
        return v.step(v.at(2, 15), input::VoteReceived{Validator::vote(kind, a, member)});
    };
    SECTION("after the block, the third vote decides") {
        v.adopt(a);
        CHECK(hear(kNotarize, 2).empty());
        CHECK(hear(kNotarize, 2).empty());  // Again: does not count.
        CHECK(hear(kNotarize, 9).empty());  // A stranger.
        CHECK(hear(kNotarize, 3).empty());
        CHECK(votes(hear(kNotarize, 4)) == Said{"COMMIT 2"});
        CHECK(all<effect::Finalize>(hear(kCommit, 2)).empty());
        CHECK(all<effect::Finalize>(hear(kCommit, 3)).empty());
        const auto final = all<effect::Finalize>(hear(kCommit, 4));
        REQUIRE(final.size() == 1);
        CHECK(final[0].certificate.value().signatures.size() == 3);
        CHECK(consensus::check_form(final[0].certificate.value(), v.schedules()).has_value());
    }
    SECTION("before it, they count when it comes") {
        for (const unsigned member : {2U, 3U, 4U}) {
            CHECK(hear(kNotarize, member).empty());
            CHECK(hear(kCommit, member).empty());
        }
        const auto effects = v.adopt(a);
        CHECK(votes(effects) == Said{"NOTARIZE 2", "COMMIT 2"});
        CHECK(all<effect::Finalize>(effects).size() == 1);
    }
    SECTION("a vote that says something else about the block does not count") {
        v.adopt(a);
        hear(kNotarize, 2);
        hear(kNotarize, 3);
        chain::Vote wrong = Validator::vote(kNotarize, a, 4);
        wrong.data.justify_slot = 1;
        CHECK(v.step(v.at(2, 16), input::VoteReceived{wrong}).empty());
    }
}

TEST_CASE("R3: certificates in a witness count like others", "[consensus][R3]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    v.adopt(a);
    const auto b = v.block(3, a, {.justify = a, .finalized = a});
    const auto effects = v.adopt(b);
    CHECK(all<effect::Finalize>(effects).size() == 1);
    CHECK(v->finalized().id == a->id);
    // Final already, so it needs no COMMIT.
    CHECK(votes(effects) == Said{"NOTARIZE 3"});
}

TEST_CASE("R4: the head has the highest certificate, then slot, then lowest id",
          "[consensus][R4]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, v.genesis());
    const auto c = v.block(4, a);
    v.adopt(a);
    v.adopt(b);
    CHECK(v->head() == b->id);
    v.adopt(c);
    CHECK(v->head() == c->id);
    v.certify(kNotarize, b);
    CHECK(v->head() == b->id);
    const auto d = v.block(5, b);
    v.adopt(d);
    CHECK(v->head() == d->id);
    v.certify(kNotarize, c);
    CHECK(v->head() == c->id);
    SECTION("of two equal ones, the lower id") {
        const auto e = v.block(6, c);
        const auto f = v.block(6, c, {.variant = 1});
        v.adopt(e);
        v.adopt(f);
        CHECK(v->head() == std::min(e->id, f->id));
    }
}

TEST_CASE("R5: while a schedule is pending both need a quorum, with a bitmap each",
          "[consensus][R5]") {
    Validator v;
    const auto next = schedule_of({4, 5, 6, 7}, 1);
    const auto c = v.block(10, v.genesis(), {.change = next});  // First of its period.
    const auto d = v.block(11, c, {.justify = c, .finalized = c});
    const auto p = v.block(12, d);
    v.adopt(c);
    v.adopt(d);
    v.adopt(p);
    const auto* schedules = v->schedules_of(Validator::data(kNotarize, p));
    REQUIRE(schedules != nullptr);
    REQUIRE(schedules->pending() != nullptr);
    CHECK(schedules->pending_since == p->header.height);
    const auto hear = [&](unsigned member) {
        return v.step(v.at(12, 15), input::VoteReceived{Validator::vote(kNotarize, p, member)});
    };
    // We are 1; 4 is in both.
    for (const unsigned member : {2U, 3U, 4U, 5U}) {
        CHECK(hear(member).empty());
    }
    CHECK(v->highest_notarize()->data.block_id == c->id);
    const auto effects = hear(6);
    const auto passed = all<effect::PassOn>(effects);
    REQUIRE(passed.size() == 1);
    CHECK(passed[0].certificate.bitmaps.size() == 2);
    CHECK(passed[0].certificate.signatures.size() == 5);
    CHECK(consensus::check_form(passed[0].certificate, *schedules).has_value());
    CHECK_FALSE(consensus::check_form(passed[0].certificate, v.schedules()).has_value());
}

TEST_CASE("R5: a key that is in the pending schedule alone votes too", "[consensus][R5]") {
    Validator v(5);
    const auto c = v.block(10, v.genesis(), {.change = schedule_of({2, 3, 4, 5}, 1)});
    CHECK(votes(v.adopt(c)).empty());
    const auto d = v.block(11, c, {.justify = c, .finalized = c});
    CHECK(votes(v.adopt(d)).empty());
    CHECK(votes(v.adopt(v.block(12, d))) == Said{"NOTARIZE 12"});
}

TEST_CASE("who is in two schedules with two keys signs with each", "[consensus][R5]") {
    Validator v;
    chain::Schedule next = schedule_of({1, 2, 3, 4}, 1);
    next.entries[0].vote_key = key(77);
    v.options().own_keys.push_back(key(77));
    v.restart(test::fresh_journals({v.signing_tag(), v.voting_tag(), consensus::key_tag(key(77))}));
    const auto c = v.block(10, v.genesis(), {.change = next});
    CHECK(votes(v.adopt(c)) == Said{"NOTARIZE 10"});
    const auto d = v.block(11, c, {.justify = c, .finalized = c});
    CHECK(votes(v.adopt(d)) == Said{"NOTARIZE 11"});
    CHECK(votes(v.adopt(v.block(12, d))) == Said{"NOTARIZE 12", "NOTARIZE 12"});
}

TEST_CASE("headers of one slot under two schedules convict nobody who has another key in each",
          "[consensus][evidence]") {
    Validator v;
    chain::Schedule next = schedule_of({1, 2, 3, 4}, 1);
    const bool other_keys = GENERATE(true, false);
    for (chain::ScheduleEntry& entry : next.entries) {
        if (other_keys) entry.signing_key = key(static_cast<unsigned>(entry.producer.value) + 70);
    }
    const auto accused = [&](const chain::BlockPtr& block) {
        return all<effect::Accuse>(v.step(v.at(20), input::HeaderSeen{{block->header, {}}})).size();
    };
    CHECK(accused(v.block(20, v.genesis())) == 0);
    const auto c = v.block(10, v.genesis(), {.change = next});
    const auto d = v.block(11, c, {.justify = c, .finalized = c});
    const auto p = v.block(12, d);
    const auto e = v.block(13, p, {.justify = p, .finalized = p});
    for (const auto& block : {c, d, p, e}) {
        v.adopt(block);
    }
    const auto next_block = v.block(20, e);
    const auto producer = next.find_producer(next_block->header.producer);
    REQUIRE(v->producer_at(20).signing_key == next.entries[*producer].signing_key);
    CHECK(accused(next_block) == (other_keys ? 0 : 1));
}
