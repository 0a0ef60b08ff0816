#pragma once

#include "base/bytes.hpp"

namespace base::crypto {

// Bitcoin's alphabet, no checksum. Pure; quadratic in the length, hence the limit.
[[nodiscard]] std::string to_base58(ByteView bytes);

// malformed: a character outside the alphabet, or more than 1,024 characters.
[[nodiscard]] Result<Bytes> from_base58(std::string_view text);

}  // namespace base::crypto
