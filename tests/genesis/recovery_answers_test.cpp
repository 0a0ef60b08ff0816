#include "genesis/recovery_answers.hpp"

#include "tests/genesis/recovery_fixture.hpp"

#include <catch2/catch.hpp>

// What 'bor-cli recover make' and 'check' refuse of files that somebody changed, or that are of
// another time: each change is one that the rules of a recovery alone call good.

namespace {

using genesis::AnswerFile;
using genesis::test::chain_of_four;
using genesis::test::key_of;

// As the node with this key writes it, which holds a certificate of this slot.
AnswerFile file_of(const genesis::Genesis& genesis, unsigned char tag, chain::Slot slot) {
    genesis::Recovery said;
    said.chain_id = genesis.chain_id();
    said.reset.from.bytes[3] = std::byte(slot);
    for (const genesis::Member& member : genesis.members)
        said.members.push_back({member.name, member.authority});
    said.replaced = {genesis.schedule};
    said.certificate.emplace();
    said.certificate->data.slot = slot;
    said.certificate->data.block_id = said.reset.from;
    genesis::RecoveryAnswer answer{key_of(tag).public_key(), slot, said.reset.from, {}};
    answer.signature = key_of(tag).sign(genesis::answer_digest(answer, said.chain_id));
    said.answers.push_back(answer);
    return {"answer-" + std::to_string(tag), said};
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string refusal(const std::vector<AnswerFile>& files) {
    const auto merged = genesis::merge_answer_files(files);
    REQUIRE_FALSE(merged.has_value());
    return merged.error().detail;
}

}  // namespace

TEST_CASE("answers of several nodes are merged, also of those that hold less") {
    const genesis::Genesis genesis = chain_of_four();
    const auto merged =
        genesis::merge_answer_files({file_of(genesis, 1, 7), file_of(genesis, 2, 8)});
    REQUIRE(merged.has_value());
    CHECK(merged->certificate->data.slot == 8);
    CHECK(merged->answers.size() == 2);
    // A node without the block of its certificate names nobody; one without a key answers nothing.
    AnswerFile blind = file_of(genesis, 3, 7);
    blind.recovery.replaced.clear();
    blind.recovery.members.clear();
    AnswerFile watcher = file_of(genesis, 4, 7);
    watcher.recovery.answers.clear();
    CHECK(genesis::merge_answer_files({blind, file_of(genesis, 1, 7), watcher}).has_value());
}

TEST_CASE("an answer of a key that no schedule has any more is refused by its file") {
    const genesis::Genesis genesis = chain_of_four();
    const AnswerFile old = file_of(genesis, 9, 7);
    const std::string text = refusal({file_of(genesis, 1, 7), file_of(genesis, 2, 7), old});
    CHECK(has(text, "answer-9: " + key_of(9).public_key().to_string() + " votes in no schedule"));
    CHECK(has(text, "leave the file out"));
    // Beside a key that counts it does no harm, and does not count.
    AnswerFile both = file_of(genesis, 2, 7);
    both.recovery.answers.push_back(old.recovery.answers.front());
    const auto merged = genesis::merge_answer_files({file_of(genesis, 1, 7), both});
    REQUIRE(merged.has_value());
    CHECK(merged->answers.size() == 2);
    CHECK(genesis::check_keys(*merged).has_value());
}

TEST_CASE("a file in which a member or a validator was changed is refused beside another one") {
    const genesis::Genesis genesis = chain_of_four();
    const AnswerFile good = file_of(genesis, 1, 7);
    const chain::Slot slot = GENERATE(7U, 8U);
    AnswerFile bad = file_of(genesis, 2, slot);
    SECTION("a member's key") {
        bad.recovery.members[1].authority = chain::Authority::of_key(key_of(66).public_key());
        CHECK(has(refusal({good, bad}), "answer-1 and answer-2: the member mb is not the same"));
    }
    SECTION("a member less, and one more") {
        bad.recovery.members.pop_back();
        CHECK(has(refusal({good, bad}), "the member md is not the same"));
        CHECK(has(refusal({bad, good}), "the member md is not the same"));
    }
    SECTION("a validator") {
        bad.recovery.replaced[0].entries[2].vote_key = key_of(66).public_key();
        CHECK(has(refusal({good, bad}), "other validators"));
    }
    SECTION("a retime") {
        bad.recovery.retimes.push_back({{}, 5, {5'000'000}});
        CHECK(has(refusal({good, bad}), "other times"));
    }
}

TEST_CASE("a file in which an answer was changed is refused by its name") {
    const genesis::Genesis genesis = chain_of_four();
    AnswerFile bad = file_of(genesis, 2, 7);
    SECTION("its slot") {
        bad.recovery.answers[0].slot = 6;
        CHECK(has(refusal({bad}), "answer-2: the answer of "));
        CHECK(has(refusal({bad}), "is not signed by it"));
    }
    SECTION("its certificate") {
        bad.recovery.certificate->data.slot = 9;
        CHECK(has(refusal({bad}), "is of another certificate"));
    }
    SECTION("its block") {
        bad.recovery.reset.from.bytes[5] = std::byte{1};
        CHECK(has(refusal({bad}), "of another block than it begins from"));
    }
}

TEST_CASE("keys of the schedule that is replaced are refused for a new one") {
    const genesis::Genesis genesis = chain_of_four();
    genesis::Recovery recovery = file_of(genesis, 1, 7).recovery;
    const auto fresh = key_of(50).public_key();
    const auto used = key_of(3).public_key();
    const auto ma = *chain::Name::from_string("ma");
    recovery.reset.schedule.entries = {{ma, fresh, fresh}};
    CHECK(genesis::check_keys(recovery).has_value());
    recovery.reset.schedule.entries = {{ma, fresh, used}};
    const auto refused = genesis::check_keys(recovery);
    REQUIRE_FALSE(refused.has_value());
    CHECK(has(refused.error().detail, "validator ma: the key " + used.to_string()));
    recovery.answers = file_of(genesis, 9, 7).recovery.answers;
    CHECK(has(genesis::check_keys(recovery).error().detail, "votes in no schedule"));
}

TEST_CASE("who signs a recovery is told where its members are not those of the genesis file") {
    const genesis::Genesis genesis = chain_of_four();
    genesis::Recovery recovery = file_of(genesis, 1, 7).recovery;
    CHECK(genesis::changed_members(recovery, genesis).empty());
    recovery.members[0].authority = chain::Authority::of_key(key_of(66).public_key());
    recovery.members[3].name = *chain::Name::from_string("me");
    const auto said = genesis::changed_members(recovery, genesis);
    REQUIRE(said.size() == 3);
    CHECK(has(said[0], "ma has another authority"));
    CHECK(has(said[1], "me is no member in the genesis"));
    CHECK(has(said[2], "md is a member in the genesis file, not here"));
}
