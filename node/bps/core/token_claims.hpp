#pragma once

#include "base/result.hpp"
#include "node/bps/core/token.hpp"

#include <string>
#include <string_view>

namespace bps {

// The claims of a token as text (token.hpp has the form). invalid: the terms are none of a token.
[[nodiscard]] base::Result<std::string> claims_text(const TokenTerms& terms);
// malformed: not a text that claims_text() gives.
[[nodiscard]] base::Result<TokenTerms> decode_claims(std::string_view text);

}  // namespace bps
