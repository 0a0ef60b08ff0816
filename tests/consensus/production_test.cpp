#include "tests/consensus/fixture.hpp"

// When blocks are made and on what, also while nothing becomes final.

namespace effect = consensus::effect;
namespace input = consensus::input;
using test::all;
using test::kCommit;
using test::kNotarize;
using test::Said;
using test::Validator;
using test::votes;

namespace {

chain::BlockPtr made(const Validator& v,
                     const effect::Produce& asked,
                     const chain::BlockPtr& parent) {
    Validator::Shape shape;
    chain::BlockPtr block = v.block(asked.slot, parent, shape);
    chain::BlockHeader header = block->header;
    if (asked.justify) header.justify = asked.justify->data.block();
    if (asked.finalized) header.finalized = asked.finalized->data.block();
    return chain::make_block({header, {}}, {}, {asked.justify, asked.finalized});
}

using Alarm = effect::Alarm::Kind;
std::vector<Alarm> alarms(const consensus::Effects& effects) {
    std::vector<Alarm> kinds;
    for (const auto& alarm : all<effect::Alarm>(effects))
        kinds.push_back(alarm.kind);
    return kinds;
}

std::vector<effect::Produce> produced(const consensus::Effects& effects) {
    return all<effect::Produce>(effects);
}

}  // namespace

TEST_CASE("a block is made in own slots only, on the head, with its certificates",
          "[consensus][production]") {
    Validator v;  // Owns slots 0, 4, 8, ...
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, a);
    v.adopt(a);
    v.certify(kNotarize, a);
    v.adopt(b);
    CHECK(produced(v.tick(3, 100)).empty());
    const auto asked = produced(v.tick(4));
    REQUIRE(asked.size() == 1);
    CHECK(asked[0].parent == b->id);
    CHECK(asked[0].justify->data.block_id == a->id);
    CHECK_FALSE(asked[0].finalized.has_value());
    CHECK_FALSE(asked[0].empty);
    SECTION("once") {
        CHECK(produced(v.tick(4, 1)).empty());
    }
    SECTION("not on a block of the same slot, and not late") {
        CHECK(produced(v.tick(8, 126)).empty());
    }
}

TEST_CASE("a header does not claim a final block above its justify", "[consensus][production]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    v.adopt(a);
    v.certify(kCommit, a);  // Its NOTARIZE certificate never came.
    const auto asked = produced(v.tick(4));
    REQUIRE(asked.size() == 1);
    CHECK_FALSE(asked[0].finalized.has_value());
    v.certify(kNotarize, a);
    const auto next = produced(v.tick(8));
    REQUIRE(next.size() == 1);
    CHECK(next[0].justify.has_value());
    CHECK(next[0].finalized.has_value());
}

TEST_CASE("the first block of a period may propose, others may not", "[consensus][production]") {
    Validator v;
    v.adopt(v.block(2, v.genesis()));
    CHECK_FALSE(produced(v.tick(4))[0].may_propose);
    CHECK(produced(v.tick(12))[0].may_propose);  // Slot 10 began a period.
}

TEST_CASE("without anything final for six seconds blocks sit on the highest certificate",
          "[consensus][production]") {
    Validator v;
    v.tick(0);
    const auto a = v.block(5, v.genesis());
    const auto b = v.block(6, a);
    v.adopt(a);
    v.certify(kNotarize, a);
    v.adopt(b);
    CHECK_FALSE(produced(v.tick(8))[0].empty);
    const auto asked = produced(v.tick(12));  // Six seconds.
    REQUIRE(asked.size() == 1);
    CHECK(asked[0].empty);
    CHECK(asked[0].parent == a->id);
    CHECK(asked[0].justify->data.block_id == a->id);
    SECTION("at least a second after a block of another producer") {
        v.adopt(v.block(15, v.genesis()));
        CHECK(produced(v.tick(16)).empty());
        SECTION("which delays us once only") {
            v.adopt(v.block(19, v.genesis()));
            CHECK(produced(v.tick(20)).size() == 1);
        }
    }
    SECTION("each other producer delays us once") {
        v.adopt(v.block(14, v.genesis()));
        v.adopt(v.block(15, v.genesis()));
        CHECK(produced(v.tick(16)).empty());
        CHECK(produced(v.tick(20)).size() == 1);
    }
    SECTION("until something is final") {
        v.certify(kCommit, a);
        const auto next = produced(v.tick(16));
        REQUIRE(next.size() == 1);
        CHECK_FALSE(next[0].empty);
        CHECK(next[0].parent == b->id);
    }
}

TEST_CASE("a block so long after the final one that none may have transactions has none",
          "[consensus][production]") {
    Validator v;
    v.tick(400);  // Nothing is missed: it has begun just now.
    const auto asked = produced(v.tick(404));
    REQUIRE(asked.size() == 1);
    CHECK(asked[0].empty);
    const auto a = v.block(405, v.genesis());
    v.adopt(a);
    v.certify(kNotarize, a);
    v.certify(kCommit, a);
    const auto next = produced(v.tick(408));
    REQUIRE(next.size() == 1);
    CHECK_FALSE(next[0].empty);
}

TEST_CASE("a block dated ahead, which was taken while all clocks were, keeps nobody waiting",
          "[consensus][production]") {
    constexpr chain::Slot kAhead = 7'200;
    Validator v;
    v.tick(0);
    const auto a = v.block(5, v.genesis());
    v.adopt(a);
    v.certify(kNotarize, a);
    v.step(v.at(5, 100), input::ClockSet{v.at(kAhead + 6) - v.at(5)});
    v.step(v.at(5, 200), input::BlockAdopted{v.block(kAhead + 6, a, {.justify = a}), false});
    v.step(v.at(5, 300), input::ClockSet{});
    const auto asked = produced(v.tick(20));
    REQUIRE(asked.size() == 1);
    CHECK(asked[0].parent == a->id);
    // A block of now does restart the wait.
    v.adopt(v.block(23, a, {.justify = a}));
    CHECK(produced(v.tick(24)).empty());
}

TEST_CASE("while nothing becomes final the certificates are sent once a slot",
          "[consensus][production]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, a);
    v.adopt(a);
    v.adopt(b);
    v.certify(kCommit, a);
    v.step(v.at(3, 20), input::CertificateReceived{v.certificate(kNotarize, b)});
    CHECK(all<effect::PassOn>(v.tick(3, 30)).empty());
    const auto sent = all<effect::PassOn>(v.tick(5, 30));
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].again);
    CHECK(sent[0].certificate.data.block_id == b->id);
    CHECK(sent[1].certificate.data.block_id == a->id);
    CHECK(all<effect::PassOn>(v.tick(5, 60)).empty());
    CHECK(all<effect::PassOn>(v.tick(6)).size() == 2);
    // And a peer that says hello is told the same.
    CHECK(v->highest_notarize()->data.block_id == b->id);
    CHECK(v->final_certificate()->data.block_id == a->id);
}

TEST_CASE("no more than `reversible_max` blocks are kept", "[consensus][production]") {
    Validator v;
    v.options().reversible_max = 5;
    v.restart(v.fresh_journals());
    const auto a = v.block(2, v.genesis());
    v.adopt(a);
    v.certify(kNotarize, a);
    std::vector<chain::BlockId> dropped;
    for (chain::Slot slot = 3; slot < 30; ++slot) {
        const auto effects = v.adopt(v.block(slot, a, {.justify = a}));
        for (const auto& forget : all<effect::Forget>(effects)) {
            dropped.push_back(forget.block);
        }
    }
    CHECK(dropped.size() == 27 - 4);  // Five are kept, of which one is their parent.
    CHECK(v->holds(a->id));
    CHECK(v->holds(v->head()));
}

// Others had a certificate of one of them, by votes that left too early for this node, and the next
// producer names none: it is Byzantine, or did not know it.
TEST_CASE("more than `reversible_max` blocks in a row are kept where a certificate is above them",
          "[consensus][production]") {
    const bool is_certified = GENERATE(true, false);
    Validator v;
    v.options().reversible_max = 5;
    v.restart(v.fresh_journals());
    std::vector<chain::BlockPtr> chain{v.genesis()};
    for (chain::Slot slot = 2; slot < 9; ++slot)
        chain.push_back(v.block(slot, chain.back()));
    if (is_certified) v.certify(kCommit, chain.back());
    for (const chain::BlockPtr& block : std::span(chain).subspan(1))
        if (v->holds(block->header.previous)) v.adopt(block);
    CHECK(v->holds(chain[5]->id));
    CHECK(v->holds(chain[6]->id) == is_certified);
    CHECK(v->finalized().slot == (is_certified ? 8 : 0));
}

TEST_CASE("after a restart the blocks and certificates that were stored are there",
          "[consensus][production]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, a, {.justify = a});
    v.adopt(a);
    v.certify(kNotarize, a);
    v.adopt(b);
    const auto journals = (*v).journals();
    v.restart(journals);
    v->restore(a);
    v->restore(b);
    v->restore(v.certificate(kCommit, a));
    v->restore(v.certificate(kNotarize, a));
    CHECK(v->head() == b->id);
    CHECK(v->finalized().id == a->id);
    CHECK(votes(v.adopt(v.block(3, a, {.justify = a, .variant = 1}))).empty());
    const auto asked = produced(v.tick(4));
    REQUIRE(asked.size() == 1);
    const auto mine = made(v, asked[0], b);
    const auto effects = v.adopt(mine, /*own=*/true);
    CHECK(votes(effects) == Said{"NOTARIZE 4"});
    SECTION("and a final block that only a witness told of becomes final") {
        const auto c = v.block(5, b, {.justify = b, .finalized = b});
        v.restart((*v).journals());
        v->restore(a);
        v->restore(b);
        v->restore(c);
        CHECK(v->finalized().slot == 0);
        CHECK(all<effect::Finalize>(v.tick(6)).size() == 1);
        CHECK(v->finalized().id == b->id);
    }
}

TEST_CASE("a COMMIT is of a block that an earlier write has made durable",
          "[consensus][production]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    SECTION("one that was voted for is") {
        v.adopt(a);
        const auto persists = all<effect::Persist>(v.certify(kNotarize, a));
        REQUIRE(persists.size() == 1);
        CHECK(persists[0].pages.size() == 1);
    }
    SECTION("one that was there at the start may not be") {
        v.adopt(a);
        v.restart((*v).journals());
        v->restore(a);
        const auto effects = v.certify(kNotarize, a);
        CHECK(votes(effects) == Said{"COMMIT 2"});
        const auto persists = all<effect::Persist>(effects);
        REQUIRE(persists.size() == 2);
        CHECK(persists[0].wait);
        CHECK(persists[0].block == a->id);
        CHECK(persists[0].pages.empty());
        CHECK(persists[1].pages.size() == 1);
        // Once.
        CHECK(all<effect::Persist>(v.certify(kNotarize, v.block(3, a, {.justify = a}))).empty());
    }
}

TEST_CASE("a lock whose rows are lost stays, with its certificate", "[consensus][production]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    v.adopt(a);
    v.certify(kNotarize, a);
    v.restart((*v).journals());
    SECTION("its block is here") {
        v->restore(a);
        CHECK(v->restore_locks().empty());
        REQUIRE(v->highest_notarize() != nullptr);
        CHECK(v->highest_notarize()->data.block_id == a->id);
    }
    SECTION("its block comes again") {
        const auto missing = v->restore_locks();
        REQUIRE(missing.size() == 1);
        CHECK(missing[0].block_id == a->id);
        // Nothing that does not respect it is voted for, and nothing at all before it is here.
        CHECK(votes(v.adopt(v.block(4, v.genesis()))).empty());
        v.adopt(a);
        v.tick(5);
        REQUIRE(v->highest_notarize() != nullptr);
        CHECK(v->highest_notarize()->data.block_id == a->id);
        CHECK(votes(v.adopt(v.block(5, a, {.justify = a}))) == Said{"NOTARIZE 5"});
    }
}

TEST_CASE("a lock is not given up while the node catches up", "[consensus][production]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, a);
    const auto c = v.block(4, b, {.justify = b});
    v.adopt(a);
    v.adopt(b);
    v.certify(kNotarize, b);
    v.adopt(c);
    v.certify(kNotarize, c);
    v.options().accept_amnesia = true;
    v.restart((*v).journals());
    REQUIRE(v->restore_locks().size() == 1);
    v.tick(5);
    // From the lock's slot on it would be needed no more; this is below.
    v.tick(12);
    CHECK(v->keys()[1].lacks_lock);
    v.adopt(a);
    v.certify(kCommit, a);
    REQUIRE(v->finalized().id == a->id);
    v.tick(30);
    CHECK(v->keys()[1].lacks_lock);
    CHECK(alarms(v.tick(35)) ==
          std::vector{Alarm::lock_given_up, Alarm::goes_on, Alarm::votes_again});
}

TEST_CASE("a lock whose block nobody has is given up by the operator's word alone, and late",
          "[consensus][production]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    v.adopt(a);
    v.certify(kNotarize, a);
    const bool is_accepted = GENERATE(true, false);
    v.options().accept_amnesia = is_accepted;
    v.restart((*v).journals());
    REQUIRE(v->restore_locks().size() == 1);
    v.tick(3);
    v.tick(12);
    CHECK(v->keys()[1].lacks_lock);
    SECTION("its block comes in time") {
        v.adopt(a);
        v.tick(30);
        CHECK(votes(v.adopt(v.block(30, v.genesis()))).empty());
        REQUIRE(v->highest_notarize() != nullptr);
        CHECK(v->highest_notarize()->data.block_id == a->id);
    }
    SECTION("it does not come") {
        const auto effects = v.tick(30);
        const auto vote = votes(v.adopt(v.block(31, v.genesis())));
        CHECK(v->keys()[1].lacks_lock == !is_accepted);
        if (!is_accepted) {
            CHECK(effects.size() > 0);
            CHECK(vote.empty());
            return;
        }
        CHECK(alarms(effects) ==
              std::vector{Alarm::lock_given_up, Alarm::goes_on, Alarm::votes_again});
        const auto persists = all<effect::Persist>(effects);
        REQUIRE_FALSE(persists.empty());
        CHECK(persists.front().wait);
        REQUIRE(persists.front().pages.size() == 1);
        CHECK(persists.front().pages.front().sequence == 4);
        CHECK(vote == Said{"NOTARIZE 31"});
        // What may have been promised before is never promised again.
        CHECK(v->keys()[1].last_notarize >= 2);
        v.restart((*v).journals());
        CHECK(v->restore_locks().empty());
    }
}

TEST_CASE("a lock under schedules that the storage has lost keeps other keys from voting",
          "[consensus][production]") {
    Validator v;
    chain::BlockHeader header = v.block(2, v.genesis())->header;
    header.schedule_version = 7;
    const auto lock = chain::make_block({header, {}}, {}, {});
    // One key of ours is locked, and the one that votes here is not.
    consensus::Journals journals = v.fresh_journals();
    const consensus::SafetyRecord record{.kind = consensus::RecordKind::commit,
                                         .slot = 2,
                                         .lock_slot = 2,
                                         .block = lock->id,
                                         .lock = lock->id};
    (void)journals.at(v.signing_tag())
        .append({&record, 1},
                std::make_shared<const chain::Certificate>(v.certificate(kNotarize, lock)));
    v.restart(std::move(journals));
    REQUIRE(v->restore_locks().size() == 1);
    v.tick(1);
    CHECK(votes(v.adopt(v.block(1, v.genesis()))).empty());
    // The head's slot is past the lock's, and for 4 s its block may still come.
    CHECK(votes(v.adopt(v.block(4, v.genesis()))).empty());
    const chain::BlockPtr later = v.block(15, v.genesis());
    CHECK(votes(v.adopt(later)) == Said{"NOTARIZE 15"});
}
