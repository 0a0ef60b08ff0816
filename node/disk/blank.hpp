#pragma once

#include "base/bytes.hpp"

#include <cstddef>
#include <cstring>

namespace node {

// Whether these bytes are all zero. Each is like the one before it, and the first is zero: the
// library compares many at once.
[[nodiscard]] inline bool is_blank(base::ByteView bytes) {
    return bytes.empty() || (bytes[0] == std::byte{} &&
                             std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace node
