#pragma once

#include <cstdint>

namespace bps {

// What keeps that which was acknowledged, one for each place in the code that does it. A test
// leaves one out at a time, to see that it notices (tests/node/bps/kills).
enum class Rule : std::uint8_t {
    none,
    answer_after_sync,
    duplicate_waits,
    index_goes_with_cut,
    producers_rebuilt,
    tail_cut_at_damage,
    rewrite_synced,
};

// Whether this is to be left out. Never, in anything but that test: it is then there as if nobody
// had asked. Headers must not ask.
#ifdef BOR_MUTANTS
[[nodiscard]] bool is_left_out(Rule rule);
#else
[[nodiscard]] consteval bool is_left_out(Rule /*rule*/) {
    return false;
}
#endif

}  // namespace bps
