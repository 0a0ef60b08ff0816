#pragma once

#include "base/bytes.hpp"

#include <cstdint>

namespace base {

// CRC-32C (Castagnoli, RFC 3720 appendix B.4). Pure. For torn writes, not for attackers. Uses the
// instruction for it where the machine has it.
[[nodiscard]] std::uint32_t crc32c(ByteView bytes);

// The same without that instruction.
[[nodiscard]] std::uint32_t crc32c_by_table(ByteView bytes);

}  // namespace base
