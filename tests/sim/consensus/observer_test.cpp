#include "tests/sim/consensus/observer.hpp"

#include <catch2/catch.hpp>

#include <vector>

// The EOS rule of the observer, in a world of honest producers and one schedule.

using namespace sim;

namespace {

Universe make_world(std::size_t producers) {
    Universe universe;
    auto& entries = universe.choices.emplace_back();
    for (std::size_t i = 0; i < producers; ++i) {
        Member member;
        member.name = chain::Name{i + 1};
        member.signing_key.point[1] = static_cast<std::byte>(2 * i + 1);
        member.vote_keys.emplace_back().point[1] = static_cast<std::byte>(2 * i + 2);
        entries.push_back({member.name, member.signing_key, member.vote_keys[0]});
        universe.members.push_back(std::move(member));
    }
    chain::BlockHeader genesis;
    genesis.height = 1;
    genesis.producer = entries[0].producer;
    universe.genesis = chain::make_block({genesis, {}}, {}, {});
    return universe;
}

// A block of the slot's producer.
const Seen& add(Observer& observer,
                const Universe& universe,
                const chain::Block& parent,
                chain::Slot slot) {
    const auto& entries = universe.choices[0];
    chain::BlockHeader header;
    header.slot = slot;
    header.height = parent.header.height + 1;
    header.producer = entries[slot % entries.size()].producer;
    header.previous = parent.id;
    header.justify = parent.header.justify;
    header.finalized = parent.header.finalized;
    return observer.add(chain::make_block({header, {}}, {}, {}));
}

// By the votes of all.
void make_final(Observer& observer, const Universe& universe, const Seen& block) {
    for (const auto kind : {chain::VoteKind::notarize, chain::VoteKind::commit}) {
        const chain::VoteData data = block.data(kind);
        for (const Member& member : universe.members)
            observer.vote_left({data, member.vote_keys[0], sign(member.vote_keys[0], data)});
    }
}

}  // namespace

TEST_CASE("The EOS rule leaves open the newest block of a producer that is alone") {
    const Universe universe = make_world(1);
    Observer observer(universe, /*beyond_bound=*/false);
    observer.heals(0);
    const Seen& lost = add(observer, universe, *universe.genesis, 1);
    // The producer lost the first one, which its peers have.
    add(observer, universe, *universe.genesis, 2);
    CHECK(observer.eos_finals() == 0);
    make_final(observer, universe, lost);
    CHECK(observer.failure().empty());
}

TEST_CASE("No certificate may contradict what the EOS rule has irreversible") {
    const Universe universe = make_world(1);
    Observer observer(universe, /*beyond_bound=*/false);
    observer.heals(0);
    const Seen& left = add(observer, universe, *universe.genesis, 1);
    const Seen& other = add(observer, universe, *universe.genesis, 2);
    add(observer, universe, *other.block, 3);
    CHECK(observer.eos_finals() == 1);
    make_final(observer, universe, left);
    CHECK(observer.failure().starts_with("the EOS rule has 2:"));
}

TEST_CASE("The EOS rule has a block irreversible when a quorum has built on it twice") {
    using Slots = std::vector<chain::Slot>;
    // All three producers, or three of four.
    const auto [producers, slots] = GENERATE(
        table<std::size_t, Slots>({{3, Slots{2, 3, 4, 5, 6, 7}}, {4, Slots{2, 3, 5, 6, 7, 9}}}));
    INFO(producers << " producers");
    const Universe universe = make_world(producers);
    Observer observer(universe, /*beyond_bound=*/false);
    observer.heals(0);
    const Seen& left = add(observer, universe, *universe.genesis, 1);
    const Seen* head = nullptr;
    // The third block proposes the first one; the next three are built on blocks that say so.
    for (const chain::Slot slot : slots) {
        CHECK(observer.eos_finals() == 0);
        head = &add(observer, universe, head == nullptr ? *universe.genesis : *head->block, slot);
    }
    CHECK(observer.eos_finals() == 1);
    make_final(observer, universe, left);
    CHECK(observer.failure().starts_with("the EOS rule has 2:"));
}

TEST_CASE("The EOS rule says nothing of blocks that were made before healing") {
    const Universe universe = make_world(1);
    Observer observer(universe, /*beyond_bound=*/false);
    observer.heals(3);
    const Seen& left = add(observer, universe, *universe.genesis, 1);
    const Seen* head = &add(observer, universe, *universe.genesis, 2);
    for (const chain::Slot slot : {3U, 4U}) {
        head = &add(observer, universe, *head->block, slot);
        CHECK(observer.eos_finals() == slot - 3);
    }
    make_final(observer, universe, left);
    CHECK(observer.failure().starts_with("the EOS rule has 3:"));
}
