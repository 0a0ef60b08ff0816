#pragma once

#include "base/bytes.hpp"

namespace base::crypto {

// The longest text read; the cost grows with the square of the length.
inline constexpr std::size_t kBase58CharactersMax = 2'048;

// Bitcoin's alphabet, no checksum. Pure; quadratic in the length.
[[nodiscard]] std::string to_base58(ByteView bytes);

// malformed (Antelope code 4): a character outside the alphabet, or more than
// kBase58CharactersMax.
[[nodiscard]] Result<Bytes> from_base58(std::string_view text);

}  // namespace base::crypto
