#pragma once

#include "base/result.hpp"
#include "node/bps/core/token.hpp"

#include <string>
#include <string_view>

namespace bps {

// The claims of a token as text (token.hpp has the form). invalid: the terms are none of a token.
[[nodiscard]] base::Result<std::string> claims_text(const TokenTerms& terms);
// The scope of a token from its items in any order of rights, with a blank between two. malformed:
// too many, or no right of that name.
[[nodiscard]] base::Result<TokenScope> decode_scope(std::string_view text);
// malformed: not a text that claims_text() gives.
[[nodiscard]] base::Result<TokenTerms> decode_claims(std::string_view text);

}  // namespace bps
