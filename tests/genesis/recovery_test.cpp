#include "genesis/recovery.hpp"

#include "tests/genesis/recovery_fixture.hpp"

#include <catch2/catch.hpp>

namespace {

using genesis::test::chain_of_four;
using genesis::test::key_of;

genesis::Recovery recovery_of(const genesis::Genesis& genesis) {
    genesis::Recovery recovery;
    recovery.chain_id = genesis.chain_id();
    recovery.reset.from.bytes[3] = std::byte{9};
    const auto key = key_of(50).public_key();
    recovery.reset.schedule.entries = {{*chain::Name::from_string("ma"), key, key}};
    recovery.reset.schedule.version =
        genesis::version_after({genesis.schedule}, recovery.reset.schedule.entries);
    for (const genesis::Member& member : genesis.members)
        recovery.members.push_back({member.name, member.authority});
    recovery.replaced = {genesis.schedule};
    recovery.certificate.emplace();
    recovery.certificate->bitmaps = {base::Bytes(1)};
    recovery.certificate->data.slot = 7;
    recovery.certificate->data.block_id = recovery.reset.from;
    return recovery;
}

// The validator with this key has seen a certificate of this slot and block.
void answer(genesis::Recovery& recovery,
            unsigned char tag,
            chain::Slot slot,
            const chain::BlockId& block) {
    genesis::RecoveryAnswer answer{key_of(tag).public_key(), slot, block, {}};
    answer.signature = key_of(tag).sign(genesis::answer_digest(answer, recovery.chain_id));
    recovery.answers.push_back(answer);
}

// Two of four answer: n - q + 1.
genesis::Recovery answered(const genesis::Genesis& genesis) {
    genesis::Recovery recovery = recovery_of(genesis);
    answer(recovery, 1, 7, recovery.reset.from);
    answer(recovery, 2, 5, {});
    return recovery;
}

base::Result<void> check(const genesis::Recovery& recovery, const genesis::Genesis& genesis) {
    return genesis::check(recovery, genesis.chain_id(), [](const auto&, const auto&) {
        return base::Result<void>();
    });
}

void sign(genesis::Recovery& recovery, unsigned char tag) {
    recovery.signatures.push_back(key_of(tag).sign(recovery.id()));
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a recovery needs more than two thirds of the members, each once") {
    const genesis::Genesis genesis = chain_of_four();
    genesis::Recovery recovery = answered(genesis);
    sign(recovery, 1);
    sign(recovery, 1);
    sign(recovery, 2);
    sign(recovery, 99);  // Nobody's key.
    CHECK(genesis::signers_of(recovery).size() == 2);
    CHECK(has(check(recovery, genesis).error().detail, "2 of 4 members"));
    sign(recovery, 4);
    CHECK(check(recovery, genesis).has_value());
    SECTION("of this very schedule") {
        auto& schedule = recovery.reset.schedule;
        schedule.entries[0].producer = *chain::Name::from_string("mb");
        schedule.version = genesis::version_after(recovery.replaced, schedule.entries);
        CHECK(has(check(recovery, genesis).error().detail, "0 of 4 members"));
    }
    SECTION("of this chain") {
        recovery.chain_id.bytes[0] ^= std::byte{1};
        CHECK(has(check(recovery, genesis).error().detail, "the recovery is of chain"));
    }
    SECTION("of this block") {
        recovery.answers.clear();
        recovery.reset.gives_up_final = true;
        recovery.certificate.reset();
        recovery.reset.from.bytes[9] ^= std::byte{1};
        CHECK_FALSE(check(recovery, genesis).has_value());
    }
    SECTION("of these very members") {
        recovery.members.pop_back();
        CHECK(has(check(recovery, genesis).error().detail, "0 of 3 members"));
        recovery.members.clear();
        CHECK(has(check(recovery, genesis).error().detail, "no member"));
        CHECK(has(genesis::check_members({}).error().detail, "no member"));
        recovery.members.resize(genesis::kRecoveryMembersMax + 1);
        CHECK(has(genesis::check_members(recovery.members).error().detail,
                  "names 1025 members, at most 1024"));
    }
    SECTION("each of whom is named once") {
        recovery.members.push_back(recovery.members.back());
        CHECK(has(check(recovery, genesis).error().detail, "each once"));
    }
    SECTION("with a schedule that can be") {
        recovery.reset.schedule.entries.push_back(recovery.reset.schedule.entries[0]);
        CHECK(has(check(recovery, genesis).error().detail, "named twice"));
        recovery.reset.schedule.entries[1].producer = *chain::Name::from_string("mb");
        CHECK(has(check(recovery, genesis).error().detail, "have the key"));
        recovery.reset.schedule.entries.clear();
        CHECK(has(check(recovery, genesis).error().detail,
                  "a validator, or another time, is needed"));
    }
    SECTION("of these very times") {
        recovery.retimes = {{.from = {}, .first = 7, .time = {5'000'000}}};
        CHECK(has(check(recovery, genesis).error().detail, "0 of 4 members"));
    }
}

TEST_CASE("the version of a recovery's schedule follows from what it replaces and its validators") {
    const genesis::Genesis genesis = chain_of_four();
    genesis::Recovery recovery = answered(genesis);
    std::uint32_t& version = recovery.reset.schedule.version;
    const std::uint32_t wrong =
        GENERATE_COPY(0U, genesis.schedule.version + 1, version - 1, version + 1);
    const auto sign_all = [&] {
        recovery.signatures.clear();
        for (unsigned char tag = 1; tag <= 4; ++tag)
            sign(recovery, tag);
    };
    sign_all();
    REQUIRE(check(recovery, genesis).has_value());
    version = wrong;
    sign_all();
    const auto refused = check(recovery, genesis);
    REQUIRE_FALSE(refused.has_value());
    CHECK(has(refused.error().detail, "has version " + std::to_string(wrong)));
}

namespace {

chain::Name member_name(std::size_t number) {
    std::string name = "m";
    for (int digit = 0; digit < 3; ++digit, number /= 26)
        name.insert(1, 1, static_cast<char>('a' + number % 26));
    return *chain::Name::from_string(name);
}

// All of these members, none with a key of its own.
chain::Authority authority_of(const std::vector<chain::Name>& names) {
    chain::Authority authority;
    authority.threshold = static_cast<std::uint32_t>(names.size());
    for (const chain::Name& name : names)
        authority.accounts.push_back({{name, *chain::Name::from_string("active")}, 1});
    return authority;
}

}  // namespace

TEST_CASE("authorities that name each other are each looked at a few times only") {
    genesis::Recovery recovery = recovery_of(chain_of_four());
    recovery.members.clear();
    std::vector<chain::Name> names;
    for (std::size_t i = 0; i < 200; ++i)
        names.push_back(member_name(i));
    for (const chain::Name& name : names)
        recovery.members.push_back({name, authority_of(names)});
    std::size_t looked_at = 0;
    SECTION("when nobody has signed") {
        CHECK(genesis::signers_of(recovery, &looked_at).empty());
        CHECK(looked_at <= names.size());
    }
    SECTION("when some have, followed six deep") {
        // Each of the others needs the one before it.
        for (std::size_t i = 1; i < 20; ++i)
            recovery.members[i].authority = authority_of({names[i - 1]});
        recovery.members[0].authority = chain::Authority::of_key(key_of(1).public_key());
        sign(recovery, 1);
        const std::vector<chain::Name> signers = genesis::signers_of(recovery, &looked_at);
        CHECK(signers == std::vector(names.begin(), names.begin() + 7));
        CHECK(looked_at <= 7 * names.size());
    }
}

TEST_CASE("a recovery begins from the highest block of which enough validators tell") {
    const genesis::Genesis genesis = chain_of_four();
    genesis::Recovery recovery = answered(genesis);
    bool is_certified = true;
    const auto outcome = [&] {
        return genesis::check_answers(recovery, [&](const auto& certificate, const auto& under) {
            CHECK(certificate == *recovery.certificate);
            CHECK(*under.active == recovery.replaced.front());
            return is_certified ? base::Result<void>()
                                : base::fail(base::Errc::invalid, "no quorum");
        });
    };
    CHECK(outcome().has_value());
    const auto refusal = [&] { return outcome().error().detail; };
    SECTION("one answer is too few, and twice one is one") {
        recovery.answers[1] = recovery.answers[0];
        CHECK(has(refusal(), "1 of 4 validators of schedule 0 have answered, 2 must"));
        recovery.reset.gives_up_final = true;
        CHECK(outcome().has_value());
    }
    SECTION("others than validators do not count") {
        recovery.answers.pop_back();
        answer(recovery, 9, 5, {});
        CHECK(has(refusal(), "1 of 4"));
    }
    SECTION("enough of each schedule while one is pending") {
        chain::Schedule pending = genesis.schedule;
        pending.version = 1;
        pending.entries[1].vote_key = key_of(11).public_key();
        recovery.replaced.push_back(pending);
        CHECK(has(refusal(), "1 of 4 validators of schedule 1"));
        answer(recovery, 11, 0, {});
        CHECK(outcome().has_value());
    }
    SECTION("one tells of a higher one") {
        answer(recovery, 3, 8, {});
        CHECK(has(refusal(), "holds a certificate of slot 8"));
    }
    SECTION("one tells of another of this slot") {
        answer(recovery, 3, 7, {});
        CHECK(has(refusal(), "holds a certificate of slot 7"));
    }
    SECTION("one was changed") {
        recovery.answers[1].slot = 4;
        CHECK(has(refusal(), "is not signed by it"));
    }
    SECTION("of another chain") {
        recovery.chain_id.bytes[7] ^= std::byte{1};
        CHECK(has(refusal(), "is not signed by it"));
    }
    SECTION("its certificate is none") {
        is_certified = false;
        CHECK(has(refusal(), "no quorum"));
    }
    SECTION("its certificate is of another block") {
        recovery.certificate->data.block_id = {};
        CHECK(has(refusal(), "another block"));
    }
    SECTION("without one, nobody has any") {
        recovery.certificate.reset();
        CHECK(has(refusal(), "holds a certificate of slot 7"));
    }
    SECTION("it says what it replaces") {
        recovery.replaced.clear();
        CHECK(has(refusal(), "which schedule it replaces"));
    }
}

TEST_CASE("of several answers the one counts that knows most, with the keys of all") {
    const genesis::Genesis genesis = chain_of_four();
    const genesis::Recovery high = answered(genesis);
    genesis::Recovery low = high;
    low.certificate->data.slot = 5;
    low.certificate->data.block_id = low.reset.from = {};
    low.answers.clear();
    answer(low, 2, 4, {});
    answer(low, 3, 5, {});
    const genesis::Recovery merged = genesis::merge_answers({low, high}).value();
    CHECK(merged.reset.from == high.reset.from);
    CHECK(merged.certificate == high.certificate);
    REQUIRE(merged.answers.size() == 3);
    CHECK(merged.answers[0].slot == 4);  // The first of a key.
    const auto version = genesis::version_after(merged.replaced, high.reset.schedule.entries);
    CHECK(version >= 100);
    CHECK(version != genesis::version_after(merged.replaced, {}));
    SECTION("where only others have its block") {
        genesis::Recovery blind = high;
        blind.replaced.clear();
        CHECK(genesis::merge_answers({blind, high, low}).value().replaced == high.replaced);
        const auto refused = genesis::merge_answers({blind, low});
        REQUIRE_FALSE(refused.has_value());
        CHECK(has(refused.error().detail, "none of these nodes has block"));
    }
    SECTION("where none has a certificate, as after a snapshot") {
        genesis::Recovery first = high;
        first.certificate.reset();
        genesis::Recovery higher = first;
        higher.reset.from.bytes[3] ^= std::byte{0x80};
        REQUIRE(chain::height_of(higher.reset.from) > chain::height_of(first.reset.from));
        CHECK(genesis::merge_answers({first, higher}).value().reset.from == higher.reset.from);
        CHECK(genesis::merge_answers({higher, first}).value().reset.from == higher.reset.from);
    }
    SECTION("of one chain") {
        low.chain_id.bytes[0] ^= std::byte{1};
        const auto refused = genesis::merge_answers({high, low});
        REQUIRE_FALSE(refused.has_value());
        CHECK(has(refused.error().detail, "of two chains"));
    }
}

TEST_CASE("the id of a recovery covers what its signers agree to") {
    const genesis::Genesis genesis = chain_of_four();
    genesis::Recovery recovery = recovery_of(genesis);
    const base::Hash256 id = recovery.id();
    SECTION("that it gives up what is final") {
        recovery.reset.gives_up_final = true;
    }
    SECTION("what it replaces") {
        recovery.replaced[0].version = 8;
    }
    CHECK(recovery.id() != id);
}

TEST_CASE("a recovery may give the chain other times and leave its schedule") {
    const genesis::Genesis genesis = chain_of_four();
    genesis::Recovery recovery = recovery_of(genesis);
    recovery.reset.schedule = {};
    recovery.retimes = {{.from = {}, .first = 7, .time = {5'000'000}},
                        {.from = {}, .first = 9, .time = {6'000'000}}};
    for (unsigned char tag = 1; tag <= 3; ++tag)
        sign(recovery, tag);
    CHECK(check(recovery, genesis).has_value());
    CHECK(genesis::recovery_from_text(genesis::to_text(recovery)).value() == recovery);
    const auto refusal = [&] { return check(recovery, genesis).error().detail; };
    SECTION("of slots that grow") {
        recovery.retimes[1].first = 7;
        CHECK(has(refusal(), "do not grow"));
    }
    SECTION("that can be") {
        recovery.retimes[0].first = 0;
        CHECK(has(refusal(), "a retime of slot 0"));
        recovery.retimes[1].first = chain::kSlotMax + 1;
        recovery.retimes[0].first = 1;
        CHECK(has(refusal(), "a retime of slot"));
        recovery.retimes[0].time = {-1'000'000};
        CHECK(has(refusal(), "a retime to"));
    }
}

TEST_CASE("a recovery's file is read as it was written, and its errors name the line") {
    const genesis::Genesis genesis = chain_of_four();
    genesis::Recovery recovery = recovery_of(genesis);
    recovery.retimes = {{.from = recovery.reset.from, .first = 7, .time = {5'000'000}}};
    recovery.reset.gives_up_final = true;
    recovery.replaced.push_back(recovery.replaced[0]);
    recovery.replaced[1].version = 3;
    answer(recovery, 2, 5, recovery.reset.from);
    sign(recovery, 1);
    const std::string text = genesis::to_text(recovery);
    const auto read = genesis::recovery_from_text(text);
    REQUIRE(read.has_value());
    CHECK(*read == recovery);
    const auto refusal = [](const std::string& wrong) {
        const auto outcome = genesis::recovery_from_text(wrong);
        REQUIRE_FALSE(outcome.has_value());
        return outcome.error().detail;
    };
    CHECK(has(refusal(""), "line 1"));
    CHECK(has(refusal("BoR recovery 2\nchain 00\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 2\n\nversion -1\n"), "line 3"));
    CHECK(has(refusal("BoR recovery 2\nversion 1x\n"), "a number"));
    CHECK(has(refusal("BoR recovery 2\nvalidator ma x y\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 2\nsignature x\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 2\nretime 00 1 2026-01-01T00:00:00.000\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 2\nmember ma 00\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 2\nmember ma x\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 2\ncertificate 00\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 2\nanswer x 1 00 y\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 2\nreplaces x ma y z\n"), "a number"));
    CHECK(has(refusal("BoR recovery 2\nfrom\n"), "expected chain ID"));
}
