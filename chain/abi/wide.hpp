#pragma once

#include "base/codec.hpp"
#include "base/result.hpp"

#include <string>
#include <string_view>

namespace chain::abi {

__extension__ typedef unsigned __int128 Wide;  // The bits of an int128 or uint128.

[[nodiscard]] Wide read_wide(base::Reader& in);
void write_wide(base::Writer& out, Wide value);

// Decimal digits.
[[nodiscard]] std::string uint128_to_string(Wide value);
[[nodiscard]] std::string int128_to_string(Wide bits);
// Decimal digits, or "0x" and hexadecimal ones. parse_error_exception: anything else, or a
// number that does not fit.
[[nodiscard]] base::Result<Wide> uint128_from_string(std::string_view text);
[[nodiscard]] base::Result<Wide> int128_from_string(std::string_view text);

}  // namespace chain::abi
