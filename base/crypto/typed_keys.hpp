#pragma once

#include "base/crypto/keys.hpp"

#include <string_view>

namespace base::crypto {

// PublicKey::from_string() of what a person wrote. malformed: in words instead of nodeos', and
// without the text where that may be a private key.
[[nodiscard]] Result<PublicKey> read_public_key(std::string_view text);

}  // namespace base::crypto
