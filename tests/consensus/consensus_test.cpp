#include "consensus/consensus.hpp"

#include "tests/support/journals.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

// One validator alone is its own quorum: the same rules run, and a block becomes final through
// the same three durable writes. The tests look at the order of the effects, because "record on
// disk before vote on the wire" is the order of a list (spec 02).

namespace {

using consensus::Consensus;
using consensus::Effects;
namespace effect = consensus::effect;
namespace input = consensus::input;

base::crypto::PublicKey key(unsigned char tag) {
    base::crypto::PublicKey key;
    key.point[0] = std::byte{2};
    key.point[32] = std::byte{tag};
    return key;
}

chain::BlockHeader header(chain::Slot slot, const chain::BlockHeader* parent) {
    chain::BlockHeader header;
    header.slot = slot;
    header.height = parent == nullptr ? 1 : parent->height + 1;
    header.producer = chain::Name{1};
    if (parent != nullptr) {
        header.previous = parent->id();
        header.justify = parent->justify;
        header.finalized = parent->finalized;
    }
    return header;
}

chain::BlockPtr block_of(const chain::BlockHeader& header) {
    return chain::make_block({header, {}}, {}, {});
}

struct Fixture {
    chain::BlockHeader genesis = header(0, nullptr);
    Consensus::Options options;
    chain::Schedule schedule;
    Effects out;

    Fixture() {
        options.times = {.initial = {1'000'000'000'000'000}, .interval_milliseconds = 500};
        schedule.entries = {{chain::Name{1}, key(1), key(2)}};
        options.own_keys = {key(1), key(2)};
        options.started = at(0);
    }

    Consensus make() {
        return make(test::fresh_journals({consensus::key_tag(key(1)), consensus::key_tag(key(2))}));
    }
    // Started in slot 0, for which it signs nothing.
    Consensus make(consensus::Journals with) {
        Consensus made(
            options, {block_of(genesis), chain::first_schedules(schedule)}, std::move(with));
        Effects first;
        made.step(at(0), input::Tick{}, first);
        return made;
    }
    [[nodiscard]] base::Timestamp at(chain::Slot slot, int milliseconds = 0) const {
        return options.times.time_of(slot).to_timestamp() + std::chrono::milliseconds(milliseconds);
    }
    // The kinds of the effects, in order, and an empty list again.
    std::vector<std::size_t> kinds() {
        std::vector<std::size_t> kinds;
        for (const auto& effect : out)
            kinds.push_back(effect.index());
        return kinds;
    }
    template <class E>
    std::vector<E> all() {
        std::vector<E> found;
        for (const auto& effect : out) {
            if (const auto* one = std::get_if<E>(&effect)) found.push_back(*one);
        }
        return found;
    }
};

constexpr std::size_t kPersist = 0;
constexpr std::size_t kAnnounce = 1;
constexpr std::size_t kCastVote = 2;
constexpr std::size_t kPassOn = 3;

}  // namespace

TEST_CASE("a producer closes its block at the start of its slot, once", "[consensus]") {
    Fixture f;
    Consensus consensus = f.make();
    consensus.step(f.at(3), input::Tick{}, f.out);
    REQUIRE(f.all<effect::Produce>().size() == 1);
    CHECK(f.all<effect::Produce>()[0].slot == 3);
    CHECK(f.all<effect::WakeAt>()[0].time == f.at(4));
    consensus.step(f.at(3, 1), input::Tick{}, f.out);
    CHECK(f.all<effect::Produce>().size() == 1);
    SECTION("later than a quarter of the interval the slot is missed") {
        f.out.clear();
        consensus.step(f.at(4, 126), input::Tick{}, f.out);
        CHECK(f.all<effect::Produce>().empty());
    }
    SECTION("a paused producer makes nothing") {
        f.out.clear();
        consensus.set_paused(true);
        consensus.step(f.at(4), input::Tick{}, f.out);
        CHECK(f.all<effect::Produce>().empty());
    }
}

TEST_CASE("one validator makes its block final by two votes of its own", "[consensus]") {
    Fixture f;
    Consensus consensus = f.make();
    const chain::BlockHeader block = header(3, &f.genesis);
    consensus.step(f.at(3, 1), input::BlockAdopted{block_of(block), true}, f.out);
    CHECK(f.kinds() == std::vector<std::size_t>{kPersist, kAnnounce, kCastVote});
    CHECK(f.all<effect::Persist>()[0].block == block.id());
    CHECK_FALSE(f.all<effect::Persist>()[0].pages.empty());
    const auto notarize = f.all<effect::CastVote>()[0];
    CHECK(notarize.data.kind == chain::VoteKind::notarize);

    f.out.clear();
    consensus.step(f.at(3, 2), input::VoteReceived{{notarize.data, key(2), {}}}, f.out);
    CHECK(f.kinds() == std::vector<std::size_t>{kPersist, kPassOn, kCastVote});
    CHECK(f.all<effect::Persist>()[0].certificate.has_value());
    const auto commit = f.all<effect::CastVote>()[0];
    CHECK(commit.data.kind == chain::VoteKind::commit);
    CHECK(consensus.finalized().slot == 0);

    f.out.clear();
    consensus.step(f.at(3, 3), input::VoteReceived{{commit.data, key(2), {}}}, f.out);
    REQUIRE(f.all<effect::Finalize>().size() == 1);
    CHECK(consensus.finalized().id == block.id());

    SECTION("the next block carries both certificates") {
        f.out.clear();
        consensus.step(f.at(4), input::Tick{}, f.out);
        const auto produce = f.all<effect::Produce>();
        REQUIRE(produce.size() == 1);
        REQUIRE(produce[0].justify.has_value());
        REQUIRE(produce[0].finalized.has_value());
        CHECK(produce[0].justify->data.block_id == block.id());
        CHECK(produce[0].finalized->data.block_id == block.id());
    }
}

TEST_CASE("R1: no second NOTARIZE in a slot, none below the lock, none for old blocks",
          "[consensus]") {
    Fixture f;
    Consensus consensus = f.make();
    const chain::BlockHeader block = header(3, &f.genesis);
    consensus.step(f.at(3), input::BlockAdopted{block_of(block), false}, f.out);
    REQUIRE(f.all<effect::CastVote>().size() == 1);
    SECTION("a sibling in the same slot") {
        chain::BlockHeader sibling = header(3, &f.genesis);
        sibling.state_digest.bytes[0] = std::byte{1};
        f.out.clear();
        consensus.step(f.at(3), input::BlockAdopted{block_of(sibling), false}, f.out);
        CHECK(f.all<effect::CastVote>().empty());
    }
    SECTION("a block of long ago") {
        const chain::BlockHeader next = header(4, &block);
        f.out.clear();
        consensus.step(f.at(20), input::BlockAdopted{block_of(next), false}, f.out);
        CHECK(f.all<effect::CastVote>().empty());
    }
    SECTION("a branch whose justify is older than the lock") {
        const auto notarize = f.all<effect::CastVote>()[0];
        consensus.step(f.at(3), input::VoteReceived{{notarize.data, key(2), {}}}, f.out);
        const chain::BlockHeader other = header(4, &f.genesis);
        f.out.clear();
        consensus.step(f.at(4), input::BlockAdopted{block_of(other), false}, f.out);
        CHECK(f.all<effect::CastVote>().empty());
        CHECK(consensus.head() == block.id());
    }
}

TEST_CASE("R2: a COMMIT that is late for its slot goes out with the next NOTARIZE", "[consensus]") {
    Fixture f;
    Consensus consensus = f.make();
    const chain::BlockHeader block = header(3, &f.genesis);
    consensus.step(f.at(3), input::BlockAdopted{block_of(block), true}, f.out);
    const auto notarize = f.all<effect::CastVote>()[0];
    f.out.clear();
    consensus.step(f.at(3, 499), input::VoteReceived{{notarize.data, key(2), {}}}, f.out);
    CHECK(f.all<effect::CastVote>().empty());

    chain::BlockHeader next = header(4, &block);
    next.justify = {block.slot, block.id()};
    f.out.clear();
    consensus.step(f.at(4), input::BlockAdopted{block_of(next), true}, f.out);
    const auto votes = f.all<effect::CastVote>();
    REQUIRE(votes.size() == 2);
    CHECK(votes[0].data.kind == chain::VoteKind::commit);
    CHECK(votes[0].data.block_id == block.id());
    CHECK(votes[1].data.kind == chain::VoteKind::notarize);
    CHECK(votes[1].data.block_id == next.id());
}

TEST_CASE("after a restart no slot is signed twice", "[consensus]") {
    Fixture f;
    Consensus before = f.make();
    const chain::BlockHeader block = header(3, &f.genesis);
    before.step(f.at(3), input::BlockAdopted{block_of(block), true}, f.out);

    Consensus after = f.make(before.journals());
    f.out.clear();
    after.step(f.at(3, 10), input::Tick{}, f.out);
    CHECK(f.all<effect::Produce>().empty());
    chain::BlockHeader sibling = header(3, &f.genesis);
    sibling.state_digest.bytes[0] = std::byte{1};
    after.step(f.at(3), input::BlockAdopted{block_of(sibling), false}, f.out);
    CHECK(f.all<effect::CastVote>().empty());
    SECTION("and a key without a journal votes for nothing") {
        f.options.started = f.at(5);
        Consensus blank(f.options, {block_of(f.genesis), chain::first_schedules(f.schedule)}, {});
        f.out.clear();
        blank.step(f.at(5), input::Tick{}, f.out);
        blank.step(f.at(5), input::BlockAdopted{block_of(block), false}, f.out);
        CHECK(f.all<effect::Alarm>().size() == 1);
        CHECK(f.all<effect::Produce>().empty());
        CHECK(f.all<effect::CastVote>().empty());
        blank.step(f.at(6), input::Tick{}, f.out);
        CHECK(f.all<effect::Produce>().empty());
    }
}
