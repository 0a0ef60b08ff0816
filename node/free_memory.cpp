#include "node/free_memory.hpp"

#include <cstddef>
#include <malloc.h>

namespace node {

void give_back_free_memory() {
    constexpr std::size_t kKept = std::size_t{128} << 20;
    if (::mallinfo2().fordblks > kKept) (void)::malloc_trim(0);
}

}  // namespace node
