#pragma once

#include "base/bytes.hpp"

#include <cstdint>

namespace base {

// CRC-32C (Castagnoli, RFC 3720 appendix B.4). Pure. For torn writes, not for attackers.
[[nodiscard]] std::uint32_t crc32c(ByteView bytes);

}  // namespace base
