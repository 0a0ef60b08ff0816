#pragma once

#include <string>
#include <string_view>

namespace node {

inline constexpr std::string_view kVersion = "v0.1.0";
// Eight hexadecimal digits, as clients expect of server_version.
inline constexpr std::string_view kServerVersion = "00000100";

// Why an option that nodeos or a later BoR has is refused; empty: it is simply unknown.
[[nodiscard]] std::string_view reason_not_served(const std::string& name);

// Whether a plugin of nodeos is part of every node here.
[[nodiscard]] bool is_implied_plugin(const std::string& name);

}  // namespace node
