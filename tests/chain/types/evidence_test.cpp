#include "chain/types/evidence.hpp"

#include "chain/types/schedule_state.hpp"

#include <catch2/catch.hpp>

// What convicts, and what does not: no honest key can be accused.

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;
using chain::VoteKind;

PrivateKey key_of(unsigned tag) {
    std::array<std::byte, 32> secret{};
    secret[31] = static_cast<std::byte>(tag);
    return {KeyType::k1, secret};
}

const base::Hash256 kChain{};

chain::SignedHeader signed_header(chain::Slot slot,
                                  unsigned contents,
                                  unsigned key = 1,
                                  const base::Hash256& chain = kChain) {
    chain::BlockHeader header;
    header.slot = slot;
    header.height = 5;
    header.producer = chain::Name{7};
    header.state_digest.bytes[0] = static_cast<std::byte>(contents);
    return {header, key_of(key).sign(header.signing_digest(chain))};
}

chain::Vote vote(const chain::VoteData& data, unsigned key = 1) {
    return {data, key_of(key).public_key(), key_of(key).sign(data.digest(kChain))};
}

chain::VoteData data(VoteKind kind, chain::Slot slot, unsigned contents) {
    chain::VoteData data{
        .kind = kind, .slot = slot, .height = 5, .block_id = {}, .justify_slot = 1};
    data.block_id.bytes[0] = static_cast<std::byte>(contents);
    return data;
}

}  // namespace

TEST_CASE("two headers of one producer in one slot convict their key", "[types][evidence]") {
    const chain::TwoHeaders two{signed_header(9, 1), signed_header(9, 2)};
    const auto guilty = chain::check(two, kChain);
    REQUIRE(guilty.has_value());
    CHECK(*guilty == key_of(1).public_key());
    CHECK_FALSE(chain::check(chain::TwoHeaders{two.first, two.first}, kChain).has_value());
    CHECK_FALSE(chain::check(chain::TwoHeaders{two.first, signed_header(8, 2)}, kChain));
    CHECK_FALSE(chain::check(chain::TwoHeaders{two.first, signed_header(9, 2, 2)}, kChain));
}

TEST_CASE("what a key signed for another chain does not convict it", "[types][evidence]") {
    base::Hash256 other;
    other.bytes[0] = std::byte{1};
    const chain::SignedHeader here = signed_header(9, 1);
    const chain::SignedHeader there = signed_header(9, 2, 1, other);
    const chain::TwoHeaders mixed{here, there};
    const chain::TwoHeaders foreign{there, signed_header(9, 3, 1, other)};
    CHECK_FALSE(chain::check(mixed, kChain));
    CHECK_FALSE(chain::check(foreign, kChain));
    CHECK(chain::check(foreign, other).value() == key_of(1).public_key());
}

TEST_CASE("two votes of one key, kind and slot convict it", "[types][evidence]") {
    const auto a = vote(data(VoteKind::notarize, 9, 1));
    const auto b = vote(data(VoteKind::notarize, 9, 2));
    const auto found = chain::find_evidence(a, b);
    REQUIRE(found.has_value());
    CHECK(chain::check(*found, kChain).value() == a.key);
    CHECK_FALSE(chain::find_evidence(a, a).has_value());
    CHECK_FALSE(chain::find_evidence(a, vote(data(VoteKind::notarize, 8, 2))).has_value());
    CHECK_FALSE(chain::find_evidence(a, vote(data(VoteKind::notarize, 9, 2), 2)).has_value());
    CHECK_FALSE(chain::find_evidence(a, vote(data(VoteKind::commit, 9, 2))).has_value());
    SECTION("not without its signature") {
        chain::Vote forged = b;
        forged.signature = vote(data(VoteKind::notarize, 9, 2), 2).signature;
        CHECK_FALSE(chain::check(chain::TwoVotes{a, forged}, kChain).has_value());
        base::Hash256 other;
        other.bytes[0] = std::byte{1};
        CHECK_FALSE(chain::check(*found, other).has_value());
    }
}

TEST_CASE("a COMMIT with a NOTARIZE that R2 forbids convicts", "[types][evidence]") {
    auto commit = data(VoteKind::commit, 9, 1);
    commit.justify_slot = 8;
    auto notarize = data(VoteKind::notarize, 10, 2);
    notarize.justify_slot = 8;
    SECTION("at the same height without headers") {
        const auto found = chain::find_evidence(vote(notarize), vote(commit));
        REQUIRE(found.has_value());
        CHECK(chain::check(*found, kChain).has_value());
    }
    SECTION("not with a justify that is as new, nor when it is older") {
        notarize.justify_slot = 9;
        CHECK_FALSE(chain::find_evidence(vote(notarize), vote(commit)).has_value());
        notarize.justify_slot = 8;
        notarize.slot = 9;
        CHECK_FALSE(chain::find_evidence(vote(notarize), vote(commit)).has_value());
    }
    SECTION("higher up with the headers between") {
        chain::BlockHeader low;
        low.height = 6;
        low.slot = 10;
        low.previous.bytes[9] = std::byte{1};
        chain::BlockHeader high;
        high.height = 7;
        high.slot = 11;
        high.previous = low.id();
        notarize.slot = 11;
        notarize.height = 7;
        notarize.block_id = high.id();
        const chain::ForbiddenCommit good{vote(commit), vote(notarize), {high, low}};
        CHECK(chain::check(good, kChain).has_value());
        chain::ForbiddenCommit bad = good;
        bad.headers.pop_back();
        CHECK_FALSE(chain::check(bad, kChain).has_value());
        bad = good;
        std::swap(bad.headers[0], bad.headers[1]);
        CHECK_FALSE(chain::check(bad, kChain).has_value());
        // One that does extend the block of the COMMIT.
        bad = good;
        auto ancestor = commit;
        ancestor.block_id = low.previous;
        bad.commit = vote(ancestor);
        CHECK_FALSE(chain::check(bad, kChain).has_value());
    }
}

TEST_CASE("evidence is read strictly", "[types][evidence]") {
    const chain::Evidence evidence = chain::TwoHeaders{signed_header(9, 1), signed_header(9, 2)};
    base::Bytes packed = chain::pack(evidence);
    CHECK(chain::unpack<chain::Evidence>(packed, "evidence").value() == evidence);
    for (std::size_t length = 0; length < packed.size(); ++length) {
        const base::ByteView part(packed.data(), length);
        CHECK_FALSE(chain::unpack<chain::Evidence>(part, "evidence").has_value());
    }
    packed[0] = std::byte{3};
    CHECK_FALSE(chain::unpack<chain::Evidence>(packed, "evidence").has_value());
    const chain::Evidence votes =
        chain::TwoVotes{vote(data(VoteKind::notarize, 9, 1)), vote(data(VoteKind::notarize, 9, 2))};
    CHECK(chain::unpack<chain::Evidence>(chain::pack(votes), "evidence").value() == votes);
    const chain::Evidence pair = chain::ForbiddenCommit{vote(data(VoteKind::commit, 9, 1)),
                                                        vote(data(VoteKind::notarize, 10, 2)),
                                                        {signed_header(10, 2).header}};
    CHECK(chain::unpack<chain::Evidence>(chain::pack(pair), "evidence").value() == pair);
}

TEST_CASE("the state of schedules is read back as it was written", "[types][schedule]") {
    chain::Schedule schedule;
    schedule.entries = {{chain::Name{1}, key_of(1).public_key(), key_of(2).public_key()}};
    auto state = chain::first_schedules(schedule);
    CHECK(chain::unpack<chain::ScheduleState>(chain::pack(state), "schedules").value() == state);
    schedule.version = 1;
    state.proposed = std::make_shared<const chain::Schedule>(schedule);
    state.proposed_at = 7;
    state.pending_since = 9;
    const auto packed = chain::pack(state);
    CHECK(chain::unpack<chain::ScheduleState>(packed, "schedules").value() == state);
    for (std::size_t length = 0; length < packed.size(); ++length) {
        const base::ByteView part(packed.data(), length);
        CHECK_FALSE(chain::unpack<chain::ScheduleState>(part, "schedules").has_value());
    }
}
