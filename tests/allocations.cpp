#include "tests/allocations.hpp"

#include <cstdlib>
#include <new>

// In a file of its own: where the compiler sees it beside its users, it takes the pair of
// operators apart and warns.

namespace {

std::size_t count = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

namespace tests {

std::size_t allocations() {
    return count;
}

}  // namespace tests

// NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory,misc-new-delete-overloads)
void* operator new(std::size_t size) {
    ++count;
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
