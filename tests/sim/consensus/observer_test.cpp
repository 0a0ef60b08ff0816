#include "tests/sim/consensus/observer.hpp"

#include <catch2/catch.hpp>

using namespace sim;

namespace {

// A chain of one producer, which is honest.
Universe one_producer() {
    Universe universe;
    Member member;
    member.name = chain::Name{1};
    member.signing_key.point[1] = std::byte{1};
    member.vote_keys.emplace_back().point[1] = std::byte{2};
    universe.members.push_back(member);
    universe.choices.push_back({{member.name, member.signing_key, member.vote_keys[0]}});
    chain::BlockHeader genesis;
    genesis.height = 1;
    genesis.producer = member.name;
    universe.genesis = chain::make_block({genesis, {}}, {}, {});
    return universe;
}

const Seen& add(Observer& observer, const chain::Block& parent, chain::Slot slot) {
    chain::BlockHeader header;
    header.slot = slot;
    header.height = parent.header.height + 1;
    header.producer = parent.header.producer;
    header.previous = parent.id;
    header.justify = parent.header.justify;
    header.finalized = parent.header.finalized;
    return observer.add(chain::make_block({header, {}}, {}, {}));
}

// By the votes of the one validator.
void make_final(Observer& observer, const Universe& universe, const Seen& block) {
    for (const auto kind : {chain::VoteKind::notarize, chain::VoteKind::commit}) {
        const chain::VoteData data = block.data(kind);
        const auto& key = universe.members[0].vote_keys[0];
        observer.vote_left({data, key, sign(key, data)});
    }
}

}  // namespace

TEST_CASE("The EOS rule leaves open the newest block of a producer that is alone") {
    const Universe universe = one_producer();
    Observer observer(universe, /*beyond_bound=*/false);
    const Seen& lost = add(observer, *universe.genesis, 1);
    add(observer, *universe.genesis, 2);  // The producer lost the first one, which its peers have.
    CHECK(observer.eos_finals() == 0);
    make_final(observer, universe, lost);
    CHECK(observer.failure().empty());
}

TEST_CASE("No certificate may contradict what the EOS rule has irreversible") {
    const Universe universe = one_producer();
    Observer observer(universe, /*beyond_bound=*/false);
    const Seen& left = add(observer, *universe.genesis, 1);
    const Seen& other = add(observer, *universe.genesis, 2);
    add(observer, *other.block, 3);
    CHECK(observer.eos_finals() == 1);
    make_final(observer, universe, left);
    CHECK(observer.failure().starts_with("the EOS rule has 2:"));
}
