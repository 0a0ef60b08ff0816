#include "tests/allocations.hpp"
#include "tests/consensus/fixture.hpp"

// The vote path allocates nothing once its rings are warm: at a hundred validators it runs
// hundreds of times a slot.

namespace input = consensus::input;
using test::kCommit;
using test::kNotarize;
using test::Validator;

TEST_CASE("a vote allocates nothing, of a known block or not", "[consensus][allocation]") {
    Validator v(1, {1, 2, 3, 4, 5, 6, 7});
    consensus::Effects out;
    const auto hear = [&](const consensus::Input& what) {
        const std::size_t before = tests::allocations();
        v->step(v.at(12), what, out);
        return tests::allocations() - before;
    };
    std::vector<chain::BlockPtr> blocks;
    for (chain::Slot slot = 2; slot < 12; ++slot) {
        blocks.push_back(v.block(slot, slot == 2 ? v.genesis() : blocks.back()));
        if (slot != 11) v.adopt(blocks.back());
    }
    // Warm: each key has a ring.
    for (const unsigned member : {2U, 3U, 4U}) {
        (void)hear(input::VoteReceived{Validator::vote(kNotarize, blocks[0], member)});
    }
    out.reserve(16);
    std::size_t most = 0;
    for (const chain::BlockPtr& block : blocks) {
        for (const unsigned member : {2U, 3U, 4U}) {
            for (const chain::VoteKind kind : {kNotarize, kCommit}) {
                const consensus::Input vote =
                    input::VoteReceived{Validator::vote(kind, block, member)};
                most = std::max(most, hear(vote));
            }
        }
    }
    CHECK(out.empty());
    CHECK(most == 0);
}
