#pragma once

#include <algorithm>
#include <cstddef>

namespace tests {

// How often this program has allocated so far. Programs with an allocation_test.cpp have an
// allocator that counts (cmake/layer.cmake), other than in sanitized builds, whose own it is.
//
// Thread: one; what others allocate is counted without a lock.
[[nodiscard]] std::size_t allocations();
// Bytes that it has allocated and not freed.
[[nodiscard]] std::size_t allocated_bytes();

// Allocations of rounds of the same work.
struct Rounds {
    std::size_t first = 0;  // Of the first round, which takes memory: so it can be seen.
    std::size_t most = 0;   // Of any round after the warming ones.
    std::size_t count = 0;  // Rounds in all.
};
// Runs `round`, which returns what it allocated, until its tables are full, then `counted` times.
template <class Round>
[[nodiscard]] Rounds run_rounds(Round round, std::size_t warming, std::size_t counted) {
    Rounds out{.first = round(), .count = warming + counted};
    for (std::size_t i = 1; i < warming; ++i)
        (void)round();
    for (std::size_t i = 0; i < counted; ++i)
        out.most = std::max(out.most, round());
    return out;
}

}  // namespace tests
