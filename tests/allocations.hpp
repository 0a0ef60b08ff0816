#pragma once

#include <cstddef>

namespace tests {

// How often this program has allocated so far. Programs with an allocation_test.cpp have an
// allocator that counts (cmake/layer.cmake), other than in sanitized builds, whose own it is.
//
// Thread: one; what others allocate is counted without a lock.
[[nodiscard]] std::size_t allocations();

}  // namespace tests
