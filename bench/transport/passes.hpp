#pragma once

#include <cstdint>

// How often this program goes over the bytes of messages: each of its calls of memcpy and memmove,
// and of the cipher, is counted while counting is on (CMakeLists.txt wraps them). Not what
// libraries and the kernel do within, nor runs below 512 bytes, which are no messages.
namespace passes {

struct Count {
    std::uint64_t copied = 0;     // Bytes.
    std::uint64_t elsewhere = 0;  // By the cipher, which wrote them to another place,
    std::uint64_t in_place = 0;   // or to where they were.
};

// From zero. All threads.
void begin();
[[nodiscard]] Count end();

}  // namespace passes
