#include "genesis/recovery.hpp"

#include <catch2/catch.hpp>

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;

PrivateKey key_of(unsigned char tag) {
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{tag});
    return {KeyType::k1, secret};
}

genesis::Genesis chain_of_four() {
    genesis::Genesis genesis;
    genesis.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 500};
    unsigned char tag = 1;
    for (const std::string name : {"ma", "mb", "mc", "md"}) {
        const auto key = key_of(tag++).public_key();
        const auto member = *chain::Name::from_string(name);
        genesis.members.push_back({member, chain::Authority::of_key(key), 1});
        genesis.schedule.entries.push_back({member, key, key});
    }
    genesis.system_authority = genesis::members_authority(genesis.members);
    return genesis;
}

genesis::Recovery recovery_of(const genesis::Genesis& genesis) {
    genesis::Recovery recovery;
    recovery.chain_id = genesis.chain_id();
    recovery.reset.from.bytes[3] = std::byte{9};
    recovery.reset.schedule.version = 100;
    const auto key = key_of(50).public_key();
    recovery.reset.schedule.entries = {{*chain::Name::from_string("ma"), key, key}};
    for (const genesis::Member& member : genesis.members)
        recovery.members.push_back({member.name, member.authority});
    return recovery;
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
    genesis::Recovery recovery = recovery_of(genesis);
    sign(recovery, 1);
    sign(recovery, 1);
    sign(recovery, 2);
    sign(recovery, 99);  // Nobody's key.
    CHECK(genesis::signers_of(recovery).size() == 2);
    CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail, "2 of 4 members"));
    sign(recovery, 4);
    CHECK(genesis::check(recovery, genesis.chain_id()).has_value());
    SECTION("of this very schedule") {
        recovery.reset.schedule.version = 101;
        CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail, "0 of 4 members"));
    }
    SECTION("of this chain") {
        recovery.chain_id.bytes[0] ^= std::byte{1};
        CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail, "another chain"));
    }
    SECTION("of this block") {
        recovery.reset.from.bytes[9] ^= std::byte{1};
        CHECK_FALSE(genesis::check(recovery, genesis.chain_id()).has_value());
    }
    SECTION("of these very members") {
        recovery.members.pop_back();
        CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail, "0 of 3 members"));
        recovery.members.clear();
        CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail, "no member"));
    }
    SECTION("each of whom is named once") {
        recovery.members.push_back(recovery.members.back());
        CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail, "each once"));
    }
    SECTION("with a schedule that can be") {
        recovery.reset.schedule.entries.push_back(recovery.reset.schedule.entries[0]);
        CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail, "named twice"));
        recovery.reset.schedule.entries[1].producer = *chain::Name::from_string("mb");
        CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail, "have the key"));
        recovery.reset.schedule.entries.clear();
        CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail,
                  "a validator, or another time, is needed"));
    }
    SECTION("of these very times") {
        recovery.retimes = {{.from = {}, .first = 7, .time = {5'000'000}}};
        CHECK(has(genesis::check(recovery, genesis.chain_id()).error().detail, "0 of 4 members"));
    }
}

TEST_CASE("a recovery may give the chain other times and leave its schedule") {
    const genesis::Genesis genesis = chain_of_four();
    genesis::Recovery recovery = recovery_of(genesis);
    recovery.reset.schedule = {};
    recovery.retimes = {{.from = {}, .first = 7, .time = {5'000'000}},
                        {.from = {}, .first = 9, .time = {6'000'000}}};
    for (unsigned char tag = 1; tag <= 3; ++tag)
        sign(recovery, tag);
    CHECK(genesis::check(recovery, genesis.chain_id()).has_value());
    CHECK(genesis::recovery_from_text(genesis::to_text(recovery)).value() == recovery);
    const auto refusal = [&] {
        return genesis::check(recovery, genesis.chain_id()).error().detail;
    };
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
    CHECK(has(refusal("BoR recovery 1\nchain 00\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 1\n\nversion -1\n"), "line 3"));
    CHECK(has(refusal("BoR recovery 1\nversion 1x\n"), "a number"));
    CHECK(has(refusal("BoR recovery 1\nvalidator ma x y\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 1\nsignature x\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 1\nretime 00 1 2026-01-01T00:00:00.000\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 1\nmember ma 00\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 1\nmember ma x\n"), "line 2"));
    CHECK(has(refusal("BoR recovery 1\nfrom\n"), "expected chain ID"));
}
