#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <string>
#include <string_view>

namespace bps {

// RFC 4648, section 5, without padding: as JWT has it (RFC 7515, section 2).
[[nodiscard]] std::string to_base64url(base::ByteView bytes);
// malformed: a letter outside of the alphabet, padding, a length that no bytes have, or bits beyond
// the last byte that are not 0: each byte string has one text. The message does not quote the text.
[[nodiscard]] base::Result<base::Bytes> from_base64url(std::string_view text);

}  // namespace bps
