#include "tests/consensus/fixture.hpp"

#include <cstdlib>
#include <new>

// The vote path allocates nothing once its rings are warm: at a hundred validators it runs
// hundreds of times a slot. The counter replaces the allocator of this test program.

namespace {

std::size_t allocations = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory,misc-new-delete-overloads)
void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory,misc-new-delete-overloads)

namespace input = consensus::input;
using test::kCommit;
using test::kNotarize;
using test::Validator;

TEST_CASE("a vote allocates nothing, of a known block or not", "[consensus][allocation]") {
    Validator v(1, {1, 2, 3, 4, 5, 6, 7});
    consensus::Effects out;
    const auto hear = [&](const consensus::Input& what) {
        const std::size_t before = allocations;
        v->step(v.at(12), what, out);
        return allocations - before;
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
