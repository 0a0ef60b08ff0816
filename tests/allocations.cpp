#include "tests/allocations.hpp"

#include <cstdlib>
#include <malloc.h>
#include <new>

// In a file of its own: where the compiler sees it beside its users, it takes the pair of
// operators apart and warns.

namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::size_t count = 0;
std::size_t bytes = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

namespace tests {

std::size_t allocations() {
    return count;
}

std::size_t allocated_bytes() {
    return bytes;
}

}  // namespace tests

// NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory,misc-new-delete-overloads)
void* operator new(std::size_t size) {
    ++count;
    void* memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) throw std::bad_alloc();
    bytes += malloc_usable_size(memory);
    return memory;
}
void operator delete(void* memory) noexcept {
    bytes -= malloc_usable_size(memory);
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    bytes -= malloc_usable_size(memory);
    std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory,misc-new-delete-overloads)
